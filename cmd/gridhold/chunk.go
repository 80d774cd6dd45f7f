package main

import (
	"context"
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
	start, shape := d.chunk(at)
	stop := make([]int64, len(at))
	for i := range at {
		stop[i] = min(start[i]+shape[i], d.Shape[i])
	}
	if slices.Equal(shapeOf(start, stop), shape) {
		return stream(ctx, a, w, start, stop, inMemory)
	}
	if d.bytes(shape) > math.MaxInt32 {
		return fault.New(fault.ErrLimit, "chunk", index(at).String(), "an edge chunk of more than 2 GiB")
	}
	fill, err := d.fill()
	if err != nil {
		return err
	}
	elements, err := a.region(ctx, start, stop)
	if err != nil {
		return err
	}
	p := padding{d, elements, fill, nil}
	p.pad(shapeOf(start, stop), shape)
	return writeAll(w, p.out, nil)
}

// padding copies elements of a smaller shape into a larger one.
type padding struct {
	*description
	elements []byte // not copied yet
	fill     []byte // what is put where there are none
	out      []byte
}

// pad appends elements of shape part to out, filled up to shape whole.
func (p *padding) pad(part, whole []int64) {
	if len(part) == 0 {
		n := p.element(p.elements)
		p.out = append(p.out, p.elements[:n]...)
		p.elements = p.elements[n:]
		return
	}
	for range part[0] {
		p.pad(part[1:], whole[1:])
	}
	p.out = append(p.out, slices.Repeat(p.fill, int(volume(whole[0]-part[0], whole[1:])))...)
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
