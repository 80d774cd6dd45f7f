package soak

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/proof"
)

// server is a program that serves, in a process of its own.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string // host:port

	mu      sync.Mutex
	samples []sample
}

// sample is what a process has at one time.
type sample struct{ memory, files int64 }

// launch builds a program of this module and starts it. It says its address in
// its first line.
func launch(t *testing.T, program string, args ...string) *server {
	bin := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-o", bin, program)
	build.Dir, build.Stderr = filepath.Join("..", ".."), os.Stderr
	require.NoError(t, build.Run())
	cmd := exec.Command(bin, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addr := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "http://"), "/")
	return &server{t: t, cmd: cmd, addr: addr}
}

func (s *server) url(path string) string { return "http://" + s.addr + path }

// look returns what the process has now.
func (s *server) look() sample {
	var now sample
	pid := strconv.Itoa(s.cmd.Process.Pid)
	text, err := os.ReadFile("/proc/" + pid + "/status")
	require.NoError(s.t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			require.NoError(s.t, err)
			now.memory = kib << 10
		}
	}
	files, err := os.ReadDir("/proc/" + pid + "/fd")
	require.NoError(s.t, err)
	now.files = int64(len(files))
	s.mu.Lock()
	s.samples = append(s.samples, now)
	s.mu.Unlock()
	return now
}

// watch looks now and then until over is closed.
func (s *server) watch(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(200 * time.Millisecond):
			s.look()
		}
	}
}

// flat fails if the process has more in the last third of the load than it had
// in the first two, beyond what comes and goes, and beyond what it may have at
// any time: on a slow machine it comes to that late.
func (s *server) flat(may sample) (most sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var early, late sample
	for i, x := range s.samples {
		at := &early
		if i >= len(s.samples)*2/3 {
			at = &late
		}
		at.memory, at.files = max(at.memory, x.memory), max(at.files, x.files)
	}
	require.LessOrEqual(s.t, late.memory, max(early.memory+early.memory/4+(32<<20), may.memory), "memory grows")
	require.LessOrEqual(s.t, late.files, max(early.files+early.files/4+32, may.files), "descriptors grow")
	return sample{max(early.memory, late.memory), max(early.files, late.files)}
}

// settles waits until the process has no more descriptors than it had at first.
func (s *server) settles(first sample) {
	for range 1200 { // a minute: who says half a header is waited for 10 s
		if s.look().files <= first.files {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.LessOrEqual(s.t, s.look().files, first.files, "descriptors are left")
}

// ends sends SIGTERM; the process is to end by itself, with status 0.
func (s *server) ends(meanwhile func()) {
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	meanwhile()
	select {
	case err := <-ended:
		require.NoError(s.t, err)
	case <-time.After(2 * time.Minute):
		s.t.Fatal("it does not end")
	}
}

// long is for how long there is load.
func long(t *testing.T) time.Duration {
	if text := os.Getenv("GRIDHOLD_SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		return d / 2 // there are two tests
	}
	return 4 * time.Second
}

// records are what the tests came to; the last one writes them down.
var records []proof.Record

func record(t *testing.T, what string, took time.Duration, counts map[string]int64) {
	counts["seconds"] = int64(took.Seconds())
	for _, never := range []string{"wrong", "leaks", "hangs"} {
		counts[never] = 0
	}
	records = append(records, proof.Record{
		What: what, When: time.Now(), Command: "make soak TIME=" + (2 * long(t)).String(), Machine: proof.Machine(), Counts: counts,
	})
	t.Log(counts)
	if name := os.Getenv("GRIDHOLD_PROOF"); name != "" {
		require.NoError(t, proof.Write(name, records...))
	}
}
