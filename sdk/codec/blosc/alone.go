package blosc

import (
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// Alone reports whether what each block decodes to depends on nothing but the
// header and the block's own bytes: not on a dictionary, nor on block 0.
func (c *Chunk) Alone() bool {
	return c.h.packed() && c.h.Variable == 0 && !c.h.Dictionary && !c.delta()
}

// PackedBlock returns the bytes that UnpackBlock decodes block i from, and
// perhaps some after them: in *buf, which may be replaced by a larger one, or
// where they are in the bytes that Open was given. It panics if i is not in [0, Blocks()), or the
// chunk has no packed blocks; see Alone. Errors are those of Decode.
func (c *Chunk) PackedBlock(i int, buf *[]byte) ([]byte, error) {
	c.mustHave(i)
	start, err := c.start(i)
	if err != nil {
		return nil, blockError(i, err)
	}
	return c.src.bytes(start, c.bound(i)-start, buf)
}

// UnpackBlock appends block i to dst, decoded from what PackedBlock returned.
// It panics as PackedBlock does. Errors are those of Decode.
func (c *Chunk) UnpackBlock(i int, packed, dst []byte) ([]byte, error) {
	c.mustHave(i)
	n := c.h.blockLen(i)
	out := block.Room(dst, n)[:len(dst)+n]
	s := scratches.Get().(*scratch)
	defer s.release()
	if err := c.unpackInto(out[len(dst):], packed, i, s); err != nil {
		return nil, blockError(i, err)
	}
	return out, nil
}

func (c *Chunk) mustHave(i int) {
	if !c.Alone() || i < 0 || i >= c.h.Blocks() {
		panic("blosc: no packed block " + strconv.Itoa(i))
	}
}
