package scratch

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// kinds are the three scratches.
var kinds = []struct {
	name   string
	create func(d *desk, g *image.ImageLocationGrouping, runLength, size int64) (*ImageScratch, error)
}{
	{"host", func(d *desk, g *image.ImageLocationGrouping, runLength, size int64) (*ImageScratch, error) {
		return CreateHostImageScratch(ctx, g, runLength, size, d.raw, waiting)
	}},
	{"mapped file", func(d *desk, g *image.ImageLocationGrouping, runLength, size int64) (*ImageScratch, error) {
		return CreateMappedFileImageScratch(ctx, g, d.fs, "scr", runLength, size, d.raw, waiting)
	}},
	{"by calls", func(d *desk, g *image.ImageLocationGrouping, runLength, size int64) (*ImageScratch, error) {
		o := waiting
		o.NoMap = true
		return CreateMappedFileImageScratch(ctx, g, d.fs, "scr", runLength, size, d.raw, o)
	}},
	{"directory", func(d *desk, g *image.ImageLocationGrouping, runLength, size int64) (*ImageScratch, error) {
		return CreateDirectoryImageScratch(ctx, g, d.fs, "some/dir", runLength, size, d.raw, waiting)
	}},
}

func TestReads(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 16, 16)
			d.write("a", 0, 7)
			d.write("b", 0, 20)
			d.write("c", 0, 5)
			g := group(t, images("a"), images("b", 1, 3, 5, 6, 7, 9, 19), images("c", 4, 0))
			s, err := kind.create(d, g, 3, Everything)
			require.NoError(t, err)
			closing(t, s)
			require.Zero(t, d.reads.Load())
			for range 2 { // filling, then held
				d.check(s, "a", 0, 6, 0, 3, 5, 1, 2, 4)
				d.check(s, "b", 0, 19, 1, 5, 3, 9, 6, 7)
				d.check(s, "c", 0, 0, 4)
			}
			// Runs: a 0-2 3-5 6; b 1 3 5, 6 7 9, 19; c 0 4.
			st := s.Stats()
			require.Equal(t, int64(7), st.Runs)
			require.Equal(t, int64(7), st.Filled)
			require.Equal(t, int64(16), st.Images)
			require.Equal(t, int64(16), st.Present)
			require.Equal(t, int64(3+3+2+1+2), d.reads.Load(), "one read for what lies together")
			require.Equal(t, int64(3), d.opens.Load(), "each source once")
			require.Equal(t, int64(25), st.Hits)
			// Several at once, held and not.
			got := make([]byte, 8*1024)
			require.NoError(t, s.ReadImages(ctx, "b", got, 2))
			require.Equal(t, d.pixels("b", 0, 2, 3, 4, 5, 6, 7, 8, 9), got)
			require.NoError(t, s.ReadImages(ctx, "a", got[:7*1024], 0))
			require.Equal(t, d.pixels("a", 0, upTo(7)...), got[:7*1024])
			require.Equal(t, int64(7), s.Stats().Filled, "what is not held is not taken in")

			require.ErrorIs(t, s.ReadImages(ctx, "a", got[:1024], 7), fault.ErrOutOfRange)
			require.ErrorIs(t, s.ReadImages(ctx, "a", got[:1024], -1), fault.ErrOutOfRange)
			require.ErrorIs(t, s.ReadImages(ctx, "a", got[:1000], 0), fault.ErrInvalid)
			require.ErrorIs(t, s.ReadImages(ctx, "x", got[:1024], 0), fault.ErrInvalid)
			is, ok := s.Describe("c")
			require.True(t, ok)
			require.Equal(t, int64(5), is.Count)
			require.NoError(t, s.Close())
			require.ErrorIs(t, s.ReadImages(ctx, "a", got[:1024], 0), fault.ErrClosed)
			require.NoError(t, s.Close())
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 16, 16)
			d.write("a", 0, 7)
			whole := group(t, images("a"))
			for _, tc := range []struct {
				name            string
				locations       *image.ImageLocationGrouping
				runLength, size int64
				want            error
			}{
				{"a run of none", whole, 0, Everything, fault.ErrInvalid},
				{"a negative run", whole, -1, Everything, fault.ErrInvalid},
				{"nothing to hold", group(t), 1, Everything, fault.ErrInvalid},
				{"no locations", nil, 1, Everything, fault.ErrInvalid},
				{"no room", whole, 1, 0, fault.ErrInvalid},
				{"negative room", whole, 1, -5, fault.ErrInvalid},
				{"room for less than a run", whole, 1, 1023, fault.ErrInvalid},
				{"past the stack", group(t, images("a", 3, 7)), 1, Everything, fault.ErrOutOfRange},
				{"no such file", group(t, images("a"), images("b")), 1, Everything, fault.ErrNotFound},
			} {
				_, err := kind.create(d, tc.locations, tc.runLength, tc.size)
				require.ErrorIs(t, err, tc.want, tc.name)
				names, err := d.fs.List(ctx, "")
				require.NoError(t, err)
				require.NotContains(t, names, "scr", tc.name)
				if names, err := d.fs.List(ctx, "some/dir"); err == nil {
					require.Subset(t, []string{lockName}, names, tc.name)
				}
			}
		})
	}
}

