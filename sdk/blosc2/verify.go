package blosc2

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Damage is one thing that Verify found, or could not look at.
type Damage struct {
	Item string // the key, and the chunk or metalayer where there is one
	Off  int64  // in what the error is about; -1: unknown
	Text string
	// Unchecked: it may be whole, but takes a codec or filter that is not there.
	Unchecked bool
}

// Verify decodes every chunk and every variable-length metalayer of a
// container, of a store those of all leaves, and reports what is damaged. It
// returns how many it decoded or tried to. An error means that it could not go
// on (a read failed, ctx ended), not that it found damage.
//
// The format has no checksums: damage that decodes to other bytes of the same
// length is not found, but for that of a frame that keeps some (Spec.Checksums),
// and of a zip, which has them.
func Verify(ctx context.Context, c Container, report func(Damage)) (checked int64, err error) {
	v := verifier{report: report}
	switch c := c.(type) {
	case *SChunk:
		err = v.frame(ctx, "", c)
	case *NDArray:
		err = v.frame(ctx, "", c.s)
	case *EmbedStore:
		if err = v.frame(ctx, "", c.s); err == nil {
			var keys []string
			keys, err = c.Keys(ctx)
			err = v.leaves(ctx, keys, c.Get, err)
		}
	case *TreeStore:
		return Verify(ctx, c.d, report)
	case *DictStore:
		if zip, ok := c.files.(*archive); ok {
			if err := zip.verify(ctx, &v); err != nil {
				return v.checked, err
			}
		}
		if err = v.frame(ctx, "/"+embedFile, c.embed.s); err == nil {
			var keys []string
			keys, err = c.Keys(ctx)
			err = v.leaves(ctx, keys, c.Get, err)
		}
	}
	return v.checked, err
}

type verifier struct {
	checked int64
	report  func(Damage)
}

// found reports err if it is damage, and returns it otherwise.
func (v *verifier) found(item string, err error) error {
	var e *fault.Error
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUnsupported) && !errors.Is(err, fault.ErrLimit):
		return err
	}
	d := Damage{Item: strings.TrimSpace(item), Off: -1, Unchecked: errors.Is(err, fault.ErrUnsupported)}
	// What is around the innermost says where, which the item does too: but
	// for the block of a chunk.
	for errors.As(err, &e) && e.Why == "" && e.Off < 0 {
		if !errors.As(e.Err, new(*fault.Error)) {
			break
		}
		if strings.HasPrefix(e.Item, "block ") {
			d.Item += " " + e.Item
		}
		err = e.Err
	}
	d.Text = err.Error()
	for errors.As(err, &e) && e.Off < 0 {
		err = e.Err
	}
	if e != nil {
		d.Off = e.Off
	}
	v.report(d)
	return nil
}

func (v *verifier) frame(ctx context.Context, key string, s *SChunk) error {
	vlmeta, err := s.VLMeta(ctx)
	if err != nil {
		return err
	}
	for _, name := range vlmeta {
		v.checked++
		_, err := s.VLValue(ctx, name)
		if err := v.found(key+" vlmeta "+name, err); err != nil {
			return err
		}
	}
	if slices.Contains(vlmeta, ChecksumLayer) {
		v.checked++
		if err := v.found(key+" index", s.f.read(ctx, func(v *view) error { return v.verifyIndex(s.f.o) })); err != nil {
			return err
		}
	}
	var buf []byte
	for i := range s.NumChunks() {
		if err := storage.Ended(ctx, key); err != nil {
			return err
		}
		v.checked++
		err := s.f.read(ctx, func(v *view) error { return v.verify(ctx, i, &buf, s.f.o) })
		if err := v.found(key+" chunk "+strconv.FormatInt(i, 10), err); err != nil {
			return err
		}
	}
	return nil
}

// verify decodes chunk i, after a look at its checksum if there is one that
// holds. buf is used again.
func (v *view) verify(ctx context.Context, i int64, buf *[]byte, o Options) error {
	known, err := v.checksums(o)
	if err != nil || v.within(i) != nil {
		return err
	}
	e, err := v.index.at(i)
	if err != nil {
		return chunkError(i, err)
	}
	b, err := v.encoded(ctx, i, o.Limits)
	if err != nil {
		return v.doubted(ctx, i, err, o)
	}
	if e.value() >= 0 {
		err = known.matches(e.value(), b)
	}
	var c *blosc.Chunk
	if err == nil {
		c, err = blosc.Open(b, blosc.Options{TypeSize: v.TypeSize, Plugins: o.Plugins, Limit: int(min(o.Limits.Chunk, blosc.MaxSize))})
	}
	if err == nil {
		err = v.fits(c.Header(), i)
	}
	if err == nil {
		var out []byte
		if out, err = c.Decode((*buf)[:0]); err == nil {
			*buf = out
		}
	}
	return chunkError(i, err)
}

// verifyIndex compares the index with its checksum, if that holds.
func (v *view) verifyIndex(o Options) error {
	known, err := v.checksums(o)
	if err != nil || known == nil {
		return err
	}
	entries := make([]int64, v.chunks)
	for i := range entries {
		e, err := v.index.at(int64(i))
		if err != nil {
			return err
		}
		entries[i] = e.value()
	}
	if sumEntries(entries) != known.index {
		return fault.New(fault.ErrCorrupt, "checksums", "", "the index is not what was written")
	}
	return nil
}

// leaves verifies what is under each of the keys, unless they could not be
// read.
func (v *verifier) leaves(ctx context.Context, keys []string, get func(context.Context, string) (Container, error), err error) error {
	if err != nil {
		v.checked++
		return v.found("keys", err)
	}
	for _, key := range keys {
		c, err := get(ctx, key)
		if err != nil {
			v.checked++
			if err := v.found(key, err); err != nil {
				return err
			}
			continue
		}
		s, ok := c.(*SChunk)
		if a, isArray := c.(*NDArray); isArray {
			s, ok = a.s, true
		}
		if ok {
			err = v.frame(ctx, key, s)
		}
		if err := errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	return nil
}
