package interop

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharer is a process that has one container open: ours, or python-blosc2's.
type sharer struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// ourSharer and theirSharer start one.
func ourSharer(t *testing.T) *sharer {
	t.Helper()
	cmd, in, out := child(t, "sharing", "")
	return kept(t, &sharer{"gridhold", cmd, in, out})
}

// Theirs take a second to start, so they go from test to test.
func theirSharer(t *testing.T) *sharer {
	t.Helper()
	s := idle.get()
	if s == nil {
		cmd := exec.Command(python, "with_sharing.py")
		cmd.Dir, cmd.Stderr = "peers", os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		s = &sharer{"python-blosc2", cmd, in, bufio.NewReader(out)}
		running.Lock()
		running.stop = append(running.stop, s.end)
		running.Unlock()
	}
	t.Cleanup(func() {
		if !t.Failed() { // else it may not have answered yet
			if a, err := s.try(task{Do: "forget"}); err == nil && a.Refused == "" {
				idle.put(s)
				return
			}
		}
		s.end()
	})
	return s
}

// idle are processes of python-blosc2 that no test has.
var idle pool

type pool struct {
	mu  sync.Mutex
	all []*sharer
}

func (p *pool) get() *sharer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == 0 {
		return nil
	}
	s := p.all[len(p.all)-1]
	p.all = p.all[:len(p.all)-1]
	return s
}

func (p *pool) put(s *sharer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, s)
}

