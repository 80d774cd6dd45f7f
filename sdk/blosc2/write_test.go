package blosc2_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

var writing = blosc2.Options{Write: true, Durability: blosc2.SyncNever}

// model is what a frame must hold.
type model struct {
	chunks [][]byte
	vlmeta map[string][]byte
}

func (m *model) clone() *model {
	c := &model{chunks: slices.Clone(m.chunks), vlmeta: map[string][]byte{}}
	for k, v := range m.vlmeta {
		c.vlmeta[k] = v
	}
	return c
}

// equal reads all of the frame.
func (m *model) equal(ctx context.Context, s *blosc2.SChunk) error {
	vlmeta, err := s.VLMeta(ctx)
	if err != nil {
		return err
	}
	if s.NumChunks() != int64(len(m.chunks)) || len(vlmeta) != len(m.vlmeta) {
		return fmt.Errorf("%d chunks, %d vlmeta; want %d, %d", s.NumChunks(), len(vlmeta), len(m.chunks), len(m.vlmeta))
	}
	for i, want := range m.chunks {
		got, err := s.Chunk(ctx, int64(i), nil)
		if err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("chunk %d differs: %w", i, err)
		}
	}
	for name, want := range m.vlmeta {
		got, err := s.VLValue(ctx, name)
		if err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("vlmeta %s differs: %w", name, err)
		}
	}
	all := make([]byte, s.Header().Size)
	if err := s.ReadBytes(ctx, 0, all); err != nil || !bytes.Equal(all, slices.Concat(m.chunks...)) {
		return fmt.Errorf("the bytes differ: %w", err)
	}
	return nil
}

func content(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	switch r.IntN(4) {
	case 0: // zeros
	case 1:
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	default:
		for i := range b {
			b[i] = byte(i / (1 + r.IntN(3)) * 7)
		}
	}
	return b
}

const chunkLen = 4000

// step does one random thing to the frame and to the model. varying: chunks
// of any size come too.
func (m *model) step(ctx context.Context, r *rand.Rand, s *blosc2.SChunk, varying bool) error {
	size := chunkLen
	if varying && r.IntN(3) == 0 {
		size = 4 * (1 + r.IntN(1500))
	}
	i := 0
	if len(m.chunks) > 0 {
		i = r.IntN(len(m.chunks))
	}
	switch k := r.IntN(8); {
	case k == 0 && len(m.chunks) > 0:
		m.chunks = slices.Delete(m.chunks, i, i+1)
		return s.DeleteChunk(ctx, int64(i))
	case k == 1 && len(m.chunks) > 0:
		n := len(m.chunks[i])
		if s.Header().ChunkSize == 0 {
			n = size
		}
		m.chunks[i] = content(r, n)
		return s.UpdateChunk(ctx, int64(i), m.chunks[i])
	case k == 2:
		b := content(r, size)
		m.chunks = slices.Insert(m.chunks, i, b)
		return s.InsertChunk(ctx, int64(i), b)
	case k == 3:
		name, value := fmt.Sprintf("v%d", r.IntN(4)), content(r, r.IntN(300))
		m.vlmeta[name] = value
		return s.SetVLValue(ctx, name, value)
	case k == 4 && len(m.vlmeta) > 0:
		vlmeta, err := s.VLMeta(ctx)
		if err != nil {
			return err
		}
		name := vlmeta[0]
		delete(m.vlmeta, name)
		return s.DeleteVL(ctx, name)
	case k == 5 && len(m.chunks) > 0:
		all := slices.Concat(m.chunks...)
		from := r.IntN(len(all)/4+1) * 4
		patch := content(r, r.IntN((len(all)-from)/4+1)*4)
		copy(all[from:], patch)
		chunks := slices.Clone(m.chunks)
		for i, c := range chunks {
			chunks[i], all = all[:len(c):len(c)], all[len(c):]
		}
		m.chunks = chunks
		return s.SetSlice(ctx, int64(from/4), patch)
	}
	b := content(r, size)
	m.chunks = append(m.chunks, b)
	return s.AppendChunk(ctx, b)
}

