package interop

import (
	"archive/zip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The cases of the peer's locking that go wrong, by the names that they have
// in the notes on it, and what becomes of them where we take part.

func locked(t *testing.T, start func(t *testing.T) *sharer, path, mode string) *sharer {
	t.Helper()
	s := start(t)
	s.must(t, task{Do: "open", Path: path, Mode: mode})
	return s
}

func chunksOf(t *testing.T, s *sharer) []int64 {
	t.Helper()
	return values(s.must(t, task{Do: "stored"}).Data)
}

// T1: a fixed metalayer set by a handle that has not seen an append. The
// peer's destroys the container.
func TestSharingT1StaleMetalayer(t *testing.T) {
	requirePeers(t)
	path := filepath.Join(t.TempDir(), "c.b2frame")
	other := theirSharer(t)
	other.must(t, task{Do: "create_schunk", Path: path, ChunkSize: 800, Meta: map[string]string{"m": "aaaa"}})
	a := locked(t, ourSharer, path, "a")
	b := locked(t, theirSharer, path, "a")
	b.must(t, task{Do: "chunks", Count: ptr(3), Size: ptr(100)})
	a.must(t, task{Do: "meta", Name: "m", Value: "bbbb"})
	b.must(t, task{Do: "chunks", Count: ptr(2), Size: ptr(100), Tag: ptr(1)})
	for _, start := range []func(t *testing.T) *sharer{ourSharer, theirSharer} {
		require.Equal(t, []int64{0, 1, 2, 1000000, 1000001}, chunksOf(t, locked(t, start, path, "r")))
	}
}

// T2: one process sets vlmeta while another appends. The peer's pair ends with
// a container that nobody can open; one with our setter ends whole.
func TestSharingT2VLMetaAgainstAppend(t *testing.T) {
	requirePeers(t)
	for _, tc := range []struct {
		name         string
		adds, setter func(t *testing.T) *sharer
	}{{"ours", ourSharer, ourSharer}, {"their append", theirSharer, ourSharer}} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.b2frame")
			ourSharer(t).must(t, task{Do: "create_schunk", Path: path, ChunkSize: 800})
			count := times(150, 1500)
			who := []*sharer{locked(t, tc.setter, path, "a"), locked(t, tc.adds, path, "a")}
			together(t, who, func(i int) task {
				if i == 0 {
					return task{Do: "vlset", Count: count, Name: "k"}
				}
				return task{Do: "chunks", Count: count, Size: ptr(100)}
			})
			for _, start := range []func(t *testing.T) *sharer{ourSharer, theirSharer} {
				s := locked(t, start, path, "r")
				got := chunksOf(t, s)
				require.Len(t, got, *count)
				require.True(t, slices.IsSorted(got))
			}
		})
	}
}

// T3, reports 54 and 61: a process that is a child of another does not hold
// its lock. Ours are not forked: descriptors do not pass to what they start.
func TestSharingT3ChildrenHoldNothing(t *testing.T) {
	requirePeers(t)
	path := filepath.Join(t.TempDir(), "c.b2nd")
	a := ourSharer(t)
	a.must(t, task{Do: "create_array", Path: path, Shape: []int64{4}, Chunks: []int64{4}})
	a.must(t, task{Do: "hold"})
	// Started while the lock is held, and alive when it is free again.
	a.must(t, task{Do: "start"})
	a.must(t, task{Do: "release"})
	b := locked(t, theirSharer, path, "a")
	b.must(t, task{Do: "increment", Count: ptr(1)})
	require.EqualValues(t, 1, values(b.must(t, task{Do: "items"}).Data)[0])
}

// T4, T5: two handles in one process, and two threads with one handle, exclude
// each other and do not hang: see TestHolding of sdk/blosc2. Here: a process of
// ours that holds keeps theirs out, and the other way round.
func TestSharingT4HoldsExclude(t *testing.T) {
	eachMix(t, func(t *testing.T, path string, who []*sharer) {
		who[0].must(t, task{Do: "create_array", Path: path, Shape: []int64{4}, Chunks: []int64{4}})
		openAll(t, who[:2], path, "a", true)
		who[0].must(t, task{Do: "hold"})
		done := make(chan error)
		go func() {
			_, err := who[1].try(task{Do: "increment", Count: ptr(5)})
			done <- err
		}()
		for range 5 {
			before := values(who[0].must(t, task{Do: "items"}).Data)
			who[0].must(t, task{Do: "assign", Count: ptr(1)})
			require.Equal(t, []int64{1, 1, 1, 1}, values(who[0].must(t, task{Do: "items"}).Data), before)
		}
		select {
		case <-done:
			t.Fatal("it came in while the lock was held")
		default:
		}
		who[0].must(t, task{Do: "release"})
		require.NoError(t, <-done)
		require.Equal(t, []int64{6, 1, 1, 1}, values(who[0].must(t, task{Do: "items"}).Data))
	})
}

