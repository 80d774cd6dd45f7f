package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/native/server"
	"github.com/gridhold/gridhold/native/web"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

var ctx = context.Background()

func serve(t *testing.T, s storage.Store, o server.Options) string {
	ts := httptest.NewServer(server.New(s, o))
	t.Cleanup(ts.Close)
	return ts.URL
}

func client(t *testing.T, url string, o storage.HTTPOptions) *storage.HTTP {
	f := web.New(web.Options{})
	t.Cleanup(func() { f.Close() })
	return storage.NewHTTP(f, url, o)
}

func memory(objects map[string][]byte) *storage.Memory {
	m := storage.NewMemory()
	for key, data := range objects {
		m.Set(key, data)
	}
	return m
}

func directory(t *testing.T, objects map[string][]byte) (*file.Store, string) {
	dir := t.TempDir()
	for key, data := range objects {
		name := filepath.Join(dir, filepath.FromSlash(key))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, data, 0o666))
	}
	s, err := file.Open(dir, file.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s, dir
}

// answer is a response that was read whole.
type answer struct {
	*http.Response
	body string
}

func ask(t *testing.T, method, url string, fields ...string) answer {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req) // no redirects
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res, string(body)}
}

// Our own client reads through it whatever there is, by names that careless
// servers mix up (report 24), of memory and of a directory.
func TestOurClient(t *testing.T) {
	stores := map[string]func(t *testing.T, objects map[string][]byte) storage.Store{
		"memory":    func(t *testing.T, objects map[string][]byte) storage.Store { return memory(objects) },
		"directory": func(t *testing.T, objects map[string][]byte) storage.Store { s, _ := directory(t, objects); return s },
		"unsized":   func(t *testing.T, objects map[string][]byte) storage.Store { return unsized{memory(objects)} },
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			storagetest.Store(t, func(t *testing.T, objects map[string][]byte) storage.Store {
				return client(t, serve(t, open(t, objects), server.Options{}), storage.HTTPOptions{Clock: web.Clock{}})
			})
		})
	}
}

// unsized does not tell how large objects are.
type unsized struct{ storage.Store }

func (u unsized) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	bs, info, err := u.Store.ReadRanges(ctx, key, rs, want)
	info.Size = -1
	return bs, info, err
}

func TestRanges(t *testing.T) {
	data := storagetest.Pattern(10_000_000, 3) // more than the first read
	store, _ := directory(t, map[string][]byte{"dir/x": data, "empty": {}, "a.json": []byte("{}")})
	url := serve(t, store, server.Options{})
	size := len(data)
	for span, want := range map[string][2]int{
		"bytes=0-9": {0, 10}, "bytes=5-5": {5, 6}, "bytes=9999990-": {size - 10, size}, "bytes=-7": {size - 7, size},
		"bytes=9999999-20000000": {size - 1, size}, "bytes=100-8000000": {100, 8000001}, "bytes=-8000000": {size - 8000000, size},
		"bytes=0-0": {0, 1}, "bytes=4194303-4194304": {4194303, 4194305}, "bytes=3-": {3, size}, "bytes=-99999999": {0, size},
	} {
		a := ask(t, "GET", url+"/dir/x", "Range", span)
		require.Equal(t, 206, a.StatusCode, span)
		require.True(t, a.body == string(data[want[0]:want[1]]), span)
		require.NotEmpty(t, a.Header.Get("ETag"))
	}
	whole := ask(t, "GET", url+"/dir/x")
	require.Equal(t, 200, whole.StatusCode)
	require.True(t, whole.body == string(data))
	require.Equal(t, "bytes", whole.Header.Get("Accept-Ranges"))
	require.Empty(t, whole.Header.Get("Content-Encoding"))
	require.Equal(t, "application/octet-stream", whole.Header.Get("Content-Type"))
	require.Equal(t, "application/json", ask(t, "GET", url+"/a.json").Header.Get("Content-Type"))

	a := ask(t, "GET", url+"/dir/x", "Range", "bytes=10000000-")
	require.Equal(t, 416, a.StatusCode)
	require.Equal(t, "bytes */10000000", a.Header.Get("Content-Range"))
	// Not understood is as if it were not there.
	require.Equal(t, 200, ask(t, "GET", url+"/empty", "Range", "bytes=-5").StatusCode)
	require.Equal(t, 200, ask(t, "GET", url+"/a.json", "Range", "lines=1-2").StatusCode)
	for _, bad := range []string{"bytes=5-2", "bytes=--1", "bytes=a-b", "bytes=1", "bytes=-", "bytes=99999999999999999999-"} {
		a := ask(t, "GET", url+"/dir/x", "Range", bad)
		require.Equal(t, 416, a.StatusCode, bad)
	}

	head := ask(t, "HEAD", url+"/dir/x")
	require.Equal(t, 200, head.StatusCode)
	require.EqualValues(t, size, head.ContentLength)
	require.Equal(t, whole.Header.Get("ETag"), head.Header.Get("ETag"))
}

