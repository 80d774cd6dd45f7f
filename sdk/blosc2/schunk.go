package blosc2

import (
	"context"
	"iter"
	"strconv"

	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// SChunk is a sequence of items in chunks: a frame. Safe for concurrent use.
//
// Other handles may write to it, here or in other processes. Each call that
// reads data or variable-length metalayers looks at the frame first and takes
// over what changed; what it returns is of one state. Without Options.Locking
// that holds among handles of this package, which never write over what a
// state consists of, and with those of python-blosc2 as far as the bytes show
// that they did. The counters (Header, Len, NumChunks) and fixed metalayers
// are those of the last such look; Refresh looks.
type SChunk struct{ f *frame }

// Kind is "schunk", or "batcharray" or "objectarray" for frames of those.
func (s *SChunk) Kind() string {
	v, err := s.f.state()
	if err != nil {
		return "schunk"
	}
	if _, ok := find(v.meta, "batcharray"); ok {
		return "batcharray"
	}
	if _, ok := find(v.meta, "vlarray"); ok {
		return "objectarray"
	}
	return "schunk"
}

// Close closes the frame. Closing twice is fine; later calls give ErrClosed.
func (s *SChunk) Close() error { return s.f.close() }

// Refresh looks whether the frame changed, takes the change over, and reports
// whether there was one. What a writer is in the middle of is waited for, for
// some 200 ms: then it is ErrCorrupt, and what was open stays as it is.
// ErrStale: it became an array of other chunks, open it anew.
func (s *SChunk) Refresh(ctx context.Context) (bool, error) { return s.f.refresh(ctx) }

// ChangeTick counts the changes by other handles that this one took over, and
// those that it made to metalayers. It never goes back, and means nothing to
// another handle.
func (s *SChunk) ChangeTick() uint64 {
	s.f.mu.RLock()
	defer s.f.mu.RUnlock()
	return s.f.tick
}

// Header returns the fixed part of the header; zero once closed.
func (s *SChunk) Header() Header {
	v, err := s.f.state()
	if err != nil {
		return Header{}
	}
	return v.Header
}

// Len is the number of whole items.
func (s *SChunk) Len() int64 {
	h := s.Header()
	return h.Size / max(int64(h.TypeSize), 1)
}

// NumChunks is the number of chunks.
func (s *SChunk) NumChunks() int64 {
	v, err := s.f.state()
	if err != nil {
		return 0
	}
	return v.chunks
}

// Chunk appends the decoded bytes of chunk i to dst. ErrOutOfRange,
// ErrCorrupt, ErrUnsupported for codecs and filters that are plugins,
// ErrLimit, ErrClosed.
func (s *SChunk) Chunk(ctx context.Context, i int64, dst []byte) ([]byte, error) {
	out := dst
	err := s.f.read(ctx, func(v *view) error {
		if err := v.within(i); err != nil {
			return err
		}
		var err error
		out, err = v.decoded(ctx, i, dst, s.f.o)
		return err
	})
	return out, err
}

// Chunks gives the decoded bytes of each chunk in turn, which are the caller's
// until the next. It ends with the first error, which is one of Chunk's.
func (s *SChunk) Chunks(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buf []byte
		for i := int64(0); i < s.NumChunks(); i++ {
			b, err := s.Chunk(ctx, i, buf[:0])
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(b, nil) {
				return
			}
			buf = b
		}
	}
}

// EncodedChunk returns chunk i as it is stored: a Blosc2 chunk. Of one that is
// not stored (zeros, NaNs, uninitialised) it is the 32 bytes that say so.
// Errors are those of Chunk.
func (s *SChunk) EncodedChunk(ctx context.Context, i int64) ([]byte, error) {
	var b []byte
	err := s.f.read(ctx, func(v *view) (err error) {
		if err = v.within(i); err == nil {
			b, err = v.encoded(ctx, i, s.f.o.Limits)
		}
		return err
	})
	return b, err
}

// Slice appends items [start, stop) to dst, decoding only the blocks that
// they lie in. Errors are those of Chunk.
func (s *SChunk) Slice(ctx context.Context, start, stop int64, dst []byte) ([]byte, error) {
	out := dst
	err := s.f.read(ctx, func(v *view) error {
		size := int64(v.TypeSize)
		if start < 0 || stop < start || stop > v.Size/size {
			return outOfRange("item", start, stop, v.Size/size)
		}
		out = room(dst, (stop-start)*size)
		return v.read(ctx, out[len(dst):], start*size, &s.f.head, s.f.o)
	})
	return out, err
}

