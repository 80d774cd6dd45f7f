package blosc2_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// leave makes a file as a writer leaves it who was killed; or, while it is
// locked, as one has it who is at it.
func leave(t *testing.T, fs storage.FS, name string, locked bool) {
	t.Helper()
	f, err := fs.Open(t.Context(), name, storage.OpenWrite|storage.OpenCreate)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	_, err = f.WriteAt([]byte("half of it"), 0)
	require.NoError(t, err)
	if locked {
		_, err = f.LockRange(1<<60, storage.LockExclusive)
		require.NoError(t, err)
	} else {
		require.NoError(t, f.Close())
	}
}

func there(t *testing.T, fs storage.FS, name string) bool {
	t.Helper()
	_, err := fs.Stat(t.Context(), name)
	if err != nil {
		require.ErrorIs(t, err, fault.ErrNotFound)
	}
	return err == nil
}

// What a writer left behind who is gone is removed by the next one; what
// belongs to one who is there, or to nobody known, stays.
func TestLeftBehind(t *testing.T) {
	ctx := t.Context()
	fs := storage.NewMemoryFS(0)
	require.NoError(t, leafArray(t, fs, "c.b2nd", 10).Close())
	gone := []string{
		"c.b2nd.gridhold-0.tmp", "c.b2nd.gridhold-2.tmp", "c.b2nd.gridhold-2.new.tmp", "c.b2nd.gridhold-5.tmp", "c.b2nd.gridhold-5.new.tmp",
	}
	kept := []string{"c.b2nd.0.tmp", "c.b2nd.gridhold-x.tmp", "c.b2nd.gridhold-7.new.tmp", "d.b2nd.gridhold-0.tmp", "c.b2nd.gridhold-1.new.tmp"}
	require.NoError(t, fs.Mkdir(ctx, "c.b2nd.gridhold-5.new.tmp"))
	leave(t, fs, "c.b2nd.gridhold-5.new.tmp/0000000A.chunk", false)
	require.NoError(t, fs.Mkdir(ctx, "c.b2nd.gridhold-6.new.tmp"))
	leave(t, fs, "c.b2nd.gridhold-6.new.tmp/somebody's", false)
	leave(t, fs, "c.b2nd.gridhold-6.tmp", false)
	leave(t, fs, "c.b2nd.gridhold-1.tmp", true)
	for _, name := range append(kept, gone...) {
		if !there(t, fs, name) {
			leave(t, fs, name, false)
		}
	}
	kept = append(kept, "c.b2nd.gridhold-1.tmp", "c.b2nd.gridhold-6.new.tmp/somebody's")

	c, err := blosc2.Open(ctx, fs, "c.b2nd", blosc2.Options{})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.True(t, there(t, fs, gone[0]), "a reader removes nothing")
	c, err = blosc2.Open(ctx, fs, "c.b2nd", writing)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	for _, name := range gone {
		require.False(t, there(t, fs, name), name)
	}
	for _, name := range kept {
		require.True(t, there(t, fs, name), name)
	}
}

// What cannot be removed is in nobody's way.
func TestLeftBehindForGood(t *testing.T) {
	ctx := t.Context()
	fs := storage.NewMemoryFS(0)
	require.NoError(t, fs.Mkdir(ctx, "c.gridhold-0.new.tmp"))
	leave(t, fs, "c.gridhold-0.new.tmp/somebody's", false)
	s, err := blosc2.CreateSChunk(ctx, fs, "c", blosc2.Spec{Sparse: true}, writing)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	names, err := fs.List(ctx, "")
	require.NoError(t, err)
	require.Equal(t, []string{"c.gridhold-0.new.tmp/", "c/"}, names)
}

// One that makes a container anew leaves alone what may be all that there is
// of the one before: it was killed between the two renamings of a directory.
func TestLeftBehindInTheMiddle(t *testing.T) {
	fs := storage.NewMemoryFS(0)
	c, err := blosc2.CreateStore(t.Context(), fs, "s.gridhold-0.new.tmp", blosc2.StoreSpec{}, writing)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	leave(t, fs, "s.gridhold-0.tmp", false)
	_, err = blosc2.CreateStore(t.Context(), failing{fs}, "s", blosc2.StoreSpec{}, writing)
	require.ErrorIs(t, err, fault.ErrIO)
	require.True(t, there(t, fs, "s.gridhold-0.new.tmp/embed.b2e"))
}

// failing is a file system in which nothing gets a new name.
type failing struct{ storage.FS }

func (f failing) RenameNoReplace(_ context.Context, from, _ string) error {
	return fault.New(fault.ErrIO, "file", from, "")
}

// However many writers are at it, and left things behind, there is a name for
// the next one; and in a store it is the next change of files that clears.
func TestLeftBehindInAStore(t *testing.T) {
	ctx := t.Context()
	fs := storage.NewMemoryFS(0)
	c, err := blosc2.CreateStore(ctx, fs, "s.b2d", blosc2.StoreSpec{}, writing)
	require.NoError(t, err)
	d := c.(*blosc2.DictStore)
	leave(t, fs, "s.b2d/gone.b2nd.gridhold-17.tmp", false)
	leave(t, fs, "s.b2d/here.b2nd.gridhold-17.tmp", true)
	leave(t, fs, "s.b2d/any.b2nd.17.tmp", false)
	keys, err := d.Keys(ctx)
	require.NoError(t, err)
	require.Empty(t, keys)
	require.False(t, there(t, fs, "s.b2d/gone.b2nd.gridhold-17.tmp"))
	require.True(t, there(t, fs, "s.b2d/here.b2nd.gridhold-17.tmp"))
	require.True(t, there(t, fs, "s.b2d/any.b2nd.17.tmp"))

	for n := range 1000 {
		leave(t, fs, "s.b2d/a.b2nd.gridhold-"+string(digits(n))+".tmp", true)
	}
	require.NoError(t, d.Put(ctx, "/a", leafArray(t, fs, "leaf", 10)))
	require.NoError(t, c.Close())
}

func digits(n int) []byte {
	if n < 10 {
		return []byte{byte('0' + n)}
	}
	return append(digits(n/10), byte('0'+n%10))
}

// Where there are no locks, siblings have names that nobody clears.
func TestSiblingsWithoutLocks(t *testing.T) {
	ctx := t.Context()
	fs := &lockless{FS: storage.NewMemoryFS(0)}
	a := leafArray(t, fs, "c.b2nd", 10)
	require.NoError(t, a.SChunk().Compact(ctx))
	names, err := fs.List(ctx, "")
	require.NoError(t, err)
	require.Equal(t, []string{"c.b2nd"}, names)
	require.NotContains(t, fs.last, ".gridhold-")
	require.Contains(t, fs.last, "c.b2nd.")
}

// lockless is a file system whose files cannot be locked. It keeps the last
// name that was given up for another.
type lockless struct {
	storage.FS
	last string
}

func (l *lockless) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	f, err := l.FS.Open(ctx, name, flags)
	return unlockable{f}, err
}

func (l *lockless) Rename(ctx context.Context, from, to string) error {
	l.last = from
	return l.FS.Rename(ctx, from, to)
}

type unlockable struct{ storage.File }

func (unlockable) LockRange(int64, storage.LockMode) (func() error, error) {
	return nil, errors.ErrUnsupported
}
