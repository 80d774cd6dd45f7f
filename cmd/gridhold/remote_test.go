package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/s3/s3test"
)

// serveFiles serves a directory, with tags, and notes what it is asked.
func serveFiles(t *testing.T, dir string) (url string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
		mu.Unlock()
		name := filepath.Join(dir, filepath.FromSlash(r.URL.Path))
		info, err := os.Stat(name)
		if err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.Size(), info.ModTime().UnixNano()))
		http.ServeFile(w, r, name)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := requests
		requests = nil
		return out
	}
}

func zipped(t *testing.T, dir, name string) {
	t.Helper()
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	w := zip.NewWriter(f)
	require.NoError(t, filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		method := zip.Store
		if strings.HasSuffix(rel, ".json") {
			method = zip.Deflate
		}
		out, err := w.CreateHeader(&zip.FileHeader{Name: filepath.ToSlash(rel), Method: method})
		if err != nil {
			return err
		}
		_, err = out.Write(b)
		return err
	}))
	require.NoError(t, w.Close())
}

// TestZip: an archive on disk and one on a server, by both engines.
func TestZip(t *testing.T) {
	array := filepath.Join(fixtures, "index_end_crc_zarr-python")
	dir := t.TempDir()
	zipped(t, array, filepath.Join(dir, "a b.zip"))
	url, _ := serveFiles(t, dir)
	want := gridhold(t, "read", array).succeeds(t)
	for _, name := range []string{"zip://" + filepath.Join(dir, "a b.zip"), "zip://file://" + filepath.ToSlash(filepath.Join(dir, "a%20b.zip")), "zip://" + url + "/a%20b.zip"} {
		for _, engine := range engines {
			require.Equal(t, want, gridhold(t, "read", name, "--engine", engine).succeeds(t), name)
		}
		require.Zero(t, gridhold(t, "verify", name).status)
	}
	gridhold(t, "info", "zip://"+filepath.Join(dir, "none.zip")).fails(t, statusFailed)
	gridhold(t, "info", "zip://"+filepath.Join(array, "zarr.json")).fails(t, statusFailed)
	gridhold(t, "info", "zip://zip://x").fails(t, statusFailed)
	r := gridhold(t, "info", "zip://http://user:word@127.0.0.1:1/a.zip?sig=secret")
	r.fails(t, statusFailed)
	for _, secret := range []string{"user", "word", "sig", "secret"} {
		require.NotContains(t, r.stderr, secret)
	}
}

// TestExplain: what a read cost goes to standard error, and is what the
// server saw.
func TestExplain(t *testing.T) {
	url, asked := serveFiles(t, fixtures)
	array := url + "/index_end_crc_zarr-python"
	for _, engine := range engines {
		r := gridhold(t, "read", array, "--subchunk", "0,0", "--explain", "--json", "--engine", engine)
		require.Zero(t, r.status, r.stderr)
		var cost map[string]int64
		require.NoError(t, json.Unmarshal([]byte(r.stderr), &cost))
		require.EqualValues(t, len(asked()), cost["requests"])
		require.EqualValues(t, 3, cost["requests"], "metadata, index, subchunk")
		require.EqualValues(t, 1, cost["index_loads"])
		require.EqualValues(t, 1, cost["reads"])
		require.EqualValues(t, 1, cost["decodes"])
		require.EqualValues(t, len(r.stdout), cost["elements"])
		require.Positive(t, cost["requesting_us"])
	}

	r := gridhold(t, "read", array, "--subchunk", "0,0", "--explain")
	require.Zero(t, r.status)
	require.Regexp(t, `(?m)^requests: 3, `, r.stderr)
	require.Regexp(t, `(?m)^index loads: 1$`, r.stderr)
}

// TestIndex: an index pack makes a subchunk cost the metadata and itself.
func TestIndex(t *testing.T) {
	url, asked := serveFiles(t, fixtures)
	array, pack := url+"/index_end_crc_zarr-python", filepath.Join(t.TempDir(), "pack")
	gridhold(t, "index", "build", array, "-o", pack).succeeds(t)
	want := gridhold(t, "read", array, "--subchunk", "1,1").succeeds(t)
	asked()
	for _, engine := range engines {
		require.Equal(t, want, gridhold(t, "read", array, "--subchunk", "1,1", "--index", pack, "--engine", engine).succeeds(t))
		require.Len(t, asked(), 2)
	}
	require.Equal(t, gridhold(t, "index", "build", array).succeeds(t), func() []byte {
		b, err := os.ReadFile(pack)
		require.NoError(t, err)
		return b
	}())

	levels := filepath.Join(t.TempDir(), "levels")
	gridhold(t, "index", "build", filepath.Join(fixtures, "ome_pyramid"), "-o", levels).succeeds(t)

	for _, failing := range [][]string{
		{url + "/nested2_zarrs", "--index", pack},
		{array, "--index", filepath.Join(t.TempDir(), "none")},
		{array, "--index", filepath.Join(fixtures, "index_end_crc_zarr-python", "zarr.json")},
	} {
		var said []string
		for _, engine := range engines {
			r := gridhold(t, append([]string{"read", "--subchunk", "0,0", "--engine", engine}, failing...)...)
			r.fails(t, statusFailed)
			said = append(said, r.stderr)
		}
		require.Equal(t, said[0], said[1])
	}
	require.Contains(t, gridhold(t, "read", url+"/nested2_zarrs", "--index", pack).stderr, "another array")
	gridhold(t, "index", "build", filepath.Join(fixtures, "plain_zstd")).fails(t, statusFailed)
	gridhold(t, "index", "build", array, "--engine", "wasm").fails(t, statusUsage)
}

