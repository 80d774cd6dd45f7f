package web

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// latency of the server whose requests are counted.
const latency = 5 * time.Millisecond

// counted is a server that takes a while for each request, and counts them.
type counted struct {
	url      string
	server   *httptest.Server
	requests atomic.Int64
	heads    atomic.Int64
	sent     atomic.Int64 // bytes of objects
	busy     atomic.Int64
	most     atomic.Int64 // requests at once
	died     chan bool    // closed at the request that dieAt says
	dieAt    atomic.Int64 // 0: never
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := c.requests.Add(1)
	if r.Method == http.MethodHead {
		c.heads.Add(1)
	}
	for now := c.busy.Add(1); ; {
		most := c.most.Load()
		if now <= most || c.most.CompareAndSwap(most, now) {
			break
		}
	}
	time.Sleep(latency) // what a network does
	c.busy.Add(-1)      // the client may have the last byte, and ask again, before this function ends
	if at := c.dieAt.Load(); at > 0 && n >= at {
		if n == at {
			close(c.died)
		}
		panic(http.ErrAbortHandler)
	}
	b, ok := field()[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"one"`)
	http.ServeContent(&metered{w, &c.sent}, r, "", time.Time{}, bytes.NewReader(b))
}

type metered struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (m *metered) Write(b []byte) (int, error) {
	m.n.Add(int64(len(b)))
	return m.ResponseWriter.Write(b)
}

func count(t *testing.T) *counted {
	c := &counted{died: make(chan bool)}
	c.server = httptest.NewServer(c)
	c.url = c.server.URL
	t.Cleanup(func() { c.server.Close() })
	return c
}

func (c *counted) reset() {
	c.requests.Store(0)
	c.heads.Store(0)
	c.sent.Store(0)
	c.most.Store(0)
}

// field is an array of 4096 x 4096 uint16 in 16 shards of 1024 subchunks of
// 2 KiB, zstd; a slope with 4 bits of noise. Four shards are encoded, and each
// is there four times, never beside itself.
var field = sync.OnceValue(func() map[string][]byte {
	spec := zarr.ArraySpec{ChunkShape: []int64{1024, 1024}, SubchunkShape: []int64{32, 32}, DataType: "uint16", FillValue: []byte("0")}
	create := func(shape ...int64) (*storage.Memory, *zarr.Array) {
		m := storage.NewMemory()
		spec.Shape = shape
		a, err := zarr.CreateArray(ctx, m, "", spec, zarr.Options{})
		if err != nil {
			panic(err)
		}
		return m, a
	}
	m, a := create(1024, 4096)
	err := a.Fill(ctx, func(_ context.Context, start, stop []int64) ([]byte, error) {
		noise := rand.New(rand.NewPCG(1, uint64(start[1]))) // this is called side by side
		b := make([]byte, 0, 2*1024*1024)
		for y := start[0]; y < stop[0]; y++ {
			for x := start[1]; x < stop[1]; x++ {
				v := uint16(y+x)*4 + uint16(noise.Uint32()&15)
				b = append(b, byte(v), byte(v>>8))
			}
		}
		return b, nil
	}, nil)
	if err != nil {
		panic(err)
	}
	get := func(m *storage.Memory, key string) []byte {
		b, _, err := storage.ReadAll(ctx, m, key, 1<<30)
		if err != nil {
			panic(err)
		}
		return b
	}
	whole, _ := create(4096, 4096)
	out := map[string][]byte{"zarr.json": get(whole, "zarr.json")}
	for k, key := range shardKeys() {
		out[key] = get(m, "c/0/"+itoa(int64((k/4+k%4)%4)))
	}
	return out
})

func shardKeys() (keys []string) {
	for y := range 4 {
		for x := range 4 {
			keys = append(keys, "c/"+string(rune('0'+y))+"/"+string(rune('0'+x)))
		}
	}
	return keys
}

// picks are 256 subchunks at random, 16 in each shard, in no order.
func picks() [][]int64 {
	r := rand.New(rand.NewPCG(3, 4))
	var out [][]int64
	for shard := range 16 {
		for _, k := range r.Perm(1024)[:16] {
			out = append(out, []int64{int64(shard/4*32 + k/32), int64(shard%4*32 + k%32)})
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// expected are the picks as they are read from memory.
func expected(t *testing.T) [][]byte {
	m := storage.NewMemory()
	for key, b := range field() {
		m.Set(key, b)
	}
	a, err := zarr.OpenArray(ctx, m, "", zarr.Options{})
	require.NoError(t, err)
	out, err := a.RetrieveSubchunks(ctx, picks(), zarr.ReadOptions{})
	require.NoError(t, err)
	return out
}

// timings reports whether times are to be held to what we promise. They are
// not where other work disturbs them.
func timings() bool { return os.Getenv("GRIDHOLD_TIMINGS") != "" }

// TestRequests counts what reads of 256 random subchunks in 16 shards cost.
func TestRequests(t *testing.T) {
	want, at := expected(t), picks()
	c := count(t)
	open := func(t *testing.T, o zarr.Options) *zarr.Array {
		a, err := zarr.OpenArray(ctx, storage.NewHTTP(fetcher(t), c.url, storage.HTTPOptions{Clock: Clock{}}), "", o)
		require.NoError(t, err)
		return a
	}
	one := func(t *testing.T, a *zarr.Array, cache *zarr.ShardCache, i int) {
		got, err := a.RetrieveSubchunk(ctx, at[i], zarr.ReadOptions{Cache: cache})
		if err != nil || !bytes.Equal(got, want[i]) {
			t.Errorf("subchunk %v: %d bytes, %v", at[i], len(got), err)
		}
	}
	done := func(t *testing.T, began time.Time, most int64) {
		t.Logf("%d requests, %d bytes, %v, %d at once", c.requests.Load(), c.sent.Load(), time.Since(began).Round(100*time.Microsecond), c.most.Load())
		require.LessOrEqual(t, c.requests.Load(), most)
		require.Zero(t, c.heads.Load())
	}
	t.Run("one at a time", func(t *testing.T) {
		a := open(t, zarr.Options{})
		// In turns with a bare loop of as many gets of as many bytes.
		var ours, bare []time.Duration
		for range 2 {
			cache := a.ShardCache(zarr.CacheOptions{})
			c.reset()
			began := time.Now()
			for i := range at {
				one(t, a, cache, i)
			}
			ours = append(ours, time.Since(began))
			done(t, began, 272)
			require.EqualValues(t, 272, c.requests.Load())
			bare = append(bare, bareLoop(t, c.url, at, a))
		}
		ratio := float64(slices.Min(ours)) / float64(slices.Min(bare))
		t.Logf("bare loop of 272 gets: %v; ratio %.3f", slices.Min(bare).Round(100*time.Microsecond), ratio)
		if timings() {
			require.LessOrEqual(t, ratio, 1.1)
		}
	})
	t.Run("16 at once", func(t *testing.T) {
		a := open(t, zarr.Options{})
		cache := a.ShardCache(zarr.CacheOptions{})
		c.reset()
		began := time.Now()
		var next atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(at); i = int(next.Add(1)) - 1 {
					one(t, a, cache, i)
				}
			})
		}
		wg.Wait()
		if timings() {
			require.LessOrEqual(t, time.Since(began), 150*time.Millisecond)
		}
		done(t, began, 272)
	})
	t.Run("a batch", func(t *testing.T) {
		a := open(t, zarr.Options{})
		var took []time.Duration
		for range 4 { // from the second time on connections are there
			c.reset()
			began := time.Now()
			got, err := a.RetrieveSubchunks(ctx, at, zarr.ReadOptions{})
			took = append(took, time.Since(began))
			require.NoError(t, err)
			require.Equal(t, want, got)
			done(t, began, 263)
			require.LessOrEqual(t, c.most.Load(), int64(32))
		}
		if timings() {
			require.LessOrEqual(t, slices.Min(took), 70*time.Millisecond)
		}
	})
	t.Run("with an index pack", func(t *testing.T) {
		s := storage.NewHTTP(fetcher(t), c.url, storage.HTTPOptions{})
		c.reset()
		pack, err := zarr.BuildIndexPack(ctx, s, "", zarr.Options{}, nil)
		require.NoError(t, err)
		require.EqualValues(t, 17, c.requests.Load())
		size := pack.Size()
		t.Logf("%d bytes: %.2f a subchunk", size.Bytes, float64(size.Bytes)/(16*1024))
		require.LessOrEqual(t, size.Bytes, int64(4*16*1024+64*16))
		c.reset()
		began := time.Now()
		a := open(t, zarr.Options{IndexPack: pack})
		for i := range at {
			one(t, a, nil, i)
		}
		done(t, began, 256+1)
		c.reset()
		began = time.Now()
		got, err := a.RetrieveSubchunks(ctx, at, zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got)
		done(t, began, 256)
	})
	t.Run("a region", func(t *testing.T) {
		a := open(t, zarr.Options{})
		c.reset()
		began := time.Now()
		_, err := a.RetrieveRegion(ctx, []int64{900, 900}, []int64{1200, 1200}, zarr.ReadOptions{})
		require.NoError(t, err)
		done(t, began, 4+40) // 4 indexes; a row of subchunks in a shard is one request, or rows join
	})
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// bareLoop gets the same ranges with net/http alone.
func bareLoop(t *testing.T, url string, at [][]int64, a *zarr.Array) time.Duration {
	cache := a.ShardCache(zarr.CacheOptions{})
	type get struct{ key, span string }
	var gets []get
	for _, key := range shardKeys() {
		gets = append(gets, get{key, "bytes=-16388"})
	}
	for _, idx := range at {
		l, ok, err := a.Locate(ctx, idx, zarr.ReadOptions{Cache: cache})
		require.NoError(t, err)
		require.True(t, ok)
		gets = append(gets, get{l.Key, "bytes=" + itoa(l.Off) + "-" + itoa(l.Off+l.Len-1)})
	}
	client := &http.Client{Transport: NewTransport()}
	defer client.CloseIdleConnections()
	began := time.Now()
	for _, g := range gets {
		r, err := http.NewRequest("GET", url+"/"+g.key, nil)
		require.NoError(t, err)
		r.Header.Set("Range", g.span)
		res, err := client.Do(r)
		require.NoError(t, err)
		_, err = bytes.NewBuffer(nil).ReadFrom(res.Body)
		require.NoError(t, err)
		res.Body.Close()
	}
	return time.Since(began)
}

// TestServerDies: a server that is killed in the middle of a batch. The error
// comes in bounded time, nothing is remembered as absent, and the same handle
// reads on when the server is back.
func TestServerDies(t *testing.T) {
	want, at := expected(t), picks()
	c := count(t)
	address := c.server.Listener.Addr().String()
	clock := storage.NewManualClock(time.Unix(0, 0))
	clock.Skip()
	a, err := zarr.OpenArray(ctx, storage.NewHTTP(fetcher(t), c.url, storage.HTTPOptions{Clock: clock}), "", zarr.Options{})
	require.NoError(t, err)
	cache := a.ShardCache(zarr.CacheOptions{RememberMissing: true})
	c.dieAt.Store(c.requests.Load() + 60)
	go func() {
		<-c.died
		c.server.Listener.Close()
		c.server.CloseClientConnections()
	}()
	_, err = a.RetrieveSubchunks(ctx, at, zarr.ReadOptions{Cache: cache})
	require.ErrorIs(t, err, fault.ErrIO)
	require.NotErrorIs(t, err, fault.ErrNotFound)
	waits := clock.Slept()
	require.LessOrEqual(t, len(waits), 3*272, "three more tries of each request, at most")
	require.Less(t, slices.Max(append(waits, 0)), 10*time.Second)
	_, err = a.RetrieveSubchunk(ctx, at[0], zarr.ReadOptions{Cache: cache})
	if err == nil {
		t.Fatal("read from a server that is gone")
	}

	again := &counted{died: make(chan bool)}
	again.server = httptest.NewUnstartedServer(again)
	again.server.Listener.Close()
	again.server.Listener, err = net.Listen("tcp", address)
	require.NoError(t, err)
	again.server.Start()
	t.Cleanup(again.server.Close)
	got, err := a.RetrieveSubchunks(ctx, at, zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	require.Equal(t, want, got)
}