func TestManyRanges(t *testing.T) {
	data := storagetest.Pattern(100_000, 3)
	url := serve(t, memory(map[string][]byte{"x": data}), server.Options{})
	a := ask(t, "GET", url+"/x", "Range", "bytes=10-19, 500-,-3,70000-70000")
	require.Equal(t, 206, a.StatusCode)
	kind, params, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/byteranges", kind)
	parts := multipart.NewReader(strings.NewReader(a.body), params["boundary"])
	for _, want := range [][2]int{{10, 20}, {500, 100_000}, {99_997, 100_000}, {70_000, 70_001}} {
		p, err := parts.NextPart()
		require.NoError(t, err)
		got, err := io.ReadAll(p)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data[want[0]:want[1]], got))
	}
	_, err = parts.NextPart()
	require.ErrorIs(t, err, io.EOF)

	// Overlaps do not make an answer larger than the object; very many are refused.
	a = ask(t, "GET", url+"/x", "Range", "bytes="+strings.Repeat("0-,", 200)+"0-")
	require.Equal(t, 200, a.StatusCode)
	require.Len(t, a.body, len(data))
	a = ask(t, "GET", url+"/x", "Range", "bytes="+strings.Repeat("0-0,", 300)+"0-0")
	require.Equal(t, 416, a.StatusCode)
}

func TestConditions(t *testing.T) {
	m := memory(map[string][]byte{"x": []byte("first")})
	url := serve(t, m, server.Options{}) + "/x"
	tag := ask(t, "GET", url).Header.Get("ETag")
	require.Regexp(t, `^"[^"]+"$`, tag, "strong")
	status := func(field, value string) int {
		return ask(t, "GET", url, field, value, "Range", "bytes=0-1").StatusCode
	}
	require.Equal(t, 206, status("If-Match", tag))
	require.Equal(t, 206, status("If-Match", `"other", `+tag))
	require.Equal(t, 206, status("If-Match", "*"))
	require.Equal(t, 412, status("If-Match", `"other"`))
	require.Equal(t, 412, status("If-Match", "W/"+tag), "compared strongly")
	require.Equal(t, 304, status("If-None-Match", tag))
	require.Equal(t, 206, status("If-None-Match", `"other"`))
	require.Equal(t, 206, status("If-Range", tag))
	m.Set("x", []byte("second"))
	require.Equal(t, 412, status("If-Match", tag))
	require.Equal(t, 206, status("If-None-Match", tag))
	require.Equal(t, 200, status("If-Range", tag))
	require.Equal(t, 404, ask(t, "GET", url+"y", "If-Match", "*").StatusCode)

	// A store without versions has no tags, and nothing matches.
	url = serve(t, versionless{m}, server.Options{}) + "/x"
	require.Empty(t, ask(t, "GET", url).Header.Get("ETag"))
	require.Equal(t, 412, status("If-Match", tag))
	require.Equal(t, 206, status("If-None-Match", tag))
}

type versionless struct{ storage.Store }

func (u versionless) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	bs, info, err := u.Store.ReadRanges(ctx, key, rs, "")
	info.Version = ""
	return bs, info, err
}

// The state that a tag names is found out by our client: an index is not used
// with data of another state.
func TestStale(t *testing.T) {
	m := memory(map[string][]byte{"x": storagetest.Pattern(100, 1)})
	s := client(t, serve(t, m, server.Options{}), storage.HTTPOptions{})
	_, info, err := s.ReadRanges(ctx, "x", []storage.Range{storage.Suffix(10)}, "")
	require.NoError(t, err)
	m.Set("x", storagetest.Pattern(100, 2))
	_, _, err = s.ReadRanges(ctx, "x", []storage.Range{{Off: 0, Len: 10}}, info.Version)
	require.ErrorIs(t, err, fault.ErrStale)
}