// bucketOf starts a server of S3 for the command, with one bucket.
func bucketOf(t *testing.T) *s3test.Gateway {
	g := s3test.Start(t, "bucket")
	t.Setenv("AWS_ENDPOINT_URL", g.Endpoint)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	return g
}

// TestS3: a copy into a bucket reads back the same, by both engines, and all
// commands take s3://.
func TestS3(t *testing.T) {
	g := bucketOf(t)
	src, dst := filepath.Join(fixtures, "nested2_zarrs"), "s3://bucket/a b/é#1"
	gridhold(t, "copy", src, dst, "--chunks", "4,4", "--shards", "8,24").succeeds(t)
	want := gridhold(t, "read", src).succeeds(t)
	for _, engine := range engines {
		require.Equal(t, want, gridhold(t, "read", dst, "--engine", engine).succeeds(t))
	}
	require.Zero(t, gridhold(t, "verify", dst).status)
	require.Contains(t, string(gridhold(t, "info", dst).succeeds(t)), "kind: array")
	pack := filepath.Join(t.TempDir(), "pack")
	gridhold(t, "index", "build", dst, "-o", pack).succeeds(t)
	r := gridhold(t, "read", dst, "--subchunk", "0,0", "--index", pack, "--explain", "--json")
	require.Zero(t, r.status, r.stderr)
	require.Contains(t, r.stderr, `"requests":2,`)
	require.Contains(t, r.stderr, `"index_loads":0,`)

	gridhold(t, "copy", src, dst).fails(t, statusFailed)
	gridhold(t, "copy", "--overwrite", src, dst).succeeds(t)
	require.Equal(t, want, gridhold(t, "read", dst).succeeds(t))
	group := filepath.Join(fixtures, "group_consolidated")
	gridhold(t, "copy", group, "s3://bucket/group").succeeds(t)
	require.Equal(t, gridhold(t, "ls", "--json", group).succeeds(t), gridhold(t, "ls", "--json", "s3://bucket/group").succeeds(t))

	require.NoError(t, os.WriteFile(filepath.Join(g.Dir, "bucket", "letter.txt"), []byte("dear"), 0o666))
	gridhold(t, "copy", "--overwrite", src, "s3://bucket").fails(t, statusFailed)
	require.FileExists(t, filepath.Join(g.Dir, "bucket", "letter.txt"))
	gridhold(t, "copy", filepath.Join(fixtures, "corrupt", "inner_crc_wrong"), "s3://bucket/bad").fails(t, statusFailed)
	require.Empty(t, files(t, filepath.Join(g.Dir, "bucket", "bad")), "a copy that fails is none")
	for _, name := range []string{"s3://nothere/x", "s3://"} {
		gridhold(t, "info", name).fails(t, statusFailed)
		gridhold(t, "copy", src, name).fails(t, statusFailed)
	}
	for _, name := range []string{"http://127.0.0.1:1/x", "zip://x.zip", "s3://bucket/x.b2nd"} {
		gridhold(t, "copy", src, name).fails(t, statusFailed)
	}
}

// files lists the files below a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	return names
}

// TestCopyFromHTTP: a server cannot list; a group is found by its consolidated
// metadata or its pyramid.
func TestCopyFromHTTP(t *testing.T) {
	url, _ := serveFiles(t, fixtures)
	for _, name := range []string{"nested2_zarrs", "group_consolidated", "ome_pyramid"} {
		dst := filepath.Join(t.TempDir(), "copy")
		gridhold(t, "copy", url+"/"+name, dst).succeeds(t)
		src := filepath.Join(fixtures, name)
		if name == "nested2_zarrs" {
			require.Equal(t, gridhold(t, "read", src).succeeds(t), gridhold(t, "read", dst).succeeds(t))
			continue
		}
		require.Equal(t, gridhold(t, "ls", "--json", src).succeeds(t), gridhold(t, "ls", "--json", dst).succeeds(t))
	}
	dst := filepath.Join(t.TempDir(), "copy")
	r := gridhold(t, "copy", url+"/group_plain", dst)
	r.fails(t, statusFailed)
	require.Contains(t, r.stderr, "list")
	require.NoDirExists(t, dst)
}
