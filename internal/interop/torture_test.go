package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/proof"
)

// ledger is what writers were heard to have done. What was asked for and not
// answered yet, or never will be because its writer was killed, may be there
// too: slack.
type ledger struct {
	mu          sync.Mutex
	done, slack map[int]int // by tag

	operations, killed, looks, bytes int64
}

func (l *ledger) begin(tag, slack int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slack[tag] = slack
}

func (l *ledger) did(tag, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[tag] += n
	l.operations += int64(n)
}

// bounds are the least and the most that may be there, by tag.
type bounds map[int][2]int

func (l *ledger) bounds() bounds {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := bounds{}
	for tag, slack := range l.slack {
		b[tag] = [2]int{l.done[tag], l.done[tag] + slack}
	}
	return b
}

func (b bounds) sum() (least, most int) {
	for _, x := range b {
		least, most = least+x[0], most+x[1]
	}
	return least, most
}

// scene is one container under torture.
type scene struct {
	name    string
	file    string
	make    task
	locking bool
	victims int  // writers of ours that are killed and replaced
	steady  int  // writers of python-blosc2, which a kill may leave without a container
	work    task // of a victim
	turn    task // of a steady writer, Count times
	look    task
	// legal says what is wrong with what a look found, which began when
	// before was what writers had been heard to have done. after is what they
	// have done in the end, nil before it: they are ahead of what is heard.
	legal func(a report, before, after bounds) error
	// theirs: what the peer's readers find is checked too.
	theirs bool
}

const batch = 10

var scenes = []scene{
	{
		name: "chunks", file: "c.b2frame", make: task{Do: "create_schunk", ChunkSize: 800}, locking: true, victims: 2, steady: 2,
		work: task{Kind: "held", Size: ptr(100)}, turn: task{Do: "chunks", Count: ptr(5), Size: ptr(100)}, look: task{Do: "stored"}, theirs: true,
		legal: func(a report, before, after bounds) error {
			next := map[int]int{}
			for _, v := range values(a.Data) {
				tag, i := int(v/1000000), int(v%1000000)
				if i < next[tag] {
					return fmt.Errorf("duplicated: chunk %d of %d", i, tag)
				}
				if i > next[tag] {
					return fmt.Errorf("lost: chunk %d of %d, before %d", next[tag], tag, i)
				}
				next[tag]++
			}
			for tag, least := range before {
				if next[tag] < least[0] {
					return fmt.Errorf("lost: %d of %d chunks of %d", next[tag], least[0], tag)
				}
			}
			for tag, n := range next {
				if after != nil && n > after[tag][1] {
					return fmt.Errorf("wrong: %d chunks of %d, who wrote at most %d", n, tag, after[tag][1])
				}
			}
			return nil
		},
	},
	{
		name: "counter", file: "c.b2nd", make: task{Do: "create_array", Shape: []int64{4}, Chunks: []int64{4}}, locking: true, victims: 2, steady: 2,
		work: task{Kind: "increment"}, turn: task{Do: "increment", Count: ptr(5)}, look: task{Do: "items"}, theirs: true,
		legal: func(a report, before, after bounds) error {
			least, _ := before.sum()
			_, most := after.sum()
			if n := int(values(a.Data)[0]); n < least {
				return fmt.Errorf("lost: %d of %d increments", n, least)
			} else if after != nil && n > most {
				return fmt.Errorf("duplicated: %d of %d increments", n, most)
			}
			return nil
		},
	},
	{
		name: "store", file: "s.b2d", make: task{Do: "store", Mode: "w", Kind: "dict", Threshold: ptr(int64(1000))}, locking: true, victims: 2,
		work: task{Kind: "put", Size: ptr(300)}, look: task{Do: "values", Key: "/a", Count: ptr(5)},
		legal: func(a report, before, _ bounds) error {
			if least, _ := before.sum(); a.Missing > 0 && least > 0 {
				return errors.New("lost: the key is not there")
			}
			if a.Errors > 0 {
				return errors.New("wrong: " + a.Text)
			}
			if a.Bad > 0 {
				return errors.New("torn: a value of two")
			}
			return nil
		},
	},
	{
		name: "growth without locks", file: "g.b2nd", make: task{Do: "create_array", Shape: []int64{0}, Chunks: []int64{100}}, victims: 1,
		work: task{Kind: "grow", Size: ptr(batch)}, look: task{Do: "settled", Count: ptr(20), Size: ptr(batch), Until: ptr(int64(0))}, theirs: true,
		legal: func(a report, _, _ bounds) error {
			if a.Bad > 0 {
				return errors.New("torn: other items than were written")
			}
			if a.Errors > 0 {
				return errors.New("wrong: " + a.Text)
			}
			return nil
		},
	},
}

