package blosc2

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
)

// before is a file system that does something before a lock is asked for.
type before struct {
	storage.FS
	do func()
}

func (b *before) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	f, err := b.FS.Open(ctx, name, flags)
	return beforeFile{f, b}, err
}

type beforeFile struct {
	storage.File
	b *before
}

func (f beforeFile) LockRange(at int64, mode storage.LockMode) (func() error, error) {
	if do := f.b.do; do != nil {
		f.b.do = nil
		do()
	}
	return f.File.LockRange(at, mode)
}

// Three processes: one has made a sibling and not locked it yet, one takes it
// for left behind and removes it, one makes another of the same name. That is
// not the first one's to remove.
func TestSiblingOfTheSameName(t *testing.T) {
	ctx := t.Context()
	fs := storage.NewMemoryFS(0)
	var third *sibling
	first := &before{FS: fs}
	first.do = func() {
		sweep(ctx, fs, "a")
		var err error
		third, err = newSibling(ctx, fs, "a")
		require.NoError(t, err)
	}
	s, err := newSibling(ctx, first, "a")
	require.NoError(t, err)
	require.Equal(t, siblingOf("a", 0), third.name)
	require.Equal(t, siblingOf("a", 1), s.name)
	require.NoError(t, third.take(ctx, "a", false))
	require.NoError(t, s.take(ctx, "b", false))
}
