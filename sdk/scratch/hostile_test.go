package scratch

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/clock"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

// panicking is a provider that panics where it is told to.
type panicking struct {
	*raw
	key string
}

func (p *panicking) Open(ctx context.Context, key string) (image.Reader, error) {
	if key == p.key {
		panic("a provider's own")
	}
	return p.raw.Open(ctx, key)
}

// A provider that panics while files are looked at is an error, whatever else
// is being looked at, and leaves nothing behind.
func TestProviderPanics(t *testing.T) {
	d := newDesk(t, 16, 16)
	var all [][]image.ImageLocation
	for i := range 40 {
		key := string(rune('A'+i%26)) + string(rune('0'+i/26))
		d.write(key, 0, 4)
		all = append(all, images(key))
	}
	g := group(t, all...)
	for range 20 {
		p := &panicking{d.raw, "M0"}
		_, err := CreateHostImageScratch(ctx, g, 2, Everything, p, waiting)
		require.ErrorIs(t, err, fault.ErrInternal)
		require.ErrorContains(t, err, "a provider's own")
		_, err = CreateMappedFileImageScratch(ctx, g, d.fs, "scr", 2, Everything, p, waiting)
		require.ErrorIs(t, err, fault.ErrInternal)
	}
	names, err := d.fs.List(ctx, "")
	require.NoError(t, err)
	require.Len(t, names, 40, "no scratch and no part of one")
}

// absurd is a file of images that no machine holds. One that was not told to
// be so when it was laid out panics when it is asked.
type absurd struct{ is image.Description }

func (a *absurd) Open(context.Context, string) (image.Reader, error) { return a, nil }
func (a *absurd) ReadImages(context.Context, []byte, int64) error    { return nil }
func (a *absurd) Close() error                                       { return nil }
func (a *absurd) Describe() image.Description                        { return a.is }
func square(n int64) image.Description {
	return image.Description{Type: image.Int8, Shape: []int64{2, n, n}, CoreRank: 2, Count: 2, ImageShape: []int64{n, n}}
}

// What a file claims is no reason to ask for memory, and what goes wrong on the
// loader's goroutine ends the epoch, not the program.
func TestAbsurdSizes(t *testing.T) {
	for _, n := range []int64{1 << 20, 1 << 28, 1 << 31} {
		l, err := NewLoader(&absurd{square(n)}, LoaderOptions{})
		require.NoError(t, err)
		for _, ahead := range []int{-1, 1} {
			for b, err := range l.Batches(ctx, images("x", 0, 1), BatchOptions{Sampler: Sampler{Batch: 2}, Ahead: ahead}) {
				require.Nil(t, b)
				require.ErrorIs(t, err, fault.ErrLimit)
			}
		}
		err = l.ReadPatches(ctx, make([]byte, 4), images("x", 0)[0], []int64{2, 2}, [][]int64{{0, 0}}, 0)
		require.ErrorIs(t, err, fault.ErrLimit)
		require.NoError(t, l.Close())
	}
	l, err := NewLoader(&absurd{square(4)}, LoaderOptions{})
	require.NoError(t, err)
	n := 0
	l.files = nil // as good as anything that goes wrong in load
	e := &epoch{Loader: l, locations: images("x", 0, 1), o: BatchOptions{Sampler: Sampler{Batch: 1, Count: 2}}, order: []int64{-1, 0}, size: 16}
	e.ahead(ctx, 1, func(b *Batch, err error) bool {
		n++
		require.ErrorIs(t, err, fault.ErrInternal)
		return true
	})
	require.Equal(t, 1, n)
}

