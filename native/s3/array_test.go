package s3_test

import (
	"encoding/binary"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/s3"
	"github.com/gridhold/gridhold/native/s3/s3test"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// grid is an array of 128 x 128 uint16, zstd, in 4 shards of 64 subchunks, in
// a bucket. Element (y, x) is y*step + x.
func grid(t *testing.T, s storage.Store, path string, step int) *zarr.Array {
	t.Helper()
	a, err := zarr.CreateArray(t.Context(), s, path, zarr.ArraySpec{
		Shape: []int64{128, 128}, ChunkShape: []int64{64, 64}, SubchunkShape: []int64{8, 8}, DataType: "uint16", FillValue: []byte("0"),
	}, zarr.Options{})
	require.NoError(t, err)
	require.NoError(t, a.StoreRegion(t.Context(), []int64{0, 0}, []int64{128, 128}, block(step, 0, 0, 128, 128)))
	return a
}

func block(step, y0, x0, y1, x1 int) (b []byte) {
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			b = binary.LittleEndian.AppendUint16(b, uint16(y*step+x))
		}
	}
	return b
}

// TestArray: written, listed and read in a bucket; what reads cost.
func TestArray(t *testing.T) {
	alone(t)
	g := s3test.Start(t, "bucket")
	s := open(t, g, "s3://bucket/groups", s3.Options{})
	_, err := zarr.CreateGroup(t.Context(), s, "", nil, zarr.Options{})
	require.NoError(t, err)
	grid(t, s, "a b", 3)
	nodes, err := zarr.List(t.Context(), s, "", zarr.Options{})
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	require.Equal(t, "a b", nodes[0].Path)

	var tally storage.Tally
	counted := open(t, g, "s3://bucket/groups", s3.Options{HTTP: storage.HTTPOptions{Trace: tally.Note}})
	a, err := zarr.OpenArray(t.Context(), counted, "a b", zarr.Options{Trace: tally.Note})
	require.NoError(t, err)
	var all [][]int64
	for k := range int64(256) {
		all = append(all, []int64{k / 16, k % 16})
	}
	before := tally.Cost()
	got, err := a.RetrieveSubchunks(t.Context(), all, zarr.ReadOptions{})
	require.NoError(t, err)
	for i, idx := range all {
		y, x := int(idx[0])*8, int(idx[1])*8
		require.Equal(t, block(3, y, x, y+8, x+8), got[i])
	}
	cost := tally.Cost()
	require.EqualValues(t, 8, cost.Requests-before.Requests, "an index and one request for 64 subchunks side by side, in 4 shards")
	require.EqualValues(t, 4, cost.IndexLoads)
	require.EqualValues(t, 256, cost.Decodes)

	pack, err := zarr.BuildIndexPack(t.Context(), s, "", zarr.Options{}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 4, pack.Size().Shards)
	a, err = zarr.OpenArray(t.Context(), counted, "a b", zarr.Options{IndexPack: pack})
	require.NoError(t, err)
	before = tally.Cost()
	one, err := a.RetrieveSubchunk(t.Context(), []int64{9, 9}, zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, block(3, 72, 72, 80, 80), one)
	require.EqualValues(t, 1, tally.Cost().Requests-before.Requests)
}

