package blosc2_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/storage"
)

// drawContent draws n bytes: zeros, some that pack, some that do not.
func drawContent(t *rapid.T, n int) []byte {
	return content(rand.New(rand.NewPCG(uint64(rapid.IntRange(0, 30).Draw(t, "content")), 3)), n)
}

// frames is the subject of a frame of chunks, whose state is a model.
func frames(sparse, varying, checksums bool) subject[*model] {
	const size = 1200 // bytes of a chunk
	spec := blosc2.Spec{ChunkSize: size, Sparse: sparse, Checksums: checksums, Params: blosc.Params{TypeSize: 4, Codec: blosc.LZ4, Level: 5}}
	chunk := func(c blosc2.Container) *blosc2.SChunk { return c.(*blosc2.SChunk) }
	sub := subject[*model]{
		name:  "f",
		empty: &model{vlmeta: map[string][]byte{}},
		create: func(ctx context.Context, fs storage.FS, o blosc2.Options) error {
			s, err := blosc2.CreateSChunk(ctx, fs, "f", spec, o)
			if err != nil {
				return err
			}
			return s.Close()
		},
		holds: func(ctx context.Context, c blosc2.Container, m *model) error {
			if _, ok := m.vlmeta[blosc2.ChecksumLayer]; !ok {
				return m.equal(ctx, chunk(c))
			}
			sums, err := chunk(c).VLValue(ctx, blosc2.ChecksumLayer)
			if err != nil {
				return err
			}
			with := m.clone()
			with.vlmeta[blosc2.ChecksumLayer] = sums
			return errors.Join(with.equal(ctx, chunk(c)), undamaged(ctx, c))
		},
		snapshot: func(ctx context.Context, c blosc2.Container) (blosc2.Container, error) {
			return chunk(c).Snapshot(ctx)
		},
		litter: func(files []string, m *model) []string {
			return slices.DeleteFunc(files, func(name string) bool {
				return name == "f" || name == "f/" || name == "f/chunks.b2frame" || strings.HasSuffix(name, ".b2lock") ||
					sparse && strings.HasSuffix(name, ".chunk")
			})
		},
	}
	if checksums {
		sub.empty.vlmeta[blosc2.ChecksumLayer] = nil
	}
	if sparse { // whose chunks another process may remove
		sub.snapshot = nil
	}
	sub.draw = func(t *rapid.T, m *model) (a act[*model]) {
		m = m.clone()
		a.next = m
		n := size
		if varying {
			n = 4 * rapid.IntRange(1, 400).Draw(t, "items")
		}
		kinds := []string{"append", "append", "insert", "vlmeta", "compact", "several", "checksums"}
		if len(m.chunks) > 0 {
			kinds = append(kinds, "update", "delete", "slice")
		}
		named := slices.DeleteFunc(slices.Sorted(maps.Keys(m.vlmeta)), func(name string) bool { return name == blosc2.ChecksumLayer })
		if len(named) > 0 {
			kinds = append(kinds, "delete vlmeta")
		}
		i := 0
		if len(m.chunks) > 1 {
			i = rapid.IntRange(0, len(m.chunks)-1).Draw(t, "i")
		}
		kind := rapid.SampledFrom(kinds).Draw(t, "what")
		a.what = fmt.Sprintf("%s %d", kind, i)
		switch kind {
		case "append":
			b := drawContent(t, n)
			m.chunks = append(m.chunks, b)
			a.do = func(ctx context.Context, c blosc2.Container) error { return chunk(c).AppendChunk(ctx, b) }
		case "insert":
			b := drawContent(t, n)
			m.chunks = slices.Insert(m.chunks, i, b)
			a.do = func(ctx context.Context, c blosc2.Container) error { return chunk(c).InsertChunk(ctx, int64(i), b) }
		case "update":
			b := drawContent(t, len(m.chunks[i]))
			m.chunks[i] = b
			a.do = func(ctx context.Context, c blosc2.Container) error { return chunk(c).UpdateChunk(ctx, int64(i), b) }
		case "delete":
			m.chunks = slices.Delete(m.chunks, i, i+1)
			a.do = func(ctx context.Context, c blosc2.Container) error { return chunk(c).DeleteChunk(ctx, int64(i)) }
		case "slice":
			all := slices.Concat(m.chunks...)
			from := rapid.IntRange(0, len(all)/4).Draw(t, "from")
			patch := drawContent(t, 4*rapid.IntRange(0, len(all)/4-from).Draw(t, "items"))
			copy(all[4*from:], patch)
			for i, c := range m.chunks {
				m.chunks[i], all = all[:len(c):len(c)], all[len(c):]
			}
			a.do = func(ctx context.Context, c blosc2.Container) error { return chunk(c).SetSlice(ctx, int64(from), patch) }
		case "vlmeta":
			name, value := fmt.Sprintf("v%d", rapid.IntRange(0, 2).Draw(t, "name")), drawContent(t, rapid.IntRange(0, 900).Draw(t, "length"))
			m.vlmeta[name] = value
			a.do = func(ctx context.Context, c blosc2.Container) error { return chunk(c).SetVLValue(ctx, name, value) }
		case "delete vlmeta":
			name := named[0]
			delete(m.vlmeta, name)
			a.do = func(ctx context.Context, c blosc2.Container) error { return chunk(c).DeleteVL(ctx, name) }
		case "checksums":
			_, kept := m.vlmeta[blosc2.ChecksumLayer]
			if kept {
				delete(m.vlmeta, blosc2.ChecksumLayer)
			} else {
				m.vlmeta[blosc2.ChecksumLayer] = nil // stands for whatever it holds
			}
			a.do = func(ctx context.Context, c blosc2.Container) error { return chunk(c).KeepChecksums(ctx, !kept) }
		case "compact":
			a.alone, a.idle = true, sparse
			a.do = func(ctx context.Context, c blosc2.Container) error { return chunk(c).Compact(ctx) }
		case "several": // two commits within a hold
			b, value := drawContent(t, n), drawContent(t, 30)
			m.vlmeta["held"] = value
			a.between = []*model{m.clone()}
			m.chunks = append(m.chunks, b)
			a.do = func(ctx context.Context, c blosc2.Container) error {
				return chunk(c).HoldingLock(ctx, func(ctx context.Context, held *blosc2.SChunk) error {
					if err := held.SetVLValue(ctx, "held", value); err != nil {
						return err
					}
					return held.AppendChunk(ctx, b)
				})
			}
		}
		return a
	}
	return sub
}

// undamaged tells of damage that checksums show.
func undamaged(ctx context.Context, c blosc2.Container) (err error) {
	_, failed := blosc2.Verify(ctx, c, func(d blosc2.Damage) { err = errors.Join(err, fmt.Errorf("damage: %v", d)) })
	return errors.Join(err, failed)
}

func TestModelOfFrames(t *testing.T) {
	for _, tc := range []struct {
		name                       string
		sparse, varying, checksums bool
	}{{name: "contiguous"}, {name: "sparse", sparse: true}, {name: "varying", varying: true}, {name: "checksums", checksums: true}, {name: "sparse, checksums", sparse: true, varying: true, checksums: true}} {
		t.Run(tc.name, func(t *testing.T) {
			faultfs.Check(t, func(t *rapid.T) { check(t, frames(tc.sparse, tc.varying, tc.checksums)) })
		})
	}
}
