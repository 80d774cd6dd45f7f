package codec

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/fault"
)

// lz4 is the decoded size (uint32, little endian) and one LZ4 block.
type lz4 struct{ named }

func (lz4) Copies() bool { return true }

func (c lz4) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	if len(src) < 4 {
		return nil, c.corrupt("too short for a size")
	}
	size := binary.LittleEndian.Uint32(src)
	if uint64(size) > uint64(limit) {
		return nil, block.OverLimit(c.Name(), limit)
	}
	// A byte of a block makes at most 255: refuse what lies before it costs.
	if uint64(size) > 255*uint64(len(src)) {
		return nil, c.corrupt("states more than its block can hold")
	}
	end := len(dst) + int(size)
	out := block.Room(dst, int(size))[:end]
	n, err := block.FillLZ4(out[len(dst):], src[4:])
	if err == nil && n != int(size) {
		err = c.corrupt("decodes to less than the size it states")
	}
	return out, err
}

func (c lz4) Encode(dst, src []byte) ([]byte, error) {
	if len(src) > math.MaxInt32 {
		return nil, fault.New(fault.ErrLimit, c.Name(), "", "more than 2 GiB in one block")
	}
	return block.AppendLZ4(binary.LittleEndian.AppendUint32(dst, uint32(len(src))), src), nil
}

func (lz4) EncodedSize(n int64) (int64, bool) { return 4 + block.LZ4Bound(n), false }
