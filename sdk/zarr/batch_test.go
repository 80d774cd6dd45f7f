package zarr_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// filled makes an array of each layout whose elements are their positions.
func filled(t *testing.T, spec zarr.ArraySpec) (*zarr.Array, *storagetest.Recorder) {
	t.Helper()
	m := storage.NewMemory()
	spec.Shape, spec.DataType = at(10, 7), "uint16"
	w, err := zarr.CreateArray(t.Context(), m, "", spec, zarr.Options{})
	require.NoError(t, err)
	ns := make([]uint16, 70)
	for i := range ns {
		ns[i] = uint16(i)
	}
	require.NoError(t, w.StoreRegion(t.Context(), at(0, 0), at(10, 7), u16(ns...)))
	rec := storagetest.Record(m)
	a := open(t, rec)
	rec.Reset()
	return a, rec
}

func TestBatchesEqualSingleReads(t *testing.T) {
	for name, spec := range layouts {
		t.Run(name, func(t *testing.T) {
			a, _ := filled(t, spec)
			grid := a.SubchunkGridShape()
			r := rand.New(rand.NewPCG(3, 4))
			var idxs [][]int64
			for range 40 {
				idxs = append(idxs, at(r.Int64N(grid[0]), r.Int64N(grid[1])))
			}
			got, err := a.RetrieveSubchunks(t.Context(), idxs, zarr.ReadOptions{})
			require.NoError(t, err)
			for i, idx := range idxs {
				want, err := a.RetrieveSubchunk(t.Context(), idx, zarr.ReadOptions{})
				require.NoError(t, err)
				require.Equal(t, want, got[i])
			}
			_, err = a.RetrieveSubchunks(t.Context(), [][]int64{at(0, 0), at(99, 0)}, zarr.ReadOptions{})
			require.ErrorIs(t, err, fault.ErrOutOfRange)

			seen := map[[2]int64]bool{}
			for sub, err := range a.Subchunks(t.Context(), zarr.ReadOptions{}) {
				require.NoError(t, err)
				want, err := a.RetrieveSubchunk(t.Context(), sub.Index, zarr.ReadOptions{})
				require.NoError(t, err)
				require.Equal(t, want, sub.Data)
				seen[[2]int64{sub.Index[0], sub.Index[1]}] = true
			}
			require.Len(t, seen, int(grid[0]*grid[1]))
		})
	}
}

func TestABatchIsOneRequestAShard(t *testing.T) {
	a, rec := filled(t, layouts["sharded"])
	cache := a.ShardCache(zarr.CacheOptions{})
	idxs := [][]int64{at(0, 0), at(4, 3), at(0, 1), at(1, 0), at(4, 2)}
	_, err := a.RetrieveSubchunks(t.Context(), idxs, zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	require.Equal(t, 4, rec.Requests(), "two indexes, two batches")
	ls, err := a.LocateSubchunks(t.Context(), idxs, zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	require.Equal(t, 4, rec.Requests())
	require.Equal(t, "c/2/1", ls[1].Key)
	require.Equal(t, "c/0/0", ls[2].Key)
}

// Report 11: selections by steps and by indices.
func TestReport11Selections(t *testing.T) {
	for name, spec := range layouts {
		t.Run(name, func(t *testing.T) {
			a, _ := filled(t, spec)
			for _, c := range []struct{ y, x zarr.Along }{
				{zarr.Along{Indices: at(5)}, zarr.Along{Indices: at(0, 1)}},
				{zarr.Along{Indices: at(9, 0, 3, 3)}, zarr.Along{Indices: at(6, 2)}},
				{zarr.Along{Stop: 10, Step: 3}, zarr.Along{Start: 1, Stop: 7, Step: 2}},
				{zarr.Along{Start: 4, Stop: 4}, zarr.Along{Stop: 7}},
				{zarr.Along{Stop: 10}, zarr.Along{Stop: 7}},
				{zarr.Along{Indices: at()}, zarr.Along{Stop: 7}},
				{zarr.Along{Start: 8, Stop: 9}, zarr.Along{Indices: at(6)}},
			} {
				got, err := a.RetrieveSelection(t.Context(), []zarr.Along{c.y, c.x}, zarr.ReadOptions{})
				require.NoError(t, err)
				want := []byte{}
				for _, y := range listed(c.y) {
					for _, x := range listed(c.x) {
						want = append(want, u16(uint16(7*y+x))...)
					}
				}
				require.Equal(t, want, got, "%+v", c)
			}
			all := zarr.Along{Stop: 7}
			_, err := a.RetrieveSelection(t.Context(), []zarr.Along{{Indices: at(10)}, all}, zarr.ReadOptions{})
			require.ErrorIs(t, err, fault.ErrOutOfRange)
			_, err = a.RetrieveSelection(t.Context(), []zarr.Along{{Indices: at(-1)}, all}, zarr.ReadOptions{})
			require.ErrorIs(t, err, fault.ErrOutOfRange)
			_, err = a.RetrieveSelection(t.Context(), []zarr.Along{{Stop: 11}, all}, zarr.ReadOptions{})
			require.ErrorIs(t, err, fault.ErrOutOfRange)
			_, err = a.RetrieveSelection(t.Context(), []zarr.Along{{Stop: 10, Step: -1}, all}, zarr.ReadOptions{})
			require.ErrorIs(t, err, fault.ErrInvalid)
			_, err = a.RetrieveSelection(t.Context(), []zarr.Along{all}, zarr.ReadOptions{})
			require.ErrorIs(t, err, fault.ErrInvalid)
		})
	}
}

func listed(s zarr.Along) []int64 {
	if s.Indices != nil {
		return s.Indices
	}
	var out []int64
	for x := s.Start; x < s.Stop; x += max(s.Step, 1) {
		out = append(out, x)
	}
	return out
}