// What fits is held in ascending order of key; the rest is read from the files.
func TestBudget(t *testing.T) {
	d := newDesk(t, 32, 32) // an image is a page
	for _, key := range []string{"a", "b", "c"} {
		d.write(key, 0, 4)
	}
	g := group(t, images("a"), images("b"), images("c"))
	for runs, images := range []int64{0, 2, 4, 6, 8, 10, 12} {
		if runs == 0 {
			continue
		}
		s, err := CreateHostImageScratch(ctx, g, 2, int64(runs)*2*page, d.raw, waiting)
		require.NoError(t, err)
		reads := d.reads.Load()
		for range 2 {
			for _, key := range []string{"c", "a", "b"} {
				d.check(s, key, 0, 3, 1, 0, 2)
			}
		}
		require.Equal(t, images, s.Stats().Eligible)
		require.Equal(t, images, s.Stats().Present)
		require.Equal(t, int64(runs)+2*(12-images), d.reads.Load()-reads)
		require.NoError(t, s.Close())
	}
}

// A run length beyond what is there makes one run of each file, and the same
// scratch whatever it is; runs of large images are shorter.
func TestRunLength(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 7)
	g := group(t, images("a", 0, 1, 2, 3, 4, 5, 6))
	for _, runLength := range []int64{7, 8, 1000, 1 << 62} {
		s, err := CreateDirectoryImageScratch(ctx, g, d.fs, "dir", runLength, Everything, d.raw, waiting)
		require.NoError(t, err)
		d.check(s, "a", 0, 3)
		require.Equal(t, int64(1), s.Stats().Runs)
		require.Equal(t, int64(7), s.Stats().Present)
		require.NoError(t, s.Close())
	}
	require.Equal(t, int64(1), d.reads.Load())
	k := key{held: 1000, is: image.Description{Type: image.Float32, ImageShape: []int64{4096, 4096}}}
	require.Equal(t, int64(1), k.perRunOf(16)) // 64 MiB each
	k.is.ImageShape[0] = 512
	require.Equal(t, int64(8), k.perRunOf(16))
	k.is.ImageShape[0] = 1 << 30
	require.Equal(t, int64(1), k.perRunOf(16))
}

// The memory of a scratch goes with the last who reads through it, not with the
// last who knows of it.
func TestMemoryGoes(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	s, err := CreateHostImageScratch(ctx, group(t, images("a")), 4, Everything, d.raw, waiting)
	require.NoError(t, err)
	p, err := ReaderProvider(s)
	require.NoError(t, err)
	d.check(s, "a", 0, 1)
	require.NoError(t, s.Close())
	m := s.shelf.(*memoryShelf)
	require.NotNil(t, m.runs[0].Load())
	r, err := p.Open(ctx, "a")
	require.NoError(t, err)
	require.NoError(t, p.Close())
	reads := d.reads.Load()
	got := make([]byte, 1024)
	require.NoError(t, r.ReadImages(ctx, got, 2))
	require.Equal(t, d.pixels("a", 0, 2), got)
	require.Equal(t, reads, d.reads.Load())
	require.NoError(t, r.Close())
	require.Nil(t, m.runs[0].Load())
}

// However many ask for the images of a run at once, it is read once.
func TestTogether(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 16, 16)
			d.write("a", 0, 64)
			s, err := kind.create(d, group(t, images("a")), 8, Everything)
			require.NoError(t, err)
			closing(t, s)
			var group sync.WaitGroup
			for w := range 8 {
				group.Add(1)
				go func() {
					defer group.Done()
					r := rand.New(rand.NewPCG(1, uint64(w)))
					for range 200 {
						d.check(s, "a", 0, r.Int64N(64))
					}
				}()
			}
			group.Wait()
			require.Equal(t, int64(8), d.reads.Load())
			require.Equal(t, int64(8), s.Stats().Filled)
			require.Equal(t, int64(1600), s.Stats().Hits+s.Stats().Filled)
		})
	}
}

