package zarr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

var endCRC = indexForm{checksums: 1}

// together runs f n times side by side and waits.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// Report 26: 32 readers of a cold cache cause one load a shard, and none
// when it is warm.
func TestOneIndexLoadAShard(t *testing.T) {
	rec := storagetest.Record(grid8(t, endCRC))
	gate := storagetest.Shut(rec)
	gate.Open()
	a := open(t, gate)
	cache := a.ShardCache(zarr.CacheOptions{})
	rec.Reset()
	gate.Close()
	read := func(i int) {
		got, err := a.RetrieveSubchunk(t.Context(), at(int64(i%4), int64(i/4%4)), zarr.ReadOptions{Cache: cache})
		if err != nil || string(got) != string(sub8(i%4, i/4%4)) {
			t.Errorf("subchunk %d: %v, %v", i, got, err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		together(32, read)
	}()
	for cache.Stats().Misses < 32 { // every reader waits for one of the four loads
		runtime.Gosched()
	}
	gate.Open()
	<-done
	require.EqualValues(t, 4, cache.Stats().Loads)
	require.Equal(t, 4+32, rec.Requests())
	rec.Reset()
	together(32, read)
	require.EqualValues(t, 4, cache.Stats().Loads)
	require.Equal(t, 32, rec.Requests(), "a warm read is one request")
	require.EqualValues(t, 4, cache.Len())
}

func TestWithoutACacheEachReadLoadsTheIndex(t *testing.T) {
	rec := storagetest.Record(grid8(t, endCRC))
	a := open(t, rec)
	rec.Reset()
	for range 3 {
		_, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{})
		require.NoError(t, err)
	}
	require.Equal(t, 6, rec.Requests())
}

// 16 cold shards by 16 readers take the latency of an index and of a
// subchunk, not one after the other.
func TestColdShardsLoadSideBySide(t *testing.T) {
	const latency = 20 * time.Millisecond
	m := storage.NewMemory()
	m.Set("zarr.json", endCRC.metadata("[16]", "[1]", "[1]", rawLE))
	for i := range 16 {
		m.Set(fmt.Sprintf("c/%d", i), endCRC.shard(u16(uint16(i))))
	}
	clock := storage.NewManualClock(time.Unix(0, 0))
	slow := storagetest.Delay(m, clock, latency)
	opened := make(chan *zarr.Array)
	go func() { opened <- open(t, slow) }()
	require.NoError(t, clock.Await(t.Context(), 1))
	clock.Advance(latency)
	a := <-opened
	cache := a.ShardCache(zarr.CacheOptions{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		together(16, func(i int) {
			got, err := a.RetrieveSubchunk(t.Context(), at(int64(i)), zarr.ReadOptions{Cache: cache})
			if err != nil || string(got) != string(u16(uint16(i))) {
				t.Errorf("%d: %v, %v", i, got, err)
			}
		})
	}()
	// All sixteen wait at the same time, twice: that is two latencies.
	for k := 1; k <= 2; k++ {
		for len(clock.Slept()) < 1+16*k {
			runtime.Gosched()
		}
		clock.Advance(latency)
	}
	<-done
	require.Equal(t, 3*latency, clock.Now().Sub(time.Unix(0, 0)))
}

func TestWarmReadDoesNotWaitForAColdShard(t *testing.T) {
	m := grid8(t, endCRC)
	stuck := &stuckKey{Memory: m, key: "c/1/1", waiting: make(chan struct{}), free: make(chan struct{})}
	a := open(t, stuck)
	cache := a.ShardCache(zarr.CacheOptions{})
	_, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	done := make(chan error)
	go func() {
		_, err := a.RetrieveSubchunk(t.Context(), at(3, 3), zarr.ReadOptions{Cache: cache})
		done <- err
	}()
	<-stuck.waiting
	got, err := a.RetrieveSubchunk(t.Context(), at(0, 1), zarr.ReadOptions{Cache: cache}) // hangs if it waits
	require.NoError(t, err)
	require.Equal(t, sub8(0, 1), got)
	close(stuck.free)
	require.NoError(t, <-done)
}

// stuckKey holds the first index read of one key.
type stuckKey struct {
	*storage.Memory
	key           string
	once          sync.Once
	waiting, free chan struct{}
}

func (s *stuckKey) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	if key == s.key {
		s.once.Do(func() { close(s.waiting) })
		<-s.free
	}
	return s.Memory.ReadRanges(ctx, key, rs, want)
}

// Report 27.
func TestFailedAndCancelledLoadsLeaveNothing(t *testing.T) {
	boom := fault.New(fault.ErrIO, "store", "c/0/0", "503")
	st := storagetest.Break(grid8(t, endCRC), map[int]storagetest.Fault{1: {Err: boom}})
	a := open(t, st) // read 0
	cache := a.ShardCache(zarr.CacheOptions{})
	_, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{Cache: cache})
	require.ErrorIs(t, err, fault.ErrIO)
	require.Zero(t, cache.Len())
	got, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	require.Equal(t, sub8(0, 0), got)

	gate := storagetest.Shut(grid8(t, endCRC))
	gate.Let(1)
	a = open(t, gate)
	cache = a.ShardCache(zarr.CacheOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := a.RetrieveSubchunk(ctx, at(0, 0), zarr.ReadOptions{Cache: cache})
		failed <- err
	}()
	require.NoError(t, gate.Await(t.Context(), 1))
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.Zero(t, cache.Len())
	gate.Open()
	got, err = a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	require.Equal(t, sub8(0, 0), got)
}

