package interop

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// playTheirs has writers of python-blosc2 killed at random in a store that one
// of ours writes to and others read. The peer overwrites index and trailer in
// place, so a kill may leave a store that is damaged; what it was about, which
// takes several steps, may be done in part. But for that, all is there that was
// acknowledged; and what is damaged is told, and read as nothing else. It ends
// with the first damage, and reports whether there was any.
func playTheirs(t *testing.T, i int, long time.Duration) (k *tracks, damaged bool) {
	s := storeScenes[i]
	path := filepath.Join(t.TempDir(), s.file)
	k = newTracks("embed") // courses that share no key, which might be the one that the peer was about
	store := task{Do: "store", Path: path, Mode: "w", Kind: s.kind, Threshold: &s.threshold}
	ours := ourSharer(t)
	ours.must(t, store)
	reader := ourSharer(t)
	store.Mode = "r"
	reader.must(t, store)
	store.Mode = "a"

	ask := func(who *sharer, q task) (report, bool) {
		a, err := who.try(q)
		if err != nil {
			t.Errorf("%s, theirs are killed: %v", s.name, err)
		} else if a.Refused != "" || a.Errors > 0 {
			damaged = true
			if why := a.Refused + a.Text; !toldOfDamage(why) {
				t.Errorf("%s, theirs are killed: %s", s.name, why)
			}
		}
		return a, err == nil && !damaged
	}
	our, n := k.enter(), 0
	for end := time.Now().Add(long); time.Now().Before(end) && !damaged && !t.Failed(); {
		victim := theirSharer(t)
		if a, err := victim.try(store); err != nil || a.Refused != "" {
			t.Errorf("%s, theirs are killed: the peer does not open what ours does: %v %s", s.name, err, a.Refused)
			return k, damaged
		}
		theirs, done, last := k.enter(), 0, -1
		var writing sync.WaitGroup
		writing.Go(func() {
			for {
				k.begin(theirs, done+1)
				a, err := victim.try(task{Do: "steps", Steps: []step{course{k.kind, theirs}.step(done)}})
				if err != nil || a.Refused != "" {
					last = done
					return
				}
				done++
				k.did(theirs, done)
			}
		})
		kill := time.AfterFunc(time.Duration(rand.IntN(100_000))*time.Microsecond, func() { victim.cmd.Process.Kill() })
		for range 3 {
			if _, ok := ask(ours, task{Do: "steps", Steps: []step{course{k.kind, our}.step(n)}}); !ok {
				break
			}
			n++
			k.did(our, n)
		}
		writing.Wait()
		kill.Stop()
		k.kill()
		k.ends(theirs, 1)
		victim.end()

		// All that it did, but for the key that it was at.
		tags, lows := []int{our, theirs}, k.bounds()
		at := course{k.kind, theirs}.step(last).Key
		for _, kind := range []string{"", "held"} {
			q := task{Do: "survey", Kind: kind}
			for _, key := range k.keysOf(tags) {
				if key != at {
					q.Names = append(q.Names, key)
				}
			}
			a, ok := ask(reader, q)
			if !ok {
				break
			}
			k.mu.Lock()
			k.reads += int64(len(q.Names))
			k.mu.Unlock()
			if err := k.survey(tags, lows, q.Names, values(a.Data), false); err != nil {
				t.Errorf("%s, theirs are killed: %v", s.name, err)
			}
		}
	}
	return k, damaged
}

// toldOfDamage reports whether an error says that bytes contradict the format.
func toldOfDamage(text string) bool {
	return strings.Contains(text, "corrupt")
}
