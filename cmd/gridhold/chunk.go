package main

import (
	"context"
	"encoding/hex"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// writeChunk writes a chunk at its full shape. What of it lies outside the
// array is not the array's: it is written as the fill value, whatever is
// stored there.
func writeChunk(ctx context.Context, a array, w io.Writer, at []int64) error {
	d := a.shape()
	start, stop := make([]int64, len(at)), make([]int64, len(at))
	inside := true
	for i, n := range d.ChunkShape {
		start[i] = at[i] * n
		stop[i] = min(start[i]+n, d.Shape[i])
		inside = inside && stop[i]-start[i] == n
	}
	if inside {
		return stream(ctx, a, w, start, stop, inMemory)
	}
	size := volume(d.ItemSize, d.ChunkShape)
	if size > math.MaxInt32 {
		return fault.New(fault.ErrLimit, "chunk", index(at).String(), "an edge chunk of more than 2 GiB")
	}
	fill, err := hex.DecodeString(d.FillHex)
	if err != nil {
		return err
	}
	elements, err := a.region(ctx, start, stop)
	if err != nil {
		return err
	}
	whole := make([]byte, 0, size)
	whole = pad(whole, elements, fill, shapeOf(start, stop), d.ChunkShape)
	return writeAll(w, whole, nil)
}

// pad appends the elements of shape part to dst, filled up to shape whole.
func pad(dst, elements, fill []byte, part, whole []int64) []byte {
	if len(part) == 0 {
		return append(dst, elements...)
	}
	for i := range whole[0] {
		if i >= part[0] {
			return append(dst, slices.Repeat(fill, int(volume(whole[0]-i, whole[1:])))...)
		}
		n := int64(len(elements)) / part[0]
		dst = pad(dst, elements[i*n:(i+1)*n], fill, part[1:], whole[1:])
	}
	return dst
}

// chunkKey returns the key of a chunk. Zarr v3, "Chunk key encoding":
// https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html#chunk-key-encoding
func chunkKey(path string, d *description, at []int64) string {
	var names []string
	if d.ChunkKeyEncoding.Name == "default" {
		names = append(names, "c")
	} else if len(at) == 0 {
		names = append(names, "0")
	}
	for _, n := range at {
		names = append(names, strconv.FormatInt(n, 10))
	}
	key := strings.Join(names, d.ChunkKeyEncoding.Separator)
	if path != "" {
		key = path + "/" + key
	}
	return key
}

// copyObject writes a whole object, a piece at a time, all of one version.
func copyObject(ctx context.Context, st storage.Store, key string, w io.Writer) error {
	const piece = 8 << 20
	var version storage.Version
	for off := int64(0); ; off += piece {
		parts, info, err := st.ReadRanges(ctx, key, []storage.Range{{Off: off, Len: piece}}, version)
		if err != nil {
			return err
		}
		version = info.Version
		if err := writeAll(w, parts[0], nil); err != nil || len(parts[0]) < piece {
			return err
		}
	}
}