// Report 28.
func TestCacheOfAnotherArray(t *testing.T) {
	one, two := grid8(t, endCRC), grid8(t, endCRC)
	a, b := open(t, one), open(t, two)
	cache := a.ShardCache(zarr.CacheOptions{})
	o := zarr.ReadOptions{Cache: cache}
	_, err := b.RetrieveSubchunk(t.Context(), at(0, 0), o)
	require.ErrorIs(t, err, fault.ErrWrongArray)
	_, err = b.RetrieveEncodedSubchunk(t.Context(), at(0, 0), o)
	require.ErrorIs(t, err, fault.ErrWrongArray)
	_, err = b.RetrieveRegion(t.Context(), at(0, 0), at(1, 1), o)
	require.ErrorIs(t, err, fault.ErrWrongArray)
	_, err = b.RetrieveChunk(t.Context(), at(0, 0), o)
	require.ErrorIs(t, err, fault.ErrWrongArray)
	_, _, err = b.Locate(t.Context(), at(0, 0), o)
	require.ErrorIs(t, err, fault.ErrWrongArray)
	_, err = b.ShardIndex(t.Context(), at(0, 0), o)
	require.ErrorIs(t, err, fault.ErrWrongArray)

	again := open(t, one) // the same array by another handle may share
	_, err = again.RetrieveSubchunk(t.Context(), at(0, 0), o)
	require.NoError(t, err)
	one.Set("zarr.json", endCRC.metadata("[6,8]", "[4,4]", "[2,2]", gzipLE))
	_, err = open(t, one).RetrieveSubchunk(t.Context(), at(0, 0), o)
	require.ErrorIs(t, err, fault.ErrWrongArray, "the metadata is another")
}

// Report 29.
func TestRewrittenShardIsNoticed(t *testing.T) {
	m := grid8(t, endCRC)
	a := open(t, m)
	cache := a.ShardCache(zarr.CacheOptions{})
	o := zarr.ReadOptions{Cache: cache}
	_, err := a.RetrieveSubchunk(t.Context(), at(0, 0), o)
	require.NoError(t, err)
	m.Set("c/0/0", endCRC.shard(nil, zipped(u16(1, 1, 1, 1)), nil, zipped(u16(7, 7, 7, 7))))
	got, err := a.RetrieveSubchunk(t.Context(), at(1, 1), o)
	require.NoError(t, err)
	require.Equal(t, u16(7, 7, 7, 7), got)
	got, err = a.RetrieveRegion(t.Context(), at(0, 0), at(2, 2), o)
	require.NoError(t, err)
	require.Equal(t, u16(9, 9, 9, 9), got)

	m.Remove("c/0/0") // a shard that went away is a missing shard
	got, err = a.RetrieveSubchunk(t.Context(), at(1, 1), o)
	require.NoError(t, err)
	require.Equal(t, u16(9, 9, 9, 9), got)
}

// A shard that is replaced between every index and every subchunk ends in
// ErrStale, not in a loop.
func TestRestlessShardIsStale(t *testing.T) {
	m := grid8(t, endCRC)
	shard := endCRC.shard(zipped(sub8(0, 0)), nil, nil, nil)
	restless := &restless{Memory: m, before: func() { m.Set("c/0/0", shard) }}
	a := open(t, restless)
	rec := a.ShardCache(zarr.CacheOptions{})
	_, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{Cache: rec})
	require.ErrorIs(t, err, fault.ErrStale)
	require.EqualValues(t, 2, rec.Stats().Loads)
	_, err = a.RetrieveRegion(t.Context(), at(0, 0), at(8, 8), zarr.ReadOptions{Cache: rec})
	require.ErrorIs(t, err, fault.ErrStale)
}

type restless struct {
	*storage.Memory
	before func()
}

func (r *restless) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	if want != "" {
		r.before()
	}
	return r.Memory.ReadRanges(ctx, key, rs, want)
}

func (r *restless) ReadInto(ctx context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	r.before()
	return r.Memory.ReadInto(ctx, key, off, dst, want)
}

