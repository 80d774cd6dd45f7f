package zarr_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// An array is written to by two processes, regions and subchunks and shards at
// a time, while requests fail, answers are lost, processes die, and each meets
// what the other does in the middle of it. Whatever was written is there; of
// what failed, each shard is as it was or as it was to be.

const (
	mostRows, mostColumns = 14, 11
	unwritten             = 9 // the fill value
)

// canvas is what an array may hold: by element, the values that it may have.
// nil: any, because it lay outside for a while.
type canvas [mostRows][mostColumns][]uint16

type painter struct {
	ports *faultfs.Faults
	plan  faultfs.Plan
	array *zarr.Array
	cache *zarr.ShardCache
}

type studio struct {
	ctx      context.Context
	store    *storage.Memory
	spec     zarr.ArraySpec
	rows     int64
	columns  int64
	want     canvas
	painters [2]*painter
	value    uint16
}

func (w *studio) open(t *rapid.T, p *painter) {
	if p.ports == nil || p.ports.Dead() {
		p.ports = faultfs.New(func(op faultfs.Op) faultfs.Fault {
			if p.plan == nil {
				return faultfs.Fault{}
			}
			return p.plan(op)
		})
	}
	var err error
	if p.array, err = zarr.OpenArray(w.ctx, p.ports.Store(w.store), "a", zarr.Options{}); err != nil {
		t.Fatalf("opening it: %v", err)
	}
	p.cache = p.array.ShardCache(zarr.CacheOptions{})
}

// box is a part of the array, and does what to it.
type box struct {
	what           string
	y0, x0, y1, x1 int64
	value          func(y, x int64) uint16
	do             func(p *painter) error
}

// draw draws something to do to a part of the array.
func (w *studio) draw(t *rapid.T) box {
	rows, columns := w.spec.ChunkShape[0], w.spec.ChunkShape[1]
	w.value += 100
	base := w.value
	if rapid.IntRange(0, 3).Draw(t, "back to nothing") == 0 {
		base = unwritten
	}
	b := box{value: func(y, x int64) uint16 {
		if base == unwritten {
			return base
		}
		return base + uint16(y*mostColumns+x)%90
	}}
	data := func(y0, x0, y1, x1 int64) (all []byte) {
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				all = binary.LittleEndian.AppendUint16(all, b.value(y, x))
			}
		}
		return all
	}
	what := rapid.SampledFrom([]string{"region", "region", "subchunk", "shard", "erase"}).Draw(t, "what")
	switch what {
	case "region":
		b.y0, b.x0 = rapid.Int64Range(0, w.rows-1).Draw(t, "y"), rapid.Int64Range(0, w.columns-1).Draw(t, "x")
		b.y1, b.x1 = rapid.Int64Range(b.y0+1, w.rows).Draw(t, "to y"), rapid.Int64Range(b.x0+1, w.columns).Draw(t, "to x")
		b.do = func(p *painter) error {
			return p.array.StoreRegion(w.ctx, at(b.y0, b.x0), at(b.y1, b.x1), data(b.y0, b.x0, b.y1, b.x1))
		}
	case "subchunk":
		rows, columns = w.spec.SubchunkShape[0], w.spec.SubchunkShape[1]
		fallthrough
	case "shard", "erase":
		i, k := rapid.Int64Range(0, (w.rows-1)/rows).Draw(t, "i"), rapid.Int64Range(0, (w.columns-1)/columns).Draw(t, "k")
		b.y0, b.x0, b.y1, b.x1 = i*rows, k*columns, (i+1)*rows, (k+1)*columns
		all := data(b.y0, b.x0, b.y1, b.x1)
		b.do = func(p *painter) error {
			switch what {
			case "subchunk":
				return p.array.StoreSubchunk(w.ctx, at(i, k), all)
			case "shard":
				return p.array.StoreChunk(w.ctx, at(i, k), all)
			}
			return p.array.EraseChunk(w.ctx, at(i, k))
		}
		if what == "erase" {
			base = unwritten
		}
	}
	b.what = fmt.Sprintf("%s %d:%d,%d:%d = %d", what, b.y0, b.y1, b.x0, b.x1, base)
	return b
}

// paint notes what a part may hold from now on: also what it did before, if it
// is not certain that it was done.
func (w *studio) paint(b box, certain bool) {
	for y := b.y0; y < min(b.y1, w.rows); y++ {
		for x := b.x0; x < min(b.x1, w.columns); x++ {
			may := &w.want[y][x]
			switch {
			case certain:
				*may = []uint16{b.value(y, x)}
			case *may != nil:
				*may = append(slices.Clone(*may), b.value(y, x))
			}
		}
	}
	w.beyond()
}

// beyond notes that anything may be outside the array.
func (w *studio) beyond() {
	for y := range int64(mostRows) {
		for x := range int64(mostColumns) {
			if y >= w.rows || x >= w.columns {
				w.want[y][x] = nil
			}
		}
	}
}