// ReadBytes fills dst with the decoded bytes from off on. Errors are those of
// Chunk.
func (s *SChunk) ReadBytes(ctx context.Context, off int64, dst []byte) error {
	return s.f.read(ctx, func(v *view) error {
		if off < 0 || off > v.Size || int64(len(dst)) > v.Size-off {
			return outOfRange("byte", off, off+int64(len(dst)), v.Size)
		}
		return v.read(ctx, dst, off, &s.f.head, s.f.o)
	})
}

// Metalayers returns the names of the metalayers, in their order.
func (s *SChunk) Metalayers() []string {
	v, err := s.f.state()
	if err != nil {
		return nil
	}
	return names(v.meta)
}

// Metalayer returns a copy of a metalayer's bytes: ErrNotFound, ErrClosed.
func (s *SChunk) Metalayer(name string) ([]byte, error) {
	v, err := s.f.state()
	if err != nil {
		return nil, err
	}
	value, ok := find(v.meta, name)
	if !ok {
		return nil, fault.New(fault.ErrNotFound, "metalayer", name, "")
	}
	return append([]byte{}, value...), nil
}

// VLMeta returns the names of the variable-length metalayers, in their order,
// as they are now. Errors are those of Refresh.
func (s *SChunk) VLMeta(ctx context.Context) ([]string, error) {
	var list []string
	err := s.f.readKnown(ctx, func(v *view) error {
		list = names(v.vlmeta)
		return nil
	})
	return list, err
}

// HasVL reports whether there is a variable-length metalayer of that name now.
// Errors are those of Refresh.
func (s *SChunk) HasVL(ctx context.Context, name string) (ok bool, err error) {
	err = s.f.readKnown(ctx, func(v *view) error {
		_, ok = find(v.vlmeta, name)
		return nil
	})
	return ok, err
}

// VLValue decodes the value that a variable-length metalayer has now:
// ErrNotFound, ErrCorrupt, ErrLimit, ErrUnsupported, and those of Refresh. What
// python-blosc2 wrote is MessagePack: see VLObject.
func (s *SChunk) VLValue(ctx context.Context, name string) (value []byte, err error) {
	err = s.f.readKnown(ctx, func(v *view) (err error) {
		value, err = v.vlvalue(name, s.f.o)
		return err
	})
	return value, err
}

// VLObject is VLValue, read as MessagePack.
func (s *SChunk) VLObject(ctx context.Context, name string) (any, error) {
	b, err := s.VLValue(ctx, name)
	if err != nil {
		return nil, err
	}
	object, err := msgpack.Decode(b)
	if err != nil {
		err = s.f.about(&fault.Error{Format: "vlmeta", Item: name, Off: -1, Err: err})
	}
	return object, err
}

func (v *view) within(i int64) error {
	if i < 0 || i >= v.chunks {
		return fault.New(fault.ErrOutOfRange, "chunk", strconv.FormatInt(i, 10), "there are "+strconv.FormatInt(v.chunks, 10))
	}
	return nil
}

// decoded appends chunk i to dst.
func (v *view) decoded(ctx context.Context, i int64, dst []byte, o Options) ([]byte, error) {
	err := v.chunk(ctx, i, true, nil, o, func(c *blosc.Chunk) (err error) {
		if int64(c.Header().Size) > o.Limits.Chunk {
			return overLimit("a chunk of " + strconv.Itoa(c.Header().Size) + " bytes")
		}
		dst, err = c.Decode(dst)
		return err
	})
	return dst, err
}

func outOfRange(what string, start, stop, n int64) error {
	return fault.New(fault.ErrOutOfRange, what, strconv.FormatInt(start, 10)+":"+strconv.FormatInt(stop, 10), "there are "+strconv.FormatInt(n, 10))
}

// room appends n bytes of any content.
func room(dst []byte, n int64) []byte {
	if int64(cap(dst)-len(dst)) >= n {
		return dst[:len(dst)+int(n)]
	}
	return append(dst[:len(dst):len(dst)], make([]byte, n)...)
}
