package interop

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// pairs are who writes a store and who reads it.
var pairs = []struct {
	name           string
	writer, reader func(t *testing.T) *sharer
}{{"ours", ourSharer, ourSharer}, {"their reader", ourSharer, theirSharer}, {"their writer", theirSharer, ourSharer}}

func eachPair(t *testing.T, kind string, threshold *int64, test func(t *testing.T, w, r *sharer)) {
	requirePeers(t)
	for _, p := range pairs {
		t.Run(kind+", "+p.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.b2d")
			if kind == "embed" {
				path = filepath.Join(t.TempDir(), "s.b2e")
			}
			w, r := p.writer(t), p.reader(t)
			w.must(t, task{Do: "store", Path: path, Mode: "w", Kind: kind, Threshold: threshold})
			r.must(t, task{Do: "store", Path: path, Mode: "r", Kind: kind})
			test(t, w, r)
		})
	}
}

// Readers follow keys that are added and removed, embedded and as files.
func TestSharingStoreKeys(t *testing.T) {
	for _, kind := range []string{"dict", "tree", "embed"} {
		eachPair(t, kind, ptr(int64(1000)), func(t *testing.T, w, r *sharer) {
			for i := range 6 {
				w.must(t, task{Do: "put", Key: fmt.Sprintf("/k%d", i), Size: ptr(10 + 100*i), Value: i})
				var want []string
				for k := range i + 1 {
					want = append(want, fmt.Sprintf("/k%d", k))
				}
				require.Equal(t, want, r.must(t, task{Do: "keys"}).Names)
				a := r.must(t, task{Do: "values", Key: fmt.Sprintf("/k%d", i), Count: ptr(1)})
				require.Zero(t, a.Bad+a.Errors+a.Missing, a.Text)
			}
			for i := range 5 {
				w.must(t, task{Do: "drop", Key: fmt.Sprintf("/k%d", i)})
			}
			require.Equal(t, []string{"/k5"}, r.must(t, task{Do: "keys"}).Names)
			require.Equal(t, []string{"/k5"}, w.must(t, task{Do: "keys"}).Names)
		})
	}
}

// Report 46: the key and the bytes are of one state. A process sets new keys
// of growing values, another gets what there is.
func TestSharingEmbeddedGrowth(t *testing.T) {
	eachPair(t, "embed", nil, func(t *testing.T, w, r *sharer) {
		w.must(t, task{Do: "put", Key: "/k", Size: ptr(5), Value: 1})
		count := *times(30, 300)
		done := make(chan error)
		go func() {
			for i := range count {
				if a, err := w.try(task{Do: "put", Key: fmt.Sprintf("/k%d", i), Size: ptr(10*i + 1), Value: i}); err != nil || a.Refused != "" {
					done <- fmt.Errorf("%w %s", err, a.Refused)
					return
				}
			}
			done <- nil
		}()
		for i := 0; ; i++ {
			names := r.must(t, task{Do: "keys"}).Names
			a := r.must(t, task{Do: "values", Key: names[i*7%len(names)], Count: ptr(3)})
			require.Zero(t, a.Bad+a.Errors+a.Missing, a.Text)
			select {
			case err := <-done:
				require.NoError(t, err)
				return
			default:
			}
		}
	})
}

// Reports 47 and 48: a leaf of many chunks is replaced, or removed and set
// again: who gets it has one whole value or none. The peer opens the file of a
// leaf again for each chunk, so its reads may mix two; they are counted.
func TestSharingLeavesAreWhole(t *testing.T) {
	for _, remove := range []bool{false, true} {
		for _, threshold := range []int64{0, 1 << 40} {
			eachPair(t, "dict", &threshold, func(t *testing.T, w, r *sharer) {
				w.must(t, task{Do: "put", Key: "/a", Size: ptr(2000), Value: 0})
				all := together(t, []*sharer{w, r}, func(i int) task {
					if i == 0 {
						return task{Do: "swap", Key: "/a", Count: times(60, 1000), Size: ptr(2000), Remove: &remove}
					}
					return task{Do: "values", Key: "/a", Count: times(100, 1000)}
				})
				a := all[1]
				t.Logf("remove %t, files %t, %s writes: %s read %d: %d missing, %d mixed, %d errors %s", remove, threshold == 0, w.name, r.name, a.N, a.Missing, a.Bad, a.Errors, a.Text)
				if r.name == "gridhold" {
					require.Zero(t, a.Bad+a.Errors, a.Text)
				}
				if !remove && w.name == "gridhold" {
					require.Zero(t, a.Missing)
				}
			})
		}
	}
}

// A value that is open keeps its bytes when its key is given another one, or
// removed; writing to it then is refused.
func TestSharingOpenLeafStays(t *testing.T) {
	eachPair(t, "dict", ptr(int64(0)), func(t *testing.T, w, r *sharer) {
		if r.name != "gridhold" {
			t.Skip("the peer opens the file again each time")
		}
		w.must(t, task{Do: "put", Key: "/a", Size: ptr(500), Value: 1})
		r.must(t, task{Do: "get", Key: "/a"})
		w.must(t, task{Do: "put", Key: "/a", Size: ptr(500), Value: 2})
		require.Equal(t, equalWords(500, 1), r.must(t, task{Do: "leaf"}).Data)
		w.must(t, task{Do: "drop", Key: "/a"})
		require.Equal(t, equalWords(500, 1), r.must(t, task{Do: "leaf"}).Data)
		a := r.must(t, task{Do: "values", Key: "/a", Count: ptr(1)})
		require.Equal(t, 1, a.Missing)
	})
}
