package main

import (
	"encoding/binary"
	"encoding/hex"
	"math"
)

// description is what the command needs of the description of an array.
type description struct {
	Shape             []int64      `json:"shape"`
	ChunkShape        []int64      `json:"chunk_shape"` // nil where chunks differ
	ChunkEdges        [][][2]int64 `json:"chunk_edges"` // where they do: per axis [length, count] of neighbours
	ChunkGridShape    []int64      `json:"chunk_grid_shape"`
	DataType          string       `json:"data_type"`
	ItemSize          int64        `json:"item_size"` // 0: elements of any length, each written behind its own as a uint32
	FillHex           string       `json:"fill_hex"`
	SubchunkShape     []int64      `json:"effective_subchunk_shape"` // nil where chunks differ and have no subchunks
	SubchunkGridShape []int64      `json:"subchunk_grid_shape"`
	ChunkKeyEncoding  struct {
		Name      string `json:"name"`
		Separator string `json:"separator"`
	} `json:"chunk_key_encoding"`
}

// chunk returns the first element of a chunk, and its full shape.
func (d *description) chunk(at []int64) (start, shape []int64) {
	start, shape = make([]int64, len(at)), make([]int64, len(at))
	for axis, i := range at {
		runs := [][2]int64{{0, math.MaxInt64}}
		if d.ChunkEdges != nil {
			runs = d.ChunkEdges[axis]
		} else {
			runs[0][0] = d.ChunkShape[axis]
		}
		for _, run := range runs {
			shape[axis] = run[0]
			n := min(i, run[1])
			start[axis] += n * run[0]
			if i -= n; n < run[1] {
				break
			}
		}
	}
	return start, shape
}

// subchunk returns the full shape of a subchunk. Of an array that is not
// sharded, that is a chunk.
func (d *description) subchunk(at []int64) []int64 {
	if d.SubchunkShape != nil {
		return d.SubchunkShape
	}
	_, shape := d.chunk(at)
	return shape
}

// bytes returns about how many bytes elements of a shape are, or the largest
// number there is.
func (d *description) bytes(shape []int64) int64 {
	if d.ItemSize == 0 {
		return volume(64, shape) // a guess: texts are short, mostly
	}
	return volume(d.ItemSize, shape)
}

// element returns how long the first of some elements is.
func (d *description) element(elements []byte) int {
	if d.ItemSize == 0 {
		return 4 + int(binary.LittleEndian.Uint32(elements))
	}
	return int(d.ItemSize)
}

// fill returns the fill value as one element.
func (d *description) fill() ([]byte, error) {
	fill, err := hex.DecodeString(d.FillHex)
	if d.ItemSize == 0 {
		fill = append(binary.LittleEndian.AppendUint32(nil, uint32(len(fill))), fill...)
	}
	return fill, err
}

// volume returns item times the extents of a shape, or the largest number
// there is.
func volume(item int64, shape []int64) int64 {
	for _, n := range shape {
		if n > 0 && item > math.MaxInt64/n {
			return math.MaxInt64
		}
		item *= n
	}
	return item
}
