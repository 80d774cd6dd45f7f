package host_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/web"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

const requests = "../testdata/requests"

// fieldSubchunk is what the k-th subchunk of each shard of the field holds.
func fieldSubchunk(k int) []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(31*k + 7*i)
	}
	return b
}

// field is the array that testdata/README tells of: 16 shards, all
// alike, of 1024 subchunks.
func field(t testing.TB) map[string][]byte {
	meta, err := os.ReadFile(filepath.Join(requests, "zarr.json"))
	require.NoError(t, err)
	var shard, index []byte
	for k := range 1024 {
		index = binary.LittleEndian.AppendUint64(index, uint64(len(shard)))
		index = binary.LittleEndian.AppendUint64(index, 256)
		shard = append(shard, fieldSubchunk(k)...)
	}
	shard = append(shard, index...)
	out := map[string][]byte{"zarr.json": meta}
	for s := range 16 {
		out[fmt.Sprintf("c/%d/%d", s/4, s%4)] = shard
	}
	return out
}

// picks are 256 subchunks of the field, 16 of each shard; kth says which of
// its shard each is.
func picks() (at [][]int64, kth []int) {
	for j := range 16 {
		for s := range 16 {
			k := (61*j + 17*s) % 1024
			at = append(at, []int64{int64(s/4*32 + k/32), int64(s%4*32 + k%32)})
			kth = append(kth, k)
		}
	}
	return at, kth
}

// countingServer serves objects and counts what it is asked.
type countingServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // method, key, range
}

func count(t testing.TB, objects map[string][]byte) *countingServer {
	c := &countingServer{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.URL.Path, "/")
		c.mu.Lock()
		c.requests = append(c.requests, r.Method+" "+key+" "+r.Header.Get("Range"))
		c.mu.Unlock()
		b, ok := objects[key]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}))
	t.Cleanup(c.Close)
	return c
}

// asked returns what was asked since the last call, none of it a HEAD.
func (c *countingServer) asked(t testing.TB) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.requests
	c.requests = nil
	for _, r := range out {
		require.False(t, strings.HasPrefix(r, "HEAD"), r)
	}
	return out
}

func fetching(t testing.TB) *host.Sandbox {
	f := web.New(web.Options{})
	t.Cleanup(func() { f.Close() })
	return newSandbox(t, host.Config{Fetcher: f})
}