// T6, report 62: the sidecar is removed between the opening of two handles.
// Ours find out and take the lock that is there now.
func TestSharingT6SidecarRemoved(t *testing.T) {
	requirePeers(t)
	for _, other := range []func(t *testing.T) *sharer{ourSharer, theirSharer} {
		path := filepath.Join(t.TempDir(), "c.b2nd")
		a := ourSharer(t)
		a.must(t, task{Do: "create_array", Path: path, Shape: []int64{1}, Chunks: []int64{4}})
		a.must(t, task{Do: "increment", Count: ptr(1)})
		require.NoError(t, os.Remove(path+".b2lock"))
		who := []*sharer{a, locked(t, other, path, "a")}
		together(t, who, func(int) task { return task{Do: "increment", Count: times(50, 500)} })
		require.EqualValues(t, 2**times(50, 500)+1, values(a.must(t, task{Do: "items"}).Data)[0], who[1].name)
	}
}

// T7, T8: a chunk replaced by one of the same length, by a writer that does not
// lock. The peer's reader does not notice; ours does.
func TestSharingT8SameLength(t *testing.T) {
	requirePeers(t)
	for _, locking := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "c.b2frame")
		w := theirSharer(t)
		w.must(t, task{Do: "create_schunk", Path: path, ChunkSize: 800})
		w.must(t, task{Do: "chunks", Count: ptr(3), Size: ptr(100), Tag: ptr(5)})
		r := ourSharer(t)
		r.must(t, task{Do: "open", Path: path, Mode: "r", Locking: &locking})
		require.Equal(t, []int64{5000000, 5000001, 5000002}, chunksOf(t, r))
		w.must(t, task{Do: "open", Path: path, Mode: "a", Locking: ptr(false)})
		w.must(t, task{Do: "update", Index: ptr(int64(1)), Size: ptr(100), Value: 5000009})
		require.True(t, r.must(t, task{Do: "refresh"}).Changed, "locking %t", locking)
		require.Equal(t, []int64{5000000, 5000009, 5000002}, chunksOf(t, r))
		require.False(t, r.must(t, task{Do: "refresh"}).Changed)
	}
}

// T9: a hold within which nothing is done changes nothing for our readers.
func TestSharingT9EmptyHold(t *testing.T) {
	requirePeers(t)
	path := filepath.Join(t.TempDir(), "c.b2nd")
	w := theirSharer(t)
	w.must(t, task{Do: "create_array", Path: path, Shape: []int64{4}, Chunks: []int64{4}})
	r := locked(t, ourSharer, path, "r")
	w.must(t, task{Do: "hold"})
	w.must(t, task{Do: "release"})
	require.False(t, r.must(t, task{Do: "refresh"}).Changed)
	w.must(t, task{Do: "increment", Count: ptr(1)})
	require.True(t, r.must(t, task{Do: "refresh"}).Changed)
	require.False(t, r.must(t, task{Do: "refresh"}).Changed)
}

// T11: a store is packed while it is locked: neither locks nor what writers
// left behind are members.
func TestSharingT11PackedStore(t *testing.T) {
	requirePeers(t)
	dir := filepath.Join(t.TempDir(), "s.b2d")
	a := ourSharer(t)
	a.must(t, task{Do: "store", Path: dir, Mode: "w", Kind: "dict"})
	a.must(t, task{Do: "put", Key: "/a", Size: ptr(100), Value: 3})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.b2nd.17.tmp"), []byte("x"), 0o666))
	a.must(t, task{Do: "pack", Path: filepath.Join(filepath.Dir(dir), "s.b2z")})
	z, err := zip.OpenReader(filepath.Join(filepath.Dir(dir), "s.b2z"))
	require.NoError(t, err)
	defer z.Close()
	for _, f := range z.File {
		require.False(t, strings.HasSuffix(f.Name, ".b2lock") || strings.HasSuffix(f.Name, ".tmp"), f.Name)
	}
}

