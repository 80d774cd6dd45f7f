package image_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// counting counts what is open.
type counting struct {
	image.ReaderProvider
	opens, open, most atomic.Int64
	before            func(key string) error // nil: nothing
}

func (c *counting) Open(ctx context.Context, key string) (image.Reader, error) {
	c.opens.Add(1)
	if c.before != nil {
		if err := c.before(key); err != nil {
			return nil, err
		}
	}
	r, err := c.ReaderProvider.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	now := c.open.Add(1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	return counted{r.(image.FileReader), c}, nil
}

func (c *counting) Stat(ctx context.Context, key string) (storage.FileInfo, error) {
	return c.ReaderProvider.(image.Stater).Stat(ctx, key)
}

type counted struct {
	image.FileReader
	c *counting
}

func (c counted) Close() error {
	c.c.open.Add(-1)
	return c.FileReader.Close()
}

func TestKeepOpen(t *testing.T) {
	m, fs, _ := loadImages(t)
	var keys []string
	for _, f := range m.Files {
		if f.Expect == "ok" {
			keys = append(keys, f.File)
		}
	}
	c := &counting{ReaderProvider: image.Files(fs, image.FilesOptions{})}
	k := image.KeepOpen(c, 4)
	use := func(key string) {
		r, err := k.Open(ctx, key)
		require.NoError(t, err)
		require.NoError(t, r.ReadImages(ctx, make([]byte, r.Describe().ImageBytes()), 0))
		require.NoError(t, r.Close())
		require.NoError(t, r.Close()) // twice is fine, and counts once
	}
	for _, key := range keys {
		use(key)
		use(key)
	}
	require.Equal(t, int64(len(keys)), c.opens.Load())
	require.Equal(t, int64(4), c.open.Load())
	require.Equal(t, int64(4), c.most.Load())
	use(keys[len(keys)-4])
	require.Equal(t, int64(len(keys)), c.opens.Load())
	use(keys[0]) // the one of four that was used last stays
	use(keys[len(keys)-4])
	require.Equal(t, int64(len(keys)+1), c.opens.Load())

	// In use, files are not closed.
	var in []image.Reader
	for _, key := range keys[:6] {
		r, err := k.Open(ctx, key)
		require.NoError(t, err)
		in = append(in, r)
	}
	require.Equal(t, int64(6), c.open.Load())
	require.NoError(t, k.Close())
	for _, r := range in {
		require.NoError(t, r.ReadImages(ctx, make([]byte, r.Describe().ImageBytes()), 0))
		require.NoError(t, r.Close())
	}
	require.Zero(t, c.open.Load())
	_, err := k.Open(ctx, keys[0])
	require.ErrorIs(t, err, fault.ErrClosed)
}

// A file that another one has replaced is opened anew; whoever reads the old
// one reads on.
func TestKeepOpenNotices(t *testing.T) {
	_, fs, _ := loadImages(t)
	k := image.KeepOpen(image.Files(fs, image.FilesOptions{}), 4)
	defer k.Close()
	old, err := k.Open(ctx, "mode1_le_7x16x16.mrcs")
	require.NoError(t, err)
	defer old.Close()
	require.NoError(t, fs.Rename(ctx, "mode2_le_7x16x16.mrcs", "mode1_le_7x16x16.mrcs"))
	r, err := k.Open(ctx, "mode1_le_7x16x16.mrcs")
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, image.Float32, r.Describe().Type)
	require.Equal(t, image.Int16, old.Describe().Type)
	require.NoError(t, old.ReadImages(ctx, make([]byte, 512), 6))
	require.NoError(t, fs.Remove(ctx, "mode1_le_7x16x16.mrcs"))
	gone, err := k.Open(ctx, "mode1_le_7x16x16.mrcs") // it is open, so it can be read
	require.NoError(t, err)
	require.NoError(t, gone.Close())
}

// Objects that have changed are noticed by reading.
func TestKeepOpenNoticesStale(t *testing.T) {
	_, _, st := loadImages(t)
	k := image.KeepOpen(image.Objects(st, image.FilesOptions{}), 4)
	defer k.Close()
	other, _, err := storage.ReadAll(ctx, st, "mode2_le_7x16x16.mrcs", 1<<20)
	require.NoError(t, err)
	read := func() error {
		r, err := k.Open(ctx, "mode1_le_7x16x16.mrcs")
		require.NoError(t, err)
		defer r.Close()
		return r.ReadImages(ctx, make([]byte, r.Describe().ImageBytes()), 3)
	}
	require.NoError(t, read())
	st.Set("mode1_le_7x16x16.mrcs", other)
	require.ErrorIs(t, read(), fault.ErrStale)
	require.NoError(t, read())
}

// Many at once: one opening, and a failed one is not kept.
func TestKeepOpenTogether(t *testing.T) {
	_, fs, _ := loadImages(t)
	fails, tries, open := make(chan error), make(chan struct{}, 100), atomic.Bool{}
	c := &counting{ReaderProvider: image.Files(fs, image.FilesOptions{})}
	c.before = func(string) error {
		tries <- struct{}{}
		if open.Load() {
			return nil
		}
		return <-fails
	}
	k := image.KeepOpen(c, 4)
	defer k.Close()
	broken := errors.New("broken")
	var errs atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r, err := k.Open(ctx, "mode1_le_7x16x16.mrcs")
			if err != nil {
				errs.Add(1)
				return
			}
			r.Close()
		})
	}
	<-tries
	fails <- broken // to the first
	<-tries         // whoever comes next tries for itself
	open.Store(true)
	fails <- nil
	wg.Wait()
	require.Equal(t, int64(1), errs.Load())
	require.Equal(t, int64(2), c.opens.Load())

	// Who waits may leave.
	open.Store(false)
	c2, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		r, err := k.Open(ctx, "mode2_le_7x16x16.mrcs")
		if err == nil {
			err = r.Close()
		}
		done <- err
	}()
	<-tries
	cancel()
	_, err := k.Open(c2, "mode2_le_7x16x16.mrcs")
	require.ErrorIs(t, err, fault.ErrCancelled)
	fails <- nil
	require.NoError(t, <-done)
}
