package zarr

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// largeIndex is the size from which on an index is read piece by piece, each
// of which is summed and checked while the processor still has it at hand.
const largeIndex, indexPiece = 256 << 10, 128 << 10

// stream reads a large index of the usual kind (little endian, CRC-32C) from
// a store that reads into memory of ours and tells cheaply how large an object
// is. It is not ok where that is not so, where the object changes meanwhile,
// or where anything is wrong with the index: who reads it at once says what.
func (x *ShardIndex) stream(ctx context.Context, ref shardRef, l layout) (ok bool, err error) {
	from := ref.from
	into, direct := from.store.(storage.BufferReader)
	_, cheap := from.store.(storage.Checker)
	_, shared := from.store.(storage.SharedReader)
	if l.indexSize < largeIndex || !direct || !cheap || shared || l.indexSize != 16*l.count+4 || !ref.codec.summed {
		return false, nil
	}
	began := from.trace.Now()
	_, info, err := into.ReadInto(ctx, from.key, 0, nil, from.version)
	size := info.Size
	if from.size >= 0 {
		size = from.size
	}
	lo, hi := ref.codec.within(l, size)
	if err != nil || info.Version == "" || size < l.indexSize || hi >= narrowEmpty {
		return false, nil
	}
	off := from.off
	if !ref.codec.atStart {
		off += size - l.indexSize
	}
	all := newEntries(l.count, hi)
	sum, err := readPieces(ctx, into, from.key, off, l.indexSize-4, info.Version, func(at int64, piece []byte) error {
		return all.fill(at/16, piece, lo, hi)
	})
	var stored [4]byte
	if err == nil {
		err = readWhole(ctx, into, from.key, off+l.indexSize-4, stored[:], info.Version)
	}
	if err == nil && binary.LittleEndian.Uint32(stored[:]) != sum {
		err = fault.ErrCorrupt
	}
	if err != nil {
		if errors.Is(err, fault.ErrCancelled) {
			return false, err
		}
		return false, nil
	}
	x.entries, x.info = all, info
	from.trace.Done(storage.Indexed, from.key, l.indexSize, began, nil)
	return true, nil
}

// readPieces hands n bytes from off of an object to each, piece by piece, and
// returns their CRC-32C.
func readPieces(ctx context.Context, from storage.BufferReader, key string, off, n int64, want storage.Version, each func(at int64, piece []byte) error) (sum uint32, err error) {
	p := scratch.Get().(*[]byte)
	defer scratch.Put(p)
	for at := int64(0); at < n; at += indexPiece {
		*p = buffer(*p, min(indexPiece, n-at))
		if err := readWhole(ctx, from, key, off+at, *p, want); err != nil {
			return 0, err
		}
		sum = storage.UpdateCRC(sum, *p)
		if err := each(at, *p); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// readWhole fills dst.
func readWhole(ctx context.Context, from storage.BufferReader, key string, off int64, dst []byte, want storage.Version) error {
	n, _, err := from.ReadInto(ctx, key, off, dst, want)
	if err == nil && n < len(dst) {
		err = fault.ErrStale
	}
	return err
}

// summed reports whether the stored bytes of a chunk are its elements and then
// their CRC-32C. What goes by the name of crc32c may be a caller's, or have
// the sum in front, so it is tried.
func (c *chain) summed() bool {
	if p, ok := c.serial.(plain); !ok || p.swap || len(c.arrays) > 0 || len(c.bytes) != 1 || c.bytes[0].Name() != "crc32c" {
		return false
	}
	const text = "what is summed"
	b := binary.LittleEndian.AppendUint32([]byte(text), storage.UpdateCRC(0, []byte(text)))
	out, err := c.bytes[0].Decode(context.Background(), nil, b, len(text))
	return err == nil && string(out) == text
}
