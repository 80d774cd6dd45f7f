package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

var ctx = context.Background()

func fetcher(t *testing.T) *Fetcher {
	f := New(Options{})
	t.Cleanup(func() { f.Close() })
	return f
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// answer sends what a test of storagetest decided.
func answer(w http.ResponseWriter, r *http.Request, a storagetest.Answer) {
	for _, f := range a.Header {
		w.Header().Add(f.Name, f.Value)
	}
	if !a.Endless {
		w.Header().Set("Content-Length", strconv.Itoa(max(len(a.Body), a.Promise)))
	}
	w.WriteHeader(a.Status)
	if r.Method == "HEAD" {
		return
	}
	w.Write(a.Body)
	for a.Endless {
		if _, err := w.Write(a.Body); err != nil {
			return
		}
	}
}

func request(r *http.Request) storage.Request {
	req := storage.Request{Method: r.Method, URL: r.URL.RequestURI()}
	for name, values := range r.Header {
		req.Header = append(req.Header, storage.Field{Name: name, Value: values[0]})
	}
	return req
}

func TestFetcher(t *testing.T) {
	storagetest.Fetcher(t, func(t *testing.T, handle func(storage.Request) storagetest.Answer) (storage.Fetcher, string) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r, handle(request(r))) })
		return fetcher(t), s.URL
	})
}

// origin serves a storagetest.Origin.
func origin(t *testing.T, o *storagetest.Origin) string {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		req := request(r)
		req.URL, req.Limit = "http://origin"+r.RequestURI, 1<<40
		res, err := o.Fetch(ctx, req)
		if err != nil {
			panic(http.ErrAbortHandler) // breaks the line
		}
		a := storagetest.Answer{Response: res}
		a.Promise, _ = strconv.Atoi(res.Get("Content-Length"))
		answer(w, r, a)
	})
	return s.URL + "/base"
}

// TestStore runs the suite through real connections, against a server of
// ours, and one of the standard library.
func TestStore(t *testing.T) {
	for name, q := range map[string]storagetest.Quirks{
		"by the book":      {},
		"suffix ignored":   {IgnoreSuffix: true},
		"ranges ignored":   {IgnoreRange: true},
		"no suffix no tag": {RefuseSuffix: 501, RefuseHead: 403, NoTag: true},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Store(t, func(t *testing.T, objects map[string][]byte) storage.Store {
				o := storagetest.NewOrigin(objects)
				o.Quirks = q
				return storage.NewHTTP(fetcher(t), origin(t, o), storage.HTTPOptions{Clock: Clock{}})
			})
		})
	}
	t.Run("net/http", func(t *testing.T) {
		storagetest.Store(t, func(t *testing.T, objects map[string][]byte) storage.Store {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				data, ok := objects[strings.TrimPrefix(r.URL.Path, "/")]
				if !ok {
					http.NotFound(w, r)
					return
				}
				http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(data))
			})
			return storage.NewHTTP(fetcher(t), s.URL, storage.HTTPOptions{})
		})
	})
}

