package interop

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A writer of ours is killed at random, again and again: the container opens
// here and there, nothing that was committed is lost, who else has it open
// goes on at once, and what he left beside is removed. (The peer's own container does not open any more after 4 of
// 40 such kills.)
func TestSharingKills(t *testing.T) {
	requirePeers(t)
	for _, kind := range []string{"append", "update", "compact", "vlmeta", "held"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "c.b2frame")
			survivor := ourSharer(t)
			survivor.must(t, task{Do: "create_schunk", Path: path, ChunkSize: 8000})
			survivor.must(t, task{Do: "chunks", Count: ptr(4), Size: ptr(1000), Tag: ptr(0)})
			there := theirSharer(t)
			said, chunks := int64(-1), 4
			for kill := range *times(5, 50) {
				w := locked(t, ourSharer, path, "a")
				line, err := json.Marshal(task{Do: "forever", Kind: kind, Tag: ptr(kill)})
				require.NoError(t, err)
				_, err = w.in.Write(append(line, '\n'))
				require.NoError(t, err)
				acked := 0
				last := make(chan struct{})
				go func() {
					defer close(last)
					for {
						text, err := w.out.ReadBytes('\n')
						var a report
						if err != nil || json.Unmarshal(text, &a) != nil {
							return
						}
						acked, said = acked+1, int64(a.N)
					}
				}()
				time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond) // the kill is at random
				require.NoError(t, w.cmd.Process.Kill())
				<-last

				// The lock is free, and what was said to be there is.
				survivor.must(t, task{Do: "vlset", Count: ptr(1), Name: "survivor"})
				for _, s := range []*sharer{survivor, there} {
					s.must(t, task{Do: "open", Path: path, Mode: "a"})
					got := chunksOf(t, s)
					switch kind {
					case "append", "held":
						require.GreaterOrEqual(t, len(got), chunks+acked, s.name)
						require.LessOrEqual(t, len(got), chunks+acked+1, s.name)
						for i, v := range got[chunks:] {
							require.EqualValues(t, kill*1000000+i, v)
						}
					case "update", "compact":
						require.Len(t, got, 4)
						if acked > 0 {
							v := got[(said%1000000)%4]
							require.Contains(t, []int64{said, said + 4}, v, s.name)
						}
					case "vlmeta":
						require.Len(t, got, 4)
						if acked > 0 {
							v := s.must(t, task{Do: "vlget", Name: "k"}).N
							require.Contains(t, []int{int(said), int(said) + 1}, v, s.name)
						}
					}
					if s == there {
						chunks = len(got)
					}
				}
				left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.tmp"))
				require.NoError(t, err)
				require.Empty(t, left, "the next writer removes what the killed one left")
			}
		})
	}
}

// One of four appenders is killed half-way (report 49): the chunks of the
// others are all there once.
func TestSharingOneOfFourIsKilled(t *testing.T) {
	requirePeers(t)
	path := filepath.Join(t.TempDir(), "c.b2frame")
	ourSharer(t).must(t, task{Do: "create_schunk", Path: path, ChunkSize: 800})
	who := []*sharer{ourSharer(t), theirSharer(t), ourSharer(t)}
	openAll(t, who, path, "a", true)
	victim := locked(t, ourSharer, path, "a")
	line, err := json.Marshal(task{Do: "forever", Kind: "append", Tag: ptr(9), Size: ptr(100)})
	require.NoError(t, err)
	_, err = victim.in.Write(append(line, '\n'))
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		together(t, who, func(i int) task { return task{Do: "chunks", Count: ptr(100), Size: ptr(100), Tag: ptr(i)} })
	}()
	for range 20 {
		_, err := victim.out.ReadBytes('\n')
		require.NoError(t, err)
	}
	require.NoError(t, victim.cmd.Process.Kill())
	<-done
	for _, start := range []func(t *testing.T) *sharer{ourSharer, theirSharer} {
		next := map[int64]int64{}
		for _, v := range chunksOf(t, locked(t, start, path, "r")) {
			require.Equal(t, next[v/1000000], v%1000000)
			next[v/1000000]++
		}
		for i := range who {
			require.EqualValues(t, 100, next[int64(i)])
		}
		require.GreaterOrEqual(t, next[9], int64(20))
	}
}

// A writer among 20 readers in tight loops gets the lock within 2 s (report
// 56), and one who only has the container open keeps nobody out.
func TestSharingWritersAreNotStarved(t *testing.T) {
	requirePeers(t)
	path := filepath.Join(t.TempDir(), "c.b2nd")
	w := ourSharer(t)
	w.must(t, task{Do: "create_array", Path: path, Shape: []int64{4000}, Chunks: []int64{1000}})
	locked(t, theirSharer, path, "r")
	locked(t, ourSharer, path, "r")
	var readers []*sharer
	for range 20 {
		readers = append(readers, locked(t, ourSharer, path, "r"))
	}
	for _, r := range readers {
		_, err := r.in.Write([]byte(`{"do":"forever","kind":"read"}` + "\n"))
		require.NoError(t, err)
		_, err = r.out.ReadBytes('\n') // it reads
		require.NoError(t, err)
	}
	var waits []time.Duration
	for range 10 {
		start := time.Now()
		w.must(t, task{Do: "assign", Count: ptr(1)})
		waits = append(waits, time.Since(start))
	}
	slices.Sort(waits)
	t.Logf("10 waits: %v", waits)
	// A slow machine, with more to do than this, may hold up one or the other;
	// who is starved waits each time, and for ever.
	require.Less(t, waits[len(waits)/2], 10*time.Second)
}

// Three processes count up within the lock while a fourth removes or replaces
// the lock's file again and again (report 62). Whoever has the lock of a file
// that lost its name is told before he writes, or another one is, and does it
// again: no increment is lost.
func TestSharingLockFileIsRemoved(t *testing.T) {
	for _, removed := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "c.b2nd")
		who := []*sharer{ourSharer(t), ourSharer(t), ourSharer(t)}
		count := times(200, 10_000)
		who[0].must(t, task{Do: "create_array", Path: path, Shape: []int64{4}, Chunks: []int64{4}})
		openAll(t, who, path, "a", true)
		var fourth sync.WaitGroup
		over := make(chan struct{})
		times, lock := 0, path+".b2lock"
		if removed {
			fourth.Go(func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
					}
					times++
					if rand.IntN(2) == 0 {
						os.Remove(lock)
					} else if os.WriteFile(lock+".new", nil, 0o666) == nil {
						os.Rename(lock+".new", lock)
					}
				}
			})
		}
		all := together(t, who, func(int) task { return task{Do: "insist", Count: count} })
		close(over)
		fourth.Wait()
		again := 0
		for _, a := range all {
			again += a.Errors
		}
		n := values(who[0].must(t, task{Do: "items"}).Data)[0]
		t.Logf("removed or replaced %d times: %d increments of %d, %d done again", times, n, 3**count, again)
		require.EqualValues(t, 3**count, n)
		if !removed {
			require.Zero(t, again)
		}
	}
}
