package zarr

import (
	"encoding/json"
	"sort"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// rectilinear is a grid whose chunks have lengths of their own along each
// axis.
//
// https://github.com/zarr-developers/zarr-extensions/tree/main/chunk-grids/rectilinear
type rectilinear struct {
	counts  []int64
	origins [][]int64 // per axis the first element of each chunk, and the end of the last
	longest []int64   // per axis the longest chunk that was named, also where none lies within the array
}

// maxEdges bounds the chunks along one axis of a rectilinear grid, which are
// kept one by one.
const maxEdges = 1 << 20

func (g rectilinear) shape() []int64 { return g.counts }

func (g rectilinear) chunkShape(idx []int64) []int64 {
	s := make([]int64, len(idx))
	for i, x := range idx {
		s[i] = g.origins[i][x+1] - g.origins[i][x]
	}
	return s
}

func (g rectilinear) origin(axis int, i int64) int64 { return g.origins[axis][i] }

func (g rectilinear) find(axis int, x int64) int64 {
	o := g.origins[axis]
	return int64(sort.Search(len(o)-1, func(i int) bool { return o[i+1] > x }))
}

func (g rectilinear) edges(axis int) []int64 {
	o := g.origins[axis]
	var out []int64
	seen := map[int64]bool{}
	for i := 1; i < len(o); i++ {
		if n := o[i] - o[i-1]; !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// runs are the lengths of the chunks along each axis, in order: a length, and
// how many chunks beside each other have it.
func (g rectilinear) runs() [][][2]int64 {
	out := make([][][2]int64, len(g.origins))
	for axis, o := range g.origins {
		out[axis] = [][2]int64{}
		for i := 1; i < len(o); i++ {
			n := o[i] - o[i-1]
			if last := len(out[axis]) - 1; last >= 0 && out[axis][last][0] == n {
				out[axis][last][1]++
				continue
			}
			out[axis] = append(out[axis], [2]int64{n, 1})
		}
	}
	return out
}

func (g rectilinear) largest() []int64 {
	s := make([]int64, len(g.counts))
	for axis := range s {
		for _, n := range g.edges(axis) {
			s[axis] = max(s[axis], n)
		}
		if s[axis] == 0 { // no chunk lies within the array
			s[axis] = g.longest[axis]
		}
	}
	return s
}

func parseRectilinear(e extension, shape []int64) (grid, error) {
	const field = "chunk_grid.chunk_shapes"
	if err := e.only("chunk_grid", "kind", "chunk_shapes"); err != nil {
		return nil, err
	}
	if kind, err := text("chunk_grid.kind", e.config["kind"]); err != nil {
		return nil, err
	} else if kind != "inline" {
		return nil, fault.New(fault.ErrUnsupported, "metadata", "chunk_grid.kind", "unknown kind "+strconv.Quote(kind))
	}
	axes, err := list(field, e.config["chunk_shapes"])
	if err != nil {
		return nil, err
	}
	if err := sameAxes(field, len(axes), shape); err != nil {
		return nil, err
	}
	g := rectilinear{counts: make([]int64, len(shape)), origins: make([][]int64, len(shape)), longest: make([]int64, len(shape))}
	for i, raw := range axes {
		at := field + "[" + itoa(int64(i)) + "]"
		p := edgeParser{field: at, length: shape[i], origins: []int64{0}, longest: 1}
		if err := p.axis(raw); err != nil {
			return nil, err
		}
		g.origins[i], g.counts[i], g.longest[i] = p.origins, int64(len(p.origins)-1), p.longest
	}
	return g, nil
}

// edgeParser lays chunks out along one axis.
type edgeParser struct {
	field   string
	length  int64 // of the axis
	origins []int64
	longest int64
}

// axis reads a length that repeats until the axis is covered, or a list of
// lengths and [length, count] pairs. Chunks that begin beyond the axis are
// none.
func (p *edgeParser) axis(raw json.RawMessage) error {
	if n, err := integer(p.field, raw); err == nil {
		if n < 1 {
			return malformed(p.field, itoa(n)+" is less than 1")
		}
		return p.add(n, max(1, p.length)) // as many as there can be
	}
	l, err := list(p.field, raw)
	if err != nil {
		return err
	}
	for _, item := range l {
		if n, err := integer(p.field, item); err == nil {
			if err := p.add(n, 1); err != nil {
				return err
			}
			continue
		}
		run, err := sizes(p.field, item, 1)
		if err != nil {
			return err
		}
		if len(run) != 2 {
			return malformed(p.field, brief(item)+" is neither a length nor a length and a count")
		}
		if err := p.add(run[0], run[1]); err != nil {
			return err
		}
	}
	if end := p.origins[len(p.origins)-1]; end < p.length {
		return malformed(p.field, "the chunks end at "+itoa(end)+", the axis at "+itoa(p.length))
	}
	return nil
}

func (p *edgeParser) add(n, count int64) error {
	if n < 1 {
		return malformed(p.field, itoa(n)+" is less than 1")
	}
	p.longest = max(p.longest, n)
	for range count {
		end := p.origins[len(p.origins)-1]
		if end >= p.length {
			return nil
		}
		if len(p.origins) > maxEdges || end > 1<<62-n {
			return fault.New(fault.ErrLimit, "metadata", p.field, "more than "+itoa(maxEdges)+" chunks along one axis")
		}
		p.origins = append(p.origins, end+n)
	}
	return nil
}