func TestFramesLikeTheModel(t *testing.T) {
	ctx := t.Context()
	disk, err := file.OpenFS(t.TempDir())
	require.NoError(t, err)
	defer disk.Close()
	systems := []storage.FS{storage.NewMemoryFS(0), disk}
	if runtime.GOOS == "wasip1" { // where a file cannot be put in place without replacing
		systems = systems[:1]
	}
	for _, fs := range systems {
		for seed := range uint64(12) {
			r := rand.New(rand.NewPCG(seed, 9))
			sparse, varying := seed%2 == 1, seed%3 == 2
			name := fmt.Sprintf("frame%d", seed)
			spec := blosc2.Spec{ChunkSize: chunkLen, Sparse: sparse, Params: blosc.Params{TypeSize: 4, Codec: blosc.LZ4, Level: 5, Filters: []blosc.Filter{{ID: blosc.Shuffle}}}}
			s, err := blosc2.CreateSChunk(ctx, fs, name, spec, writing)
			require.NoError(t, err)
			c, err := blosc2.Open(ctx, fs, name, blosc2.Options{})
			require.NoError(t, err)
			reader := c.(*blosc2.SChunk)
			m := &model{vlmeta: map[string][]byte{}}
			for i := range 60 {
				require.NoError(t, m.step(ctx, r, s, varying), "seed %d, step %d", seed, i)
				require.NoError(t, m.equal(ctx, s), "seed %d, step %d", seed, i)
				if i%7 == 0 { // one that was open all the time
					_, err := reader.Refresh(ctx)
					require.NoError(t, err)
					require.NoError(t, m.equal(ctx, reader), "seed %d, step %d", seed, i)
				}
			}
			before := s.Header().PackedSize
			require.NoError(t, s.Compact(ctx))
			require.NoError(t, m.equal(ctx, s))
			require.LessOrEqual(t, s.Header().PackedSize, before)
			tick := reader.ChangeTick()
			moved, err := reader.Refresh(ctx)
			require.NoError(t, err)
			require.Equal(t, reader.ChangeTick() > tick, moved)
			require.NoError(t, m.equal(ctx, reader))
			again, err := reader.Refresh(ctx)
			require.NoError(t, err)
			require.False(t, again)
			dead, err := s.Dead(ctx)
			require.NoError(t, err)
			require.Zero(t, dead)
			checked, err := blosc2.Verify(ctx, s, func(d blosc2.Damage) { t.Error(d) })
			require.NoError(t, err)
			require.EqualValues(t, len(m.chunks)+len(m.vlmeta), checked)
			require.NoError(t, s.Close())
			require.NoError(t, reader.Close())
			require.ErrorIs(t, s.AppendChunk(ctx, []byte("1234")), fault.ErrClosed)
		}
	}
}

// A kill before any write leaves the state before the call or after it.
func TestKilledAtEveryWrite(t *testing.T) {
	ctx := t.Context()
	for seed := range uint64(40) {
		for _, half := range []bool{false, true} {
			for n := 0; ; n++ {
				fs := storage.NewMemoryFS(0)
				spec := blosc2.Spec{ChunkSize: chunkLen, Sparse: seed%2 == 1, Params: blosc.Params{TypeSize: 4, Codec: blosc.LZ4, Level: 5}}
				s, err := blosc2.CreateSChunk(ctx, fs, "f", spec, writing)
				require.NoError(t, err)
				m := &model{vlmeta: map[string][]byte{}}
				r := rand.New(rand.NewPCG(seed, 1))
				for range 8 {
					require.NoError(t, m.step(ctx, r, s, false))
				}
				require.NoError(t, s.Close())
				left := n
				dying := faultfs.New(func(op faultfs.Op) (f faultfs.Fault) {
					if slices.Contains(faultfs.Changes, op.Kind) {
						left--
						f.Kill = left == -1
						if half && op.Len > 200 { // a header of 100 bytes is written in one piece
							f.Done = op.Len / 2
						}
					}
					return f
				}).FS(fs)
				c, err := blosc2.Open(ctx, dying, "f", writing)
				require.NoError(t, err)
				next := m.clone()
				err = next.step(ctx, rand.New(rand.NewPCG(seed, 2)), c.(*blosc2.SChunk), false)
				c.Close()
				after, openErr := blosc2.Open(ctx, fs, "f", blosc2.Options{})
				require.NoError(t, openErr, "seed %d, killed at %d", seed, n)
				a := after.(*blosc2.SChunk)
				if err == nil {
					require.NoError(t, next.equal(ctx, a))
					require.NoError(t, a.Close())
					break
				}
				require.Less(t, n, 60, "seed %d: %v", seed, err)
				oldErr := m.equal(ctx, a)
				if oldErr != nil {
					require.NoError(t, next.equal(ctx, a), "seed %d, killed at %d: neither old (%v) nor new", seed, n, oldErr)
					require.NoError(t, a.Close())
					break
				}
				require.NoError(t, a.Close())
			}
		}
	}
}

func TestArraysLikeTheModel(t *testing.T) {
	ctx := t.Context()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		fs := storage.NewMemoryFS(0)
		axes := r.IntN(5)
		shape := blosc2.Shape{DType: "<i4", Chunks: []int64{}, Blocks: []int64{}, Shape: []int64{}}
		for range axes {
			shape.Shape = append(shape.Shape, r.Int64N(9))
			chunk := 1 + r.Int64N(5)
			shape.Chunks = append(shape.Chunks, chunk)
			shape.Blocks = append(shape.Blocks, 1+r.Int64N(chunk))
		}
		a, err := blosc2.CreateArray(ctx, fs, "a.b2nd", shape, blosc2.Spec{Sparse: seed%3 == 0}, writing)
		require.NoError(t, err)
		items := int64(1)
		for _, n := range shape.Shape {
			items *= n
		}
		want := make([]byte, 4*items)
		for range 12 {
			got, err := a.Slice(ctx, nil, nil)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), "seed %d", seed)
			spans := make([]blosc2.Span, axes)
			for i, n := range shape.Shape {
				spans[i] = randomSpan(r, n)
			}
			// The places of what is selected, by slicing an array of numbers.
			numbers := make([]byte, 0, len(want))
			for i := range items {
				numbers = append(numbers, byte(i), byte(i>>8), byte(i>>16), byte(i>>24))
			}
			picked := naive(numbers, shape.Shape, 4, spans)
			patch := content(r, len(picked))
			for i := 0; i < len(picked); i += 4 {
				at := int(picked[i]) | int(picked[i+1])<<8 | int(picked[i+2])<<16
				copy(want[4*at:], patch[i:i+4])
			}
			require.NoError(t, a.SetSlice(ctx, spans, patch))
		}
		require.NoError(t, a.Close())
	}
}

