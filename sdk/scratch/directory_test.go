//go:build unix

package scratch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// taken is what all scratches of a directory take of the disk.
func (d *desk) taken(dir string) (n int64) {
	names, err := d.fs.List(ctx, dir)
	require.NoError(d.t, err)
	for _, base := range names {
		if strings.HasSuffix(base, suffix) {
			info, err := d.fs.Stat(ctx, join(dir, base))
			require.NoError(d.t, err)
			n += info.Allocated
		}
	}
	return n
}

func (d *desk) scratches(dir string) (all []string) {
	names, err := d.fs.List(ctx, dir)
	require.NoError(d.t, err)
	for _, base := range names {
		if strings.Contains(base, suffix) && base != lockName {
			all = append(all, base)
		}
	}
	return all
}

// sets are n sources of 16 images of a page each, and for each source all of
// it. A scratch of one is 16 pages of pixels and 5 of everything else.
func (d *desk) sets(n int) (all []*image.ImageLocationGrouping) {
	for i := range n {
		key := string(rune('a' + i))
		d.write(key, 0, 16)
		all = append(all, group(d.t, images(key)))
	}
	return all
}

const setBytes = (16 + 5) * page

// The directory takes no more than the budget at any time; who was used
// longest ago goes, and no more than has to.
func TestDirectoryBudget(t *testing.T) {
	d := newDesk(t, 32, 32)
	sets := d.sets(6)
	names := map[int]string{}
	use := func(i int, budget int64) *ImageScratch {
		s, err := CreateDirectoryImageScratch(ctx, sets[i], d.fs, "dir", 2, budget, d.raw, waiting)
		require.NoError(t, err)
		names[i] = s.name
		c := PrefetchScratch(ctx, s, sets[i], NewExecutor(1), nil)
		require.NoError(t, c.Wait(ctx))
		d.check(s, string(rune('a'+i)), 0, upTo(16)...)
		require.LessOrEqual(t, d.taken("dir"), budget)
		require.NoError(t, s.Close())
		return s
	}
	there := func(want ...int) {
		t.Helper()
		var all []string
		for _, i := range want {
			all = append(all, strings.TrimPrefix(names[i], "dir/"))
		}
		require.ElementsMatch(t, all, d.scratches("dir"))
	}
	const budget = 3 * setBytes
	use(0, budget)
	use(1, budget)
	use(2, budget)
	there(0, 1, 2)
	reads := d.reads.Load()
	use(0, budget) // used again, from what is there
	require.Equal(t, reads, d.reads.Load())
	use(3, budget)
	there(0, 2, 3)
	use(4, budget)
	there(0, 3, 4)
	use(0, budget)
	use(5, 2*setBytes) // a smaller budget
	there(0, 5)
	use(1, setBytes+5*page) // not all of it would fit beside another
	there(1)
}

// Foreign files are neither counted nor removed, whatever their names are;
// links are not followed.
func TestDirectoryForeign(t *testing.T) {
	d := newDesk(t, 32, 32)
	sets := d.sets(2)
	dir := filepath.Join(d.dir, "dir")
	foreign := map[string]int64{
		"notes.txt": 10, "mine" + suffix: 100_000, "empty" + suffix: 0, ".x" + suffix + ".tmp-0123456789abcdef": 3000,
		"sub" + suffix + "/file": 5, "sub" + suffix + "/" + strings.Repeat("0", 32) + suffix: 77,
	}
	for name, n := range foreign {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("m", int(n))), 0o666))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(d.dir, "else"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "else", "f"+suffix), []byte(magic), 0o666))
	require.NoError(t, os.Symlink("../else", filepath.Join(dir, "link"+suffix)))
	for _, g := range sets {
		s := d.directory(g, 2, setBytes, waiting)
		d.prefetch(s, g)
		require.NoError(t, s.Close())
	}
	_, err := Collect(ctx, d.fs, "dir", 0, waiting)
	require.NoError(t, err)
	require.Empty(t, d.ours("dir"))
	for name, n := range foreign {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err, name)
		require.Equal(t, n, info.Size())
	}
	require.FileExists(t, filepath.Join(d.dir, "else", "f"+suffix))
	require.FileExists(t, filepath.Join(dir, "link"+suffix, "f"+suffix))
}

// ours are the files of a directory that are scratches.
func (d *desk) ours(dir string) (all []string) {
	for _, base := range d.scratches(dir) {
		if f, err := d.fs.Open(ctx, join(dir, base), storage.OpenRead); err == nil {
			if isOurs(f) {
				all = append(all, base)
			}
			f.Close()
		}
	}
	return all
}

