package main

import (
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is 10x7 uint16 in shards of 4x4 and subchunks of 2x2; its fill value
// is 9.
func small() string { return filepath.Join(fixtures, "index_end_crc_zarr-python") }

func words(b []byte) (ws []uint16) {
	for ; len(b) > 1; b = b[2:] {
		ws = append(ws, binary.LittleEndian.Uint16(b))
	}
	return ws
}

func TestSelections(t *testing.T) {
	whole := words(gridhold(t, "read", small()).succeeds(t)) // right by its sha256: TestArrays
	const out = -1                                           // outside the array
	for _, tc := range []struct {
		flags string
		want  []int // numbers of the elements in C order
	}{
		{"--region 2:4,5:7", []int{19, 20, 26, 27}},
		{"--region 9,4:", []int{67, 68, 69}},
		{"--region :2,:1", []int{0, 7}},
		{"--region 3:3,0:7", nil},
		{"--subchunk 0,0", []int{0, 1, 7, 8}},
		{"--subchunk 4,3", []int{62, out, 69, out}}, // reaches past the edge
		{"--subchunk 19", []int{62, out, 69, out}},
		{"--chunk 2,1", []int{60, 61, 62, out, 67, 68, 69, out, out, out, out, out, out, out, out, out}},
		{"--chunk 5", []int{60, 61, 62, out, 67, 68, 69, out, out, out, out, out, out, out, out, out}},
		{"--chunk 1,0", []int{28, 29, 30, 31, 35, 36, 37, 38, 42, 43, 44, 45, 49, 50, 51, 52}},
		{"--subchunk 4,3 --encoded", []int{62, out, 69, out}},
	} {
		for _, engine := range engines {
			t.Run(engine+" "+tc.flags, func(t *testing.T) {
				args := append([]string{"read", small(), "--engine", engine}, strings.Fields(tc.flags)...)
				var want []uint16
				for _, i := range tc.want {
					if i == out {
						want = append(want, 9)
					} else {
						want = append(want, whole[i])
					}
				}
				require.Equal(t, want, words(gridhold(t, args...).succeeds(t)))
			})
		}
	}
}

func TestEncodedChunkIsTheObject(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(small(), "c", "2", "1"))
	require.NoError(t, err)
	require.Equal(t, want, gridhold(t, "read", small(), "--chunk", "2,1", "--encoded").succeeds(t))
}

func TestScalar(t *testing.T) {
	path := filepath.Join(fixtures, "ndim0_plain")
	whole := gridhold(t, "read", path).succeeds(t)
	for _, flags := range [][]string{{"--region", ""}, {"--subchunk", ""}, {"--subchunk", "0"}, {"--chunk", "0"}} {
		require.Equal(t, whole, gridhold(t, append([]string{"read", path}, flags...)...).succeeds(t))
	}
	gridhold(t, "read", path, "--subchunk", "1").fails(t, statusFailed)
}

func TestNpy(t *testing.T) {
	got := gridhold(t, "read", small(), "--npy", "--region", "2:4,5:7").succeeds(t)
	header := "\x93NUMPY\x01\x00\x76\x00{'descr': '<u2', 'fortran_order': False, 'shape': (2, 2), }"
	require.Equal(t, header, string(got[:len(header)]))
	require.Len(t, got, 128+8)
	require.Equal(t, byte('\n'), got[127])

	one, err := npyHeader("bool", []int64{3})
	require.NoError(t, err)
	require.Contains(t, string(one), "'descr': '|b1', 'fortran_order': False, 'shape': (3,), }")
	scalar, err := npyHeader("complex64", nil)
	require.NoError(t, err)
	require.Contains(t, string(scalar), "'shape': (), }")
}

// A link to a file stays one: the file is what is written.
func TestOutputThroughALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(target, []byte("old"), 0o644))
	require.NoError(t, os.Symlink("target", link))
	gridhold(t, "read", small(), "-o", link).succeeds(t)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	b, err := os.ReadFile(target)
	require.NoError(t, err)
	require.NotEqual(t, "old", string(b))
}

func TestOutputFileIsWholeOrAbsent(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.bin")
	require.Empty(t, gridhold(t, "read", small(), "-o", out).succeeds(t))
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Len(t, got, 140)

	// A read that fails leaves what was there, and nothing beside it.
	gridhold(t, "read", filepath.Join(fixtures, "corrupt", "shard_zero_bytes"), "-o", out).fails(t, statusFailed)
	again, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, got, again)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestHTTP(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(fixtures)))
	defer server.Close()
	url := server.URL + "/index_end_crc_zarr-python"
	for _, engine := range engines {
		require.Equal(t, gridhold(t, "read", small()).succeeds(t), gridhold(t, "read", "--engine", engine, url).succeeds(t))
		require.Equal(t, gridhold(t, "info", small()).succeeds(t), gridhold(t, "info", "--engine", engine, url).succeeds(t))
		gridhold(t, "info", "--engine", engine, server.URL+"/nothing").fails(t, statusFailed)
	}
}

// Reading a whole array takes memory for a part of it, whichever way it is cut.
func TestMemoryIsBounded(t *testing.T) {
	for name, tc := range map[string]struct{ shape, chunk string }{
		"rows fit":      {"[20000,10000]", "[100,1000]"},
		"a row is more": {"[1000,200000]", "[500,1000]"},
	} {
		dir := t.TempDir()
		metadata := `{"zarr_format":3,"node_type":"array","shape":` + tc.shape + `,"data_type":"uint16",
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":` + tc.chunk + `}},
			"chunk_key_encoding":{"name":"default"},"fill_value":7,
			"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`
		require.NoError(t, os.WriteFile(filepath.Join(dir, "zarr.json"), []byte(metadata), 0o666))
		for _, engine := range engines {
			if engine == "wasm" && name != "rows fit" {
				continue // the slabs are cut outside the engine; once is enough, it is slower
			}
			t.Run(engine+"/"+name, func(t *testing.T) {
				var n counter
				r := gridholdTo(t, &n, "read", "--engine", engine, dir)
				r.succeeds(t)
				require.EqualValues(t, 400_000_000, n)
				require.Less(t, r.Peak, most[engine].Peak)
			})
		}
	}
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func TestFileURL(t *testing.T) {
	require.Equal(t, gridhold(t, "info", small()).succeeds(t), gridhold(t, "info", "file://"+filepath.ToSlash(small())).succeeds(t))
}

// An interrupt ends a read that waits for the network: one line, no file
// left behind.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system sends no interrupts to a process of its own")
	}
	asked, ended := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/zarr.json") {
			http.ServeFile(w, r, filepath.Join(small(), "zarr.json"))
			return
		}
		asked <- struct{}{}
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(ended)
	for _, engine := range engines {
		dir := t.TempDir()
		c := prepare("read", "--engine", engine, server.URL, "-o", filepath.Join(dir, "out"))
		var stderr strings.Builder
		c.Stderr = &stderr
		require.NoError(t, c.Start())
		<-asked
		require.NoError(t, c.Process.Signal(os.Interrupt))
		drained := make(chan struct{})
		go func() { // several ranges may be under way
			for {
				select {
				case <-asked:
				case <-drained:
					return
				}
			}
		}()
		require.Error(t, c.Wait())
		close(drained)
		require.Equal(t, statusFailed, c.ProcessState.ExitCode())
		require.Equal(t, "gridhold: "+server.URL+": interrupted\n", stderr.String())
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}
