package blosc2_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// naive picks the items of spans, one by one, from all of an array.
func naive(all []byte, shape []int64, size int64, spans []blosc2.Span) []byte {
	var out []byte
	var pick func(axis int, at int64)
	pick = func(axis int, at int64) {
		if axis == len(shape) {
			out = append(out, all[at*size:(at+1)*size]...)
			return
		}
		s := spans[axis]
		if s.Step == 0 {
			s.Step = 1
		}
		for i := s.Start; s.Step > 0 && i < s.Stop || s.Step < 0 && i > s.Stop; i += s.Step {
			pick(axis+1, at*shape[axis]+i)
		}
	}
	pick(0, 0)
	return out
}

func TestSlicesOfEveryArray(t *testing.T) {
	fs := openTestdata(t)
	r := rand.New(rand.NewPCG(1, 2))
	arrays := 0
	for _, e := range manifest(t) {
		c, err := blosc2.Open(t.Context(), fs, e.File, blosc2.Options{})
		require.NoError(t, err)
		a, ok := c.(*blosc2.NDArray)
		if !ok {
			require.NoError(t, c.Close())
			continue
		}
		arrays++
		c, err = blosc2.Open(t.Context(), fs, e.File, blosc2.Options{Workers: 3})
		require.NoError(t, err)
		b := c.(*blosc2.NDArray)
		all, err := a.Slice(t.Context(), nil, nil)
		if err != nil {
			_, err := b.Slice(t.Context(), nil, nil)
			require.ErrorIs(t, err, fault.ErrUnsupported)
			continue
		}
		for range 6 {
			spans := make([]blosc2.Span, len(e.Shape))
			for i, n := range e.Shape {
				spans[i] = randomSpan(r, n)
			}
			got, err := a.Slice(t.Context(), spans, []byte("head"))
			require.NoError(t, err, "%s %v", e.File, spans)
			require.Equal(t, "head"+string(naive(all, e.Shape, a.DType().Size(), spans)), string(got), "%s %v", e.File, spans)
			again, err := b.Slice(t.Context(), spans, nil)
			require.NoError(t, err)
			require.Equal(t, string(got[4:]), string(again))
		}
		require.NoError(t, b.Close())
		require.NoError(t, a.Close())
		_, err = a.Slice(t.Context(), nil, nil)
		require.ErrorIs(t, err, fault.ErrClosed)
	}
	require.Equal(t, 233, arrays)
}

func randomSpan(r *rand.Rand, n int64) blosc2.Span {
	start, stop := r.Int64N(n+1), r.Int64N(n+1)
	s := blosc2.Span{Start: min(start, stop), Stop: max(start, stop), Step: r.Int64N(4)}
	if r.IntN(3) == 0 && n > 0 {
		s = blosc2.Span{Start: r.Int64N(n), Stop: -1, Step: -1 - r.Int64N(5)}
	}
	return s
}

func TestSliceRefuses(t *testing.T) {
	c, err := blosc2.Open(t.Context(), openTestdata(t), "ndim/2d.b2nd", blosc2.Options{})
	require.NoError(t, err)
	a := c.(*blosc2.NDArray)
	n := a.Shape().Shape
	for name, tc := range map[string]struct {
		spans []blosc2.Span
		want  error
	}{
		"one axis":     {[]blosc2.Span{{0, 1, 1}}, fault.ErrInvalid},
		"past the end": {[]blosc2.Span{{0, n[0] + 1, 1}, {0, 1, 1}}, fault.ErrOutOfRange},
		"before":       {[]blosc2.Span{{-1, 1, 1}, {0, 1, 1}}, fault.ErrOutOfRange},
		"back too far": {[]blosc2.Span{{0, 1, 1}, {3, -2, -1}}, fault.ErrOutOfRange},
	} {
		_, err := a.Slice(t.Context(), tc.spans, nil)
		require.ErrorIs(t, err, tc.want, name)
	}
	_, err = a.SChunk().Chunk(t.Context(), a.SChunk().NumChunks(), nil)
	require.ErrorIs(t, err, fault.ErrOutOfRange)
	_, err = a.SChunk().Slice(t.Context(), 0, a.SChunk().Len()+1, nil)
	require.ErrorIs(t, err, fault.ErrOutOfRange)
}

func TestItemsOfEverySChunk(t *testing.T) {
	fs := openTestdata(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, e := range manifest(t) {
		if e.Kind != "schunk" && e.Kind != "sframe-schunk" && e.Kind != "objectarray" && e.Kind != "batcharray" {
			continue
		}
		c, err := blosc2.Open(t.Context(), fs, e.File, blosc2.Options{})
		require.NoError(t, err)
		s := c.(*blosc2.SChunk)
		all := make([]byte, s.Header().Size)
		require.NoError(t, s.ReadBytes(t.Context(), 0, all))
		var chunks []byte
		for b, err := range s.Chunks(t.Context()) {
			require.NoError(t, err)
			chunks = append(chunks, b...)
		}
		require.Equal(t, string(all), string(chunks))
		for range 20 {
			start := r.Int64N(s.Len() + 1)
			stop := start + r.Int64N(s.Len()-start+1)
			got, err := s.Slice(t.Context(), start, stop, nil)
			require.NoError(t, err)
			size := int64(s.Header().TypeSize)
			require.Equal(t, string(all[start*size:stop*size]), string(got))
		}
		require.NoError(t, s.Close())
	}
}

// files makes a file system of memory with these files.
func files(t testing.TB, names map[string][]byte) *storage.MemoryFS {
	t.Helper()
	fs := storage.NewMemoryFS(0)
	for name, b := range names {
		f, err := fs.Open(t.Context(), name, storage.OpenCreate|storage.OpenWrite)
		require.NoError(t, err)
		_, err = f.WriteAt(b, 0)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	return fs
}
