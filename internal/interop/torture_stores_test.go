package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/proof"
)

// storeScenes are stores under torture: where they keep their values, and
// whether what the peer's readers find is checked. They open the file of a
// value again for each of its chunks, so they may mix two; where all is in one
// frame they read it under the lock.
var storeScenes = []struct {
	name, file, kind string
	threshold        int64
	theirs           bool
}{
	{"files", "s.b2d", "dict", 0, false},
	{"embedded", "s.b2d", "dict", 1 << 40, true},
	{"files and embedded", "s.b2d", "dict", 1000, false},
	{"tree", "s.b2d", "tree", 1000, false},
	{"embed store", "s.b2e", "embed", 0, true},
}

// tortureStores has stores of all kinds written to, read and killed at.
func tortureStores(t *testing.T, whole time.Duration) proof.Record {
	began := time.Now()
	totals := tracks{}
	rounds, damaged := int64(0), int64(0)
	long := whole >= time.Minute
	for rounds == 0 || time.Since(began) < whole && !t.Failed() {
		for i := range storeScenes {
			if t.Failed() {
				break
			}
			if !long && i < 2 { // the others have files and embedded values, too
				continue
			}
			k := playStore(t, i, min(whole/time.Duration(len(storeScenes)), 5*time.Second))
			t.Logf("%s: %d commits, %d values read, %d reads of one moment, %d kills", storeScenes[i].name, k.operations, k.reads, k.snapshots, k.killed)
			totals.operations += k.operations
			totals.reads += k.reads
			totals.snapshots += k.snapshots
			totals.stale += k.stale
			totals.killed += k.killed
			totals.bytes += k.bytes
			totals.theirsMixed += k.theirsMixed
			totals.theirsFailed += k.theirsFailed
			rounds++
		}
		if !long { // the peer takes a second to start, each time
			continue
		}
		for i := range storeScenes {
			if t.Failed() {
				break
			}
			k, broken := playTheirs(t, i, 10*time.Second)
			totals.operations += k.operations
			totals.reads += k.reads
			totals.killed += k.killed
			rounds++
			if broken {
				damaged++
			}
			t.Logf("%s: %d writers of the peer killed, %d commits, damaged %t", storeScenes[i].name, k.killed, k.operations, broken)
		}
	}
	t.Logf("%d stores, %d commits, %d values read, %d reads of one moment, %d snapshots stale, %d bytes read, %d kills; the peer mixed %d values and could not read %d",
		rounds, totals.operations, totals.reads, totals.snapshots, totals.stale, totals.bytes, totals.killed, totals.theirsMixed, totals.theirsFailed)
	return proof.Record{
		What: "Stores of all kinds that processes of ours and of python-blosc2 write to and read at once, while writers are killed",
		Counts: map[string]int64{
			"seconds": int64(time.Since(began).Seconds()), "stores": rounds, "operations": totals.operations + totals.reads,
			"reads of one moment": totals.snapshots, "snapshots that the peer wrote over": totals.stale, "processes killed": totals.killed, "bytes read": totals.bytes,
			"mixed by the peer": totals.theirsMixed, "that the peer could not read": totals.theirsFailed, "stores that a killed peer damaged": damaged,
		},
	}
}

// playStore has two writers of ours, who are killed, and two of
// python-blosc2 follow their courses in one store, which others read: key by
// key, and as snapshots, under a shared lock and packed, where all has to be of
// one moment.
func playStore(t *testing.T, i int, long time.Duration) *tracks {
	s := storeScenes[i]
	dir := t.TempDir()
	path := filepath.Join(dir, s.file)
	k := newTracks(s.kind)
	store := task{Do: "store", Path: path, Mode: "w", Kind: s.kind, Threshold: &s.threshold}
	maker := ourSharer(t)
	maker.must(t, store)
	first := k.enter() // so that the key of all is always there
	var steps []step
	for n := range slots {
		steps = append(steps, course{s.kind, first}.step(n))
	}
	maker.must(t, task{Do: "steps", Steps: steps})
	k.did(first, slots)
	k.ends(first, 0)

	store.Mode = "a"
	open := func(start func(t *testing.T) *sharer, mode string) *sharer {
		q, p := store, start(t)
		q.Mode = mode
		p.must(t, q)
		return p
	}
	var all sync.WaitGroup
	end := time.Now().Add(long)
	until := func(who string, do func() error) {
		all.Go(func() {
			for once := true; once || time.Now().Before(end) && !t.Failed(); once = false {
				if err := do(); err != nil {
					t.Errorf("%s, %s: %v", s.name, who, err)
				}
			}
		})
	}
	for range 2 {
		until("a writer", func() error { return k.victim(t, s.kind, open) })
	}
	for range 2 {
		w := open(theirSharer, "a")
		tag, n := k.enter(), 0
		until("a writer of python-blosc2", func() error {
			var steps []step
			for i := range 5 {
				steps = append(steps, course{s.kind, tag}.step(n+i))
			}
			n += len(steps)
			k.begin(tag, n)
			a, err := w.try(task{Do: "steps", Steps: steps})
			if err == nil && a.Refused != "" {
				err = errors.New(a.Refused)
			}
			if err == nil {
				k.did(tag, n)
			}
			return err
		})
		defer func() { k.ends(tag, 0) }()
	}
	for range 2 {
		r := open(ourSharer, "r")
		until("a reader", func() error {
			kinds := []string{"", "snapshot", "held", "packed"}
			if s.kind == "embed" {
				kinds = kinds[:3]
			}
			return k.look(r, task{Do: "survey", Kind: kinds[rand.IntN(len(kinds))], Path: dir}, true)
		})
	}
	r := open(theirSharer, "r")
	until("a reader of python-blosc2", func() error {
		// A new one takes a second to start.
		if long < 3*time.Second || rand.IntN(10) > 0 {
			return k.look(r, task{Do: "survey"}, s.theirs)
		}
		doomed := r
		soon := time.AfterFunc(time.Duration(rand.IntN(50_000))*time.Microsecond, func() { doomed.cmd.Process.Kill() })
		_ = k.look(r, task{Do: "survey"}, false)
		if soon.Stop() {
			return nil
		}
		k.kill()
		doomed.end()
		r = open(theirSharer, "r")
		return nil
	})
	all.Wait()
	if !t.Failed() {
		k.settle(t, path, open)
	}
	return k
}

