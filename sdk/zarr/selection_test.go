package zarr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// flat is an array of bytes with one axis, none of them stored.
func flat(t *testing.T, n, chunk int64) *zarr.Array {
	st := storage.NewMemory()
	_, err := st.Put(t.Context(), "zarr.json", fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[%d],"data_type":"uint8",
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[%d]}},"chunk_key_encoding":{"name":"default"},"fill_value":3,"codecs":%s}`, n, chunk, rawLE), storage.Condition{})
	require.NoError(t, err)
	return open(t, st)
}

func TestSelectionOfTooMuch(t *testing.T) {
	const huge = 1 << 60
	for _, a := range []*zarr.Array{flat(t, huge, 1000), flat(t, huge, huge)} {
		for _, s := range []zarr.Along{{Stop: huge}, {Stop: 1 << 40}, {Start: 1, Stop: huge, Step: 2}} {
			_, err := a.RetrieveSelection(t.Context(), []zarr.Along{s}, zarr.ReadOptions{})
			require.ErrorIs(t, err, fault.ErrLimit, "%v", s)
		}
	}
	// Few elements far apart in one chunk: what lies between them counts.
	_, err := flat(t, huge, huge).RetrieveSelection(t.Context(), []zarr.Along{{Indices: []int64{0, huge - 1}}}, zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrLimit)
}

func TestSelectionWithLongSteps(t *testing.T) {
	const huge = 1 << 60
	a := flat(t, huge, 1000)
	for _, c := range []struct {
		s zarr.Along
		n int
	}{
		{zarr.Along{Start: 5, Stop: huge, Step: 1<<63 - 1}, 1},
		{zarr.Along{Stop: huge, Step: huge - 1}, 2},
		{zarr.Along{Stop: huge, Step: huge / 3}, 4},
		{zarr.Along{Start: huge, Stop: huge}, 0},
	} {
		b, err := a.RetrieveSelection(t.Context(), []zarr.Along{c.s}, zarr.ReadOptions{})
		require.NoError(t, err)
		require.Len(t, b, c.n, "%v", c.s)
		for _, x := range b {
			require.EqualValues(t, 3, x)
		}
	}
}

// A selection costs memory by its bytes, not by its elements.
func TestSelectionOfManyElements(t *testing.T) {
	a := flat(t, 8<<20, 1<<20)
	dst := make([]byte, 8<<20)
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			_, err := a.RetrieveSelection(t.Context(), []zarr.Along{{Stop: 8 << 20, Step: 2}}, zarr.ReadOptions{Dst: dst})
			require.NoError(t, err)
		}
	}).AllocedBytesPerOp()
	require.Less(t, allocated, int64(12<<20))
}
