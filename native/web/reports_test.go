package web

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// Tests named after reports of faults in other libraries: servers as they are
// found, an array read from them, and what is right.

const (
	shards      = 5
	perShard    = 8
	perSubchunk = 16 // elements
)

// line is a one-dimensional array of uint16, zstd, in shards, as the objects of
// a server. Element i is i*step.
func line(t *testing.T, step int) map[string][]byte {
	t.Helper()
	m := storage.NewMemory()
	spec := zarr.ArraySpec{
		Shape: []int64{shards * perShard * perSubchunk}, ChunkShape: []int64{perShard * perSubchunk}, SubchunkShape: []int64{perSubchunk},
		DataType: "uint16", FillValue: []byte("7"),
	}
	a, err := zarr.CreateArray(ctx, m, "", spec, zarr.Options{})
	require.NoError(t, err)
	require.NoError(t, a.StoreRegion(ctx, []int64{0}, spec.Shape, elements(step, 0, int(spec.Shape[0]))))
	return objectsOf(t, m, "")
}

func elements(step, from, to int) []byte {
	var b []byte
	for i := from; i < to; i++ {
		b = binary.LittleEndian.AppendUint16(b, uint16(i*step))
	}
	return b
}

func subchunk(step, k int) []byte { return elements(step, k*perSubchunk, (k+1)*perSubchunk) }

func objectsOf(t *testing.T, m *storage.Memory, prefix string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	names, err := m.List(ctx, prefix)
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			for key, b := range objectsOf(t, m, prefix+name) {
				out[key] = b
			}
			continue
		}
		b, _, err := storage.ReadAll(ctx, m, prefix+name, 1<<30)
		require.NoError(t, err)
		out[prefix+name] = b
	}
	return out
}

// quick is a clock that does not wait.
func quick() *storage.ManualClock {
	c := storage.NewManualClock(time.Unix(0, 0))
	c.Skip()
	return c
}

func opened(t *testing.T, url string, o storage.HTTPOptions) *zarr.Array {
	t.Helper()
	a, err := zarr.OpenArray(ctx, storage.NewHTTP(fetcher(t), url, o), "", zarr.Options{})
	require.NoError(t, err)
	return a
}

// readsAll reads each subchunk through one cache.
func readsAll(t *testing.T, a *zarr.Array, step int) {
	t.Helper()
	cache := a.ShardCache(zarr.CacheOptions{})
	for k := range shards * perShard {
		got, err := a.RetrieveSubchunk(ctx, []int64{int64(k)}, zarr.ReadOptions{Cache: cache})
		require.NoError(t, err)
		require.Equal(t, subchunk(step, k), got)
	}
}

// Report 16: a suffix is asked for as one, or by an explicit range.
func TestReport16NoNegativeOffsets(t *testing.T) {
	wellFormed := regexp.MustCompile(`^bytes=(-\d+|\d+-\d*)$`)
	for _, q := range []storagetest.Quirks{{}, {IgnoreSuffix: true}, {RefuseSuffix: 416}} {
		o := storagetest.NewOrigin(line(t, 3))
		o.Quirks = q
		url := origin(t, o)
		var bad []string
		strict := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if span := r.Header.Get("Range"); span != "" && !wellFormed.MatchString(span) {
				bad = append(bad, span)
				r.Header.Del("Range") // as the server of the report: 200 and all
			}
			forward(t, w, r, url)
		})
		readsAll(t, opened(t, strict.URL, storage.HTTPOptions{}), 3)
		require.Empty(t, bad)
	}
}

// forward passes a request on to another server.
func forward(t *testing.T, w http.ResponseWriter, r *http.Request, url string) {
	req, err := http.NewRequest(r.Method, url+r.URL.EscapedPath(), nil)
	if err != nil {
		t.Error(err)
		return
	}
	req.Header = r.Header.Clone()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	io.Copy(w, res.Body)
}

