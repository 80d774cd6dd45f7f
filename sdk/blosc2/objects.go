package blosc2

import (
	"context"

	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// Objects returns the objects of chunk i, as package msgpack has them: one of
// an "objectarray", those of a batch of a "batcharray". ErrInvalid for other
// frames; otherwise the errors of Chunk.
func (s *SChunk) Objects(ctx context.Context, i int64) ([]any, error) {
	kind := s.Kind()
	if kind != "objectarray" && kind != "batcharray" {
		return nil, fault.New(fault.ErrInvalid, "objects", "", "a "+kind+" holds none")
	}
	var objects []any
	err := s.f.read(ctx, func(v *view) error {
		objects = nil
		if err := v.within(i); err != nil {
			return err
		}
		return v.chunk(ctx, i, true, nil, s.f.o, func(c *blosc.Chunk) error {
			if int64(c.Header().Size) > s.f.o.Limits.Chunk {
				return overLimit("a chunk of objects")
			}
			if kind == "objectarray" {
				return appendObject(&objects, c.Decode, false)
			}
			for k := range c.Blocks() {
				decode := func(dst []byte) ([]byte, error) { return c.DecodeBlock(k, dst) }
				if err := appendObject(&objects, decode, true); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return objects, err
}

// appendObject decodes an object, or a list of them.
func appendObject(objects *[]any, decode func(dst []byte) ([]byte, error), list bool) error {
	b, err := decode(nil)
	if err != nil {
		return err
	}
	object, err := msgpack.Decode(b)
	if err != nil {
		return err
	}
	if !list {
		*objects = append(*objects, object)
		return nil
	}
	items, ok := object.([]any)
	if !ok {
		return fault.New(fault.ErrCorrupt, "objects", "", "a block that holds no list")
	}
	*objects = append(*objects, items...)
	return nil
}
