package mmap

import (
	"io"
	"os"
	"path/filepath"
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