// TestRequests: what reads of 256 subchunks in 16 shards cost where the guest
// speaks HTTP, and that Cost says the same.
func TestRequests(t *testing.T) {
	server := count(t, field(t))
	s := fetching(t)
	at, kth := picks()
	open := func(t *testing.T, h host.HTTPOptions, o host.OpenOptions) *host.Array {
		a, err := s.OpenArray(t.Context(), s.HTTP(server.URL, h), "", o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		return a
	}
	eachAlone := func(t *testing.T, a *host.Array, o host.ReadOptions) {
		for i := range at {
			got, err := a.RetrieveSubchunk(t.Context(), at[i], o)
			require.NoError(t, err)
			require.Equal(t, fieldSubchunk(kth[i]), got)
		}
	}
	t.Run("one at a time", func(t *testing.T) {
		a := open(t, host.HTTPOptions{}, host.OpenOptions{Trace: true})
		eachAlone(t, a, host.ReadOptions{Cache: a.ShardCache(host.CacheOptions{})})
		require.Len(t, server.asked(t), 1+272)
		c, err := a.Cost(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 273, c.Requests)
		require.EqualValues(t, 16, c.IndexLoads)
		require.EqualValues(t, 256, c.Reads)
		require.EqualValues(t, 256, c.Decodes)
		require.EqualValues(t, 256*256, c.Elements)
		require.EqualValues(t, 256*256+16*1024*16, c.Bytes)
		require.Positive(t, c.Requesting)
		require.Positive(t, c.Decoding)
		require.Zero(t, c.Failures)
	})
	batch := func(t *testing.T, a *host.Array) {
		got, err := a.RetrieveSubchunks(t.Context(), at, host.ReadOptions{})
		require.NoError(t, err)
		for i := range at {
			require.Equal(t, fieldSubchunk(kth[i]), got[i])
		}
	}
	for name, tc := range map[string]struct {
		o           host.HTTPOptions
		least, most int
	}{
		"batch":                {host.HTTPOptions{}, 32, 263},
		"batch, no gap":        {host.HTTPOptions{Gap: -1}, 272, 272},
		"batch, none is large": {host.HTTPOptions{MaxMerged: 256}, 272, 272},
		"batch, a large gap":   {host.HTTPOptions{Gap: 1 << 20}, 32, 32},
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, tc.o, host.OpenOptions{})
			server.asked(t)
			batch(t, a)
			n := len(server.asked(t))
			require.LessOrEqual(t, n, tc.most)
			require.GreaterOrEqual(t, n, tc.least)
		})
	}
	t.Run("index pack", func(t *testing.T) {
		f := web.New(web.Options{})
		defer f.Close()
		pack, err := zarr.BuildIndexPack(t.Context(), storage.NewHTTP(f, server.URL, storage.HTTPOptions{}), "", zarr.Options{}, nil)
		require.NoError(t, err)
		kept := filepath.Join(requests, "pack")
		if os.Getenv("GRIDHOLD_UPDATE") != "" {
			require.NoError(t, os.WriteFile(kept, pack.Bytes(), 0o666))
		}
		b, err := os.ReadFile(kept)
		require.NoError(t, err)
		require.Equal(t, pack.Bytes(), b, "what the bindings test with")
		m := storage.NewMemory()
		m.Set("pack", b)
		server.asked(t)
		a := open(t, host.HTTPOptions{}, host.OpenOptions{IndexPack: &host.IndexPack{Store: m, Key: "pack"}})
		eachAlone(t, a, host.ReadOptions{})
		require.Len(t, server.asked(t), 1+256)
		batch(t, a)
		require.LessOrEqual(t, len(server.asked(t)), 256)

		m.Set("zarr.json", []byte(strings.Replace(string(field(t)["zarr.json"]), "2048, 2048", "2048, 2049", 1)))
		_, err = s.OpenArray(t.Context(), m, "", host.OpenOptions{IndexPack: &host.IndexPack{Store: m, Key: "pack"}})
		require.ErrorIs(t, err, fault.ErrWrongArray)
		_, err = s.OpenArray(t.Context(), m, "", host.OpenOptions{IndexPack: &host.IndexPack{Store: m, Key: "none"}})
		require.ErrorIs(t, err, fault.ErrNotFound)
		_, err = s.OpenArray(t.Context(), m, "", host.OpenOptions{IndexPack: &host.IndexPack{}})
		require.ErrorIs(t, err, fault.ErrInvalid)
	})
	_, err := open(t, host.HTTPOptions{}, host.OpenOptions{}).Cost(t.Context())
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// TestZip: an archive of the host's, and one that the guest reads over HTTP.
func TestZip(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(requests, "small.zip"))
	require.NoError(t, err)
	server := count(t, map[string][]byte{"dir/small.zip": b})
	s := fetching(t)
	m := storage.NewMemory()
	m.Set("small.zip", b)
	for name, st := range map[string]*host.Zip{
		"host": host.NewZip(m, "small.zip"), "http": host.NewZip(s.HTTP(server.URL, host.HTTPOptions{}), "dir/small.zip"),
	} {
		t.Run(name, func(t *testing.T) {
			a, err := s.OpenArray(t.Context(), st, "a", host.OpenOptions{})
			require.NoError(t, err)
			defer a.Close()
			got, err := a.RetrieveSubchunk(t.Context(), []int64{1, 2}, host.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, fieldSubchunk(2), got)
			entries, err := s.List(t.Context(), st, "")
			require.NoError(t, err)
			require.Len(t, entries, 1)
			_, err = s.OpenArray(t.Context(), host.NewZip(st, "x"), "", host.OpenOptions{})
			require.ErrorIs(t, err, fault.ErrUnsupported)
		})
	}
	_, err = s.OpenArray(t.Context(), host.NewZip(m, "none.zip"), "", host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrInvalid)
}
