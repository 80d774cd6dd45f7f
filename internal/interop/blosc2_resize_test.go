package interop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
)

// grid is an array that is changed by turns, and its items.
type grid struct {
	frame
	r     *rand.Rand
	shape []int64
	items []byte
	// shrunk: what was cut off inside of chunks is still there. We clear it when
	// the array grows over it, the peer does not.
	shrunk bool
	log    []string
}

func newGrid(t *testing.T, seed uint64) *grid {
	g := &grid{r: rand.New(rand.NewPCG(seed, 8))}
	axes := int(seed % 6)
	shape, chunks, blocks := make([]int64, axes), make([]int64, axes), make([]int64, axes)
	for i := range axes {
		shape[i] = 1 + g.r.Int64N(min(2000, []int64{0, 500, 40, 14, 8, 6}[axes]))
		chunks[i] = 1 + g.r.Int64N(shape[i])
		blocks[i] = 1 + g.r.Int64N(chunks[i])
	}
	g.frame = arrayOf(g.r, t, dtypes[seed%18], shape, chunks, blocks)
	g.settings.Codec, g.settings.Level, g.settings.Filters = blosc2Codecs[seed%5], 5, pipelines[seed%2].filters
	g.Name, g.params, g.Sparse = folder(int(seed)), asParams(g.settings), seed%4 > 1
	g.shape, g.items = shape, slices.Clone(g.Data)
	return g
}

// places gives where in items the places of a box are, in C order.
func places(shape []int64, spans [][3]int64) []int64 {
	at := []int64{0}
	for axis, n := range shape {
		var next []int64
		for _, a := range at {
			s := spans[axis]
			for i := s[0]; s[2] > 0 && i < s[1] || s[2] < 0 && i > s[1]; i += s[2] {
				next = append(next, a*n+i)
			}
		}
		at = next
	}
	return at
}

// slice assigns to a part, every item of it or some of them.
func (g *grid) slice() op {
	spans := [][3]int64{}
	for _, n := range g.shape {
		start := g.r.Int64N(n)
		s := [3]int64{start, start + 1 + g.r.Int64N(n-start), 1}
		if g.r.IntN(4) == 0 {
			s[2] = 1 + g.r.Int64N(3)
		}
		spans = append(spans, s)
	}
	return g.assign(spans)
}

// assign gives the items that the spans select other values.
func (g *grid) assign(spans [][3]int64) op {
	o := op{Do: "slice", Spans: spans}
	at := places(g.shape, o.Spans)
	o.Data = items(g.r, g.r.IntN(6), g.TypeSize, len(at)*g.TypeSize)
	if g.DType == "|b1" {
		for i := range o.Data {
			o.Data[i] &= 1
		}
	}
	for k, i := range at {
		copy(g.items[int(i)*g.TypeSize:], o.Data[k*g.TypeSize:(k+1)*g.TypeSize])
	}
	return o
}

// resize gives the array other sides.
func (g *grid) resize(theirs bool) op {
	shape := slices.Clone(g.shape)
	grow := g.r.IntN(3) > 0
	if theirs && g.shrunk {
		grow = false
	}
	for i, n := range shape {
		shape[i] = 1 + g.r.Int64N(n)
		if grow {
			shape[i] = n + g.r.Int64N(1+g.ChunkShape[i])
		}
	}
	g.shrunk = g.shrunk || !grow
	g.become(shape)
	return op{Do: "resize", Shape: shape}
}

// extend adds items at the end of an axis.
func (g *grid) extend() op {
	axis := g.r.IntN(len(g.shape))
	spans := [][3]int64{}
	for _, n := range g.shape {
		spans = append(spans, [3]int64{0, n, 1})
	}
	shape := slices.Clone(g.shape)
	shape[axis] += 1 + g.r.Int64N(g.ChunkShape[axis])
	spans[axis] = [3]int64{g.shape[axis], shape[axis], 1}
	g.become(shape)
	o := g.assign(spans)
	o.Do, o.Chunk = "extend", axis
	return o
}

// become is what resizing does: what is new is zero.
func (g *grid) become(shape []int64) {
	count := int64(1)
	common := [][3]int64{}
	for i, n := range shape {
		count *= n
		common = append(common, [3]int64{0, min(n, g.shape[i]), 1})
	}
	next := make([]byte, int(count)*g.TypeSize)
	from, to := places(g.shape, common), places(shape, common)
	for k := range from {
		copy(next[int(to[k])*g.TypeSize:][:g.TypeSize], g.items[int(from[k])*g.TypeSize:])
	}
	g.shape, g.items = shape, next
}

// turn is some changes by one side.
func (g *grid) turn(theirs bool) changes {
	ch := changes{Name: g.Name}
	for range 1 + g.r.IntN(4) {
		var o op
		switch k := g.r.IntN(6); {
		case k < 2 && len(g.shape) > 0:
			o = g.resize(theirs)
		case k == 2 && len(g.shape) > 0 && !theirs:
			o = g.extend()
		default:
			o = g.slice()
		}
		ch.Ops = append(ch.Ops, o)
		g.log = append(g.log, fmt.Sprintf("theirs %v: %s %v %v", theirs, o.Do, o.Spans, o.Shape))
	}
	return ch
}

func (g *grid) holds() state {
	s := g.frame.want()
	s.Shape, s.Data = g.shape, digest(g.items)
	return s
}

func checkGrids(t *testing.T, p *peer, dir string, fs storage.FS, grids []*grid) {
	t.Helper()
	for i, theirs := range p.jobs(t, "read", dir, named(len(grids))) {
		label := fmt.Sprintf("%s, sparse %v: %v", grids[i].label, grids[i].Sparse, grids[i].log)
		same(t, grids[i].holds(), theirs, "read there: "+label)
		same(t, grids[i].holds(), look(t, fs, grids[i].Name), "read here: "+label)
	}
}

// Arrays are made by one side, then assigned to and resized by both in turn.
func TestBlosc2ArraysByTurns(t *testing.T) {
	p := pythonBlosc2(t)
	for _, theirs := range []bool{false, true} {
		dir, fs := folderFS(t)
		var grids []*grid
		var jobs []frame
		for seed := range uint64(48) {
			g := newGrid(t, seed)
			grids, jobs = append(grids, g), append(jobs, g.frame)
		}
		side := theirs
		if theirs {
			for i, said := range p.jobs(t, "write", dir, jobs) {
				require.Empty(t, said.Refused, grids[i].label)
			}
		} else {
			for i := range jobs {
				require.NoError(t, jobs[i].make(t.Context(), fs), grids[i].label)
			}
		}
		for range 4 {
			side = !side
			var turns []changes
			for _, g := range grids {
				turns = append(turns, g.turn(side))
			}
			if side {
				for i, said := range p.jobs(t, "change", dir, turns) {
					require.Empty(t, said.Refused, "%s: %v", grids[i].label, grids[i].log)
				}
			} else {
				for i := range turns {
					require.NoError(t, turns[i].change(t.Context(), fs), "%s: %v", grids[i].label, grids[i].log)
				}
			}
			checkGrids(t, p, dir, fs, grids)
		}
	}
}
