package blosc2

import (
	"bytes"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
)

// again keeps the block that was read last, decoded, once a part of it was
// asked for twice in a row: whoever reads row by row has the next one there.
//
// It cannot be out of date, whatever other processes do to the file: each time
// the packed bytes are read anew, and compared with those that the block was
// decoded from, as is the header of the chunk. Nothing else goes into what
// such a block decodes to.
type again struct {
	mu     sync.Mutex
	chunk  int64
	number int // of the block in the chunk
	header blosc.Header
	packed []byte
	plain  []byte // nil: it was asked for once
	fresh  []byte // room for packed bytes, before they are compared
}

// mostKept is the largest block that is kept, in bytes.
const mostKept = 4 << 20

// block returns block i of a chunk, of which part bytes are asked for, until
// unlock is called; nil where it is better decoded in part, or that failed.
func (k *again) block(c *blosc.Chunk, chunk int64, i int, part int64) (plain []byte, unlock func()) {
	h := c.Header()
	if k == nil || !c.Alone() || part >= int64(h.BlockSize) || h.BlockSize > mostKept || !k.mu.TryLock() {
		return nil, nil
	}
	defer func() {
		if plain == nil { // also after a fault, where the bytes are mapped
			k.plain = nil
			k.mu.Unlock()
		}
	}()
	if k.chunk != chunk || k.number != i || k.header != h {
		k.chunk, k.number, k.header = chunk, i, h
		return nil, nil
	}
	packed, err := c.PackedBlock(i, &k.fresh)
	if err == nil && (k.plain == nil || !bytes.Equal(packed, k.packed)) {
		k.packed = append(k.packed[:0], packed...)
		k.plain, err = c.UnpackBlock(i, k.packed, k.plain[:0])
	}
	if err != nil {
		return nil, nil
	}
	return k.plain, k.mu.Unlock
}
