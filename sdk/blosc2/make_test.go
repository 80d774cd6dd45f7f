package blosc2_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// counted are the numbers from 0 on as items of an array of int32.
func counted(n int) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(i*i))
	}
	return b
}

func items(t *testing.T, a *blosc2.NDArray) []byte {
	t.Helper()
	b, err := a.Slice(t.Context(), nil, nil)
	require.NoError(t, err)
	return b
}

func TestCreateFull(t *testing.T) {
	ctx, fs := t.Context(), storage.NewMemoryFS(0)
	nan := binary.LittleEndian.AppendUint64(nil, 0x7ff8000000000000)
	pi := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Pi))
	for name, item := range map[string][]byte{"zeros": make([]byte, 8), "nan": nan, "pi": pi} {
		for _, sparse := range []bool{false, true} {
			shape := blosc2.Shape{Shape: []int64{300, 500, 70}, DType: "<f8", Chunks: []int64{100, 99, 70}}
			a, err := blosc2.CreateFull(ctx, fs, name, shape, item, blosc2.Spec{Sparse: sparse, Replace: false}, writing)
			require.NoError(t, err)
			got := items(t, a)
			require.True(t, bytes.Equal(bytes.Repeat(item, 300*500*70), got), name)
			require.LessOrEqual(t, a.SChunk().Header().PackedSize, int64(1000))
			require.NoError(t, a.Close())
			if sparse {
				break
			}
			require.NoError(t, fs.Remove(ctx, name))
		}
	}
	wide := bytes.Repeat([]byte("wide "), 60)
	a, err := blosc2.CreateFull(ctx, fs, "wide", blosc2.Shape{Shape: []int64{100, 10}, DType: "|S300", Chunks: []int64{30, 10}}, wide, blosc2.Spec{}, writing)
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat(wide, 1000), items(t, a))
	require.NoError(t, a.Close())
	a, err = blosc2.CreateFull(ctx, fs, "empty", blosc2.Shape{Shape: []int64{3, 0}, DType: "<f8"}, pi, blosc2.Spec{}, writing)
	require.NoError(t, err)
	require.Empty(t, items(t, a))
	require.NoError(t, a.Close())
	_, err = blosc2.CreateFull(ctx, fs, "short", blosc2.Shape{Shape: []int64{3}, DType: "<f8"}, nan[:4], blosc2.Spec{}, writing)
	require.ErrorIs(t, err, fault.ErrInvalid)
	_, err = fs.Stat(ctx, "short")
	require.ErrorIs(t, err, fault.ErrNotFound)
}

// What a frame was before it was filled takes no room in it.
func TestCreateFromLeavesNothingDead(t *testing.T) {
	ctx, fs := t.Context(), storage.NewMemoryFS(0)
	for name, spec := range map[string]blosc2.Spec{
		"alone": {}, "checked": {Checksums: true}, "sparse": {Sparse: true},
		"with a layer": {Fill: func(ctx context.Context, c blosc2.Container) error {
			return c.(*blosc2.NDArray).SChunk().SetVLObject(ctx, "note", "hello")
		}},
	} {
		all := counted(30)
		a, err := blosc2.CreateFrom(ctx, fs, name, blosc2.Shape{Shape: []int64{5, 6}, DType: "<i4", Chunks: []int64{2, 6}}, all, spec, writing)
		require.NoError(t, err, name)
		dead, err := a.SChunk().Dead(ctx)
		require.NoError(t, err, name)
		require.Zero(t, dead, name)
		require.Equal(t, all, items(t, a), name)
		require.NoError(t, a.Close())
	}
}

