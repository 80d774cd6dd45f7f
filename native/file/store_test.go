package file

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

func write(t testing.TB, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
	require.NoError(t, os.WriteFile(name, data, 0o666))
}

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	for name, o := range map[string]Options{"": {}, "tiny cache": {Handles: 2}, "always looking": {Recheck: time.Nanosecond}} {
		t.Run(name, func(t *testing.T) {
			storagetest.Store(t, func(t *testing.T, objects map[string][]byte) storage.Store {
				dir := t.TempDir()
				for key, data := range objects {
					write(t, filepath.Join(dir, key), data)
				}
				return open(t, dir, o)
			})
		})
	}
}

func BenchmarkReadInto(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "k"), storagetest.Pattern(1<<20, 1))
	s := open(b, dir, Options{})
	ctx := context.Background()
	dst := make([]byte, 2048)
	_, info, err := s.ReadInto(ctx, "k", 0, dst, "")
	require.NoError(b, err)
	h, err := s.acquire("k")
	require.NoError(b, err)
	defer h.release()
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			pread(h.file, h.fd, dst, int64(i&255)<<11)
			fstat(h.file, h.fd)
		}
	})
	b.Run("wanted version", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if n, _, err := s.ReadInto(ctx, "k", int64(i&255)<<11, dst, info.Version); n != len(dst) || err != nil {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("any version", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if n, _, err := s.ReadInto(ctx, "k", int64(i&255)<<11, dst, ""); n != len(dst) || err != nil {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("by several", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			dst := make([]byte, 2048)
			for i := 0; pb.Next(); i++ {
				if n, _, err := s.ReadInto(ctx, "k", int64(i&255)<<11, dst, info.Version); n != len(dst) || err != nil {
					b.Error(n, err)
				}
			}
		})
	})
	b.Run("bare by several", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			dst := make([]byte, 2048)
			for i := 0; pb.Next(); i++ {
				pread(h.file, h.fd, dst, int64(i&255)<<11)
				fstat(h.file, h.fd)
			}
		})
	})
}
