package interop

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// bindings are the processes of Gridhold's other languages: how each is
// started, and in which environment.
func bindings(t *testing.T) map[string]*exec.Cmd {
	t.Helper()
	if os.Getenv("REQUIRE_BINDINGS") != "1" { // what is built may be of another day
		fmt.Fprintf(os.Stderr, "SKIPPED %s: make test builds the bindings and runs it\n", t.Name())
		t.Skip("make test builds the bindings and runs it")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	interpreter, built := at(".venv", "bin", "python"), at("bindings", "js", "dist", "index.node.js")
	node, err := exec.LookPath("node")
	for _, name := range []string{interpreter, built} {
		if err == nil {
			_, err = os.Stat(name)
		}
	}
	require.NoError(t, err, "run scripts/build-js.sh and scripts/test-python.sh first")
	command := func(name, script string, env ...string) *exec.Cmd {
		cmd := exec.Command(name, script)
		cmd.Dir, cmd.Stderr, cmd.Env = "peers", os.Stderr, append(os.Environ(), env...)
		return cmd
	}
	// Where there is no command flock, Node's locks are those of another process.
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "gridhold"), "./cmd/gridhold")
	build.Dir = root
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	return map[string]*exec.Cmd{
		"Python":              command(interpreter, "with_gridhold.py", "PYTHONPATH="+at("bindings", "python", "src")),
		"Node":                command(node, "with_gridhold.mjs"),
		"Node, without flock": command(node, "with_gridhold.mjs", "PATH="+bin),
	}
}

// starting starts a process that works on a container.
func starting(t *testing.T, name string, cmd *exec.Cmd) *sharer {
	t.Helper()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return kept(t, &sharer{name, cmd, in, bufio.NewReader(out)})
}

// Processes of Go, Python, Node with either of its ways to lock, and
// python-blosc2 work on one locked array at the same time: every batch that any
// of them appended is there once, whole, and they count up to the very number.
func TestSharingInAllLanguages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Node locks otherwise")
	}
	requirePeers(t)
	who := []*sharer{ourSharer(t), theirSharer(t)}
	for name, cmd := range bindings(t) {
		who = append(who, starting(t, name, cmd))
	}
	const size = 7
	count := times(40, 1000)
	dir := t.TempDir()
	for _, name := range []string{"appended.b2nd", "counted.b2nd"} {
		start := int64(0)
		if name == "counted.b2nd" {
			start = 4
		}
		who[0].must(t, task{Do: "create_array", Path: filepath.Join(dir, name), Shape: []int64{start}, Chunks: []int64{100}})
	}

	openAll(t, who, filepath.Join(dir, "appended.b2nd"), "a", true)
	together(t, who, func(i int) task { return task{Do: "append", Count: count, Size: ptr(size), Tag: ptr(i)} })
	got := values(who[0].must(t, task{Do: "items"}).Data)
	require.Equal(t, got, values(who[1].must(t, task{Do: "items"}).Data))
	require.Len(t, got, len(who)**count*size)
	var batches, want []int64
	turns := 0
	for i := 0; i < len(got); i += size {
		require.Equal(t, slices.Repeat(got[i:i+1], size), got[i:i+size])
		if i > 0 && got[i]/1_000_000 != got[i-size]/1_000_000 {
			turns++
		}
		batches = append(batches, got[i])
	}
	for i := range who {
		for k := range *count {
			want = append(want, int64(i*1_000_000+k))
		}
	}
	slices.Sort(batches)
	require.Equal(t, want, batches)
	require.Greater(t, turns, len(who), "they took turns, one batch after the other")

	openAll(t, who, filepath.Join(dir, "counted.b2nd"), "a", true)
	together(t, who, func(int) task { return task{Do: "increment", Count: count} })
	for _, s := range who[:2] {
		require.EqualValues(t, len(who)**count, values(s.must(t, task{Do: "items"}).Data)[0], s.name)
	}
}
