package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// launch says how each peer is started, in the folder peers.
var launch = map[string][]string{
	"zarr-python": {python, "with_zarr.py"},
	"zarrs-zarr":  {python, "with_zarr.py", "zarrs"},
	"zarrista":    {python, "with_zarrista.py"},
	"tensorstore": {python, "with_tensorstore.py"},
	"zarrita":     {"node", "with_zarrita.mjs"},

	"python-blosc2": {python, "with_blosc2.py"},
	"images":        {python, "with_images.py"}, // mrcfile and vitrio
}

// peerNames are those of Zarr.
var peerNames = []string{"zarr-python", "zarrs-zarr", "zarrista", "tensorstore", "zarrita"}

var python = func() string {
	bin := "bin/python"
	if runtime.GOOS == "windows" {
		bin = "Scripts/python.exe"
	}
	path, err := filepath.Abs("../../.peers/" + bin)
	if err != nil {
		panic(err)
	}
	return path
}()

// peer is a process of another library. It answers one request at a time.
type peer struct {
	name string
	mu   sync.Mutex
	in   io.Writer
	out  *bufio.Reader
}

// running are the processes that were started: one a library, for all tests.
var running struct {
	sync.Mutex
	peers map[string]*peer
	stop  []func()
}

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		children[role](os.Getenv(childDir))
		os.Exit(0)
	}
	code := m.Run()
	for _, stop := range running.stop {
		stop()
	}
	os.Exit(code)
}

// eachPeer runs a test with every peer of Zarr, side by side.
func eachPeer(t *testing.T, test func(t *testing.T, p *peer)) {
	requirePeers(t)
	for _, name := range peerNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := start(name)
			require.NoError(t, err)
			test(t, p)
		})
	}
}

// requirePeers skips the test where the other libraries are not installed.
func requirePeers(t *testing.T) {
	t.Helper()
	for _, path := range []string{python, "peers/node_modules/zarrita/package.json"} {
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if os.Getenv("REQUIRE_PEERS") == "1" {
			t.Fatal("the other libraries are missing: run scripts/peers.sh")
		}
		fmt.Fprintf(os.Stderr, "SKIPPED %s: the other libraries are missing; scripts/peers.sh installs them\n", t.Name())
		t.Skip("run scripts/peers.sh")
	}
}

func start(name string) (*peer, error) {
	running.Lock()
	defer running.Unlock()
	if p := running.peers[name]; p != nil {
		return p, nil
	}
	command := launch[name]
	cmd := exec.Command(command[0], command[1:]...)
	// Node makes its end of a pipe non-blocking, which must not be ours.
	cmd.Dir, cmd.Stderr = "peers", struct{ io.Writer }{os.Stderr}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &peer{name: name, in: in, out: bufio.NewReader(out)}
	if running.peers == nil {
		running.peers = map[string]*peer{}
	}
	running.peers[name] = p
	running.stop = append(running.stop, func() {
		in.Close() // it ends when there is nothing more to read
		cmd.Wait()
	})
	return p, nil
}

// request is what a peer is asked; which fields count depends on Do.
type request struct {
	Do           string          `json:"do"`
	Dir          string          `json:"dir"`
	Path         *string         `json:"path,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	Parts        []part          `json:"parts,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	Consolidated *bool           `json:"consolidated,omitempty"`
}

// part is a block of elements in canonical form.
type part struct {
	Start []int64 `json:"start"`
	Stop  []int64 `json:"stop"`
	Data  []byte  `json:"data"`
	shift int     // see array.block
}

// answer is what a peer says. Refused is the text of an exception.
type answer struct {
	Refused    string          `json:"refused"`
	Shape      []int64         `json:"shape"`
	Data       []byte          `json:"data"`
	Attributes json.RawMessage `json:"attributes"`
	Nodes      []node          `json:"nodes"`
}

type node struct {
	Path       string          `json:"path"`
	Kind       string          `json:"kind"`
	Attributes json.RawMessage `json:"attributes"`
}

// exchange sends a request and waits for the answer.
func (p *peer) exchange(t *testing.T, request, answer any) {
	t.Helper()
	line, err := json.Marshal(request)
	require.NoError(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.in.Write(append(line, '\n'))
	require.NoError(t, err, "the process of %s has ended", p.name)
	text, err := p.out.ReadBytes('\n')
	require.NoError(t, err, "the process of %s has ended", p.name)
	require.NoError(t, json.Unmarshal(text, answer), "%.300s", text)
}

// ask returns the answer to a request, which may be a refusal.
func (p *peer) ask(t *testing.T, r request) answer {
	t.Helper()
	var a answer
	p.exchange(t, r, &a)
	return a
}

// must asks for what may not be refused.
func (p *peer) must(t *testing.T, r request) answer {
	t.Helper()
	a := p.ask(t, r)
	require.Empty(t, a.Refused, p.name)
	return a
}