func TestMissingShardsAreRememberedOnRequest(t *testing.T) {
	m := storage.NewMemory()
	m.Set("zarr.json", endCRC.metadata("[8,8]", "[4,4]", "[2,2]", rawLE))
	rec := storagetest.Record(m)
	a := open(t, rec)
	for _, remember := range []bool{false, true} {
		cache := a.ShardCache(zarr.CacheOptions{RememberMissing: remember})
		o := zarr.ReadOptions{Cache: cache}
		rec.Reset()
		for range 3 {
			got, err := a.RetrieveSubchunk(t.Context(), at(0, 0), o)
			require.NoError(t, err)
			require.Equal(t, u16(9, 9, 9, 9), got)
		}
		want := map[bool]int{false: 3, true: 1}[remember]
		require.Equal(t, want, rec.Requests())
		if remember {
			m.Set("c/0/0", endCRC.shard(u16(1, 2, 3, 4), nil, nil, nil))
			cache.Invalidate(at(0, 0))
			got, err := a.RetrieveSubchunk(t.Context(), at(0, 0), o)
			require.NoError(t, err)
			require.Equal(t, u16(1, 2, 3, 4), got)
			m.Remove("c/0/0")
		}
	}
}

func TestCacheKeepsToItsBudget(t *testing.T) {
	m := grid8(t, endCRC)
	a := open(t, m)
	cache := a.ShardCache(zarr.CacheOptions{Budget: 800}) // two small indexes
	for k := range 16 {
		_, err := a.RetrieveSubchunk(t.Context(), at(int64(k/4), int64(k%4)), zarr.ReadOptions{Cache: cache})
		require.NoError(t, err)
		require.LessOrEqual(t, cache.Stats().Bytes, int64(800))
	}
	require.Equal(t, 2, cache.Len())
	cache.Clear()
	require.Zero(t, cache.Len())
	require.Zero(t, cache.Stats().Bytes)
}

// A store that fails never becomes fill values, nor a missing shard.
func TestFailuresAreNotFillValues(t *testing.T) {
	for _, kind := range []error{fault.ErrIO, fault.ErrNotAllowed} {
		st := storagetest.Break(grid8(t, endCRC), map[int]storagetest.Fault{1: {Err: kind}, 2: {Err: kind}, 4: {Err: kind}})
		a := open(t, st)
		_, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{})
		require.ErrorIs(t, err, kind, "the index")
		_, err = a.RetrieveRegion(t.Context(), at(0, 0), at(2, 2), zarr.ReadOptions{})
		require.ErrorIs(t, err, kind, "the index of a region")
		_, err = a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{})
		require.ErrorIs(t, err, kind, "the subchunk")
	}
	for n := 1; n <= 2; n++ {
		st := storagetest.Break(grid8(t, endCRC), map[int]storagetest.Fault{n: {Shorten: 3}})
		_, err := open(t, st).RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{})
		require.ErrorIs(t, err, fault.ErrCorrupt, "read %d cut short", n)
	}
	for n := 1; n <= 2; n++ {
		st := storagetest.Break(grid8(t, endCRC), map[int]storagetest.Fault{n: {Panic: "bad"}})
		a := open(t, st)
		cache := a.ShardCache(zarr.CacheOptions{})
		func() {
			defer func() { recover() }() // the second read runs on the caller's own goroutine
			_, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{Cache: cache})
			require.True(t, errors.Is(err, fault.ErrInternal))
		}()
		got, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{Cache: cache})
		require.NoError(t, err)
		require.Equal(t, sub8(0, 0), got)
	}
}

// A subchunk that a kept index calls empty is there once it has been written.
func TestWrittenSubchunkIsSeenThroughAKeptIndex(t *testing.T) {
	m := storage.NewMemory()
	_, err := zarr.CreateArray(t.Context(), m, "", zarr.ArraySpec{Shape: at(8), ChunkShape: at(8), SubchunkShape: at(2), DataType: "uint16"}, zarr.Options{})
	require.NoError(t, err)
	w, a := open(t, m), open(t, m)
	require.NoError(t, w.StoreSubchunk(t.Context(), at(0), u16(1, 2)))
	o := zarr.ReadOptions{Cache: a.ShardCache(zarr.CacheOptions{})}
	for k := int64(1); k < 4; k++ {
		got, err := a.RetrieveSubchunk(t.Context(), at(k), o)
		require.NoError(t, err)
		require.Equal(t, u16(0, 0), got)
		require.NoError(t, w.StoreSubchunk(t.Context(), at(k), u16(7, uint16(k))))
		switch k {
		case 1:
			got, err = a.RetrieveSubchunk(t.Context(), at(k), o)
		case 2:
			got, err = a.RetrieveRegion(t.Context(), at(2*k), at(2*k+2), o)
		case 3:
			var all [][]byte
			all, err = a.RetrieveSubchunks(t.Context(), [][]int64{at(k)}, o)
			got = all[0]
		}
		require.NoError(t, err)
		require.Equal(t, u16(7, uint16(k)), got)
		stored, err := a.RetrieveEncodedSubchunk(t.Context(), at(k), o)
		require.NoError(t, err)
		require.NotNil(t, stored)
		_, ok, err := a.Locate(t.Context(), at(k), o)
		require.NoError(t, err)
		require.True(t, ok)
	}
}