// Report 17: servers without suffix ranges. The way that fails is tried once,
// and nothing is downloaded whole.
func TestReport17NoSuffixRanges(t *testing.T) {
	for name, q := range map[string]storagetest.Quirks{
		"ignored": {IgnoreSuffix: true}, "416": {RefuseSuffix: 416}, "501": {RefuseSuffix: 501}, "no head": {RefuseSuffix: 501, RefuseHead: 403},
	} {
		t.Run(name, func(t *testing.T) {
			o := storagetest.NewOrigin(line(t, 3))
			o.Quirks = q
			var received tally
			a := opened(t, origin(t, o), storage.HTTPOptions{WholeLimit: 200, Trace: received.note})
			received.bytes = 0
			readsAll(t, a, 3)
			suffixes, heads := 0, 0
			for _, r := range o.Requests() {
				if strings.Contains(r, "bytes=-") {
					suffixes++
				}
				if strings.HasPrefix(r, "HEAD") {
					heads++
				}
			}
			require.Equal(t, 1, suffixes, o.Requests())
			if q.RefuseHead != 0 {
				require.Equal(t, 1, heads, o.Requests())
			}
			whole := 0
			for key, b := range line(t, 3) {
				if key != "zarr.json" {
					whole += len(b)
				}
			}
			require.Less(t, received.bytes, int64(2*whole), "the ranges of all subchunks and indexes, not the shards again and again")
		})
	}
}

// tally counts bytes of bodies.
type tally struct {
	mu    sync.Mutex
	bytes int64
}

func (c *tally) note(e storage.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Kind == storage.Requested {
		c.bytes += e.Bytes
	}
}

// Report 18: 200 and the whole object for a range; and one that never ends.
func TestReport18RangesIgnored(t *testing.T) {
	o := storagetest.NewOrigin(line(t, 3))
	o.Quirks = storagetest.Quirks{IgnoreRange: true}
	url := origin(t, o)
	readsAll(t, opened(t, url, storage.HTTPOptions{}), 3)

	a, err := zarr.OpenArray(ctx, storage.NewHTTP(fetcher(t), url, storage.HTTPOptions{WholeLimit: 1 << 20}), "", zarr.Options{})
	require.NoError(t, err)
	cache := a.ShardCache(zarr.CacheOptions{RememberMissing: true})
	o.Put("c/1", append(make([]byte, 2<<20), line(t, 3)["c/1"]...)) // too large to be taken whole
	_, err = a.RetrieveSubchunk(ctx, []int64{perShard}, zarr.ReadOptions{Cache: cache})
	require.ErrorIs(t, err, fault.ErrUnsupported)
	require.ErrorContains(t, err, "ranges")
	require.Zero(t, cache.Len())
	o.Put("c/1", line(t, 3)["c/1"])
	got, err := a.RetrieveSubchunk(ctx, []int64{perShard}, zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	require.Equal(t, subchunk(3, perShard), got)

	endless := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "zarr.json") {
			forward(t, w, r, url)
			return
		}
		answer(w, r, storagetest.Answer{Response: storage.Response{Status: 200, Body: make([]byte, 4096)}, Endless: true})
	})
	a = opened(t, endless.URL, storage.HTTPOptions{WholeLimit: 1 << 16})
	cache = a.ShardCache(zarr.CacheOptions{RememberMissing: true})
	for range 2 {
		_, err = a.RetrieveSubchunk(ctx, []int64{1}, zarr.ReadOptions{Cache: cache})
		require.ErrorIs(t, err, fault.ErrUnsupported)
		require.Zero(t, cache.Len())
	}
}

// Report 19: a short 206 at the end is right; one that is cut within what is
// needed is tried again, then an error, and never padded.
func TestReport19ShortAnswers(t *testing.T) {
	data := storagetest.Pattern(1000, 1)
	o := storagetest.NewOrigin(map[string][]byte{"k": data})
	clock := quick()
	s := storage.NewHTTP(fetcher(t), origin(t, o), storage.HTTPOptions{Clock: clock})
	bs, _, err := s.ReadRanges(ctx, "k", []storage.Range{{Off: 512, Len: 512}}, "")
	require.NoError(t, err)
	require.Equal(t, data[512:], bs[0])
	o.Quirks = storagetest.Quirks{CutBy: 3}
	_, _, err = s.ReadRanges(ctx, "k", []storage.Range{{Off: 512, Len: 512}}, "")
	require.ErrorIs(t, err, fault.ErrIO)
	require.Len(t, clock.Slept(), 3)
	o.Quirks = storagetest.Quirks{ShiftRange: 1}
	_, _, err = s.ReadRanges(ctx, "k", []storage.Range{{Off: 5, Len: 10}}, "")
	require.ErrorIs(t, err, fault.ErrIO)
	require.ErrorContains(t, err, "asked for 5+10")
}