// An object that is written to all the time: what is asked for comes from one
// state of it, or not at all.
func TestChangingObject(t *testing.T) {
	store, dir := directory(t, map[string][]byte{"x": {}})
	url := serve(t, store, server.Options{})
	name := filepath.Join(dir, "x")
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for i := range 300 {
			_ = os.WriteFile(name+".new", bytes.Repeat([]byte{byte(i)}, 100_000), 0o666)
			_ = os.Rename(name+".new", name)
		}
	}()
	look := func() bool {
		a := ask(t, "GET", url+"/x")
		whole := a.StatusCode == 200 && len(a.body) == 100_000
		if whole {
			require.Equal(t, 100_000, strings.Count(a.body, a.body[:1]), "of one state")
		}
		return whole
	}
	for writing := true; writing; {
		select {
		case <-ended:
			writing = false
		default:
			look()
		}
	}
	require.True(t, look(), "nobody writes any more")
}

// Of what changes while it is sent, the client sees the end.
func TestChangedOnTheWay(t *testing.T) {
	big := storagetest.Pattern(12<<20, 1)
	m := memory(map[string][]byte{"x": big})
	s := &swapping{Memory: m, at: 6 << 20, to: storagetest.Pattern(12<<20, 2)}
	res, err := http.Get(serve(t, s, server.Options{}) + "/x")
	require.NoError(t, err)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, len(got), len(big))
	require.True(t, bytes.HasPrefix(big, got))
}

// swapping replaces an object before what lies at an offset is read.
type swapping struct {
	*storage.Memory
	at   int64
	to   []byte
	done atomic.Bool
}

func (s *swapping) ReadInto(ctx context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	if off >= s.at && !s.done.Swap(true) {
		s.Set(key, s.to)
	}
	return s.Memory.ReadInto(ctx, key, off, dst, want)
}

func TestCrossOrigin(t *testing.T) {
	m := memory(map[string][]byte{"x": []byte("12345")})
	url := serve(t, m, server.Options{}) + "/x"
	for _, a := range []answer{ask(t, "GET", url, "Origin", "https://elsewhere"), ask(t, "GET", url+"y"), ask(t, "GET", url, "If-Match", `"no"`), ask(t, "GET", url, "Range", "bytes=9-")} {
		require.Equal(t, "*", a.Header.Get("Access-Control-Allow-Origin"), "failures too, or the page cannot tell them apart")
		for _, name := range []string{"Content-Range", "Content-Length", "ETag", "Accept-Ranges"} {
			require.Contains(t, a.Header.Get("Access-Control-Expose-Headers"), name)
		}
	}
	a := ask(t, "OPTIONS", url, "Origin", "https://elsewhere", "Access-Control-Request-Method", "GET",
		"Access-Control-Request-Headers", "range,if-match", "Access-Control-Request-Private-Network", "true")
	require.Equal(t, 204, a.StatusCode)
	require.Contains(t, a.Header.Get("Access-Control-Allow-Headers"), "Range, If-Match")
	require.Equal(t, "86400", a.Header.Get("Access-Control-Max-Age"))
	require.Equal(t, "true", a.Header.Get("Access-Control-Allow-Private-Network"))

	url = serve(t, m, server.Options{AllowOrigin: "none"}) + "/x"
	require.Empty(t, ask(t, "GET", url).Header.Get("Access-Control-Allow-Origin"))
	url = serve(t, m, server.Options{AllowOrigin: "https://here"}) + "/x"
	require.Equal(t, "https://here", ask(t, "GET", url).Header.Get("Access-Control-Allow-Origin"))
}

// A page whose name was made to lead to this server is not of its origin.
func TestHosts(t *testing.T) {
	h := server.New(memory(map[string][]byte{"x": []byte("12345")}), server.Options{AllowOrigin: "none", Hosts: []string{"data.example.org"}})
	for host, want := range map[string]int{
		"127.0.0.1:8000": 200, "[::1]:8000": 200, "[::1]": 200, "localhost": 200, "LocalHost:80": 200, "data.example.org:8000": 200, "DATA.example.org": 200,
		"evil.example.org": 421, "evil.example.org:8000": 421, "127.0.0.1.example.org": 421, "": 421,
	} {
		r := httptest.NewRequest("GET", "/x", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, host)
	}
}

