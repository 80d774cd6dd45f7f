package mmap

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

func mapped(t *testing.T, data []byte) (*Map, string) {
	if !Supported {
		t.Skip("no mappings here")
	}
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, data, 0o666))
	m, err := Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m, name
}

func TestReadAt(t *testing.T) {
	data := storagetest.Pattern(10000, 1)
	m, _ := mapped(t, data)
	require.Equal(t, len(data), m.Len())
	require.Equal(t, data, m.Bytes())
	for _, tc := range []struct{ off, n, want int }{{0, 10000, 10000}, {5000, 10, 10}, {9990, 20, 10}, {10000, 1, 0}, {99999, 1, 0}, {3, 0, 0}} {
		p := make([]byte, tc.n)
		n, err := m.ReadAt(p, int64(tc.off))
		require.Equal(t, tc.want, n)
		if tc.want < tc.n {
			require.Equal(t, io.EOF, err)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, data[min(tc.off, 10000):min(tc.off, 10000)+n], p[:n])
	}
	_, err := m.ReadAt(nil, -1)
	require.ErrorIs(t, err, fault.ErrInvalid)
}

func TestEmpty(t *testing.T) {
	m, _ := mapped(t, nil)
	n, err := m.ReadAt(make([]byte, 1), 0)
	require.Equal(t, 0, n)
	require.Equal(t, io.EOF, err)
	require.NoError(t, m.Close())
}

// A file that is cut under the mapping is an error, and the map goes on.
func TestCut(t *testing.T) {
	data := storagetest.Pattern(1<<20, 1)
	m, name := mapped(t, data)
	require.NoError(t, os.Truncate(name, 100))
	p := make([]byte, 4096)
	_, err := m.ReadAt(p, 1<<19)
	require.ErrorIs(t, err, fault.ErrIO)
	require.ErrorContains(t, err, "cut")
	err = m.View(func(data []byte) error {
		p[0] = data[1<<19]
		return nil
	})
	require.ErrorIs(t, err, fault.ErrIO)
	n, err := m.ReadAt(p[:100], 0)
	require.NoError(t, err)
	require.Equal(t, data[:100], p[:n])
}

// Only faults within the mapping are errors; the caller's own panics pass.
func TestViewPanics(t *testing.T) {
	m, _ := mapped(t, storagetest.Pattern(10, 1))
	require.PanicsWithValue(t, "mine", func() { m.View(func([]byte) error { panic("mine") }) })
	require.Panics(t, func() {
		m.View(func([]byte) error { var p *int; *p = 1; return nil })
	})
	require.Panics(t, func() { m.View(func(data []byte) error { _ = data[len(data)]; return nil }) })
	require.NoError(t, m.Close()) // no lock was left behind
}

func TestClose(t *testing.T) {
	m, _ := mapped(t, storagetest.Pattern(5000, 1))
	inside, leave := make(chan bool), make(chan bool)
	read, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		read <- m.View(func(data []byte) error {
			close(inside)
			<-leave
			_ = data[4999]
			return nil
		})
	}()
	<-inside
	require.False(t, m.mu.TryLock(), "Close cannot pass a reader")
	go func() { closed <- m.Close() }()
	close(leave)
	require.NoError(t, <-read)
	require.NoError(t, <-closed)
	require.NoError(t, m.Close())
	_, err := m.ReadAt(make([]byte, 1), 0)
	require.ErrorIs(t, err, fault.ErrClosed)
}

func TestRefusals(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, fault.ErrNotFound)
	_, err = Open(t.TempDir())
	require.ErrorIs(t, err, fault.ErrIO)
}

func BenchmarkReadAt(b *testing.B) {
	name := filepath.Join(b.TempDir(), "f")
	require.NoError(b, os.WriteFile(name, storagetest.Pattern(1<<20, 1), 0o666))
	m, err := Open(name)
	require.NoError(b, err)
	defer m.Close()
	p := make([]byte, 2048)
	b.ReportAllocs()
	for i := range b.N {
		if _, err := m.ReadAt(p, int64(i&255)<<11); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReadBetween(t *testing.T) {
	data := storagetest.Pattern(10000, 1)
	m, name := mapped(t, data)
	p := make([]byte, 100)
	before, after, err := m.ReadBetween(p, 9900, [2]int64{8, 9992})
	require.NoError(t, err)
	want := [2]uint64{binary.LittleEndian.Uint64(data[8:]), binary.LittleEndian.Uint64(data[9992:])}
	require.Equal(t, want, before)
	require.Equal(t, want, after)
	require.Equal(t, data[9900:], p)
	for _, tc := range []struct {
		n         int
		off, a, b int64
	}{{100, 9901, 0, 0}, {1, 10000, 0, 0}, {1, -1, 0, 0}, {1, 0, 4, 0}, {1, 0, 0, 10000}, {1, 0, -8, 0}, {1, 1 << 62, 0, 0}} {
		_, _, err := m.ReadBetween(make([]byte, tc.n), tc.off, [2]int64{tc.a, tc.b})
		require.ErrorIs(t, err, fault.ErrInvalid, tc)
	}
	require.NoError(t, os.Truncate(name, 100))
	_, _, err = m.ReadBetween(p, 9900, [2]int64{8, 8})
	require.ErrorIs(t, err, fault.ErrIO)
}

// Whoever sees the same word before and after has bytes of one state: a
// writer that changes words around its bytes is always noticed.
func TestReadBetweenWhileWritten(t *testing.T) {
	m, name := mapped(t, make([]byte, 8192))
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	stop, done := make(chan bool), make(chan error, 1)
	go func() {
		for i := byte(1); ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			for _, w := range [][]byte{make([]byte, 8), bytes.Repeat([]byte{i}, 4096), bytes.Repeat([]byte{i}, 8)} {
				off := int64(4096)
				if len(w) == 8 {
					off = 0
				}
				if _, err := f.WriteAt(w, off); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	p := make([]byte, 4096)
	same := 0
	for i := 0; i < 20000 || same == 0; i++ {
		before, after, err := m.ReadBetween(p, 4096, [2]int64{0, 0})
		require.NoError(t, err)
		if before != after || before[0] == 0 || before[0] != uint64(byte(before[0]))*0x0101010101010101 {
			runtime.Gosched() // the writer may be the one who has to go on
			continue
		}
		same++
		require.Equal(t, bytes.Repeat([]byte{byte(before[0])}, 4096), p)
	}
	close(stop)
	require.NoError(t, <-done)
	require.Positive(t, same)
}
