//go:build unix

package scratch

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// denied is a file system with files of other users.
type denied struct {
	storage.FS
	name string
}

func (d denied) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	if name == d.name && flags != storage.OpenRead {
		return nil, fault.New(fault.ErrNotAllowed, "denied", name, "")
	}
	return d.FS.Open(ctx, name, flags)
}

// What another user has in the directory counts, and stays.
func TestDirectoryOfSeveralUsers(t *testing.T) {
	d := newDesk(t, 32, 32)
	sets := d.sets(2)
	s := d.directory(sets[0], 2, Everything, waiting)
	d.prefetch(s, sets[0])
	require.NoError(t, s.Close())
	fs := denied{d.fs, "dir/" + d.ours("dir")[0]}
	const budget = 2*setBytes - 4*page
	s, err := CreateDirectoryImageScratch(ctx, sets[1], fs, "dir", 2, budget, d.raw, waiting)
	require.NoError(t, err)
	closing(t, s)
	d.prefetch(s, sets[1])
	require.Equal(t, int64(12), s.Stats().Present)
	d.check(s, "b", 0, upTo(16)...)
	require.LessOrEqual(t, d.taken("dir"), int64(budget))
	c, err := Collect(ctx, fs, "dir", 0, waiting)
	require.NoError(t, err)
	require.Empty(t, c.Removed)
	require.Len(t, d.ours("dir"), 2)
}

// What cannot be opened and is there takes nobody knows how much: the budget
// would not be kept. It is an error, and nothing is made.
func TestDirectoryThatCannotBeSurveyed(t *testing.T) {
	d := newDesk(t, 32, 32)
	sets := d.sets(2)
	s := d.directory(sets[0], 2, Everything, waiting)
	d.prefetch(s, sets[0])
	require.NoError(t, s.Close())
	ours := d.ours("dir")
	failing := faultfs.New(func(op faultfs.Op) (f faultfs.Fault) {
		if op.Kind == faultfs.Open && op.Name == "dir/"+ours[0] {
			f.Err = faultfs.Errno("EMFILE")
		}
		return f
	}).FS(d.fs)
	_, err := CreateDirectoryImageScratch(ctx, sets[1], failing, "dir", 2, 2*setBytes, d.raw, waiting)
	require.ErrorIs(t, err, fault.ErrIO)
	_, err = Collect(ctx, failing, "dir", 0, waiting)
	require.ErrorIs(t, err, fault.ErrIO)
	require.Equal(t, ours, d.ours("dir"))
}