// Report 21: what a page may see of an answer, and may ask.
func TestReport21CrossOrigin(t *testing.T) {
	for name, q := range map[string]storagetest.Quirks{"all exposed": {}, "no content-range": {HideRange: true}, "no head": {RefuseHead: 405}} {
		for _, browser := range []bool{true, false} {
			t.Run(fmt.Sprint(name, browser), func(t *testing.T) {
				o := storagetest.NewOrigin(line(t, 3))
				o.Quirks = q
				readsAll(t, opened(t, origin(t, o), storage.HTTPOptions{NoSuffix: browser, NoConditions: browser}), 3)
				if browser {
					require.NotContains(t, strings.Join(o.Requests(), "\n"), "bytes=-")
				} else {
					require.NotContains(t, strings.Join(o.Requests(), "\n"), "HEAD")
				}
			})
		}
	}
}

// Report 22: absent, forbidden and broken are three things, for a shard, a
// chunk and the metadata; none of the failures is remembered.
func TestReport22AbsentForbiddenBroken(t *testing.T) {
	for _, tc := range []struct {
		status  int // -1: the line is cut
		lax     bool
		want    error // nil: fill values
		retried bool
	}{
		{404, false, nil, false}, {410, false, nil, false}, {403, false, fault.ErrNotAllowed, false}, {403, true, nil, false},
		{401, true, fault.ErrNotAllowed, false}, {429, false, fault.ErrIO, true}, {500, false, fault.ErrIO, true}, {503, true, fault.ErrIO, true},
		{-1, false, fault.ErrIO, true}, {-1, true, fault.ErrIO, true},
	} {
		t.Run(fmt.Sprint(tc.status, tc.lax), func(t *testing.T) {
			url := origin(t, storagetest.NewOrigin(line(t, 3)))
			var odd atomic.Value // the end of the path that is answered so
			var seen atomic.Int64
			odd.Store("")
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if end := odd.Load().(string); end == "" || !strings.HasSuffix(r.URL.Path, end) {
					forward(t, w, r, url)
					return
				}
				seen.Add(1)
				if tc.status < 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(tc.status)
			})
			o := storage.HTTPOptions{ForbiddenIsMissing: tc.lax, Clock: quick()}
			a := opened(t, server.URL, o)
			cache := a.ShardCache(zarr.CacheOptions{})
			odd.Store("/c/1")
			got, err := a.RetrieveSubchunk(ctx, []int64{perShard}, zarr.ReadOptions{Cache: cache})
			if tc.want == nil {
				require.NoError(t, err)
				require.Equal(t, []byte(strings.Repeat("\x07\x00", perSubchunk)), got)
			} else {
				require.ErrorIs(t, err, tc.want)
				require.NotErrorIs(t, err, fault.ErrNotFound)
			}
			if tc.retried {
				require.GreaterOrEqual(t, seen.Load(), int64(4))
			} else {
				require.EqualValues(t, 1, seen.Load())
			}
			require.Zero(t, cache.Len())
			odd.Store("/zarr.json")
			_, err = zarr.OpenArray(ctx, storage.NewHTTP(fetcher(t), server.URL, o), "", zarr.Options{})
			if tc.want == nil {
				require.ErrorIs(t, err, fault.ErrNotFound)
			} else {
				require.ErrorIs(t, err, tc.want)
			}
			odd.Store("")
			got, err = a.RetrieveSubchunk(ctx, []int64{perShard}, zarr.ReadOptions{Cache: cache})
			require.NoError(t, err)
			require.Equal(t, subchunk(3, perShard), got)
		})
	}
}

// Report 23: encodings that nobody asked for.
func TestReport23ContentEncoding(t *testing.T) {
	objects := line(t, 3)
	for name, tc := range map[string]struct {
		encode func(w http.ResponseWriter, r *http.Request) bool
		opens  bool
		want   error
	}{
		"metadata packed": {func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "zarr.json") {
				return false
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(pack(objects["zarr.json"]))
			return true
		}, true, nil},
		"range packed": {func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "zarr.json") {
				return false
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Range", "bytes 0-9/1000")
			w.WriteHeader(206)
			w.Write(pack(objects["c/0"])[:10])
			return true
		}, true, fault.ErrUnsupported},
		"said to be packed": {func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(objects["zarr.json"])
			return true
		}, false, fault.ErrIO},
	} {
		t.Run(name, func(t *testing.T) {
			url := origin(t, storagetest.NewOrigin(objects))
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); got != "identity" {
					t.Errorf("asked for encoding %q", got)
				}
				if !tc.encode(w, r) {
					forward(t, w, r, url)
				}
			})
			a, err := zarr.OpenArray(ctx, storage.NewHTTP(fetcher(t), server.URL, storage.HTTPOptions{}), "", zarr.Options{})
			if !tc.opens {
				require.ErrorIs(t, err, tc.want)
				require.NotErrorIs(t, err, fault.ErrNotFound)
				return
			}
			require.NoError(t, err)
			got, err := a.RetrieveSubchunk(ctx, []int64{0}, zarr.ReadOptions{})
			if tc.want == nil {
				require.NoError(t, err)
				require.Equal(t, subchunk(3, 0), got)
				return
			}
			require.ErrorIs(t, err, tc.want)
			require.ErrorContains(t, err, "encoded")
		})
	}
}

