package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// serving starts "gridhold serve" on a free port and returns it with the
// first line that it prints.
func serving(t *testing.T, args ...string) (c *exec.Cmd, line string) {
	c = prepare(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	line, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return c, strings.TrimSpace(line)
}

func get(t *testing.T, url string) (status int, body string) {
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b)
}

// What the command serves, the command reads.
func TestServe(t *testing.T) {
	const name = "index_end_crc_zarrs"
	c, url := serving(t, fixtures)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/$`, url)
	near, far := gridhold(t, "info", "--json", filepath.Join(fixtures, name)), gridhold(t, "info", "--json", url+name)
	require.Zero(t, far.status, far.stderr)
	require.Equal(t, near.stdout, far.stdout)
	near, far = gridhold(t, "read", filepath.Join(fixtures, name)), gridhold(t, "read", url+name)
	require.Zero(t, far.status, far.stderr)
	require.Equal(t, near.stdout, far.stdout)

	status, page := get(t, url+".gridhold/")
	require.Equal(t, 200, status)
	require.Contains(t, page, "<title>Gridhold</title>")
	for _, part := range []string{"main.js", "gridhold/index.js", "gridhold/gridhold.wasm", "style.css"} {
		status, _ = get(t, url+".gridhold/"+part)
		require.Equal(t, 200, status, part)
	}
	if runtime.GOOS == "windows" {
		return // processes are only killed there
	}
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.NoError(t, c.Wait(), "asked to end, it ends well")
}

func TestServeOptions(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), []byte("12345"), 0o666))
	_, line := serving(t, "--json", "--bare", "--origin", "https://example.org", dir)
	var said struct{ URL, Serves string }
	require.NoError(t, json.Unmarshal([]byte(line), &said))
	require.Equal(t, dir, said.Serves)
	status, _ := get(t, said.URL+".gridhold/")
	require.Equal(t, 404, status)
	res, err := http.Get(said.URL + "x")
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, "https://example.org", res.Header.Get("Access-Control-Allow-Origin"))

	// What another serves is passed on.
	_, url := serving(t, said.URL)
	_, body := get(t, url+"x")
	require.Equal(t, "12345", body)

	r := gridhold(t, "serve", "--listen", strings.TrimPrefix(strings.TrimSuffix(said.URL, "/"), "http://"), dir)
	require.Equal(t, statusFailed, r.status)
	require.Contains(t, r.stderr, "bind: ")
	r = gridhold(t, "serve", filepath.Join(dir, "absent"))
	require.Equal(t, statusFailed, r.status)
	require.Contains(t, r.stderr, "absent: ")
	require.Equal(t, statusUsage, gridhold(t, "serve").status)
}
