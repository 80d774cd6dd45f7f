package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeBucket is an empty bucket that takes objects. put is called after the n-th
// was stored, and may take its answer away.
type fakeBucket struct {
	put func(n int)

	mu       sync.Mutex
	objects  map[string]bool
	puts     int
	requests int
	dead     bool // the server drops every line
}

func (f *fakeBucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if f.dead {
		panic(http.ErrAbortHandler)
	}
	switch r.Method {
	case http.MethodPut:
		f.puts++
		f.objects[r.URL.Path] = true
		f.put(f.puts)
		w.Header().Set("ETag", `"x"`)
	case http.MethodDelete:
		delete(f.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		fmt.Fprint(w, `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>`)
	}
}

// TestInterruptedCopy: a copy that ends early leaves nothing in the bucket, nor
// an object whose answer was lost; and where nothing can be removed any more it
// does not try for each.
func TestInterruptedCopy(t *testing.T) {
	for name, dies := range map[string]bool{"interrupted": false, "server dies": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := &fakeBucket{objects: map[string]bool{}}
			f.put = func(n int) {
				switch {
				case n == 6 && dies:
					f.dead = true
					panic(http.ErrAbortHandler)
				case n == 6:
					cancel()
					panic(http.ErrAbortHandler) // stored, and nobody was told
				}
			}
			server := httptest.NewServer(f)
			t.Cleanup(server.Close)
			t.Setenv("AWS_ENDPOINT_URL", server.URL)
			t.Setenv("AWS_ACCESS_KEY_ID", "a")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
			var stderr strings.Builder
			src := filepath.Join(fixtures, "nested2_zarrs")
			status := run(ctx, []string{"copy", src, "s3://bucket/copy", "--chunks", "2,2", "--shards", "2,2"}, io.Discard, &stderr)
			require.Equal(t, statusFailed, status)
			require.Equal(t, 1, strings.Count(stderr.String(), "gridhold: "), stderr.String())
			f.mu.Lock()
			defer f.mu.Unlock()
			if dies {
				require.Contains(t, stderr.String(), "objects of the copy are left over")
				require.Less(t, f.requests, 60, "a few tries, not some for each object")
				return
			}
			require.Contains(t, stderr.String(), "interrupted")
			require.Empty(t, f.objects)
		})
	}
}