func TestResize(t *testing.T) {
	ctx := t.Context()
	for _, sparse := range []bool{false, true} {
		fs := storage.NewMemoryFS(0)
		a, err := blosc2.CreateArray(ctx, fs, "a", blosc2.Shape{Shape: []int64{7, 5}, Chunks: []int64{4, 2}, Blocks: []int64{2, 2}, DType: "|u1"}, blosc2.Spec{Sparse: sparse}, writing)
		require.NoError(t, err)
		grid := make([]byte, 35)
		for i := range grid {
			grid[i] = byte(i + 1)
		}
		require.NoError(t, a.SetSlice(ctx, nil, grid))
		require.NoError(t, a.Resize(ctx, []int64{9, 11}))
		got, err := a.Slice(ctx, nil, nil)
		require.NoError(t, err)
		for i := range 9 {
			for j := range 11 {
				want := byte(0)
				if i < 7 && j < 5 {
					want = grid[i*5+j]
				}
				require.Equal(t, want, got[i*11+j])
			}
		}
		require.NoError(t, a.Resize(ctx, []int64{2, 3}))
		got, err = a.Slice(ctx, nil, nil)
		require.NoError(t, err)
		require.Equal(t, []byte{1, 2, 3, 6, 7, 8}, got)
		require.EqualValues(t, 2, a.SChunk().NumChunks())
		require.NoError(t, a.Resize(ctx, []int64{0, 3}))
		require.Zero(t, a.SChunk().NumChunks())
		require.NoError(t, a.Resize(ctx, []int64{1, 3}))
		got, err = a.Slice(ctx, nil, nil)
		require.NoError(t, err)
		require.Equal(t, make([]byte, 3), got)
		require.ErrorIs(t, a.Resize(ctx, []int64{1}), fault.ErrInvalid)
		require.ErrorIs(t, a.Resize(ctx, []int64{1, -1}), fault.ErrInvalid)
		require.NoError(t, a.Close())
		if sparse {
			names, err := fs.List(ctx, "a")
			require.NoError(t, err)
			require.Equal(t, []string{"00000005.chunk", "chunks.b2frame"}, names)
		}
	}
}

func TestCreateNeverDestroys(t *testing.T) {
	ctx := t.Context()
	fs := files(t, map[string][]byte{"note.b2nd": []byte("not a frame, but somebody's")})
	require.NoError(t, fs.Mkdir(ctx, "dir"))
	shape := blosc2.Shape{Shape: []int64{3}, DType: "<f8"}
	for name, sparse := range map[string]bool{"note.b2nd": false, "dir": true} {
		for _, replace := range []bool{false, true} {
			_, err := blosc2.CreateArray(ctx, fs, name, shape, blosc2.Spec{Replace: replace, Sparse: sparse}, writing)
			require.ErrorIs(t, err, fault.ErrExists)
		}
	}
	a, err := blosc2.CreateArray(ctx, fs, "a.b2nd", shape, blosc2.Spec{}, writing)
	require.NoError(t, err)
	require.NoError(t, a.SetSlice(ctx, nil, make([]byte, 24)))
	require.NoError(t, a.Close())
	_, err = blosc2.CreateArray(ctx, fs, "a.b2nd", shape, blosc2.Spec{}, writing)
	require.ErrorIs(t, err, fault.ErrExists)
	failing := blosc2.Spec{Replace: true, Fill: func(context.Context, blosc2.Container) error { return faultfs.ErrKilled }}
	_, err = blosc2.CreateArray(ctx, fs, "a.b2nd", blosc2.Shape{Shape: []int64{9}, DType: "<f8"}, failing, writing)
	require.ErrorIs(t, err, faultfs.ErrKilled)
	c, err := blosc2.Open(ctx, fs, "a.b2nd", blosc2.Options{})
	require.NoError(t, err)
	require.Equal(t, []int64{3}, c.(*blosc2.NDArray).Shape().Shape)
	require.ErrorIs(t, c.(*blosc2.NDArray).SetSlice(ctx, nil, nil), fault.ErrReadOnly)
	require.NoError(t, c.Close())
	names, err := fs.List(ctx, "")
	require.NoError(t, err)
	require.Equal(t, []string{"a.b2nd", "dir/", "note.b2nd"}, names)
}
