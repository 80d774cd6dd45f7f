//go:build unix

package scratch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

// changes are what may befall a source of 8 images of version 0. Afterwards it
// has 8 of version 1, or the first few.
var changes = []struct {
	name string
	do   func(d *desk, key string)
	left int64 // images
}{
	{"at another time", func(d *desk, key string) { d.write(key, 1, 8) }, 8},
	{"with the time put back", func(d *desk, key string) {
		info, err := os.Stat(filepath.Join(d.dir, key))
		require.NoError(d.t, err)
		d.write(key, 1, 8)
		require.NoError(d.t, os.Chtimes(filepath.Join(d.dir, key), info.ModTime(), info.ModTime()))
	}, 8},
	{"to the time of 1970", func(d *desk, key string) {
		d.write(key, 1, 8)
		require.NoError(d.t, os.Chtimes(filepath.Join(d.dir, key), time.Unix(0, 0), time.Unix(0, 0)))
	}, 8},
	{"by another that takes its name", func(d *desk, key string) {
		info, err := os.Stat(filepath.Join(d.dir, key))
		require.NoError(d.t, err)
		require.NoError(d.t, os.WriteFile(filepath.Join(d.dir, "new"), d.pixels(key, 1, upTo(8)...), 0o666))
		require.NoError(d.t, os.Chtimes(filepath.Join(d.dir, "new"), info.ModTime(), info.ModTime()))
		require.NoError(d.t, os.Rename(filepath.Join(d.dir, "new"), filepath.Join(d.dir, key)))
	}, 8},
	{"in place, in one image", func(d *desk, key string) {
		f, err := os.OpenFile(filepath.Join(d.dir, key), os.O_WRONLY, 0)
		require.NoError(d.t, err)
		_, err = f.WriteAt(d.pixels(key, 1, upTo(8)...), 0)
		require.NoError(d.t, err)
		require.NoError(d.t, f.Close())
	}, 8},
	{"to a shorter one", func(d *desk, key string) { d.write(key, 1, 6) }, 6},
}

// A source that changes between two uses of a scratch is noticed when the
// scratch is made, whatever its times say: nothing old is served.
func TestChangedBetween(t *testing.T) {
	for _, kind := range kinds[1:] {
		for _, change := range changes {
			t.Run(kind.name+"/"+change.name, func(t *testing.T) {
				d := newDesk(t, 16, 16)
				d.write("a", 0, 8)
				d.write("b", 0, 8)
				g := group(t, images("a", 0, 1, 2, 3, 4, 5), images("b"))
				s, err := kind.create(d, g, 2, Everything)
				require.NoError(t, err)
				d.prefetch(s, g)
				require.NoError(t, s.Close())
				change.do(d, "a")

				s, err = kind.create(d, g, 2, Everything)
				require.NoError(t, err)
				closing(t, s)
				reads := d.reads.Load()
				d.check(s, "b", 0, upTo(8)...)
				require.Equal(t, reads, d.reads.Load(), "the other one is held")
				for range 2 {
					d.check(s, "a", 1, upTo(min(6, change.left))...)
				}
				require.Equal(t, reads+3, d.reads.Load())
				require.Equal(t, int64(1), s.Stats().Changed)
			})
		}
	}
}

// A source that changes while the scratch is open is noticed when a run of it
// is next taken in: then nothing old is left. No image is part old, part new.
func TestChangedMeanwhile(t *testing.T) {
	for _, kind := range kinds {
		for _, change := range changes {
			t.Run(kind.name+"/"+change.name, func(t *testing.T) {
				d := newDesk(t, 16, 16)
				d.write("a", 0, 8)
				s, err := kind.create(d, group(t, images("a", 0, 1, 2, 3, 4, 5)), 2, Everything)
				require.NoError(t, err)
				closing(t, s)
				d.check(s, "a", 0, 0, 1)
				change.do(d, "a")
				d.check(s, "a", 0, 0, 1) // believed to be what it was
				d.check(s, "a", 1, 2)
				d.check(s, "a", 1, 0, 1, 2, 3, 4, 5)
				if change.left > 6 {
					d.check(s, "a", 1, 6, 7)
				}
				require.Equal(t, int64(1), s.Stats().Changed)
			})
		}
	}
}

// With Revalidate, it is noticed without anything being taken in.
func TestRevalidate(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	o := waiting
	o.Revalidate = 1
	s, err := CreateHostImageScratch(ctx, group(t, images("a")), 8, Everything, d.raw, o)
	require.NoError(t, err)
	closing(t, s)
	d.check(s, "a", 0, 3)
	d.write("a", 1, 8)
	d.check(s, "a", 1, 3)
	require.NoError(t, os.Remove(filepath.Join(d.dir, "a")))
	d.check(s, "a", 1, 3, 4)
}

// A source that changes while a run of it is read is read again.
func TestChangedWhileRead(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 16, 16)
			d.write("a", 0, 8)
			s, err := kind.create(d, group(t, images("a", 0, 1, 3, 4)), 4, Everything)
			require.NoError(t, err)
			closing(t, s)
			changed := false
			d.before(func(key string, first int64) error {
				if first == 3 && !changed {
					changed = true
					d.write("a", 1, 8)
				}
				return nil
			})
			d.check(s, "a", 1, 4)
			d.check(s, "a", 1, 0, 1, 3)
			require.Equal(t, int64(1), s.Stats().Filled)

			version := 1
			d.before(func(string, int64) error {
				version++
				d.write("a", version, 8)
				return nil
			})
			require.ErrorIs(t, s.ReadImages(ctx, "a", make([]byte, 1024), 2), fault.ErrStale)
		})
	}
}

