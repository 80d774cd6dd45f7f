package plugin

import (
	"context"

	"github.com/gridhold/gridhold/sdk/storage"
)

// ReadRanges implements [storage.Store].
func (a *Array) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	none := storage.ObjectInfo{Size: -1}
	if err := storage.CheckRead(ctx, key, rs); err != nil {
		return nil, none, err
	}
	if key == "zarr.json" {
		out := make([][]byte, len(rs))
		for i, r := range rs {
			off, n := r.Resolve(int64(len(a.text)))
			out[i] = append([]byte{}, a.text[off:off+n]...)
		}
		return out, storage.ObjectInfo{Size: int64(len(a.text)), Version: a.source.version}, nil
	}
	c, err := a.locate(ctx, key)
	if err != nil {
		return nil, none, err
	}
	if want == "" {
		want = c.version
	}
	var pieces []storage.Range
	counts := make([]int, len(rs))
	for i, r := range rs {
		found := c.pieces(r)
		counts[i] = len(found)
		pieces = append(pieces, found...)
	}
	read, info, err := a.source.store.ReadRanges(ctx, c.key, pieces, want)
	if err != nil {
		return nil, none, gone(key, err)
	}
	out := make([][]byte, len(rs))
	for i, n := range counts {
		out[i] = join(read[:n], pieces[:n])
		read, pieces = read[n:], pieces[n:]
	}
	return out, storage.ObjectInfo{Size: c.size, Version: info.Version}, nil
}

// ReadInto implements [storage.BufferReader].
func (a *Array) ReadInto(ctx context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	r, err := storage.IntoRange(key, off, dst)
	if err != nil {
		return 0, storage.ObjectInfo{Size: -1}, err
	}
	bs, info, err := a.ReadRanges(ctx, key, []storage.Range{r}, want)
	if err != nil {
		return 0, info, err
	}
	return copy(dst, bs[0]), info, nil
}

// pieces are the ranges of the object that a range of the chunk is made of;
// at least one, so that the object is asked for in any case.
func (c chunk) pieces(r storage.Range) []storage.Range {
	off, n := r.Resolve(c.size)
	var out []storage.Range
	for _, p := range c.ranges {
		if n == 0 {
			break
		}
		if off >= p.Len {
			off -= p.Len
			continue
		}
		take := min(p.Len-off, n)
		out = append(out, storage.Range{Off: p.Off + off, Len: take})
		off, n = 0, n-take
	}
	if out == nil {
		return []storage.Range{{Off: c.ranges[0].Off, Len: 0}}
	}
	return out
}

// join puts pieces together, up to the first one that is short.
func join(read [][]byte, pieces []storage.Range) []byte {
	if len(read) == 1 {
		return read[0]
	}
	var out []byte
	for i, b := range read {
		out = append(out, b...)
		if int64(len(b)) < pieces[i].Len {
			break
		}
	}
	return out
}