func pack(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

func TestGzip(t *testing.T) {
	data := storagetest.Pattern(1000, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		body := pack(data)
		switch r.URL.Path {
		case "/range":
			w.Header().Set("Content-Range", "bytes 0-9/1000")
			w.WriteHeader(206)
			body = body[:10]
		case "/plain":
			body = data
		case "/cut":
			body = body[:len(body)-20]
		case "/other":
			w.Header().Set("Content-Encoding", "br")
		}
		w.Write(body)
	})
	web := storage.NewHTTP(fetcher(t), s.URL, storage.HTTPOptions{})
	bs, info, err := web.ReadRanges(ctx, "whole", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	require.Equal(t, data, bs[0])
	require.EqualValues(t, 1000, info.Size)
	for key, want := range map[string]error{"range": fault.ErrUnsupported, "plain": fault.ErrIO, "cut": fault.ErrIO, "other": fault.ErrUnsupported} {
		r := storage.All
		if key == "range" {
			r = storage.Range{Off: 0, Len: 10}
		}
		_, _, err := web.ReadRanges(ctx, key, []storage.Range{r}, "")
		require.ErrorIs(t, err, want, key)
	}
	res, err := fetcher(t).Fetch(ctx, storage.Request{Method: "GET", URL: s.URL, Limit: 999})
	require.NoError(t, err)
	require.True(t, res.Truncated, "the limit is of what comes out")
}

func TestRedirects(t *testing.T) {
	var seen http.Header
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		io.WriteString(w, "there")
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", 302)
		case "/away":
			http.Redirect(w, r, other.URL, 307)
		case "/near":
			http.Redirect(w, r, "/here", 301)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", 302)
		case "/here":
			seen = r.Header
			io.WriteString(w, "here")
		}
	})
	get := func(path string) (string, error) {
		r, err := fetcher(t).Fetch(ctx, storage.Request{Method: "GET", URL: s.URL + path, Limit: 100, Header: []storage.Field{
			{Name: "Range", Value: "bytes=0-9"}, {Name: "X-Api-Key", Value: "secret"}, {Name: "Authorization", Value: "secret"}}})
		return string(r.Body), err
	}
	body, err := get("/near")
	require.NoError(t, err)
	require.Equal(t, "here", body)
	require.Equal(t, "secret", seen.Get("X-Api-Key"))
	body, err = get("/away")
	require.NoError(t, err)
	require.Equal(t, "there", body)
	require.Equal(t, "bytes=0-9", seen.Get("Range"))
	require.Empty(t, seen.Get("X-Api-Key"), "another host learns no secrets")
	require.Empty(t, seen.Get("Authorization"))
	_, err = get("/loop")
	require.ErrorIs(t, err, fault.ErrIO)
	_, err = get("/file")
	require.ErrorIs(t, err, fault.ErrNotAllowed)
}

// Servers lead from http to https, which is another origin; none may lead back
// to http, nor through another host back to where credentials are.
func TestRedirectsChangeOrigin(t *testing.T) {
	var plain, secure, far *httptest.Server
	var seen http.Header
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/up":
			http.Redirect(w, r, secure.URL+"/data?sig=theirs", 308)
		case "/down":
			http.Redirect(w, r, plain.URL+"/data", 302)
		case "/updown":
			http.Redirect(w, r, secure.URL+"/down", 302)
		case "/away": // and back again: another port is another host
			http.Redirect(w, r, far.URL, 302)
		case "/data":
			seen = r.Header
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("0123456789"))
		}
	})
	plain, secure = serve(t, h), httptest.NewTLSServer(h)
	t.Cleanup(secure.Close)
	far = serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, plain.URL+"/data", 302) })
	f := New(Options{Transport: secure.Client().Transport})
	t.Cleanup(func() { f.Close() })
	get := func(url string) (storage.Response, error) {
		seen = nil
		return f.Fetch(ctx, storage.Request{Method: "GET", URL: url, Limit: 100, Header: []storage.Field{
			{Name: "Range", Value: "bytes=2-4"}, {Name: "X-Api-Key", Value: "secret"}, {Name: "Cookie", Value: "secret"}}})
	}
	for _, url := range []string{plain.URL + "/up?sig=ours", plain.URL + "/away"} {
		r, err := get(url)
		require.NoError(t, err)
		require.Equal(t, 206, r.Status)
		require.Equal(t, "234", string(r.Body))
		for _, name := range []string{"X-Api-Key", "Cookie", "Referer"} {
			require.Empty(t, seen.Get(name), name)
		}
	}
	for _, url := range []string{secure.URL + "/down", plain.URL + "/updown"} {
		_, err := get(url)
		require.ErrorIs(t, err, fault.ErrNotAllowed, url)
		require.Nil(t, seen)
	}
}

func TestNoSecretsInErrors(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	_, err := fetcher(t).Fetch(ctx, storage.Request{Method: "GET", URL: s.URL + "/a?sig=secret", Limit: 1})
	require.ErrorIs(t, err, fault.ErrIO)
	require.NotContains(t, err.Error(), "secret")
	require.Contains(t, err.Error(), "/a")
}

// A broken line is tried again; connections are kept.
func TestRetriesAndConnections(t *testing.T) {
	o := storagetest.NewOrigin(map[string][]byte{"k": storagetest.Pattern(1000, 1)})
	o.Quirks = storagetest.Quirks{CutBy: 3, Times: 2}
	clock := storage.NewManualClock(time.Unix(0, 0))
	clock.Skip()
	web := storage.NewHTTP(fetcher(t), origin(t, o), storage.HTTPOptions{Clock: clock})
	bs, _, err := web.ReadRanges(ctx, "k", []storage.Range{{Off: 5, Len: 10}}, "")
	require.NoError(t, err)
	require.Equal(t, storagetest.Pattern(1000, 1)[5:15], bs[0])
	require.Len(t, clock.Slept(), 2)

	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(storagetest.Pattern(1000, 1)))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	web = storage.NewHTTP(fetcher(t), s.URL, storage.HTTPOptions{})
	for range 20 {
		_, _, err := web.ReadRanges(ctx, "k", []storage.Range{storage.Suffix(5)}, "")
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, connections.Load())
}

