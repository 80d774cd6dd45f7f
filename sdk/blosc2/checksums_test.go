package blosc2_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// kept is what info says of a container's checksums.
func kept(t *testing.T, c blosc2.Container) string {
	t.Helper()
	d, err := c.Describe(t.Context())
	require.NoError(t, err)
	return d.(*blosc2.FrameDescription).Checksums
}

func damages(t *testing.T, c blosc2.Container) (list []blosc2.Damage) {
	t.Helper()
	_, err := blosc2.Verify(t.Context(), c, func(d blosc2.Damage) { list = append(list, d) })
	require.NoError(t, err)
	return list
}

// Whatever is done to a frame, its checksums hold afterwards.
func TestChecksumsAreKept(t *testing.T) {
	ctx := t.Context()
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 17))
		fs, sparse := storage.NewMemoryFS(0), seed%2 == 1
		spec := blosc2.Spec{ChunkSize: chunkLen, Sparse: sparse, Checksums: seed%4 < 2, Params: blosc.Params{TypeSize: 4, Codec: blosc.LZ4, Level: 5}}
		s, err := blosc2.CreateSChunk(ctx, fs, "f", spec, writing)
		require.NoError(t, err)
		m := &model{vlmeta: map[string][]byte{}}
		for i := range 30 {
			if i == 10 && !spec.Checksums { // of chunks that are there
				require.NoError(t, s.KeepChecksums(ctx, true))
			}
			data := content(r, chunkLen)
			switch k := int64(len(m.chunks)); {
			case k > 0 && r.IntN(3) == 0:
				i := r.Int64N(k)
				m.chunks[i] = data
				require.NoError(t, s.UpdateChunk(ctx, i, data))
			case k > 0 && r.IntN(5) == 0:
				i := r.Int64N(k)
				m.chunks = append(m.chunks[:i], m.chunks[i+1:]...)
				require.NoError(t, s.DeleteChunk(ctx, i))
			case r.IntN(5) == 0:
				require.NoError(t, s.SetVLValue(ctx, "v", data[:9]))
			default:
				m.chunks = append(m.chunks, data)
				require.NoError(t, s.AppendChunk(ctx, data))
			}
			if i >= 10 || spec.Checksums {
				require.Equal(t, "hold", kept(t, s))
			}
			require.Empty(t, damages(t, s), "seed %d, step %d", seed, i)
		}
		require.NoError(t, s.Compact(ctx))
		require.Equal(t, "hold", kept(t, s))
		require.Empty(t, damages(t, s))
		c, err := s.Copy(ctx, fs, "g", blosc2.Spec{}, writing, nil)
		require.NoError(t, err)
		require.Equal(t, "hold", kept(t, c))
		require.Empty(t, damages(t, c))
		require.ErrorIs(t, s.SetVLValue(ctx, blosc2.ChecksumLayer, nil), fault.ErrInvalid)
		require.NoError(t, s.KeepChecksums(ctx, false))
		require.Empty(t, kept(t, s))
		require.NoError(t, s.Close())
		require.NoError(t, c.Close())
	}
}

// Bits that flip in what is stored without a codec go unseen without
// checksums; with them none does that is a chunk's.
func TestChecksumsShowEveryFlip(t *testing.T) {
	ctx := t.Context()
	data := make([]byte, 4*40)
	for i := range data {
		data[i] = byte(rand.IntN(256))
	}
	for _, checksums := range []bool{false, true} {
		fs := storage.NewMemoryFS(0)
		spec := blosc2.Spec{ChunkSize: 40, Checksums: checksums, Params: blosc.Params{TypeSize: 1, Codec: blosc.LZ4, Level: 5}}
		s, err := blosc2.CreateSChunk(ctx, fs, "f", spec, writing)
		require.NoError(t, err)
		for i := range 4 {
			require.NoError(t, s.AppendChunk(ctx, data[40*i:40*i+40]))
		}
		require.NoError(t, s.Compact(ctx))
		h := s.Header()
		b, err := blosc2.Bytes(ctx, s)
		require.NoError(t, err)
		unseen := 0
		for at := h.HeaderLen; at < h.HeaderLen+h.PackedSize; at++ {
			for bit := range 8 {
				bad := bytes.Clone(b)
				bad[at] ^= 1 << bit
				c, err := blosc2.OpenBytes(ctx, bad, "f", blosc2.Options{})
				if err != nil {
					continue
				}
				if len(damages(t, c)) == 0 {
					unseen++
				}
				require.NoError(t, c.Close())
			}
		}
		if checksums {
			require.Zero(t, unseen)
			bad := bytes.Clone(b)
			bad[h.HeaderLen+40] ^= 1
			write(t, fs, "bad", string(bad))
			c, err := blosc2.Open(ctx, fs, "bad", writing)
			require.NoError(t, err)
			require.ErrorIs(t, c.(*blosc2.SChunk).Compact(ctx), fault.ErrCorrupt, "damage is not made right")
			require.Contains(t, damages(t, c), blosc2.Damage{Item: "chunk 0", Off: -1, Text: "checksums: its bytes are not those that were written: corrupt"})
			require.NoError(t, c.Close())
		} else {
			require.Greater(t, unseen, 1000)
		}
	}
}

// Files of testdata/checksums that python-blosc2 changed after they had
// checksums: those hold no longer, and say nothing.
func TestChecksumsThatPythonLeftBehind(t *testing.T) {
	disk, err := file.OpenFS(filepath.Join("..", "..", "testdata", "checksums"))
	require.NoError(t, err)
	defer disk.Close()
	fs := storage.NewMemoryFS(0)
	for name, want := range map[string]string{
		"ours.b2nd": "hold", "opened.b2nd": "hold", "updated.b2nd": "stale", "grown.b2nd": "stale", "vlmeta.b2nd": "stale",
	} {
		c, err := blosc2.Open(t.Context(), disk, name, blosc2.Options{})
		require.NoError(t, err)
		require.Equal(t, want, kept(t, c), name)
		require.Empty(t, damages(t, c), name)
		b, err := blosc2.Bytes(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, c.Close())

		// What we write next makes them hold again.
		write(t, fs, name, string(b))
		c, err = blosc2.Open(t.Context(), fs, name, writing)
		require.NoError(t, err)
		a := c.(*blosc2.NDArray)
		require.NoError(t, a.SetSlice(t.Context(), []blosc2.Span{{0, 1, 1}, {0, 1, 1}}, []byte{1}))
		require.Equal(t, "hold", kept(t, a), name)
		require.Empty(t, damages(t, a), name)
		require.NoError(t, errors.Join(a.Close(), fs.Remove(t.Context(), name)))
	}
}