func TestCopies(t *testing.T) {
	ctx, fs := t.Context(), storage.NewMemoryFS(0)
	all := counted(30 * 40)
	spec := blosc2.Spec{Meta: []blosc2.Metalayer{{Name: "mine", Value: []byte{1}}}, Fill: nil}
	a, err := blosc2.CreateFrom(ctx, fs, "a", blosc2.Shape{Shape: []int64{30, 40}, DType: "<i4", Chunks: []int64{7, 9}, Blocks: []int64{3, 4}}, all, spec, writing)
	require.NoError(t, err)
	require.NoError(t, a.SChunk().SetVLObject(ctx, "note", "hello"))
	for name, tc := range map[string]struct {
		parts blosc2.Shape
		spec  blosc2.Spec
	}{
		"as it is": {},
		"sparse":   {spec: blosc2.Spec{Sparse: true}},
		"recut":    {parts: blosc2.Shape{Chunks: []int64{30, 8}, Blocks: []int64{5, 5}}},
		"chosen":   {spec: blosc2.Spec{ChunkBytes: 400, BlockBytes: 100}},
		"packed":   {spec: blosc2.Spec{Params: blosc.Params{Codec: blosc.LZ4, Level: 9, Filters: []blosc.Filter{{ID: blosc.BitShuffle}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			steps := int64(0)
			b, err := a.Copy(ctx, fs, name, tc.parts, tc.spec, writing, func(chunks, total int64) {
				steps++
				require.Equal(t, steps, chunks)
				require.LessOrEqual(t, chunks, total)
			})
			require.NoError(t, err)
			require.Equal(t, b.SChunk().NumChunks(), steps)
			require.Equal(t, all, items(t, b))
			note, err := b.SChunk().VLObject(ctx, "note")
			require.NoError(t, err)
			require.Equal(t, "hello", note)
			mine, err := b.SChunk().Metalayer("mine")
			require.NoError(t, err)
			require.Equal(t, []byte{1}, mine)
			if name == "as it is" {
				require.Equal(t, a.Shape(), b.Shape())
				require.Equal(t, a.SChunk().Header().Filters, b.SChunk().Header().Filters)
			}
			require.NoError(t, b.Close())
		})
	}
	_, err = a.Copy(ctx, fs, "a", blosc2.Shape{}, blosc2.Spec{}, writing, nil)
	require.ErrorIs(t, err, fault.ErrExists)

	s, err := blosc2.CreateSChunk(ctx, fs, "s", blosc2.Spec{Params: blosc.Params{TypeSize: 4, Codec: blosc.Zlib, Level: 3}}, writing)
	require.NoError(t, err)
	require.NoError(t, s.AppendChunk(ctx, all[:1000]))
	require.NoError(t, s.AppendChunk(ctx, all[1000:]))
	for _, size := range []int{0, 400, 4800, 8000} {
		c, err := s.Copy(ctx, fs, "s2", blosc2.Spec{ChunkSize: size, Replace: true}, writing, nil)
		require.NoError(t, err)
		got, err := c.Slice(ctx, 0, c.Len(), nil)
		require.NoError(t, err)
		require.Equal(t, all, got)
		require.Equal(t, int(blosc.Zlib), c.Header().Codec)
		if size > 0 {
			require.EqualValues(t, (4800-1)/size+1, c.NumChunks())
		}
		require.NoError(t, c.Close())
	}
}

func TestCopyOfAStoresFrame(t *testing.T) {
	ctx, fs := t.Context(), storage.NewMemoryFS(0)
	e, err := blosc2.CreateEmbedStore(ctx, fs, "e.b2e", writing)
	require.NoError(t, err)
	a, err := blosc2.CreateFrom(ctx, fs, "a", blosc2.Shape{Shape: []int64{3}, DType: "|u1"}, []byte("abc"), blosc2.Spec{}, writing)
	require.NoError(t, err)
	require.NoError(t, e.Put(ctx, "/a", a))
	s, err := e.SChunk().Copy(ctx, fs, "f.b2e", blosc2.Spec{}, writing, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	c, err := blosc2.Open(ctx, fs, "f.b2e", blosc2.Options{})
	require.NoError(t, err)
	b, err := c.(*blosc2.EmbedStore).Get(ctx, "/a")
	require.NoError(t, err)
	require.Equal(t, "abc", string(items(t, b.(*blosc2.NDArray))))
}

func TestAxes(t *testing.T) {
	ctx := t.Context()
	all := counted(6 * 10)
	for _, sparse := range []bool{false, true} {
		fs := storage.NewMemoryFS(0)
		shape := blosc2.Shape{Shape: []int64{1, 6, 1, 10}, DType: "<i4", Chunks: []int64{1, 4, 1, 10}, Blocks: []int64{1, 2, 1, 10}}
		a, err := blosc2.CreateFrom(ctx, fs, "a", shape, all, blosc2.Spec{Sparse: sparse}, writing)
		require.NoError(t, err)
		c, err := blosc2.Open(ctx, fs, "a", blosc2.Options{})
		require.NoError(t, err)
		require.NoError(t, a.SChunk().SetVLObject(ctx, "k", int64(7)))
		require.NoError(t, a.Squeeze(ctx))
		require.Equal(t, []int64{6, 10}, a.Shape().Shape)
		require.Equal(t, all, items(t, a))
		require.NoError(t, a.ExpandAxes(ctx, 0, 3))
		require.Equal(t, []int64{1, 6, 10, 1}, a.Shape().Shape)
		require.Equal(t, all, items(t, a))
		require.NoError(t, a.Squeeze(ctx, 3))
		require.ErrorIs(t, a.Squeeze(ctx, 1), fault.ErrInvalid)
		require.ErrorIs(t, a.ExpandAxes(ctx, 9), fault.ErrInvalid)
		_, err = c.(*blosc2.NDArray).Refresh(ctx)
		require.ErrorIs(t, err, fault.ErrStale)
		require.NoError(t, c.Close())
		require.NoError(t, a.SetSlice(ctx, []blosc2.Span{{0, 1, 1}, {5, 6, 1}, {0, 10, 1}}, make([]byte, 40)))
		require.NoError(t, a.Close())
		c, err = blosc2.Open(ctx, fs, "a", blosc2.Options{})
		require.NoError(t, err)
		require.Equal(t, append(bytes.Clone(all[:200]), make([]byte, 40)...), items(t, c.(*blosc2.NDArray)))
		k, err := c.(*blosc2.NDArray).SChunk().VLObject(ctx, "k")
		require.NoError(t, err)
		require.Equal(t, int64(7), k)
	}
}

// An array that grows, shrinks and is written to holds what a plain slice of
// bytes would.
func TestGrowingArraysLikeTheModel(t *testing.T) {
	ctx := t.Context()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		fs := storage.NewMemoryFS(0)
		shape := []int64{r.Int64N(9), 1 + r.Int64N(12)}
		a, err := blosc2.CreateArray(ctx, fs, "a", blosc2.Shape{Shape: shape, DType: "|u1", Chunks: []int64{4, 5}, Blocks: []int64{2, 3}}, blosc2.Spec{Sparse: seed%2 > 0}, writing)
		require.NoError(t, err)
		model := make([]byte, shape[0]*shape[1])
		for range 25 {
			switch r.IntN(3) {
			case 0:
				next := []int64{r.Int64N(14), 1 + r.Int64N(14)}
				require.NoError(t, a.Resize(ctx, next))
				m := make([]byte, next[0]*next[1])
				for y := range min(shape[0], next[0]) {
					copy(m[y*next[1]:(y+1)*next[1]], model[y*shape[1]:(y+1)*shape[1]])
				}
				model, shape = m, next
			case 1:
				rows := r.Int64N(6)
				more := make([]byte, rows*shape[1])
				for i := range more {
					more[i] = byte(1 + r.IntN(255))
				}
				require.NoError(t, a.Append(ctx, 0, more))
				model, shape = append(model, more...), []int64{shape[0] + rows, shape[1]}
			case 2:
				spans := []blosc2.Span{randomSpan(r, shape[0]), randomSpan(r, shape[1])}
				b := make([]byte, spans[0].Len()*spans[1].Len())
				for i := range b {
					b[i] = byte(r.IntN(256))
				}
				require.NoError(t, a.SetSlice(ctx, spans, b))
				at := 0
				for i := range spans[0].Len() {
					for k := range spans[1].Len() {
						model[(spans[0].Start+i*step(spans[0]))*shape[1]+spans[1].Start+k*step(spans[1])] = b[at]
						at++
					}
				}
			}
			require.Equal(t, shape, a.Shape().Shape)
			require.True(t, slices.Equal(model, items(t, a)), "seed %d", seed)
		}
		require.ErrorIs(t, a.Append(ctx, 2, nil), fault.ErrInvalid)
		if shape[1] > 1 {
			require.ErrorIs(t, a.Append(ctx, 0, make([]byte, shape[1]+1)), fault.ErrInvalid)
		}
	}
}

func step(s blosc2.Span) int64 {
	if s.Step == 0 {
		return 1
	}
	return s.Step
}