// victim runs one writer of ours until it is killed.
func (k *tracks) victim(t *testing.T, kind string, open func(func(*testing.T) *sharer, string) *sharer) error {
	tag := k.enter()
	w := open(func(t *testing.T) *sharer {
		cmd, in, out := child(t, "sharing", "")
		return &sharer{"gridhold", cmd, in, out}
	}, "a")
	defer w.end()
	line, err := json.Marshal(task{Do: "forever", Kind: "course", Name: kind, Tag: &tag})
	if err != nil {
		return err
	}
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return err
	}
	heard := make(chan error, 1)
	go func() {
		for n := 1; ; n++ {
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
			k.did(tag, n)
		}
	}()
	time.Sleep(time.Duration(rand.IntN(200_000)) * time.Microsecond) // the kill is at random
	if err := w.cmd.Process.Kill(); err != nil {
		return err
	}
	err = <-heard
	k.ends(tag, 1)
	k.kill()
	return err
}

// look has a reader look at some keys, and judges what it found.
func (k *tracks) look(r *sharer, q task, judge bool) error {
	tags, lows := k.some(rand.IntN), k.bounds()
	q.Names = k.keysOf(tags)
	a, err := r.try(q)
	if err == nil && a.Refused != "" {
		err = errors.New("wrong: " + a.Refused)
	}
	if err != nil {
		return err
	}
	if a.Changed {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.stale++
		return nil
	}
	k.mu.Lock()
	k.reads += int64(len(q.Names))
	k.bytes += int64(len(a.Data))
	if q.Kind != "" {
		k.snapshots++
	}
	if !judge {
		k.theirsMixed += int64(a.Bad)
		k.theirsFailed += int64(a.Errors)
	}
	k.mu.Unlock()
	if !judge {
		return nil
	}
	if err := k.survey(tags, lows, q.Names, values(a.Data), q.Kind != ""); err != nil {
		return fmt.Errorf("%q: %w %s", q.Kind, err, a.Text)
	}
	return nil
}

// settle looks at what is there in the end, to those who open anew: all of it
// at one moment, the same to ours and to the peer's, nothing damaged and
// nothing left behind.
func (k *tracks) settle(t *testing.T, path string, open func(func(*testing.T) *sharer, string) *sharer) {
	k.mu.Lock()
	clear(k.alive)
	k.mu.Unlock()
	lows := k.bounds()
	var tags []int
	for tag := range lows {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	q := task{Do: "survey", Names: k.keysOf(tags)}
	var seen []int64
	for _, start := range []func(*testing.T) *sharer{ourSharer, theirSharer} {
		r := open(start, "a") // ours removes, when it lists keys, what the killed left: the peer takes that for keys
		a := r.must(t, q)
		found := values(a.Data)
		require.NoError(t, k.survey(tags, lows, q.Names, found, true), "in the end, %s %s", r.name, a.Text)
		if seen == nil {
			seen = found
		}
		require.Equal(t, seen, found, r.name)
		var want []string
		for i, key := range q.Names {
			if found[i] != absent {
				want = append(want, key)
			}
		}
		keys := slices.DeleteFunc(r.must(t, task{Do: "keys"}).Names, func(key string) bool { // nodes of trees
			return key != sharedKey && !strings.Contains(key, "/k")
		})
		slices.Sort(want) // as keys are
		require.Equal(t, want, keys, r.name)
	}
	a := open(ourSharer, "r").must(t, task{Do: "verify"})
	require.Zero(t, a.Bad, a.Text)
	require.NoError(t, filepath.WalkDir(filepath.Dir(path), func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".tmp") {
			return fmt.Errorf("%s was left behind", name)
		}
		return err
	}))
}