// A source that was written this very instant is not kept without a clock: a
// further change might not show.
func TestUnsettled(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 4)
	s, err := CreateHostImageScratch(ctx, group(t, images("a")), 4, Everything, d.raw, Options{})
	require.NoError(t, err)
	closing(t, s)
	later := time.Now().Add(time.Hour) // which tells nothing, but the time of change does
	require.NoError(t, os.Chtimes(filepath.Join(d.dir, "a"), later, later))
	now := stampOf(must(d.fs.Stat(ctx, "a")))
	now.modified = 0
	for try := 0; now.unsettled(time.Now()) == 0 && try < 100; try++ { // the machine was slow
		d.write("a", 0, 4)
		now = stampOf(must(d.fs.Stat(ctx, "a")))
	}
	d.write("a", 0, 4)
	d.check(s, "a", 0, 1)
	require.LessOrEqual(t, s.Stats().Filled, int64(1))
	at := time.Unix(1000, 0)
	for _, tc := range []struct {
		changed, now time.Time
		want         time.Duration
	}{
		{at.Add(1), at.Add(1), 20 * time.Millisecond},
		{at.Add(1), at.Add(5*time.Millisecond + 1), 15 * time.Millisecond},
		{at.Add(1), at.Add(time.Second), 0},
		{at, at.Add(time.Second), time.Second}, // whole seconds
		{at, at.Add(2 * time.Second), 0},
		{at.Add(time.Hour + 1), at, 0},
	} {
		require.Equal(t, tc.want, stamp{changed: tc.changed.UnixNano()}.unsettled(tc.now), tc)
	}
	require.Zero(t, stamp{misfit: true}.unsettled(at))
}

// A source that has become another kind of thing: what is asked for as it was
// is ErrStale, and the next scratch is laid out anew, with what it can adopt.
func TestMisfit(t *testing.T) {
	for _, kind := range kinds[1:] {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 16, 16)
			d.write("a", 0, 8)
			d.write("b", 0, 8)
			g := group(t, images("a"), images("b"))
			s, err := kind.create(d, g, 2, Everything)
			require.NoError(t, err)
			d.prefetch(s, g)
			d.write("a", 1, 5) // no longer all of 8
			d.check(s, "a", 0, 7)
			require.NoError(t, s.Close())

			s, err = kind.create(d, g, 2, Everything)
			require.NoError(t, err)
			reads := d.reads.Load()
			d.check(s, "b", 0, upTo(8)...)
			require.Equal(t, reads, d.reads.Load(), "adopted")
			require.Equal(t, int64(4), s.Stats().Adopted)
			d.check(s, "a", 1, upTo(5)...)
			is, _ := s.Describe("a")
			require.Equal(t, int64(5), is.Count)
			require.NoError(t, s.Close())
			s, err = kind.create(d, g, 2, Everything)
			require.NoError(t, err)
			closing(t, s)
			reads = d.reads.Load()
			d.check(s, "a", 1, upTo(5)...)
			d.check(s, "b", 0, upTo(8)...)
			require.Equal(t, reads, d.reads.Load())

			// While it is open: images of another size are no images of it.
			d.raw.cols = 8
			d.write("a", 2, 10)
			now := stampOf(must(d.fs.Stat(ctx, "a")))
			require.NoError(t, renew(ctx, s.sources, s.shelf, s.count, s.layout.find("a"), now, nil))
			require.ErrorIs(t, s.ReadImages(ctx, "a", make([]byte, 1024), 0), fault.ErrStale)
			d.raw.cols = 16
		})
	}
}

// brokenProvider has a file that is no images.
type brokenProvider struct {
	*raw
	broken string
}

func (p *brokenProvider) Open(ctx context.Context, key string) (image.Reader, error) {
	if key == p.broken {
		return nil, fault.New(fault.ErrCorrupt, "raw", key, "no images any more")
	}
	return p.raw.Open(ctx, key)
}

// A source that has become no images at all is that source's trouble: the
// scratch is gone on with, nothing old is served of it, and it is taken in
// again once it is what it was.
func TestBroken(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	d.write("b", 0, 8)
	g := group(t, images("a"), images("b"))
	p := &brokenProvider{raw: d.raw}
	open := func() *ImageScratch {
		s, err := CreateMappedFileImageScratch(ctx, g, d.fs, "sub/scr", 2, Everything, p, waiting)
		require.NoError(t, err)
		return closing(t, s)
	}
	require.NoError(t, d.fs.Mkdir(ctx, "sub"))
	s := open()
	d.prefetch(s, g)
	require.NoError(t, s.Close())
	d.write("a", 1, 8)
	p.broken = "a"
	for range 2 {
		s = open()
		require.ErrorIs(t, s.ReadImages(ctx, "a", make([]byte, 1024), 3), fault.ErrCorrupt)
		reads := d.reads.Load()
		d.check(s, "b", 0, upTo(8)...)
		require.Equal(t, reads, d.reads.Load())
		require.NoError(t, s.Close())
	}
	p.broken = ""
	s = open()
	d.check(s, "a", 1, upTo(8)...)
	require.Equal(t, int64(4), s.Stats().Filled)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var _ image.Stater = (*raw)(nil)