func TestHTTP2(t *testing.T) {
	var major atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		major.Store(int64(r.ProtoMajor))
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(storagetest.Pattern(1000, 1)))
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	f := New(Options{Transport: s.Client().Transport})
	web := storage.NewHTTP(f, s.URL, storage.HTTPOptions{Gap: -1})
	bs, _, err := web.ReadRanges(ctx, "k", []storage.Range{{Off: 0, Len: 5}, {Off: 500, Len: 5}, storage.Suffix(5)}, "")
	require.NoError(t, err)
	require.Equal(t, storagetest.Pattern(1000, 1)[995:], bs[2])
	require.EqualValues(t, 2, major.Load())

	// Its certificate is not known to a fetcher of our own.
	_, err = fetcher(t).Fetch(ctx, storage.Request{Method: "GET", URL: s.URL, Limit: 1})
	require.ErrorIs(t, err, fault.ErrIO)
}

// A cancelled read comes back although the server never answers.
func TestCancelled(t *testing.T) {
	arrived, end := make(chan bool, 1), make(chan bool)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { arrived <- true; <-end })
	t.Cleanup(sync.OnceFunc(func() { close(end) }))
	c, cancel := context.WithCancel(ctx)
	failed := make(chan error)
	f := fetcher(t)
	go func() {
		_, err := f.Fetch(c, storage.Request{Method: "GET", URL: s.URL, Limit: 1})
		failed <- err
	}()
	<-arrived
	cancel()
	err := <-failed
	require.ErrorIs(t, err, fault.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
}

// A body that stops is given up, one that is slow is not: it takes twice as
// long as the silence that is borne. A machine that stops for as long is given
// more time, and more again.
func TestSilence(t *testing.T) {
	var step atomic.Int64 // a server's function may outlive its request
	gone := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "8")
		for i := range 8 {
			if i == 4 && r.URL.Path == "/stops" {
				<-r.Context().Done()
				close(gone)
				return
			}
			w.Write([]byte{byte(i)})
			w.(http.Flusher).Flush()
			time.Sleep(time.Duration(step.Load())) // slow is what is tested
		}
	})
	step.Store(int64(50 * time.Millisecond))
	f := New(Options{Silence: 200 * time.Millisecond})
	_, err := f.Fetch(ctx, storage.Request{Method: "GET", URL: s.URL + "/stops", Limit: 100})
	require.ErrorIs(t, err, fault.ErrIO)
	require.ErrorContains(t, err, "silent")
	f.Close()
	<-gone
	for ms := time.Duration(50); ; ms *= 2 {
		step.Store(int64(ms * time.Millisecond))
		f := New(Options{Silence: 4 * ms * time.Millisecond})
		res, err := f.Fetch(ctx, storage.Request{Method: "GET", URL: s.URL + "/slow", Limit: 100})
		f.Close()
		if err != nil && ms < 2000 {
			continue
		}
		require.NoError(t, err)
		require.Len(t, res.Body, 8)
		return
	}
}

func TestClock(t *testing.T) {
	before := time.Now()
	require.NoError(t, Clock{}.Sleep(ctx, 2*time.Millisecond))
	require.GreaterOrEqual(t, Clock{}.Now().Sub(before), 2*time.Millisecond)
	c, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, Clock{}.Sleep(c, time.Hour), context.Canceled)
}

// A server that ignores ranges and never ends is cut at a limit.
func TestEndless(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, storagetest.Answer{Response: storage.Response{Status: 200, Body: make([]byte, 4096)}, Endless: true})
	})
	web := storage.NewHTTP(fetcher(t), s.URL, storage.HTTPOptions{WholeLimit: 1 << 16})
	for _, r := range []storage.Range{{Off: 5, Len: 10}, storage.Suffix(10), {Off: 5, Len: 10}} {
		_, _, err := web.ReadRanges(ctx, "k", []storage.Range{r}, "")
		require.ErrorIs(t, err, fault.ErrUnsupported)
		require.NotErrorIs(t, err, fault.ErrNotFound)
	}
}