// TestOverwrittenShard: another writer's shard is noticed by its tag, by a
// reader with a cache and by one with an index pack.
func TestOverwrittenShard(t *testing.T) {
	alone(t)
	g := s3test.Start(t, "bucket")
	s := open(t, g, "s3://bucket/x", s3.Options{})
	writer := grid(t, s, "", 3)
	a, err := zarr.OpenArray(t.Context(), s, "", zarr.Options{})
	require.NoError(t, err)
	cache := a.ShardCache(zarr.CacheOptions{})
	_, err = a.RetrieveSubchunk(t.Context(), []int64{0, 0}, zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	pack, err := zarr.BuildIndexPack(t.Context(), s, "", zarr.Options{}, nil)
	require.NoError(t, err)
	packed, err := zarr.OpenArray(t.Context(), s, "", zarr.Options{IndexPack: pack})
	require.NoError(t, err)
	require.NoError(t, writer.StoreRegion(t.Context(), []int64{0, 0}, []int64{64, 64}, block(977, 0, 0, 64, 64)))
	for range 2 {
		got, err := a.RetrieveSubchunk(t.Context(), []int64{1, 1}, zarr.ReadOptions{Cache: cache})
		require.NoError(t, err)
		require.Equal(t, block(977, 8, 8, 16, 16), got)
		got, err = packed.RetrieveSubchunk(t.Context(), []int64{1, 1}, zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, block(977, 8, 8, 16, 16), got)
	}
}

// TestKilledServer: the server is killed in the middle of a batch.
func TestKilledServer(t *testing.T) {
	alone(t)
	g := s3test.Start(t, "bucket")
	grid(t, open(t, g, "s3://bucket/x", s3.Options{}), "", 3)
	killed := make(chan bool)
	var failed atomic.Int64
	s := open(t, g, "s3://bucket/x", s3.Options{HTTP: storage.HTTPOptions{Gap: -1, Trace: func(e storage.Event) {
		if e.Kind == storage.Requested && e.Err != nil {
			failed.Add(1)
		}
		if e.Kind == storage.Requested && e.Key == "c/1/1" {
			select {
			case <-killed:
			default:
				g.Kill()
				close(killed)
			}
		}
	}, Parallel: 1}})
	a, err := zarr.OpenArray(t.Context(), s, "", zarr.Options{})
	require.NoError(t, err)
	cache := a.ShardCache(zarr.CacheOptions{RememberMissing: true})
	// Not side by side, so that each subchunk is a request.
	var all [][]int64
	for k := range int64(64) {
		all = append(all, []int64{k / 8 * 2, k % 8 * 2})
	}
	_, err = a.RetrieveSubchunks(t.Context(), all, zarr.ReadOptions{Cache: cache})
	require.ErrorIs(t, err, fault.ErrIO)
	require.NotErrorIs(t, err, fault.ErrNotFound)
	require.LessOrEqual(t, failed.Load(), int64(4*(4+64)), "four tries of an index or a subchunk, at most")
	<-killed
	g.Restart()
	got, err := a.RetrieveSubchunks(t.Context(), all, zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	for i, idx := range all {
		y, x := int(idx[0])*8, int(idx[1])*8
		require.Equal(t, block(3, y, x, y+8, x+8), got[i])
	}
}

// TestWritersOfOneShard: two clients that know nothing of each other write
// parts of one shard at once. Each put is on the condition that the object is
// still the one that was read, so nothing is lost.
func TestWritersOfOneShard(t *testing.T) {
	alone(t)
	g := s3test.Start(t, "bucket")
	grid(t, open(t, g, "s3://bucket/x", s3.Options{}), "", 3)
	_, port, ok := strings.Cut(strings.TrimPrefix(g.Endpoint, "http://"), ":")
	require.True(t, ok)
	var wg sync.WaitGroup
	for client, host := range []string{"127.0.0.1", "localhost"} { // two names, so no lock of this process joins them
		s, err := s3.Open(t.Context(), "s3://bucket/x", s3.Options{Endpoint: "http://" + host + ":" + port, AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey})
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		a, err := zarr.OpenArray(t.Context(), s, "", zarr.Options{})
		require.NoError(t, err)
		wg.Go(func() {
			for k := client; k < 8; k += 2 {
				y := int64(8 * k)
				if err := a.StoreRegion(t.Context(), []int64{y, 0}, []int64{y + 8, 8}, block(977, 8*k, 0, 8*k+8, 8)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	a, err := zarr.OpenArray(t.Context(), open(t, g, "s3://bucket/x", s3.Options{}), "", zarr.Options{})
	require.NoError(t, err)
	got, err := a.RetrieveRegion(t.Context(), []int64{0, 0}, []int64{64, 16}, zarr.ReadOptions{})
	require.NoError(t, err)
	for y := range 64 {
		require.Equal(t, append(block(977, y, 0, y+1, 8), block(3, y, 8, y+1, 16)...), got[32*y:32*y+32], "row %d", y)
	}
}