// writes has one process do something, and something go wrong with it.
func (w *studio) writes(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "by")
	p, other := w.painters[i], w.painters[1-i]
	b := w.draw(t)
	n := rapid.IntRange(0, 8).Draw(t, "after")
	requests := []faultfs.Kind{faultfs.Get, faultfs.Put, faultfs.Delete}
	done := rapid.SampledFrom([]int64{0, faultfs.Whole}).Draw(t, "done")
	kind := rapid.SampledFrom([]string{"", "", "meanwhile", "meanwhile", "kill", "EIO", "ENOSPC", "ESTALE"}).Draw(t, "mishap")
	before := w.want
	var inBetween *box
	switch kind {
	case "":
	case "meanwhile":
		p.plan = faultfs.Nth(n, faultfs.Fault{Before: func() {
			b := w.draw(t)
			inBetween = &b
			t.Logf("meanwhile %s", b.what)
			if err := b.do(other); err != nil {
				t.Fatalf("meanwhile %s: %v", b.what, err)
			}
		}}, requests...)
	case "kill":
		p.plan = faultfs.Nth(n, faultfs.Fault{Kill: true, Done: done}, requests...)
	default:
		p.plan = faultfs.Nth(n, faultfs.Fault{Err: faultfs.Errno(kind), Done: done}, requests...)
	}
	err := b.do(p)
	p.plan = nil
	t.Logf("%s: %v", b.what, err)
	if err != nil && (kind == "" || kind == "meanwhile") {
		t.Fatalf("%s: %v", b.what, err)
	}
	w.paint(b, err == nil)
	if inBetween != nil {
		// Who was later at an element that both wrote depends on where it was.
		w.want = before
		w.paint(*inBetween, true)
		first := w.want
		w.paint(b, true)
		for y := max(b.y0, inBetween.y0); y < min(b.y1, inBetween.y1, w.rows); y++ {
			for x := max(b.x0, inBetween.x0); x < min(b.x1, inBetween.x1, w.columns); x++ {
				w.want[y][x] = append(w.want[y][x], first[y][x]...)
			}
		}
	}
	if p.ports.Dead() {
		w.open(t, p)
	}
	w.agree(t, err != nil, before, b)
}

// agree reads all of the array in several ways, and takes what it finds for
// what is there. failed: the shards of b are as before, or as they were to be.
func (w *studio) agree(t *rapid.T, failed bool, before canvas, b box) {
	a, err := zarr.OpenArray(w.ctx, w.store, "a", zarr.Options{})
	if err != nil {
		t.Fatalf("opening it: %v", err)
	}
	got, err := a.RetrieveRegion(w.ctx, at(0, 0), at(w.rows, w.columns), zarr.ReadOptions{})
	if err != nil {
		t.Fatalf("reading it: %v", err)
	}
	element := func(y, x int64) uint16 { return binary.LittleEndian.Uint16(got[2*(y*w.columns+x):]) }
	for y := range w.rows {
		for x := range w.columns {
			if may := w.want[y][x]; may != nil && !slices.Contains(may, element(y, x)) {
				t.Fatalf("at %d,%d: %d, want one of %d", y, x, element(y, x), may)
			}
		}
	}
	for i := int64(0); failed && i < w.rows; i += w.spec.ChunkShape[0] {
		for k := int64(0); k < w.columns; k += w.spec.ChunkShape[1] {
			old, next := true, true
			for y := max(i, b.y0); y < min(i+w.spec.ChunkShape[0], b.y1, w.rows); y++ {
				for x := max(k, b.x0); x < min(k+w.spec.ChunkShape[1], b.x1, w.columns); x++ {
					old = old && (before[y][x] == nil || slices.Contains(before[y][x], element(y, x)))
					next = next && element(y, x) == b.value(y, x)
				}
			}
			if !old && !next {
				t.Fatalf("of the shard at %d,%d a part was written", i, k)
			}
		}
	}
	for y := range w.rows {
		for x := range w.columns {
			w.want[y][x] = []uint16{element(y, x)}
		}
	}
	for i, p := range w.painters {
		for _, o := range []zarr.ReadOptions{{}, {Cache: p.cache}} {
			theirs, err := p.array.RetrieveRegion(w.ctx, at(0, 0), at(w.rows, w.columns), o)
			if err != nil || string(theirs) != string(got) {
				t.Fatalf("process %d, cache %v, reads something else: %v", i, o.Cache != nil, err)
			}
		}
	}
	if _, err := zarr.Verify(w.ctx, w.store, "a", zarr.Options{}, func(d zarr.Damage) { t.Fatalf("damage: %+v", d) }); err != nil {
		t.Fatalf("verifying: %v", err)
	}
}

func (w *studio) resizes(t *rapid.T) {
	rows, columns := rapid.Int64Range(1, mostRows).Draw(t, "rows"), rapid.Int64Range(1, mostColumns).Draw(t, "columns")
	if err := zarr.Resize(w.ctx, w.store, "a", at(rows, columns), zarr.Options{}); err != nil {
		t.Fatalf("resizing: %v", err)
	}
	w.rows, w.columns = rows, columns
	w.beyond()
	for _, p := range w.painters {
		w.open(t, p)
	}
	w.agree(t, false, w.want, box{})
}

func TestModelOfShards(t *testing.T) {
	for _, name := range []string{"sharded", "at start", "gzip, crc", "nested"} {
		t.Run(name, func(t *testing.T) {
			faultfs.Check(t, func(t *rapid.T) {
				w := &studio{ctx: context.Background(), store: storage.NewMemory(), spec: layouts[name], rows: 10, columns: 7}
				w.spec.Shape, w.spec.DataType, w.spec.FillValue = at(10, 7), "uint16", json.RawMessage("9")
				if w.spec.SubchunkShape == nil {
					t.Fatal("not sharded")
				}
				if _, err := zarr.CreateArray(w.ctx, w.store, "a", w.spec, zarr.Options{}); err != nil {
					t.Fatal(err)
				}
				for y := range w.rows {
					for x := range w.columns {
						w.want[y][x] = []uint16{unwritten}
					}
				}
				for i := range w.painters {
					w.painters[i] = &painter{}
					w.open(t, w.painters[i])
				}
				t.Repeat(map[string]func(*rapid.T){"write": w.writes, "write again": w.writes, "resize": w.resizes})
			})
		})
	}
}