// Sizes as large as numbers are mean "all of it".
func TestSamplerOfEverything(t *testing.T) {
	s := Sampler{Count: 10, Batch: math.MaxInt64}
	require.Equal(t, int64(1), s.Batches())
	s.Shard, s.Shards = 3, math.MaxInt64
	require.NoError(t, s.Check())
	require.Equal(t, []int64{3}, s.Order(0))
	require.Equal(t, int64(1), s.Batches())
	s.Shard = 11
	require.Empty(t, s.Order(0))
	require.Zero(t, s.Batches())

	d := newDesk(t, 8, 8)
	d.write("a", 0, 10)
	l, err := NewLoader(d.raw, LoaderOptions{})
	require.NoError(t, err)
	defer l.Close()
	rows := 0
	for b, err := range l.Batches(ctx, images("a", upTo(10)...), BatchOptions{Sampler: Sampler{Batch: math.MaxInt64}}) {
		require.NoError(t, err)
		rows += len(b.Rows)
	}
	require.Equal(t, 10, rows)
}

// shifted is a clock that is put forth and back.
type shifted struct {
	clock.System
	by *time.Duration
}

func (c shifted) Now() time.Time { return c.System.Now().Add(*c.by) }

// A clock that is put back makes nothing last longer than it would have.
func TestClockPutBack(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	by := time.Duration(0)
	o := Options{Clock: shifted{by: &by}, Revalidate: time.Minute}
	s, err := CreateHostImageScratch(ctx, group(t, images("a")), 8, Everything, d.raw, o)
	require.NoError(t, err)
	closing(t, s)
	d.check(s, "a", 0, 3)
	d.write("a", 1, 8)
	d.check(s, "a", 0, 3) // it is believed for a minute
	by = -time.Hour
	d.check(s, "a", 1, 3)

	s.refuse(fault.New(fault.ErrNoSpace, "test", "", ""))
	require.True(t, s.space.pausing(s.sources.now()))
	by = -2 * time.Hour
	require.False(t, s.space.pausing(s.sources.now()))
}

// Overwrite spares the files that the images are in, under whatever name.
func TestOverwriteSparesSources(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	d.write("b", 0, 8)
	require.NoError(t, d.fs.Mkdir(ctx, "sub"))
	o := waiting
	o.Overwrite = true
	for _, path := range []string{"b", "sub/../b", "a"} {
		_, err := CreateMappedFileImageScratch(ctx, group(t, images("a"), images("b")), d.fs, path, 2, Everything, d.raw, o)
		require.ErrorIs(t, err, fault.ErrInvalid, path)
	}
	s := d.mapped(group(t, images("a"), images("b")), 2, Everything, waiting)
	d.check(s, "a", 0, upTo(8)...)
	d.check(s, "b", 0, upTo(8)...)
}

// A name that leads nowhere, and yet is taken, is nobody's race.
func TestDanglingLink(t *testing.T) {
	d := newDesk(t, 16, 16)
	if d.dir == "" {
		t.Skip("NOT TESTED: links, which are the system's")
	}
	d.write("a", 0, 8)
	require.NoError(t, os.Symlink("nowhere", filepath.Join(d.dir, "scr")))
	_, err := CreateMappedFileImageScratch(ctx, group(t, images("a")), d.fs, "scr", 2, Everything, d.raw, waiting)
	require.ErrorIs(t, err, fault.ErrExists)
	names, err := d.fs.List(ctx, "")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names, "links are not listed")
}

// What is not given is an error that says so, and holds nothing.
func TestNothingGiven(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	g := group(t, images("a"))
	_, err := CreateHostImageScratch(ctx, g, 2, Everything, nil, waiting)
	require.ErrorIs(t, err, fault.ErrInvalid)
	_, err = CreateMappedFileImageScratch(ctx, nil, d.fs, "scr", 2, Everything, d.raw, waiting)
	require.ErrorIs(t, err, fault.ErrInvalid)
	s := d.mapped(g, 2, Everything, waiting)
	require.ErrorIs(t, PrefetchScratch(ctx, s, nil, NewExecutor(1), nil).Wait(ctx), fault.ErrInvalid)
	require.ErrorIs(t, PrefetchScratch(ctx, s, g, nil, nil).Wait(ctx), fault.ErrInvalid)
	require.NoError(t, s.Close())
	require.Zero(t, s.holders.Load())
}
