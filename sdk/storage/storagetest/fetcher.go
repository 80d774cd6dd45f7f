package storagetest

import (
	"context"
	"strings"
	"testing"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Answer is what a test server does with a request: it sends a response, then
// breaks the line if told so.
type Answer struct {
	storage.Response
	Promise int // bytes that Content-Length promises, when more than Body has: the line breaks after Body
	Endless bool
}

// Fetcher holds an adapter to what storage.Fetcher says. open makes one,
// and a server that answers by handle, with the URL of its root.
func Fetcher(t *testing.T, open func(t *testing.T, handle func(storage.Request) Answer) (f storage.Fetcher, root string)) {
	ctx := context.Background()
	body := Pattern(1000, 1)
	var last storage.Request
	ok := func(b []byte) Answer { return Answer{Response: storage.Response{Status: 200, Body: b}} }
	f, root := open(t, func(r storage.Request) Answer {
		last = r
		switch path := r.URL; {
		case strings.HasSuffix(path, "/body"):
			a := ok(body)
			a.Header = []storage.Field{{Name: "ETag", Value: `"x"`}}
			return a
		case strings.HasSuffix(path, "/part"):
			a := ok(body[5:15])
			a.Status, a.Header = 206, []storage.Field{{Name: "Content-Range", Value: "bytes 5-14/1000"}}
			return a
		case strings.HasSuffix(path, "/empty"):
			return ok(nil)
		case strings.HasSuffix(path, "/cut"):
			a := ok(body)
			a.Promise = 1003
			return a
		case strings.HasSuffix(path, "/endless"):
			a := ok(body)
			a.Endless = true
			return a
		case strings.HasSuffix(path, "/slow-down"):
			return Answer{Response: storage.Response{Status: 429, Header: []storage.Field{{Name: "Retry-After", Value: "7"}}}}
		}
		return Answer{Response: storage.Response{Status: 404}}
	})
	fetch := func(method, path string, limit int64, header ...storage.Field) (storage.Response, error) {
		return f.Fetch(ctx, storage.Request{Method: method, URL: root + path, Header: header, Limit: limit})
	}

	t.Run("body", func(t *testing.T) {
		for _, limit := range []int64{1000, 1001, 1 << 40} {
			r, err := fetch("GET", "/body", limit)
			noError(t, err)
			equalBytes(t, r.Body, body)
			if r.Status != 200 || r.Truncated || r.Get("etag") != `"x"` || r.Get("content-length") != "1000" {
				t.Fatalf("response %d %v %v", r.Status, r.Header, r.Truncated)
			}
		}
	})
	t.Run("limit", func(t *testing.T) {
		for _, limit := range []int64{0, 1, 999} {
			r, err := fetch("GET", "/body", limit)
			noError(t, err)
			if !r.Truncated || int64(len(r.Body)) > limit {
				t.Fatalf("limit %d: %d bytes, truncated %v", limit, len(r.Body), r.Truncated)
			}
		}
	})
	t.Run("header", func(t *testing.T) {
		r, err := fetch("GET", "/part", 10, storage.Field{Name: "Range", Value: "bytes=5-14"}, storage.Field{Name: "If-Match", Value: `"x"`})
		noError(t, err)
		equalBytes(t, r.Body, body[5:15])
		if r.Status != 206 || r.Get("Content-Range") != "bytes 5-14/1000" {
			t.Fatalf("response %d %v", r.Status, r.Header)
		}
		if header(last, "Range") != "bytes=5-14" || header(last, "If-Match") != `"x"` {
			t.Fatalf("sent %v", last.Header)
		}
		if coding := header(last, "Accept-Encoding"); coding != "" && coding != "identity" {
			t.Fatalf("asked for encoding %q", coding)
		}
	})
	t.Run("empty", func(t *testing.T) {
		r, err := fetch("GET", "/empty", 10)
		noError(t, err)
		if r.Status != 200 || len(r.Body) != 0 || r.Truncated {
			t.Fatalf("response %d, %d bytes", r.Status, len(r.Body))
		}
	})
	t.Run("head", func(t *testing.T) {
		r, err := fetch("HEAD", "/body", 0)
		noError(t, err)
		if r.Status != 200 || len(r.Body) != 0 || r.Get("Content-Length") != "1000" {
			t.Fatalf("response %d %v", r.Status, r.Header)
		}
	})
	t.Run("status", func(t *testing.T) {
		r, err := fetch("GET", "/absent", 10)
		noError(t, err)
		if r.Status != 404 {
			t.Fatalf("status %d", r.Status)
		}
		r, err = fetch("GET", "/slow-down", 10)
		noError(t, err)
		if r.Status != 429 || r.Get("Retry-After") != "7" {
			t.Fatalf("response %d %v", r.Status, r.Header)
		}
	})
	t.Run("cut", func(t *testing.T) {
		_, err := fetch("GET", "/cut", 1<<20)
		isError(t, err, fault.ErrIO)
	})
	t.Run("endless", func(t *testing.T) {
		r, err := fetch("GET", "/endless", 1<<16)
		noError(t, err)
		if !r.Truncated || len(r.Body) > 1<<16 {
			t.Fatalf("%d bytes, truncated %v", len(r.Body), r.Truncated)
		}
	})
	t.Run("no server", func(t *testing.T) {
		_, err := f.Fetch(ctx, storage.Request{Method: "GET", URL: "http://127.0.0.1:1/", Limit: 10})
		isError(t, err, fault.ErrIO)
	})
	t.Run("no URL", func(t *testing.T) {
		for _, u := range []string{"file:///etc/passwd", "ftp://127.0.0.1/x", "body", "http://"} {
			if _, err := f.Fetch(ctx, storage.Request{Method: "GET", URL: u, Limit: 10}); err == nil {
				t.Fatalf("%s was fetched", u)
			}
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		_, err := f.Fetch(ctx, storage.Request{Method: "GET", URL: root + "/body", Limit: 1000})
		isError(t, err, fault.ErrCancelled)
	})
}
