package zarr_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func traced(t *testing.T, st storage.Store) (*zarr.Array, *storage.Tally) {
	t.Helper()
	tally := new(storage.Tally)
	a, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{Trace: tally.Note})
	require.NoError(t, err)
	return a, tally
}

// TestTrace: what each kind of read is said to cost is what the store saw.
func TestTrace(t *testing.T) {
	rec := storagetest.Record(grid8(t, endCRC))
	a, tally := traced(t, rec)
	cache := a.ShardCache(zarr.CacheOptions{})
	o := zarr.ReadOptions{Cache: cache}
	for _, tc := range []struct {
		name                    string
		read                    func() error
		indexes, reads, decodes int64
	}{
		{"cold", func() error { _, err := a.RetrieveSubchunk(t.Context(), at(0, 0), o); return err }, 1, 1, 1},
		{"warm", func() error { _, err := a.RetrieveSubchunk(t.Context(), at(0, 1), o); return err }, 0, 1, 1},
		{"encoded", func() error { _, err := a.RetrieveEncodedSubchunk(t.Context(), at(0, 1), o); return err }, 0, 1, 0},
		{"region", func() error { _, err := a.RetrieveRegion(t.Context(), at(0, 0), at(8, 8), o); return err }, 3, 4, 16},
		{"batch", func() error {
			_, err := a.RetrieveSubchunks(t.Context(), [][]int64{at(0, 0), at(1, 1), at(3, 3)}, o)
			return err
		}, 0, 2, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec.Reset()
			before := tally.Cost()
			require.NoError(t, tc.read())
			after := tally.Cost()
			require.Equal(t, tc.indexes, after.IndexLoads-before.IndexLoads)
			require.Equal(t, tc.reads, after.Reads-before.Reads)
			require.Equal(t, tc.decodes, after.Decodes-before.Decodes)
			require.Equal(t, 8*tc.decodes, after.Elements-before.Elements)
			require.EqualValues(t, rec.Requests(), tc.indexes+tc.reads)
			require.Equal(t, rec.Bytes(), after.Bytes-before.Bytes)
			require.Zero(t, after.Failures+after.Requests+after.Waits)
		})
	}
}

// TestTraceOfAWait: who joins the load of an index waits, and does not load.
func TestTraceOfAWait(t *testing.T) {
	gate := storagetest.Shut(grid8(t, endCRC))
	gate.Let(1) // the metadata
	a, tally := traced(t, gate)
	cache := a.ShardCache(zarr.CacheOptions{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{Cache: cache}); err != nil {
				t.Error(err)
			}
		})
	}
	require.NoError(t, gate.Await(t.Context(), 1))
	for cache.Stats().Misses < 3 { // all three are there
	}
	gate.Open()
	wg.Wait()
	cost := tally.Cost()
	require.EqualValues(t, 1, cost.IndexLoads)
	require.EqualValues(t, 2, cost.Waits)
	require.EqualValues(t, 3, cost.Reads)
	require.Positive(t, cost.Waiting)
}

func TestTraceOfFailures(t *testing.T) {
	m := grid8(t, endCRC)
	a, tally := traced(t, storagetest.Break(m, map[int]storagetest.Fault{1: {Err: fault.ErrIO}}))
	_, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrIO)
	require.EqualValues(t, 1, tally.Cost().Failures)
}
