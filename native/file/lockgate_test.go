//go:build unix

package file

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
)

// A writer who finds another in the gate, or whose gate is removed under him,
// enters it after that: readers wait for each who waits.
func TestGateInTurn(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o666)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	take := func(f *os.File, exclusive bool) {
		held, err := flock(f, exclusive, false)
		require.NoError(t, err)
		require.True(t, held)
	}
	reader, inGate := open("l"), open("l.gate")
	take(reader, false)
	take(inGate, true)

	var tries atomic.Int64
	l := NewLocker(openFS(t, dir))
	l.flock = func(f *os.File, exclusive, wait bool) (bool, error) {
		if strings.HasSuffix(f.Name(), gateSuffix) {
			if tries.Add(1) == 3 { // the other leaves between our opening and our locking
				if err := os.Remove(inGate.Name()); err != nil {
					t.Error(err)
				}
				inGate.Close()
			}
		}
		return flock(f, exclusive, wait)
	}
	kept, done := keep(t, l, "l"), make(chan error, 1)
	go func() {
		h, err := kept.Lock(t.Context(), ask(storage.LockExclusive, 0))
		if err == nil {
			err = h.Unlock()
		}
		done <- err
	}()
	for tries.Load() < 4 {
		require.Empty(t, done)
		runtime.Gosched()
	}
	for shut := false; !shut; runtime.Gosched() {
		f := open("l.gate")
		free, err := flock(f, false, false)
		require.NoError(t, err)
		shut = !free
		f.Close()
	}
	require.NoError(t, unflock(reader))
	require.NoError(t, <-done)
	require.NoFileExists(t, inGate.Name())
}