// T13: the file is replaced under a reader, with its sidecar.
func TestSharingT13Replaced(t *testing.T) {
	requirePeers(t)
	for _, locking := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "c.b2frame")
		w := theirSharer(t)
		w.must(t, task{Do: "create_schunk", Path: path, ChunkSize: 800, Locking: &locking})
		w.must(t, task{Do: "chunks", Count: ptr(3), Size: ptr(100)})
		r := ourSharer(t)
		r.must(t, task{Do: "open", Path: path, Mode: "r", Locking: &locking})
		require.Len(t, chunksOf(t, r), 3)
		w.must(t, task{Do: "create_schunk", Path: path, ChunkSize: 800, Locking: &locking})
		w.must(t, task{Do: "chunks", Count: ptr(1), Size: ptr(100), Tag: ptr(7)})
		require.True(t, r.must(t, task{Do: "refresh"}).Changed)
		require.Equal(t, []int64{7000000}, chunksOf(t, r))
	}
}

// T1 done by the peer: one of its handles that has not seen an append sets a
// metalayer. Ours that had seen it says so, and puts the state back; so does
// the search in a container that nobody had open, or can open.
func TestSharingT1TheirDamage(t *testing.T) {
	requirePeers(t)
	for _, tc := range []struct {
		name string
		adds func(t *testing.T) *sharer
		// The handle was opened when there were chunks: it knows their size.
		filled bool
	}{{"our append", ourSharer, true}, {"their append", theirSharer, true}, {"their append, empty before", theirSharer, false}} {
		want := []int64{0, 1, 1000000}
		if tc.filled {
			want = append([]int64{0}, want...)
		}
		t.Run(tc.name, func(t *testing.T) {
			damage := func(t *testing.T) (path string, witness *sharer) {
				path = filepath.Join(t.TempDir(), "c.b2frame")
				first := theirSharer(t)
				first.must(t, task{Do: "create_schunk", Path: path, ChunkSize: 800, Meta: map[string]string{"m": "aaaa"}})
				if tc.filled {
					first.must(t, task{Do: "chunks", Count: ptr(1), Size: ptr(100)})
				}
				stale, adds := locked(t, theirSharer, path, "a"), locked(t, tc.adds, path, "a")
				witness = locked(t, ourSharer, path, "a")
				adds.must(t, task{Do: "chunks", Count: ptr(2), Size: ptr(100)})
				stale.must(t, task{Do: "refresh"})
				require.Len(t, chunksOf(t, witness), len(want)-1)
				adds.must(t, task{Do: "chunks", Count: ptr(1), Size: ptr(100), Tag: ptr(1)})
				require.Len(t, chunksOf(t, witness), len(want))
				stale.must(t, task{Do: "meta", Name: "m", Value: "bbbb"})
				return path, witness
			}
			t.Run("by a handle", func(t *testing.T) {
				path, witness := damage(t)
				a, err := witness.try(task{Do: "stored"})
				require.NoError(t, err)
				if tc.name == "our append" { // its old state is whole, so only who saw the new one can tell
					require.Contains(t, a.Refused, "old header")
				} else {
					require.Contains(t, a.Refused, "corrupt")
				}
				r, err := witness.try(task{Do: "repair"})
				require.NoError(t, err)
				if r.Refused != "" { // the header does not lead to a state at all
					require.NotEqual(t, "our append", tc.name, r.Refused)
					require.True(t, witness.must(t, task{Do: "repair_file", Path: path}).Changed)
				}
				require.Equal(t, want, chunksOf(t, witness))
				require.Equal(t, want, chunksOf(t, locked(t, theirSharer, path, "a")))
			})
			t.Run("by a search", func(t *testing.T) {
				path, _ := damage(t)
				r := ourSharer(t).must(t, task{Do: "repair_file", Path: path})
				require.True(t, r.Changed)
				require.Equal(t, len(want), r.N)
				for i, start := range []func(t *testing.T) *sharer{ourSharer, theirSharer} {
					s := locked(t, start, path, "a")
					require.Equal(t, want, chunksOf(t, s)[:len(want)])
					s.must(t, task{Do: "chunks", Count: ptr(1), Size: ptr(100), Tag: ptr(2)})
					require.Len(t, chunksOf(t, s), len(want)+1+i)
					require.False(t, ourSharer(t).must(t, task{Do: "repair_file", Path: path}).Changed)
				}
			})
		})
	}
}
