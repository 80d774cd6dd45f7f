package scratch

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// What the model check found, made short.

// bench is a scratch on a disk, of one source that is elsewhere.
type bench struct {
	*workshop
	o Options
}

func newBench(t *testing.T) *bench {
	clock := storage.NewManualClock(time.Now().Add(time.Hour))
	clock.Skip()
	w := &workshop{t: t, clock: clock, sources: storage.NewMemoryFS(0), versions: map[string]int{}, counts: map[string]int64{"a": 8}, disk: faultfs.NewDisk(0)}
	w.raw = &raw{fs: w.sources, rows: side, cols: side}
	w.write("a", false)
	return &bench{w, Options{Clock: clock, Revalidate: 1}}
}

func (b *bench) change() {
	b.versions["a"]++
	b.write("a", true)
	b.clock.Advance(time.Second)
}

func (b *bench) make(fs storage.FS) *ImageScratch {
	b.t.Helper()
	s, err := CreateMappedFileImageScratch(ctx, b.locations(), fs, "scr", 2, Everything, b.raw, b.o)
	require.NoError(b.t, err)
	return s
}

func (b *bench) locations() *image.ImageLocationGrouping { return group(b.t, images("a")) }

// reads reads all images and says which version they are of.
func (b *bench) reads(s *ImageScratch) {
	b.t.Helper()
	got := make([]byte, 8*4*side*side)
	require.NoError(b.t, s.ReadImages(ctx, "a", got, 0))
	require.True(b.t, b.pixels("a", b.versions["a"], 0, 8) == string(got), "not version %d", b.versions["a"])
}

// A run that outlived a loss of power, and the stamp of its generation did not,
// is of none that comes later.
func TestGenerationIsLost(t *testing.T) {
	b := newBench(t)
	s := b.make(b.disk)
	b.reads(s)
	b.disk.SyncAll()
	b.change()
	b.reads(s)
	b.change()
	for seed := range uint64(300) {
		s := b.make(b.disk.Cut(rand.New(rand.NewPCG(seed, 0))))
		b.reads(s)
		require.NoError(t, s.Close())
	}
	require.NoError(t, s.Close())
}

// A disk on which nothing works any more, or nothing can be written, keeps
// nobody from reading; and what it held of a source that changed is not given.
func TestDiskFails(t *testing.T) {
	for name, works := range map[string][]faultfs.Kind{"nothing works": nil, "read only": {faultfs.Read, faultfs.Stat}, "no locks": {faultfs.Read, faultfs.Stat, faultfs.Write}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			failing := false
			s := b.make(faultfs.New(func(op faultfs.Op) (f faultfs.Fault) {
				if failing && !slices.Contains(works, op.Kind) {
					f.Err = faultfs.Errno("EROFS")
				}
				return f
			}).FS(b.disk))
			b.reads(s)
			failing = true
			b.reads(s)
			for range 3 {
				b.change()
				b.reads(s)
				b.reads(s)
			}
			failing = false
			b.clock.Advance(time.Hour)
			b.reads(s)
			b.reads(s)
			require.NoError(t, s.Close())
		})
	}
}

// What is left of a file that was being made is removed, whatever a kill, a
// full disk or a loss of power made of its beginning.
func TestTornBeginnings(t *testing.T) {
	b := newBench(t)
	for i, tc := range []struct {
		content string
		gone    bool
	}{
		{"", true}, {magic[:1], true}, {magic, true}, {magic[:7], true}, {string(make([]byte, 5000)), true},
		{string(make([]byte, 512)) + "and then sectors that were written", true},
		{"somebody's", false}, {magic[:3] + "?", false}, {string(make([]byte, 300)) + "somebody's", false},
	} {
		name := ".scr.tmp-" + hexOf(uint64(i))
		f, err := b.disk.Open(ctx, name, storage.OpenWrite|storage.OpenCreate)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte(tc.content), 0)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		_ = b.disk.Remove(ctx, "scr")
		require.NoError(t, b.make(b.disk).Close())
		names, err := b.disk.List(ctx, "")
		require.NoError(t, err)
		require.Equal(t, !tc.gone, slices.Contains(names, name), "%d", i)
	}
}