// What one process has taken in, the next one finds, without opening a source.
func TestResume(t *testing.T) {
	for _, kind := range kinds[1:] {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 16, 16)
			d.write("a", 0, 7)
			d.write("b", 0, 9)
			g := group(t, images("a"), images("b", 1, 2, 8))
			s, err := kind.create(d, g, 4, Everything)
			require.NoError(t, err)
			d.prefetch(s, g)
			require.NoError(t, s.Close())
			opens, reads := d.opens.Load(), d.reads.Load()

			s, err = kind.create(d, group(t, images("b", 8, 2, 1, 2), images("a")), 4, Everything)
			require.NoError(t, err)
			require.NoError(t, d.fs.Remove(ctx, "b"))
			d.check(s, "a", 0, upTo(7)...)
			d.check(s, "b", 0, 8, 1, 2)
			got := make([]byte, 1024)
			require.ErrorIs(t, s.ReadImages(ctx, "b", got, 0), fault.ErrNotFound)
			require.NoError(t, s.Close())

			require.NoError(t, d.fs.Remove(ctx, "a"))
			s, err = kind.create(d, g, 4, Everything)
			require.NoError(t, err)
			d.check(s, "a", 0, upTo(7)...)
			d.check(s, "b", 0, 8, 1, 2)
			require.Equal(t, int64(2), s.Stats().Missing)
			require.Equal(t, int64(0), s.Stats().SourceReads)
			require.NoError(t, s.Close())
			require.Equal(t, opens+1, d.opens.Load(), "only for what is not held")
			require.Equal(t, reads, d.reads.Load())
		})
	}
}

// Of many who make or replace a scratch at once, all share one file.
func TestMadeTogether(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	for _, locations := range [][]image.ImageLocation{images("a"), images("a", 1, 2), images("a", 3)} {
		g := group(t, locations)
		made := make(chan *ImageScratch)
		for range 8 {
			go func() {
				s, err := CreateMappedFileImageScratch(ctx, g, d.fs, "scr", 1, Everything, d.raw, waiting)
				if err != nil {
					panic(err)
				}
				made <- s
			}()
		}
		files := map[uint64]bool{}
		for range 8 {
			s := closing(t, <-made)
			info, err := s.shelf.(*fileShelf).f.Stat()
			require.NoError(t, err)
			files[info.Ino] = true
		}
		require.Len(t, files, 1)
	}
}

// A scratch of other locations at the same path is replaced, and gives what it
// has; what is no scratch is left alone.
func TestMappedReplaces(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	d.write("b", 0, 8)
	first := group(t, images("a"), images("b", 0, 1))
	s := d.mapped(first, 2, Everything, waiting)
	d.prefetch(s, first)
	require.NoError(t, s.Close())
	reads := d.reads.Load()

	second := d.mapped(group(t, images("a", 1, 2, 3, 4), images("b")), 2, Everything, waiting)
	d.check(second, "a", 0, 4, 1, 2, 3)
	d.check(second, "b", 0, 0, 1)
	require.Equal(t, reads, d.reads.Load())
	require.Equal(t, int64(3), second.Stats().Adopted)
	d.check(second, "b", 0, 2, 7)
	require.Equal(t, reads+2, d.reads.Load())

	require.NoError(t, d.fs.Remove(ctx, "scr"))
	for name, content := range map[string]string{"text": "mine", "long": string(make([]byte, 10000))} {
		f, err := d.fs.Open(ctx, name, readWrite|storage.OpenCreate)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte(content), 0)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		_, err = CreateMappedFileImageScratch(ctx, first, d.fs, name, 2, Everything, d.raw, waiting)
		require.ErrorIs(t, err, fault.ErrExists)
		info, err := d.fs.Stat(ctx, name)
		require.NoError(t, err)
		require.Equal(t, int64(len(content)), info.Size)
		o := waiting
		o.Overwrite = true
		s, err := CreateMappedFileImageScratch(ctx, first, d.fs, name, 2, Everything, d.raw, o)
		require.NoError(t, err)
		d.check(s, "a", 0, 3)
		require.NoError(t, s.Close())
	}
	f, err := d.fs.Open(ctx, "empty", readWrite|storage.OpenCreate)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	s, err = CreateMappedFileImageScratch(ctx, first, d.fs, "empty", 2, Everything, d.raw, waiting)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	names, err := d.fs.List(ctx, "")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "empty", "long", "text"}, names, "nothing is left behind")
}
