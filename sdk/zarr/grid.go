package zarr

import (
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// grid says where along each axis the chunks lie.
type grid interface {
	// shape counts the chunks per axis.
	shape() []int64
	// chunkShape is the shape of chunk idx as it is stored, at the array's
	// edge too.
	chunkShape(idx []int64) []int64
	// origin is the first element of chunk i along an axis.
	origin(axis int, i int64) int64
	// find is the chunk that holds element x along an axis.
	find(axis int, x int64) int64
	// edges are the lengths that chunks have along an axis.
	edges(axis int) []int64
	// largest is a shape that no chunk exceeds along any axis.
	largest() []int64
}

// regular is a grid of equal chunks. Chunks at the edge are stored whole.
type regular struct{ counts, chunk []int64 }

func (g regular) shape() []int64                 { return g.counts }
func (g regular) chunkShape([]int64) []int64     { return g.chunk }
func (g regular) largest() []int64               { return g.chunk }
func (g regular) edges(axis int) []int64         { return g.chunk[axis : axis+1] }
func (g regular) origin(axis int, i int64) int64 { return i * g.chunk[axis] }
func (g regular) find(axis int, x int64) int64   { return x / g.chunk[axis] }

func parseGrid(raw []byte, shape []int64) (grid, error) {
	e, err := parseExtension("chunk_grid", raw)
	if err != nil {
		return nil, err
	}
	switch e.name {
	case "regular":
		return parseRegular(e, shape)
	case "rectilinear":
		return parseRectilinear(e, shape)
	}
	return nil, fault.New(fault.ErrUnsupported, "metadata", "chunk_grid", "unknown grid "+strconv.Quote(e.name))
}

func parseRegular(e extension, shape []int64) (grid, error) {
	if err := e.only("chunk_grid", "chunk_shape"); err != nil {
		return nil, err
	}
	chunk, err := sizes("chunk_grid.chunk_shape", e.config["chunk_shape"], 1)
	if err != nil {
		return nil, err
	}
	if err := sameAxes("chunk_grid.chunk_shape", len(chunk), shape); err != nil {
		return nil, err
	}
	return regular{gridShape(shape, chunk), chunk}, nil
}

func sameAxes(field string, n int, shape []int64) error {
	if n != len(shape) {
		return malformed(field, "has "+itoa(int64(n))+" axes, the array "+itoa(int64(len(shape))))
	}
	return nil
}