func TestListing(t *testing.T) {
	store, dir := directory(t, map[string][]byte{"a/b": {1}, "a/c/d": {1}, "z": {1}, server.Reserved + "/hidden": {1}, "-": {1}})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "void"), 0o777))
	url := serve(t, store, server.Options{Page: map[string][]byte{"index.html": []byte("<p>page")}})
	names := func(path string) []string {
		a := ask(t, "GET", url+path)
		require.Equal(t, 200, a.StatusCode, path)
		require.Equal(t, "application/json", a.Header.Get("Content-Type"))
		var l server.Listing
		require.NoError(t, json.Unmarshal([]byte(a.body), &l))
		require.Equal(t, strings.TrimPrefix(path, "/"), l.Path)
		return l.Names
	}
	require.Equal(t, []string{"-", "a/", "void/", "z"}, names("/"))
	require.Equal(t, []string{"b", "c/"}, names("/a/"))
	require.Equal(t, []string{}, names("/void/"))
	require.Equal(t, 404, ask(t, "GET", url+"/absent/").StatusCode)
	require.Equal(t, 404, ask(t, "GET", url+"/z/").StatusCode)
	require.Equal(t, 404, ask(t, "GET", url+"/a").StatusCode, "a directory is no object")
	require.Equal(t, 404, ask(t, "GET", url+"/void").StatusCode)
	require.Equal(t, 404, ask(t, "GET", url+"/"+server.Reserved+"/hidden").StatusCode)
	require.Equal(t, 501, ask(t, "GET", serve(t, unsized{store}, server.Options{})+"/").StatusCode)

	// Browsers are led to the page.
	a := ask(t, "GET", url+"/a/", "Accept", "text/html,*/*")
	require.Equal(t, 302, a.StatusCode)
	require.Equal(t, "/.gridhold/#/a/", a.Header.Get("Location"))
	require.Equal(t, "/a/", ask(t, "GET", url+"/a", "Accept", "text/html").Header.Get("Location"))
	a = ask(t, "GET", url+"/.gridhold/")
	require.Equal(t, "<p>page", a.body)
	require.Contains(t, a.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Equal(t, 304, ask(t, "GET", url+"/.gridhold/index.html", "If-None-Match", a.Header.Get("ETag")).StatusCode)
	require.Equal(t, 301, ask(t, "GET", url+"/.gridhold").StatusCode)
}

// Absent, forbidden and broken are told apart (report 22), and nothing
// outside of the directory is served.
func TestRefusals(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o666))
	store, dir := directory(t, map[string][]byte{"in/x": []byte("inside")})
	for name, target := range map[string]string{"out": outside, "outdir": filepath.Dir(outside), "up": "../..", "dangling": "nowhere", "fine": "in/x"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	url := serve(t, store, server.Options{})
	require.Equal(t, "inside", ask(t, "GET", url+"/fine").body)
	for path, want := range map[string]int{
		"/out": 403, "/outdir/secret": 403, "/outdir/": 403, "/up/": 403, "/dangling": 404, "/absent": 404, "/in/x/y": 404,
		"/../" + filepath.Base(outside): 400, "/in/../in/x": 400, "/in//x": 400, "/..%2f..%2fetc/passwd": 400, "/in%5c..%5cx": 400, "/in/x%00": 400,
	} {
		a := ask(t, "GET", url+path)
		require.Equal(t, want, a.StatusCode, path)
		require.NotContains(t, a.body, dir, "nothing tells where the directory is")
		require.Len(t, strings.Split(strings.TrimSpace(a.body), "\n"), 1)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		require.Equal(t, 405, ask(t, method, url+"/in/x").StatusCode)
	}
	s := storagetest.Break(memory(map[string][]byte{"x": {1}}), map[int]storagetest.Fault{0: {Err: fault.New(fault.ErrIO, "disk", "x", "")}})
	require.Equal(t, 500, ask(t, "GET", serve(t, s, server.Options{})+"/x").StatusCode)
}

// A whole array is read, by its subchunks, over HTTP/1.1.
func TestArray(t *testing.T) {
	store, err := file.Open("../../testdata/zarr/inner_zstd3_zarrs", file.Options{})
	require.NoError(t, err)
	defer store.Close()
	near, err := zarr.OpenArray(ctx, store, "", zarr.Options{})
	require.NoError(t, err)
	far, err := zarr.OpenArray(ctx, client(t, serve(t, store, server.Options{}), storage.HTTPOptions{}), "", zarr.Options{})
	require.NoError(t, err)
	end := near.Shape()
	start := make([]int64, len(end))
	want, err := near.RetrieveRegion(ctx, start, end, zarr.ReadOptions{})
	require.NoError(t, err)
	got, err := far.RetrieveRegion(ctx, start, end, zarr.ReadOptions{Cache: far.ShardCache(zarr.CacheOptions{})})
	require.NoError(t, err)
	require.Equal(t, want, got)
}