// What is in use is neither removed nor cut; who comes then gets what is left,
// and reads the rest from the files. Afterwards its room is there again.
func TestDirectoryInUse(t *testing.T) {
	d := newDesk(t, 32, 32)
	sets := d.sets(3)
	const budget = 2*setBytes - 4*page
	first := d.directory(sets[0], 2, budget, waiting)
	d.check(first, "a", 0, 0, 1) // the rest comes later: its room is its
	second := d.directory(sets[1], 2, budget, waiting)
	d.prefetch(second, sets[1])
	require.Equal(t, int64(12), second.Stats().Eligible)
	d.check(second, "b", 0, upTo(16)...)
	third := d.directory(sets[2], 2, budget, waiting)
	require.Zero(t, third.Stats().Eligible)
	d.check(third, "c", 0, upTo(16)...)
	require.NoError(t, PrefetchScratch(ctx, third, sets[2], NewExecutor(1), nil).Wait(ctx))
	d.prefetch(first, sets[0])
	require.Equal(t, int64(16), first.Stats().Present)
	require.LessOrEqual(t, d.taken("dir"), int64(budget))
	require.Len(t, d.ours("dir"), 2)
	for i, s := range []*ImageScratch{first, second, third} {
		d.check(s, string(rune('a'+i)), 0, upTo(16)...)
	}
	// The same set again, while it is in use: the same file.
	reads := d.reads.Load()
	again := d.directory(sets[0], 2, budget, waiting)
	d.check(again, "a", 0, upTo(16)...)
	require.Equal(t, reads, d.reads.Load())
	require.NoError(t, again.Close())
	require.NoError(t, second.Close())
	third = d.directory(sets[2], 2, budget, waiting)
	d.prefetch(third, sets[2])
	require.Equal(t, int64(12), third.Stats().Present)
	require.Len(t, d.ours("dir"), 2)
	d.check(first, "a", 0, upTo(16)...)
}

// A budget is no reason for another file: one that holds more than a smaller
// one allows gives runs back, the last ones, and takes them in again later.
func TestDirectoryOtherBudget(t *testing.T) {
	d := newDesk(t, 32, 32)
	g := d.sets(1)[0]
	s := d.directory(g, 2, Everything, waiting)
	d.prefetch(s, g)
	require.NoError(t, s.Close())
	const less = setBytes - 7*page // an odd number of images: whole runs count
	s = d.directory(g, 2, less, waiting)
	require.LessOrEqual(t, d.taken("dir"), int64(less))
	require.Equal(t, int64(8), s.Stats().Present)
	reads := d.reads.Load()
	d.check(s, "a", 0, upTo(16)...)
	require.Equal(t, reads+8, d.reads.Load())
	require.LessOrEqual(t, d.taken("dir"), int64(less))
	// With it in use, nobody cuts it.
	other := d.directory(g, 2, setBytes-12*page, waiting)
	d.check(other, "a", 0, upTo(16)...)
	require.Equal(t, int64(8), s.Stats().Present)
	require.NoError(t, other.Close())
	require.NoError(t, s.Close())
	s = d.directory(g, 2, Everything, waiting)
	require.Equal(t, int64(8), s.Stats().Present)
	d.prefetch(s, g)
	require.Equal(t, int64(16), s.Stats().Present)
	require.Len(t, d.ours("dir"), 1)
}

// A set that overlaps others takes from them what they have, if its file is
// still what it was.
func TestDirectoryAdopts(t *testing.T) {
	d := newDesk(t, 32, 32)
	for _, key := range []string{"a", "b", "c"} {
		d.write(key, 0, 16)
	}
	first := group(t, images("a"), images("b"))
	s := d.directory(first, 4, Everything, waiting)
	d.prefetch(s, first)
	require.NoError(t, s.Close())
	opens, reads := d.opens.Load(), d.reads.Load()
	d.write("b", 1, 16)

	second := group(t, images("a", 15, 3, 1, 7, 9), images("b", 2, 3), images("c", 5))
	s = d.directory(second, 3, Everything, waiting)
	d.check(s, "a", 0, 1, 3, 7, 9, 15)
	require.Equal(t, reads, d.reads.Load())
	require.Equal(t, opens+2, d.opens.Load(), "what is known is not opened")
	d.check(s, "b", 1, 2, 3)
	d.check(s, "c", 0, 5)
	require.Equal(t, int64(2), s.Stats().Adopted)
	require.Equal(t, reads+2, d.reads.Load())
	require.NoError(t, s.Close())

	// Nothing is needed of a source that is gone but what others have of it.
	require.NoError(t, d.fs.Remove(ctx, "a"))
	s = d.directory(group(t, images("a", 3, 4)), 1, Everything, waiting)
	d.check(s, "a", 0, 3, 4)
	require.Equal(t, int64(1), s.Stats().Missing)
	// With no room for both, the one that gives goes all the same.
	require.NoError(t, s.Close())
	s = d.directory(group(t, images("b")), 4, setBytes, waiting)
	d.check(s, "b", 1, upTo(16)...)
	require.Len(t, d.ours("dir"), 1)
}

