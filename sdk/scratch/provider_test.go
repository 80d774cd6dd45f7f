package scratch

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/clock"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

var ctx = context.Background()

// waiting are options with a clock, so that sources written this instant are
// waited for.
var waiting = Options{Clock: clock.System{}}

// raw is a provider of files that are images of float32 and nothing else, and
// counts what is done to them.
type raw struct {
	fs    storage.FS
	rows  int64
	cols  int64
	opens atomic.Int64
	looks atomic.Int64
	reads atomic.Int64

	mu   sync.Mutex
	read func(key string, first int64) error // called before each read, if there is one
}

func (p *raw) Open(ctx context.Context, key string) (image.Reader, error) {
	p.opens.Add(1)
	f, err := p.fs.Open(ctx, key, storage.OpenRead)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n := info.Size / (4 * p.rows * p.cols)
	return &rawReader{p, key, f, image.Description{
		Type: image.Float32, Shape: []int64{n, p.rows, p.cols}, CoreRank: 2, Count: n, ImageShape: []int64{p.rows, p.cols},
	}}, nil
}

func (p *raw) Stat(ctx context.Context, key string) (storage.FileInfo, error) {
	p.looks.Add(1)
	return p.fs.Stat(ctx, key)
}

// before sets what is called before each read.
func (p *raw) before(do func(key string, first int64) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read = do
}

type rawReader struct {
	p   *raw
	key string
	f   storage.File
	is  image.Description
}

func (r *rawReader) Describe() image.Description { return r.is }
func (r *rawReader) File() storage.File          { return r.f }
func (r *rawReader) Close() error                { return r.f.Close() }

func (r *rawReader) Span(first, n int64) (storage.Range, bool) {
	return storage.Range{Off: first * r.is.ImageBytes(), Len: n * r.is.ImageBytes()}, r.p.read == nil
}

func (r *rawReader) ReadImages(ctx context.Context, dst []byte, first int64) error {
	r.p.reads.Add(1)
	r.p.mu.Lock()
	before := r.p.read
	r.p.mu.Unlock()
	if before != nil {
		if err := before(r.key, first); err != nil {
			return err
		}
	}
	if first*r.is.ImageBytes()+int64(len(dst)) > r.is.Bytes() {
		return fault.New(fault.ErrOutOfRange, "raw", r.key, "")
	}
	if _, err := r.f.ReadAt(dst, first*r.is.ImageBytes()); err != nil {
		return fault.New(fault.ErrCorrupt, "raw", r.key, "cut")
	}
	return nil
}

// desk is a directory with sources, as raw provides them.
type desk struct {
	t   testing.TB
	dir string
	fs  storage.FS
	*raw
}

func newDesk(t testing.TB, rows, cols int64) *desk {
	dir, fs := deskFS(t)
	return &desk{t, dir, fs, &raw{fs: fs, rows: rows, cols: cols}}
}

// pixel is what the first pixel of an image of a version of a source is; the
// others count up from there.
func pixel(key string, version int, index int64) float32 {
	n := 0
	for _, c := range key {
		n = n*31 + int(c)
	}
	return float32(n%97*100000 + version*10000 + int(index)*16)
}

// pixels are those of some images.
func (d *desk) pixels(key string, version int, indices ...int64) []byte {
	var b []byte
	for _, i := range indices {
		for p := range d.rows * d.cols {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(pixel(key, version, i)+float32(p%16)))
		}
	}
	return b
}

// write makes a source of n images, in place of one that is there.
func (d *desk) write(key string, version int, n int64) {
	f, err := d.fs.Open(ctx, key, readWrite|storage.OpenCreate|storage.OpenTruncate)
	require.NoError(d.t, err)
	_, err = f.WriteAt(d.pixels(key, version, upTo(n)...), 0)
	require.NoError(d.t, err)
	require.NoError(d.t, f.Close())
}

func upTo(n int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}

// images names images of a source; none: the whole of it.
func images(key string, indices ...int64) (all []image.ImageLocation) {
	for _, i := range indices {
		all = append(all, image.ImageLocation{Key: key, Index: i})
	}
	if all == nil {
		all = []image.ImageLocation{{Key: key, Index: image.WholeFile}}
	}
	return all
}

func group(t testing.TB, locations ...[]image.ImageLocation) *image.ImageLocationGrouping {
	g, err := image.GroupLocations(slices.Values(slices.Concat(locations...)))
	require.NoError(t, err)
	return g
}

// check reads images one by one, and holds them against a version.
func (d *desk) check(s *ImageScratch, key string, version int, indices ...int64) {
	d.t.Helper()
	for _, i := range indices {
		got := make([]byte, 4*d.rows*d.cols)
		require.NoError(d.t, s.ReadImages(ctx, key, got, i))
		if want := d.pixels(key, version, i); string(got) != string(want) {
			require.FailNow(d.t, "wrong pixels", "%s %d: begins with %v, not %v", key, i, firstPixel(got), firstPixel(want))
		}
	}
}

func firstPixel(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// prefetch takes everything in.
func (d *desk) prefetch(s *ImageScratch, g *image.ImageLocationGrouping) {
	d.t.Helper()
	require.NoError(d.t, PrefetchScratch(ctx, s, g, NewExecutor(2), nil).Wait(ctx))
}

func closing(t testing.TB, s *ImageScratch) *ImageScratch {
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func (d *desk) mapped(g *image.ImageLocationGrouping, runLength, maxSize int64, o Options) *ImageScratch {
	d.t.Helper()
	s, err := CreateMappedFileImageScratch(ctx, g, d.fs, "scr", runLength, maxSize, d.raw, o)
	require.NoError(d.t, err)
	return closing(d.t, s)
}

func (d *desk) directory(g *image.ImageLocationGrouping, runLength, budget int64, o Options) *ImageScratch {
	d.t.Helper()
	s, err := CreateDirectoryImageScratch(ctx, g, d.fs, "dir", runLength, budget, d.raw, o)
	require.NoError(d.t, err)
	return closing(d.t, s)
}