// Report 24: each name reaches one key.
func TestReport24Names(t *testing.T) {
	names := []string{"a b", "a+b", "a#b", "a?b", "a%20b", "é", "e\u0301", "日本語", strings.Repeat("n", 200)}
	objects := map[string][]byte{}
	for i, name := range names {
		for key, b := range line(t, i+1) {
			objects["g/"+name+"/"+key] = b
		}
	}
	s := storage.NewHTTP(fetcher(t), origin(t, storagetest.NewOrigin(objects)), storage.HTTPOptions{})
	for i, name := range names {
		a, err := zarr.OpenArray(ctx, s, "g/"+name, zarr.Options{})
		require.NoError(t, err, name)
		got, err := a.RetrieveSubchunk(ctx, []int64{9}, zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, subchunk(i+1, 9), got)
	}
}

// Report 29: a shard that is replaced by another layout under the same key.
func TestReport29ReplacedShard(t *testing.T) {
	for name, tc := range map[string]struct {
		quirks  storagetest.Quirks
		noticed bool
	}{
		"tags":                          {storagetest.Quirks{}, true},
		"tags, conditions not honoured": {storagetest.Quirks{IgnoreIfMatch: true}, true},
		"dates":                         {storagetest.Quirks{NoTag: true}, true},
		"nothing":                       {storagetest.Quirks{NoTag: true, NoDate: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := storagetest.NewOrigin(line(t, 3))
			o.Quirks = tc.quirks
			a := opened(t, origin(t, o), storage.HTTPOptions{})
			cache := a.ShardCache(zarr.CacheOptions{})
			read := func(k int64) ([]byte, error) {
				return a.RetrieveSubchunk(ctx, []int64{k}, zarr.ReadOptions{Cache: cache})
			}
			_, err := read(0)
			require.NoError(t, err)
			o.Put("c/0", line(t, 11)["c/0"])
			got, err := read(perShard - 1)
			if tc.noticed {
				require.NoError(t, err)
				require.Equal(t, subchunk(11, perShard-1), got)
				return
			}
			// Without versions the index goes on being used, until it is dropped.
			if err == nil {
				require.NotEqual(t, subchunk(3, perShard-1), got)
			}
			cache.Invalidate([]int64{0})
			got, err = read(perShard - 1)
			require.NoError(t, err)
			require.Equal(t, subchunk(11, perShard-1), got)
		})
	}
}

// A reader that is cancelled does not take the others with it, and leaves at
// once.
func TestReport27OneOfManyLeaves(t *testing.T) {
	url := origin(t, storagetest.NewOrigin(line(t, 3)))
	arrived, let := make(chan bool, 16), make(chan bool)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "zarr.json") {
			arrived <- true
			<-let
		}
		forward(t, w, r, url)
	})
	release := sync.OnceFunc(func() { close(let) })
	t.Cleanup(release)
	a := opened(t, server.URL, storage.HTTPOptions{})
	cache := a.ShardCache(zarr.CacheOptions{})
	first, cancel := context.WithCancel(ctx)
	failed, read := make(chan error, 1), make(chan []byte, 1)
	go func() {
		_, err := a.RetrieveSubchunks(first, [][]int64{{0}, {1}}, zarr.ReadOptions{Cache: cache})
		failed <- err
	}()
	<-arrived
	go func() {
		got, err := a.RetrieveSubchunk(ctx, []int64{2}, zarr.ReadOptions{Cache: cache})
		if err != nil {
			t.Error(err)
		}
		read <- got
	}()
	cancel()
	require.ErrorIs(t, <-failed, fault.ErrCancelled)
	release()
	require.Equal(t, subchunk(3, 2), <-read)
}
