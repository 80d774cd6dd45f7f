//go:build unix

package scratch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// Tests named after reports of faults in other programs.

// Report 67: room for some of the images of several stacks. Whichever are held,
// every one that is read is itself, and the counts say where it came from.
func TestReport67RoomForSome(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 32, 32) // an image is a page
			counts := map[string]int64{"a": 3, "b": 5, "c": 2}
			var rows []image.ImageLocation
			for key, n := range counts {
				d.write(key, 0, n)
				rows = append(rows, images(key, upTo(n)...)...)
			}
			require.Len(t, rows, 10)
			g := group(t, rows)
			for _, room := range []int64{6, 1} {
				budget := room * page
				if kind.name != "host" {
					budget += 5 * page // of everything else in the file
				}
				s, err := kind.create(d, g, 1, budget)
				require.NoError(t, err)
				for pass := range 2 {
					rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
					before, reads := s.Stats(), d.reads.Load()
					for _, l := range rows {
						d.check(s, l.Key, 0, l.Index)
					}
					st := s.Stats()
					require.Equal(t, room, st.Present, "pass %d", pass)
					if pass == 1 {
						require.Equal(t, room, st.Hits-before.Hits)
						require.Equal(t, 10-room, d.reads.Load()-reads)
						require.Equal(t, 10-room, st.SourceReads-before.SourceReads)
					}
				}
				require.NoError(t, s.Close())
				d.fs.Remove(ctx, "scr")
			}
			// Room for none is said when the scratch is made, not while it is read.
			_, err := kind.create(d, g, 1, 0)
			require.ErrorIs(t, err, fault.ErrInvalid)
		})
	}
}

// closedOff is a file system with a directory that may not be entered.
type closedOff struct {
	storage.FS
	below string
	why   error
}

func (c closedOff) refuses(name string) error {
	if name == c.below || strings.HasPrefix(name, c.below+"/") {
		return fault.New(c.why, "file", name, "permission denied")
	}
	return nil
}

func (c closedOff) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	if err := c.refuses(name); err != nil {
		return nil, err
	}
	return c.FS.Open(ctx, name, flags)
}

func (c closedOff) Mkdir(ctx context.Context, name string) error {
	if err := c.refuses(name); err != nil {
		return err
	}
	return c.FS.Mkdir(ctx, name)
}

func (c closedOff) List(ctx context.Context, name string) ([]string, error) {
	if err := c.refuses(name); err != nil {
		return nil, err
	}
	return c.FS.List(ctx, name)
}

// Report 74: a directory that may not be entered, or whose disk fails, is an
// error with its path and the cause. One that is no scratch's keeps all it has,
// whatever is collected.
func TestReport74OtherDirectories(t *testing.T) {
	d := newDesk(t, 32, 32)
	g := d.sets(1)[0]
	require.NoError(t, os.MkdirAll(filepath.Join(d.dir, "disk", "dir"), 0o777))
	for _, why := range []error{fault.ErrNotAllowed, fault.ErrIO} {
		fs := closedOff{d.fs, "disk/dir", why}
		_, err := CreateDirectoryImageScratch(ctx, g, fs, "disk/dir", 2, Everything, d.raw, waiting)
		require.ErrorIs(t, err, why)
		require.ErrorContains(t, err, "disk/dir")
		require.ErrorContains(t, err, "permission denied")
		_, err = Collect(ctx, fs, "disk/dir", 0, waiting)
		require.ErrorIs(t, err, why)
		require.ErrorContains(t, err, "disk/dir")
		_, err = CreateMappedFileImageScratch(ctx, g, fs, "disk/dir/scr", 2, Everything, d.raw, waiting)
		require.ErrorIs(t, err, why)
		require.ErrorContains(t, err, "disk/dir")
	}
	mine := filepath.Join(d.dir, "mine")
	require.NoError(t, os.MkdirAll(filepath.Join(mine, "sub"), 0o777))
	require.NoError(t, os.Symlink("..", filepath.Join(mine, "up")))
	for _, name := range []string{"thesis.tex", "sub/data.mrcs", strings.Repeat("0", 32) + suffix} {
		require.NoError(t, os.WriteFile(filepath.Join(mine, name), []byte("years of work"), 0o666))
	}
	for range 2 {
		c, err := Collect(ctx, d.fs, "mine", 0, waiting)
		require.NoError(t, err)
		require.Empty(t, c.Removed)
		for _, name := range []string{"thesis.tex", "sub/data.mrcs", strings.Repeat("0", 32) + suffix, "up/a"} {
			require.FileExists(t, filepath.Join(mine, name))
		}
		s := d.directory(g, 2, Everything, waiting) // beside it
		require.NoError(t, s.Close())
	}
	_, err := CreateMappedFileImageScratch(ctx, g, d.fs, "mine/thesis.tex", 2, Everything, d.raw, waiting)
	require.ErrorIs(t, err, fault.ErrExists)
	b, err := os.ReadFile(filepath.Join(mine, "thesis.tex"))
	require.NoError(t, err)
	require.Equal(t, "years of work", string(b))
}

// Report 78: many images, of many stacks, in a directory with many files: what
// it takes to begin and to read is that of what is asked for.
func TestReport78Many(t *testing.T) {
	d := newDesk(t, 1, 1)
	dir := filepath.Join(d.dir, "dir")
	require.NoError(t, os.Mkdir(dir, 0o777))
	for i := range 1000 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("other", i)))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	d.write("a", 0, 20_000)
	g := group(t, images("a"))
	s := d.directory(g, 100, Everything, waiting)
	d.prefetch(s, g)
	require.EqualValues(t, 20_000, s.Stats().Present)
	require.NoError(t, s.Close())
	reads := d.reads.Load()
	storagetest.Within(t, 2*time.Second, func() {
		s = d.directory(g, 100, Everything, waiting)
		require.NoError(t, s.Close())
	})
	s = d.directory(g, 100, Everything, waiting)
	require.EqualValues(t, 20_000, s.Stats().Present)
	d.check(s, "a", 0, 0, 19_999, 7)
	require.Equal(t, reads, d.reads.Load())
}

// Report 93: a stack that is not there, is a directory, or may not be read is
// an error at once, with its path; a scratch of the others is not affected.
func TestReport93MissingStacks(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 10)
	require.NoError(t, d.fs.Mkdir(ctx, "folder"))
	d.write("shut", 0, 10)
	fs := closedOff{d.fs, "shut", fault.ErrNotAllowed}
	from := &raw{fs: fs, rows: 16, cols: 16}
	for key, want := range map[string]error{"absent": fault.ErrNotFound, "folder": fault.ErrIO, "shut": fault.ErrNotAllowed} {
		for name, create := range map[string]func(g *image.ImageLocationGrouping) (*ImageScratch, error){
			"host": func(g *image.ImageLocationGrouping) (*ImageScratch, error) {
				return CreateHostImageScratch(ctx, g, 2, Everything, from, waiting)
			},
			"directory": func(g *image.ImageLocationGrouping) (*ImageScratch, error) {
				return CreateDirectoryImageScratch(ctx, g, d.fs, "dir", 2, Everything, from, waiting)
			},
		} {
			_, err := create(group(t, images("a"), images(key, 3)))
			require.ErrorIs(t, err, want, "%s %s", name, key)
			require.ErrorContains(t, err, key)
			s, err := create(group(t, images("a")))
			require.NoError(t, err)
			d.check(s, "a", 0, upTo(10)...)
			require.NoError(t, s.Close())
		}
	}
}
