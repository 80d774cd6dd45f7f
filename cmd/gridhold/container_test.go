package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var containers = filepath.Join("..", "..", "testdata", "blosc2")

type containerEntry struct {
	File   string
	Kind   string
	Shape  []int64
	Chunks []int64
	SHA256 string
	Keys   map[string]struct{ Type, SHA256 string }
}

func containerEntries(t *testing.T) []containerEntry {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(containers, "manifest.json"))
	require.NoError(t, err)
	var m struct{ Entries []containerEntry }
	require.NoError(t, json.Unmarshal(b, &m))
	require.Len(t, m.Entries, 288)
	return m.Entries
}

// here runs the command in this process.
func here(t *testing.T, args ...string) (status int, stdout []byte, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, &out, &errs)
	return status, out.Bytes(), errs.String()
}

func hashOf(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func TestContainers(t *testing.T) {
	read := 0
	for _, e := range containerEntries(t) {
		name := filepath.Join(containers, e.File)
		if e.Kind == "chunk" {
			continue
		}
		status, text, errs := here(t, "info", "--json", name)
		require.Zero(t, status, errs)
		var d struct {
			Kind  string
			Shape []int64
			Keys  []string
		}
		require.NoError(t, json.Unmarshal(text, &d))
		if e.Keys == nil {
			require.Equal(t, e.Shape, d.Shape)
			status, got, errs := here(t, "read", name)
			if strings.HasPrefix(e.File, "plugin/") && status != 0 {
				require.Equal(t, 1, status)
				require.Contains(t, errs, "plugin")
				continue
			}
			require.Zero(t, status, errs)
			if e.SHA256 != "" {
				require.Equal(t, e.SHA256, hashOf(got), e.File)
				read++
			}
			continue
		}
		require.Len(t, d.Keys, len(e.Keys))
		status, text, errs = here(t, "ls", "--json", name)
		require.Zero(t, status, errs)
		require.Equal(t, len(e.Keys), bytes.Count(text, []byte(`"path"`)))
		for key, k := range e.Keys {
			if k.Type == "TreeStore" {
				continue
			}
			status, got, errs := here(t, "read", "--key", key, name)
			require.Zero(t, status, errs)
			require.Equal(t, k.SHA256, hashOf(got), key)
		}
	}
	require.Greater(t, read, 240)
}

func TestContainerRegionsAndChunks(t *testing.T) {
	name := filepath.Join(containers, "ndim", "2d.b2nd") // 45x67 int32 in chunks of 20x30
	_, all, _ := here(t, "read", name)
	require.Len(t, all, 45*67*4)
	_, region, _ := here(t, "read", "--region", "3:5,60:", name)
	require.Equal(t, append(bytes.Clone(all[(3*67+60)*4:(3*67+67)*4]), all[(4*67+60)*4:(4*67+67)*4]...), region)
	_, chunk, _ := here(t, "read", "--chunk", "8", name) // at the corner: 5x7 of 20x30
	require.Len(t, chunk, 20*30*4)
	require.Equal(t, all[(40*67+60)*4:(40*67+67)*4], chunk[:7*4])
	require.Equal(t, make([]byte, 23*4), chunk[7*4:30*4])
	status, packed, _ := here(t, "read", "--encoded", "--chunk", "2,2", name)
	require.Zero(t, status)
	require.Equal(t, byte(5), packed[0])
	status, npy, _ := here(t, "read", "--npy", name)
	require.Zero(t, status)
	require.Contains(t, string(npy[:128]), "'descr': '<i4'")
	require.True(t, bytes.HasSuffix(npy, all))

	name = filepath.Join(containers, "schunk", "varsize.b2frame")
	_, all, _ = here(t, "read", name)
	var chunks []byte
	for i := range 100 {
		status, b, _ := here(t, "read", "--chunk", strconv.Itoa(i), name)
		if status != 0 {
			require.Greater(t, i, 1)
			break
		}
		chunks = append(chunks, b...)
	}
	require.Equal(t, all, chunks)
}

func TestContainerFailures(t *testing.T) {
	at := func(name string) string { return filepath.Join(containers, filepath.FromSlash(name)) }
	for _, tc := range []struct {
		args   []string
		status int
		stderr string
	}{
		{[]string{"info", at("corrupt/bad-magic.b2nd")}, 1, "is no header of a frame"},
		{[]string{"read", at("corrupt/chunk-bstart-oob.b2nd")}, 1, "chunk 0"},
		{[]string{"verify", at("corrupt/chunk-bstart-oob.b2nd")}, 3, "1 damaged of 9 checked"},
		{[]string{"verify", at("corrupt/trunc-mid-index.b2nd")}, 3, "1 damaged of 1 checked"},
		{[]string{"read", at("store/embed.b2e")}, 1, "--key"},
		{[]string{"read", "--key", "/none", at("store/dict-ext.b2z")}, 1, "/none: not found"},
		{[]string{"read", "--key", "x", at("ndim/2d.b2nd")}, 1, "has no keys"},
		{[]string{"read", "--subchunk", "0", at("ndim/2d.b2nd")}, 2, "--subchunk"},
		{[]string{"read", "--region", "0:46,0:1", at("ndim/2d.b2nd")}, 1, "out of range"},
		{[]string{"read", "--chunk", "9", at("ndim/2d.b2nd")}, 1, "out of range"},
		{[]string{"read", "--npy", at("schunk/one.b2frame")}, 1, "npy"},
		{[]string{"ls", at("ndim/2d.b2nd")}, 1, "has none"},
		{[]string{"info", at("none.b2nd")}, 1, "not found"},
	} {
		status, _, errs := here(t, tc.args...)
		require.Equal(t, tc.status, status, tc.args)
		require.Contains(t, errs, tc.stderr, tc.args)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

// An inner node of a tree is what is below it.
func TestContainerNodes(t *testing.T) {
	tree := filepath.Join(containers, "store", "tree.b2d")
	for _, tc := range []struct {
		args   []string
		stdout string
		stderr string
	}{
		{[]string{"info", "--key", "/a", tree}, "kind: group\nkeys: [\"/a/b\",\"/a/b/c\",\"/a/b/d\",\"/a/e\"]\n", ""},
		{[]string{"ls", "--key", "a/b", tree}, "ndarray  <i2  33   /a/b/c\nndarray  <f4  700  /a/b/d\n", ""},
		{[]string{"read", "--key", "/a", tree}, "", "/a: a group, whose keys ls lists: choose one with --key"},
		{[]string{"info", "--key", "/a/none", tree}, "", "not found"},
		{[]string{"verify", "--key", "/a/b", tree}, "checked", ""},
	} {
		_, out, errs := here(t, tc.args...)
		require.Contains(t, string(out), tc.stdout, tc.args)
		require.Contains(t, errs, tc.stderr, tc.args)
	}
}

// TestContainersInTheSandbox wants of --engine wasm what the machine says, to
// the byte.
func TestContainersInTheSandbox(t *testing.T) {
	srv := httptest.NewServer(http.FileServer(http.Dir(containers)))
	defer srv.Close()
	at := func(name string) string { return filepath.Join(containers, filepath.FromSlash(name)) }
	for _, args := range [][]string{
		{"info", "--json", at("ndim/2d.b2nd")},
		{"info", "--json", at("store/tree.b2d")},
		{"read", "--npy", "--region", "3:5,60:", at("ndim/2d.b2nd")},
		{"read", "--encoded", "--chunk", "2,2", at("ndim/2d.b2nd")},
		{"read", at("schunk/varsize.b2frame")},
		{"read", at("sparse/nd")},
		{"read", "--key", "/none", at("store/dict-ext.b2z")},
		{"ls", "--json", at("store/tree.b2z")},
		{"info", "--json", "--key", "/a", at("store/tree.b2d")},
		{"ls", "--key", "a/b", at("store/tree.b2z")},
		{"verify", "--key", "/a", at("store/tree.b2d")},
		{"read", "--key", "/a", at("store/tree.b2d")},
		{"info", "--key", "/a/x", at("store/tree.b2d")},
		{"verify", at("store/dict-thr.b2d")},
		{"verify", at("corrupt/chunk-bstart-oob.b2nd")},
		{"verify", at("corrupt/trunc-mid-index.b2nd")},
		{"read", srv.URL + "/ndim/2d.b2nd"},
		{"ls", srv.URL + "/store/embed.b2e"},
		{"read", at("corrupt/bad-magic.b2nd")},
	} {
		status, want, errs := here(t, args...)
		got, out, said := here(t, append([]string{"--engine", "wasm"}, args...)...)
		require.Equal(t, status, got, "%s: %s", args, said)
		require.Equal(t, errs, said, args)
		require.Equal(t, string(want), string(out), args)
	}
}

func TestContainersVerify(t *testing.T) {
	for _, e := range containerEntries(t) {
		if e.Kind == "chunk" || strings.HasPrefix(e.File, "plugin/") {
			continue
		}
		status, _, errs := here(t, "verify", filepath.Join(containers, e.File))
		require.Zero(t, status, errs)
	}
}

func TestContainersOverHTTP(t *testing.T) {
	srv := httptest.NewServer(http.FileServer(http.Dir(containers)))
	defer srv.Close()
	for _, e := range containerEntries(t) {
		switch {
		case e.File == "store/tree.b2z" || e.File == "store/embed.b2e" || strings.HasSuffix(e.File, ".b2d"):
			for key, k := range e.Keys {
				if k.Type != "TreeStore" {
					status, got, errs := here(t, "read", "--key", key, srv.URL+"/"+e.File)
					require.Zero(t, status, errs)
					require.Equal(t, k.SHA256, hashOf(got))
				}
			}
		case strings.HasPrefix(e.File, "ndim/"):
			status, got, errs := here(t, "read", srv.URL+"/"+e.File)
			require.Zero(t, status, errs)
			require.Equal(t, e.SHA256, hashOf(got))
		}
	}
}

// What takes a codec that is not there may be whole: that is said, and is no
// damage.
func TestVerifySaysWhatItCannotCheck(t *testing.T) {
	name := filepath.Join(containers, "plugin", "ndlz.b2nd")
	status, out, errs := here(t, "verify", name)
	require.Equal(t, statusFailed, status)
	require.Contains(t, string(out), "chunk 0: blosc: ndlz is a plugin: unsupported\n")
	require.Contains(t, string(out), "checked 4, damaged 0, not checked 4\n")
	require.Equal(t, "gridhold: "+name+": 4 not checked: unsupported\n", errs)
	status, out, _ = here(t, "verify", "--json", name)
	require.Equal(t, statusFailed, status)
	require.Contains(t, string(out), `"unchecked": true`)
}
