package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	native "github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// TestFileSystem holds the guest's file systems, over imports, to the suite of
// all file systems.
func TestFileSystem(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) storage.FS{
		"memory": func(*testing.T) storage.FS { return storage.NewMemoryFS(0) },
		"native": func(t *testing.T) storage.FS {
			fs, err := native.OpenFS(t.TempDir())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, fs.Close()) })
			return fs
		},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.FS(t, func(t *testing.T) storage.FS {
				f := newFake(t)
				f.files.systems[1] = open(t)
				return fileSystem{New(f), 1}
			})
		})
	}
}

func TestUnknownFileSystem(t *testing.T) {
	f := newFake(t)
	fs := fileSystem{New(f), 7}
	_, err := fs.Open(t.Context(), "a", storage.OpenRead)
	require.ErrorIs(t, err, fault.ErrInvalid)
	_, err = fs.List(t.Context(), "")
	require.ErrorIs(t, err, fault.ErrInvalid)
}