// What a creator left that was killed is removed by the next; what one is
// making right now is not.
func TestDirectorySweep(t *testing.T) {
	d := newDesk(t, 32, 32)
	g := d.sets(1)[0]
	d.directory(g, 2, Everything, waiting)
	left := join("dir", "."+strings.Repeat("0", 32)+suffix+".tmp-0123456789abcdef")
	for _, content := range []string{"", magic + "and more"} {
		require.NoError(t, os.WriteFile(filepath.Join(d.dir, left), []byte(content), 0o666))
		f, err := d.fs.Open(ctx, left, readWrite)
		require.NoError(t, err)
		unlock, err := f.LockRange(lockInUse, storage.LockShared)
		require.NoError(t, err)
		d.directory(g, 2, Everything, waiting)
		_, err = d.fs.Stat(ctx, left)
		require.NoError(t, err)
		require.NoError(t, unlock())
		d.directory(g, 2, Everything, waiting)
		_, err = d.fs.Stat(ctx, left)
		require.ErrorIs(t, err, fault.ErrNotFound)
		require.NoError(t, f.Close())
	}
}

// Who changes the directory keeps others waiting until it is done, or as long
// as they like to wait.
func TestDirectoryLocked(t *testing.T) {
	d := newDesk(t, 32, 32)
	g := d.sets(1)[0]
	require.NoError(t, d.fs.Mkdir(ctx, "dir"))
	unlock, err := lockDirectory(ctx, d.fs, "dir", nil)
	require.NoError(t, err)
	_, err = CreateDirectoryImageScratch(ctx, g, d.fs, "dir", 2, Everything, d.raw, Options{})
	require.ErrorIs(t, err, fault.ErrLocked)
	clock := storage.NewManualClock(time.Now())
	made := make(chan error, 1)
	go func() {
		s, err := CreateDirectoryImageScratch(ctx, g, d.fs, "dir", 2, Everything, d.raw, Options{Clock: clock})
		if err == nil {
			err = s.Close()
		}
		made <- err
	}()
	require.NoError(t, clock.Await(ctx, 1))
	require.NoError(t, unlock())
	clock.Skip()
	require.NoError(t, <-made)

	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "file"), nil, 0o666))
	_, err = CreateDirectoryImageScratch(ctx, g, d.fs, "file", 2, Everything, d.raw, waiting)
	require.ErrorIs(t, err, fault.ErrExists)
}

// Who only reads sees what others fill, and changes nothing.
func TestReadOnly(t *testing.T) {
	d := newDesk(t, 32, 32)
	for _, key := range []string{"a", "b"} {
		d.write(key, 0, 16)
	}
	g := group(t, images("a"), images("b"))
	o := waiting
	o.ReadOnly = true
	for _, create := range []func(o Options) (*ImageScratch, error){
		func(o Options) (*ImageScratch, error) {
			return CreateMappedFileImageScratch(ctx, g, d.fs, "scr", 4, Everything, d.raw, o)
		},
		func(o Options) (*ImageScratch, error) {
			return CreateDirectoryImageScratch(ctx, g, d.fs, "dir", 4, Everything, d.raw, o)
		},
	} {
		_, err := create(o)
		require.ErrorIs(t, err, fault.ErrNotFound)
		filler, err := create(waiting)
		require.NoError(t, err)
		closing(t, filler)
		reader, err := create(o)
		require.NoError(t, err)
		closing(t, reader)
		d.check(reader, "a", 0, upTo(16)...)
		require.NoError(t, PrefetchScratch(ctx, reader, g, NewExecutor(1), nil).Wait(ctx))
		require.Zero(t, reader.Stats().Present)
		d.prefetch(filler, g)
		require.Equal(t, int64(32), reader.Stats().Present)
		reads := d.reads.Load()
		d.check(reader, "a", 0, upTo(16)...)
		d.check(reader, "b", 0, upTo(16)...)
		require.Equal(t, reads, d.reads.Load())

		// It cannot say to others that a source has changed, but knows it.
		d.write("b", 1, 16)
		again, err := create(o)
		require.NoError(t, err)
		closing(t, again)
		d.check(again, "b", 1, upTo(16)...)
		d.check(again, "a", 0, upTo(16)...)
		d.check(filler, "b", 0, 3)
		require.Zero(t, again.Stats().Filled)
		last, err := create(waiting) // says so
		require.NoError(t, err)
		d.prefetch(last, g)
		require.NoError(t, last.Close())
		reads = d.reads.Load()
		d.check(again, "b", 1, upTo(16)...)
		require.Equal(t, reads, d.reads.Load())
		d.write("b", 0, 16)
	}
	_, err := CreateMappedFileImageScratch(ctx, group(t, images("a")), d.fs, "scr", 4, Everything, d.raw, o)
	require.ErrorIs(t, err, fault.ErrNotFound)
}

// A budget in which not one run fits is an error, and costs nobody anything.
func TestDirectoryBudgetForNothing(t *testing.T) {
	d := newDesk(t, 32, 32)
	sets := d.sets(2)
	for _, g := range sets {
		s := d.directory(g, 2, Everything, waiting)
		d.prefetch(s, g)
		require.NoError(t, s.Close())
	}
	for _, budget := range []int64{1, 5 * page, 7*page - 1} {
		_, err := CreateDirectoryImageScratch(ctx, sets[0], d.fs, "dir", 2, budget, d.raw, waiting)
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
	all, err := List(ctx, d.fs, "dir")
	require.NoError(t, err)
	require.Len(t, all, 2)
	for _, s := range all {
		require.Equal(t, int64(16), s.Present)
	}
}
