package blosc2_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/storage"
)

// grid is an array of bytes of two axes.
type grid struct {
	shape [2]int64
	items string
}

// resized is the grid with another shape; what it grows by is zero.
func (g grid) resized(rows, columns int64) grid {
	b := make([]byte, rows*columns)
	for y := range min(rows, g.shape[0]) {
		copy(b[y*columns:], g.items[y*g.shape[1]:][:min(columns, g.shape[1])])
	}
	return grid{[2]int64{rows, columns}, string(b)}
}

// arrays is the subject of an array.
func arrays(sparse, checksums bool) subject[grid] {
	array := func(c blosc2.Container) *blosc2.NDArray { return c.(*blosc2.NDArray) }
	empty := grid{}.resized(5, 7)
	sub := subject[grid]{
		name: "a", empty: empty,
		create: func(ctx context.Context, fs storage.FS, o blosc2.Options) error {
			a, err := blosc2.CreateArray(ctx, fs, "a", blosc2.Shape{Shape: empty.shape[:], DType: "|u1", Chunks: []int64{4, 5}, Blocks: []int64{2, 3}}, blosc2.Spec{Sparse: sparse, Checksums: checksums}, o)
			if err != nil {
				return err
			}
			return a.Close()
		},
		holds: func(ctx context.Context, c blosc2.Container, g grid) error {
			got, err := array(c).Slice(ctx, nil, nil)
			if err != nil {
				return err
			}
			if shape := array(c).Shape().Shape; !slices.Equal(shape, g.shape[:]) || string(got) != g.items {
				return fmt.Errorf("%v %x, want %v %x", shape, got, g.shape, g.items)
			}
			if checksums {
				return undamaged(ctx, c)
			}
			return nil
		},
		snapshot: func(ctx context.Context, c blosc2.Container) (blosc2.Container, error) { return array(c).Snapshot(ctx) },
		litter: func(files []string, g grid) []string {
			return slices.DeleteFunc(files, func(name string) bool {
				return name == "a" || name == "a/" || name == "a/chunks.b2frame" || strings.HasSuffix(name, ".b2lock") ||
					sparse && strings.HasSuffix(name, ".chunk")
			})
		},
	}
	if sparse {
		sub.snapshot = nil
	}
	sub.draw = func(t *rapid.T, g grid) (a act[grid]) {
		rows, columns := g.shape[0], g.shape[1]
		switch what := rapid.SampledFrom([]string{"resize", "append", "set", "set", "compact"}).Draw(t, "what"); what {
		case "resize":
			rows, columns := rapid.Int64Range(0, 12).Draw(t, "rows"), rapid.Int64Range(1, 12).Draw(t, "columns")
			a.what, a.next = fmt.Sprint(what, rows, columns), g.resized(rows, columns)
			a.do = func(ctx context.Context, c blosc2.Container) error {
				return array(c).Resize(ctx, []int64{rows, columns})
			}
		case "append":
			more := drawContent(t, int(rapid.Int64Range(0, 5).Draw(t, "rows")*columns))
			a.what = fmt.Sprint(what, len(more))
			a.next = grid{[2]int64{rows + int64(len(more))/columns, columns}, g.items + string(more)}
			a.do = func(ctx context.Context, c blosc2.Container) error { return array(c).Append(ctx, 0, more) }
		case "set":
			spans := []blosc2.Span{drawSpan(t, rows), drawSpan(t, columns)}
			h, n := spans[0].Len(), spans[1].Len()
			patch := drawContent(t, int(h*n))
			b := []byte(g.items)
			for y := range h {
				copy(b[(spans[0].Start+y)*columns+spans[1].Start:], patch[y*n:(y+1)*n])
			}
			a.what, a.next = fmt.Sprint(what, spans), grid{g.shape, string(b)}
			a.do = func(ctx context.Context, c blosc2.Container) error {
				return array(c).SetSlice(ctx, spans, bytes.Clone(patch))
			}
		case "compact":
			a.what, a.next, a.alone, a.idle = what, g, true, sparse
			a.do = func(ctx context.Context, c blosc2.Container) error { return array(c).SChunk().Compact(ctx) }
		}
		return a
	}
	return sub
}

func drawSpan(t *rapid.T, n int64) blosc2.Span {
	start := rapid.Int64Range(0, n).Draw(t, "start")
	return blosc2.Span{Start: start, Stop: rapid.Int64Range(start, n).Draw(t, "stop"), Step: 1}
}

func TestModelOfArrays(t *testing.T) {
	for _, tc := range []struct {
		name              string
		sparse, checksums bool
	}{{name: "contiguous"}, {name: "sparse", sparse: true}, {name: "checksums", checksums: true}} {
		t.Run(tc.name, func(t *testing.T) {
			faultfs.Check(t, func(t *rapid.T) { check(t, arrays(tc.sparse, tc.checksums)) })
		})
	}
}