// end ends the process: there is nothing more to read for it.
func (s *sharer) end() {
	s.in.Close()
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

func kept(t *testing.T, s *sharer) *sharer {
	t.Cleanup(s.end)
	return s
}

// try asks for something that may be refused.
func (s *sharer) try(q task) (report, error) {
	line, err := json.Marshal(q)
	if err != nil {
		return report{}, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return report{}, fmt.Errorf("%s: %w", s.name, err)
	}
	text, err := s.out.ReadBytes('\n')
	if err != nil {
		return report{}, fmt.Errorf("%s: %w", s.name, err)
	}
	var a report
	return a, json.Unmarshal(text, &a)
}

func (s *sharer) must(t *testing.T, q task) report {
	t.Helper()
	a, err := s.try(q)
	require.NoError(t, err)
	require.Empty(t, a.Refused, s.name)
	return a
}

// together asks several processes at once. None may refuse.
func together(t *testing.T, who []*sharer, q func(i int) task) []report {
	t.Helper()
	var wg sync.WaitGroup
	all, errs := make([]report, len(who)), make([]error, len(who))
	for i, s := range who {
		wg.Go(func() { all[i], errs[i] = s.try(q(i)) })
	}
	wg.Wait()
	for i := range who {
		require.NoError(t, errs[i])
		require.Empty(t, all[i].Refused, who[i].name)
	}
	return all
}

func ptr[T any](v T) *T { return &v }

// times is n, or as often as the issue asks for where everything is run.
func times(n, whole int) *int {
	if os.Getenv("GRIDHOLD_SHARING") == "whole" {
		return &whole
	}
	return &n
}

// mixes are who takes part: the first makes the container.
var mixes = []struct {
	name string
	who  []func(t *testing.T) *sharer
}{
	{"ours", []func(t *testing.T) *sharer{ourSharer, ourSharer, ourSharer, ourSharer}},
	{"mixed", []func(t *testing.T) *sharer{ourSharer, theirSharer, ourSharer, theirSharer}},
	{"mixed, theirs first", []func(t *testing.T) *sharer{theirSharer, ourSharer, theirSharer, ourSharer}},
}

func eachMix(t *testing.T, test func(t *testing.T, path string, who []*sharer)) {
	requirePeers(t)
	for _, m := range mixes {
		t.Run(m.name, func(t *testing.T) {
			var who []*sharer
			for _, start := range m.who {
				who = append(who, start(t))
			}
			test(t, filepath.Join(t.TempDir(), "c.b2nd"), who)
		})
	}
}

func openAll(t *testing.T, who []*sharer, path, mode string, locking bool) {
	t.Helper()
	for _, s := range who {
		s.must(t, task{Do: "open", Path: path, Mode: mode, Locking: &locking})
	}
}

func values(b []byte) []int64 {
	var v []int64
	for i := 0; i+8 <= len(b); i += 8 {
		v = append(v, int64(binary.LittleEndian.Uint64(b[i:])))
	}
	return v
}

// Four processes append batches within the lock: each is there once, whole.
func TestSharingAppends(t *testing.T) {
	const size = 7
	eachMix(t, func(t *testing.T, path string, who []*sharer) {
		count := times(40, 1000)
		who[0].must(t, task{Do: "create_array", Path: path, Shape: []int64{0}, Chunks: []int64{100}})
		openAll(t, who, path, "a", true)
		together(t, who, func(i int) task {
			return task{Do: "append", Count: count, Size: ptr(size), Tag: ptr(i)}
		})
		got := values(who[0].must(t, task{Do: "items"}).Data)
		require.Len(t, got, 4**count*size)
		var batches []int64
		for i := 0; i < len(got); i += size {
			require.Equal(t, slices.Repeat(got[i:i+1], size), got[i:i+size])
			batches = append(batches, got[i])
		}
		slices.Sort(batches)
		var want []int64
		for i := range who {
			for k := range *count {
				want = append(want, int64(i*1000000+k))
			}
		}
		require.Equal(t, want, batches)
		for _, s := range who {
			require.Equal(t, got, values(s.must(t, task{Do: "items"}).Data), s.name)
		}
	})
}

// Four processes count up one item: the sum is exact.
func TestSharingIncrements(t *testing.T) {
	eachMix(t, func(t *testing.T, path string, who []*sharer) {
		count := times(50, 10_000)
		who[0].must(t, task{Do: "create_array", Path: path, Shape: []int64{4}, Chunks: []int64{4}})
		openAll(t, who, path, "a", true)
		together(t, who, func(int) task { return task{Do: "increment", Count: count} })
		for _, s := range who {
			require.EqualValues(t, 4**count, values(s.must(t, task{Do: "items"}).Data)[0], s.name)
		}
	})
}

// One process grows an array and three read what had been there before: nobody
// reads a wrong item, no error reaches a caller; but for a reader of the peer's
// that has no lock and meets its writer. With locking a batch is fully
// there or not at all.
func TestSharingGrowth(t *testing.T) {
	const size = 10
	for _, locking := range []bool{false, true} {
		t.Run(fmt.Sprintf("locking=%t", locking), func(t *testing.T) {
			eachMix(t, func(t *testing.T, path string, who []*sharer) {
				grown, reads := times(60, 2000), times(300, 10_000)
				who[0].must(t, task{Do: "create_array", Path: path, Shape: []int64{0}, Chunks: []int64{100}, Locking: &locking})
				openAll(t, who[:1], path, "a", locking)
				openAll(t, who[1:], path, "r", locking)
				all := together(t, who, func(i int) task {
					if i == 0 {
						return task{Do: "grow", Count: grown, Size: ptr(size), Hold: &locking}
					}
					return task{Do: "settled", Count: reads, Size: ptr(size), Until: ptr(int64(*grown * size)), Hold: &locking}
				})
				for i, a := range all[1:] {
					s := who[i+1]
					t.Logf("%s: %d reads, %d wrong, %d errors %s", s.name, a.N, a.Bad, a.Errors, a.Text)
					if s.name == "gridhold" {
						require.Zero(t, a.Errors, a.Text)
					}
					if s.name == "gridhold" || who[0].name == "gridhold" || locking { // their reader and their writer without a lock are their affair
						require.Zero(t, a.Bad, s.name)
					}
				}
			})
		})
	}
}

// A locked read of many chunks is of one state. The peer's own mixes them.
func TestSharingReadsAreWhole(t *testing.T) {
	eachMix(t, func(t *testing.T, path string, who []*sharer) {
		who[0].must(t, task{Do: "create_array", Path: path, Shape: []int64{4000}, Chunks: []int64{500}})
		openAll(t, who[:2], path, "a", true)
		readers := append([]*sharer{ourSharer(t)}, who[3])
		openAll(t, readers, path, "r", true)
		all := together(t, append(who[:2:2], readers...), func(i int) task {
			if i < 2 {
				return task{Do: "assign", Count: times(60, 600), Tag: ptr(1000 * i)}
			}
			return task{Do: "whole", Count: times(100, 1000)}
		})
		for i, a := range all[2:] {
			t.Logf("%s: %d reads, %d mixed, %d errors", readers[i].name, a.N, a.Bad, a.Errors)
			if readers[i].name == "gridhold" {
				require.Zero(t, a.Bad+a.Errors)
			}
		}
	})
}

// Without the hold, locked appends of ours are whole all the same, because
// each is one commit. The peer's are three steps, so batches are lost, and now and
// then the array: it is shown, not asserted, since they may happen not to meet.
func TestSharingAppendsWithoutHold(t *testing.T) {
	requirePeers(t)
	for _, start := range []func(t *testing.T) *sharer{ourSharer, theirSharer} {
		path := filepath.Join(t.TempDir(), "c.b2nd")
		who := []*sharer{start(t), start(t), start(t), start(t)}
		who[0].must(t, task{Do: "create_array", Path: path, Shape: []int64{0}, Chunks: []int64{100}})
		openAll(t, who, path, "a", true)
		var wg sync.WaitGroup
		for i, s := range who {
			wg.Go(func() { s.try(task{Do: "append", Count: ptr(40), Size: ptr(5), Tag: ptr(i), Hold: ptr(false)}) })
		}
		wg.Wait()
		batches := map[int64]int{}
		reader := ourSharer(t)
		a, err := reader.try(task{Do: "open", Path: path, Mode: "r"})
		require.NoError(t, err)
		if a.Refused == "" {
			a, err = reader.try(task{Do: "items"})
			require.NoError(t, err)
		}
		for _, v := range values(a.Data) {
			batches[v]++
		}
		whole := 0
		for _, n := range batches {
			if n == 5 {
				whole++
			}
		}
		t.Logf("%s: %d of 160 batches are there, whole and once %s", who[0].name, whole, a.Refused)
		if who[0].name == "gridhold" {
			require.Equal(t, 160, whole)
		}
	}
}
