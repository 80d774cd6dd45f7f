package slots

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	var tab Table[string]
	a, b := tab.Put("a"), tab.Put("b")
	require.NotZero(t, a)
	require.NotEqual(t, a, b)
	v, ok := tab.Remove(a)
	require.True(t, ok)
	require.Equal(t, "a", v)
	c := tab.Put("c")
	require.NotEqual(t, a, c, "the same slot, another turn")
	for _, id := range []uint32{0, a, 3, 0xffff, 1 << 31, ^uint32(0)} {
		_, ok = tab.Get(id)
		require.False(t, ok, "%#x", id)
		_, ok = tab.Remove(id)
		require.False(t, ok, "%#x", id)
	}
	v, _ = tab.Get(c)
	require.Equal(t, "c", v)
	require.Equal(t, 2, tab.Len())
}

func TestTurnsRunOut(t *testing.T) {
	for _, retire := range []bool{false, true} {
		tab := Table[int]{Retire: retire}
		first := tab.Put(0)
		tab.Remove(first)
		seen := map[uint32]bool{first: true}
		for i := range lastTurn {
			id := tab.Put(i)
			require.Less(t, id, uint32(1)<<31, "ids are positive as i32")
			require.False(t, seen[id])
			seen[id] = true
			tab.Remove(id)
		}
		next := tab.Put(0)
		require.Equal(t, !retire, seen[next])
	}
}

func TestFull(t *testing.T) {
	var tab Table[int]
	var last uint32
	for i := range indexMask {
		last = tab.Put(i)
		require.NotZero(t, last)
	}
	require.Zero(t, tab.Put(0))
	tab.Remove(last)
	require.NotZero(t, tab.Put(0))
}

func TestConcurrent(t *testing.T) {
	var tab Table[int]
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				id := tab.Put(g*1000 + i)
				if v, ok := tab.Get(id); !ok || v != g*1000+i {
					t.Errorf("got %d, %v", v, ok)
				}
				tab.Remove(id)
			}
		})
	}
	wg.Wait()
	require.Zero(t, tab.Len())
}