// TestTorture has processes of ours and of python-blosc2 write to and read from
// one container at once, then one store, and kills writers of ours at random. Whatever anybody
// reads meanwhile, and what is there in the end, is what may be: all that was
// acknowledged, once, whole, and at most what was begun.
//
// GRIDHOLD_TORTURE is how long, as in "10m"; GRIDHOLD_PROOF a file for what it
// came to.
func TestTorture(t *testing.T) {
	requirePeers(t)
	whole := 6 * time.Second
	if text := os.Getenv("GRIDHOLD_TORTURE"); text != "" {
		var err error
		whole, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	containers, stores := tortureContainers(t, whole/2), tortureStores(t, whole/2)
	if name := os.Getenv("GRIDHOLD_PROOF"); name != "" && !t.Failed() {
		for _, r := range []*proof.Record{&containers, &stores} {
			r.When, r.Command, r.Machine = time.Now(), "make torture TIME="+whole.String(), proof.Machine()
			for _, never := range []string{"lost", "torn", "duplicated", "wrong"} {
				r.Counts[never] = 0
			}
		}
		require.NoError(t, proof.Write(name, containers, stores))
	}
}

func tortureContainers(t *testing.T, whole time.Duration) proof.Record {
	began := time.Now()
	totals := ledger{}
	rounds := int64(0)
	for rounds == 0 || time.Since(began) < whole && !t.Failed() {
		for _, s := range scenes {
			if t.Failed() {
				break
			}
			l := s.play(t, min(whole/time.Duration(len(scenes)), 5*time.Second))
			totals.operations += l.operations
			totals.killed += l.killed
			totals.looks += l.looks
			totals.bytes += l.bytes
			rounds++
		}
	}
	t.Logf("%d containers, %d commits, %d reads, %d bytes read, %d kills", rounds, totals.operations, totals.looks, totals.bytes, totals.killed)
	return proof.Record{
		What: "Containers that processes of ours and of python-blosc2 write to and read at once, while writers are killed",
		Counts: map[string]int64{
			"seconds": int64(time.Since(began).Seconds()), "containers": rounds, "operations": totals.operations + totals.looks,
			"processes killed": totals.killed, "bytes read": totals.bytes,
		},
	}
}

// play tortures one container for a while, and until each kind of process has
// done something.
func (s scene) play(t *testing.T, long time.Duration) *ledger {
	path := filepath.Join(t.TempDir(), s.file)
	l := &ledger{done: map[int]int{}, slack: map[int]int{}}
	open := func(start func(t *testing.T) *sharer, mode string) *sharer {
		p, q := start(t), task{Do: "open", Path: path, Mode: mode, Locking: &s.locking}
		if s.make.Do == "store" {
			q.Do, q.Kind = "store", s.make.Kind
		}
		for range 1000 {
			a, err := p.try(q)
			require.NoError(t, err)
			// The peer asks how long the file is before it reads how long it
			// has to be: without a lock it may be longer by then.
			if p.name == "gridhold" || s.locking || a.Refused == "" {
				require.Empty(t, a.Refused, p.name)
				return p
			}
		}
		require.Fail(t, "the peer never gets it open")
		return p
	}
	first := s.make
	first.Path, first.Locking = path, &s.locking
	maker := ourSharer(t)
	maker.must(t, first)
	if first.Do == "store" {
		maker.must(t, task{Do: "put", Key: "/a", Size: ptr(300), Value: 0})
	}
	tags := 0
	tag := func(slack int) int {
		l.mu.Lock()
		tags++
		n := tags
		l.mu.Unlock()
		l.begin(n, slack)
		return n
	}
	var all sync.WaitGroup
	end := time.Now().Add(long)
	going := func() bool { return time.Now().Before(end) && !t.Failed() }
	fail := func(who string, err error) {
		if err != nil {
			t.Errorf("%s, %s: %v", s.name, who, err)
		}
	}

	for range s.victims {
		all.Go(func() {
			for once := true; once || going(); once = false {
				fail("a writer", s.victim(t, open, tag(1), l))
			}
		})
	}
	steady := make([]*sharer, s.steady)
	for i := range steady {
		steady[i] = open(theirSharer, "a")
		all.Go(func() {
			for once := true; once || going(); once = false {
				q := s.turn
				n := tag(*q.Count)
				q.Tag = &n
				if q.Do == "increment" {
					q.Tag = nil
				}
				a, err := steady[i].try(q)
				if err == nil && a.Refused != "" {
					err = errors.New(a.Refused)
				}
				if err == nil {
					l.did(n, *q.Count)
					l.begin(n, 0)
				}
				fail("a writer of python-blosc2", err)
			}
		})
	}
	for _, start := range []func(t *testing.T) *sharer{ourSharer, ourSharer, ourSharer, theirSharer} {
		r := open(start, "r")
		all.Go(func() {
			for once := true; once || going(); once = false {
				before := l.bounds()
				a, err := r.try(s.look)
				if err == nil && a.Refused != "" {
					err = errors.New("wrong: " + a.Refused)
				}
				if r.name != "gridhold" && !s.theirs {
					err, a.Bad, a.Errors, a.Missing = nil, 0, 0, 0
				}
				if r.name != "gridhold" && !s.locking {
					a.Errors = 0 // it may meet what a writer is about, and says so
				}
				if err == nil {
					err = s.legal(a, before, nil)
				}
				l.mu.Lock()
				l.looks++
				l.bytes += int64(len(a.Data))
				l.mu.Unlock()
				fail("a reader of "+r.name, err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return l
	}

	// What is there in the end, to those who open anew.
	b := l.bounds()
	for _, start := range []func(t *testing.T) *sharer{ourSharer, theirSharer} {
		r := open(start, "r")
		fail("in the end, "+r.name, s.legal(r.must(t, s.look), b, b))
	}
	switch s.make.Do {
	case "store":
		keys := map[string]bool{}
		for _, key := range maker.must(t, task{Do: "keys"}).Names {
			keys[key] = true
		}
		for tag, n := range b {
			require.False(t, n[0] > 0 && !keys[fmt.Sprintf("/t%d", tag)], "lost: the key of %d", tag)
		}
	case "create_array":
		if !s.locking {
			least, most := b.sum()
			got := open(ourSharer, "r").must(t, task{Do: "items"}).Data
			require.Equal(t, counted(0, int64(len(got)/8)), got)
			require.GreaterOrEqual(t, len(got)/8, least*batch, "lost")
			require.LessOrEqual(t, len(got)/8, most*batch, "duplicated")
		}
	}
	left, err := filepath.Glob(path + ".*tmp")
	require.NoError(t, err)
	require.LessOrEqual(t, len(left), 1, "each writer removes what those before him left")
	return l
}

// victim runs one writer of ours until it is killed.
func (s scene) victim(t *testing.T, open func(func(*testing.T) *sharer, string) *sharer, tag int, l *ledger) error {
	w := open(func(t *testing.T) *sharer {
		cmd, in, out := child(t, "sharing", "")
		return &sharer{"gridhold", cmd, in, out}
	}, "a")
	defer w.end()
	q := s.work
	q.Do, q.Tag = "forever", &tag
	line, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return err
	}
	heard := make(chan error, 1)
	go func() {
		for {
			text, err := w.out.ReadBytes('\n')
			var a report
			if err != nil || json.Unmarshal(text, &a) != nil {
				heard <- nil
				return
			}
			if a.Refused != "" {
				heard <- errors.New("wrong: " + a.Refused)
				return
			}
			l.did(tag, 1)
		}
	}()
	time.Sleep(time.Duration(rand.IntN(200_000)) * time.Microsecond) // the kill is at random
	if err := w.cmd.Process.Kill(); err != nil {
		return err
	}
	err = <-heard
	l.mu.Lock()
	l.killed++
	l.mu.Unlock()
	return err
}
