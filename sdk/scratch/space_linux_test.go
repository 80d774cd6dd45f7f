package scratch

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// tight returns a file system of 1 MiB.
func tight(t *testing.T) (*file.FS, string) {
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: a file system that is full; only root may mount one")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("NOT TESTED: a file system that is full; mounting one: " + err.Error())
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { fs.Close() })
	return fs, dir
}

// Nothing that a full disk does is an error for who reads, or ends the
// program.
func TestFullDisk(t *testing.T) {
	for _, mapped := range []bool{true, false} {
		fs, dir := tight(t)
		d := newDesk(t, 64, 64) // 16 KiB an image
		d.write("a", 0, 100)
		d.write("b", 0, 20)
		g := group(t, images("a"), images("b"))
		clock := storage.NewManualClock(time.Now().Add(time.Minute))
		clock.Skip()
		o := Options{Clock: clock, NoMap: !mapped}
		s, err := CreateMappedFileImageScratch(ctx, g, fs, "scr", 4, Everything, d.raw, o)
		require.NoError(t, err)
		require.ErrorIs(t, PrefetchScratch(ctx, s, g, NewExecutor(2), nil).Wait(ctx), fault.ErrNoSpace)
		for range 2 {
			d.check(s, "a", 0, upTo(100)...)
			d.check(s, "b", 0, upTo(20)...)
		}
		st := s.Stats()
		require.Positive(t, st.NoSpace)
		require.Positive(t, st.Present)
		require.Less(t, st.Present, int64(64))
		t.Logf("%d of %d images held in 1 MiB, %d runs found no space", st.Present, st.Images, st.NoSpace)

		// Once there is room, it is used; not before a while has passed.
		refused := st.NoSpace
		d.check(s, "a", 0, 99)
		require.Equal(t, refused, s.Stats().NoSpace)
		require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=4m"))
		clock.Advance(backOff)
		d.prefetch(s, g)
		require.Equal(t, int64(120), s.Stats().Present)
		d.check(s, "a", 0, upTo(100)...)
		require.NoError(t, s.Close())
	}
}

// No room for the file itself, or for what is to be reserved: an error, and
// nothing is left behind.
func TestFullDiskAtOnce(t *testing.T) {
	fs, dir := tight(t)
	d := newDesk(t, 64, 64)
	d.write("a", 0, 100)
	g := group(t, images("a"))
	o := waiting
	o.Reserve = true
	empty := func(want ...string) {
		t.Helper()
		names, err := fs.List(ctx, "")
		require.NoError(t, err)
		require.Equal(t, append([]string{}, want...), names)
	}
	_, err := CreateMappedFileImageScratch(ctx, g, fs, "scr", 4, Everything, d.raw, o)
	require.ErrorIs(t, err, fault.ErrNoSpace)
	empty()
	s, err := CreateMappedFileImageScratch(ctx, g, fs, "scr", 4, 900<<10, d.raw, o)
	require.NoError(t, err)
	info, err := fs.Stat(ctx, "scr")
	require.NoError(t, err)
	require.GreaterOrEqual(t, info.Allocated, int64(800<<10))
	require.NoError(t, fill(filepath.Join(dir, "other"))) // what is reserved is left
	d.prefetch(s, g)
	require.Equal(t, s.Stats().Eligible, s.Stats().Present)
	require.Zero(t, s.Stats().NoSpace)
	require.NoError(t, s.Close())
	require.NoError(t, fs.Remove(ctx, "scr"))

	require.NoError(t, fill(filepath.Join(dir, "other")))
	for _, create := range []func() (*ImageScratch, error){
		func() (*ImageScratch, error) {
			return CreateMappedFileImageScratch(ctx, g, fs, "scr", 4, Everything, d.raw, waiting)
		},
		func() (*ImageScratch, error) {
			return CreateDirectoryImageScratch(ctx, g, fs, "", 4, 1<<30, d.raw, waiting)
		},
	} {
		_, err = create()
		require.ErrorIs(t, err, fault.ErrNoSpace)
	}
	empty(lockName, "other")
}

// fill makes a file take all that is left.
func fill(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, page))
	}
	return nil
}

// What is to be left free is left free.
func TestKeepFree(t *testing.T) {
	fs, _ := tight(t)
	d := newDesk(t, 64, 64)
	d.write("a", 0, 100)
	g := group(t, images("a"))
	o := waiting
	o.KeepFree = 400 << 10
	s, err := CreateDirectoryImageScratch(ctx, g, fs, "sub", 1, Everything, d.raw, o)
	require.NoError(t, err)
	closing(t, s)
	require.ErrorIs(t, PrefetchScratch(ctx, s, g, NewExecutor(1), nil).Wait(ctx), fault.ErrNoSpace)
	info, err := fs.StatFS(ctx, "")
	require.NoError(t, err)
	require.GreaterOrEqual(t, info.Free, o.KeepFree)
	require.Positive(t, s.Stats().Present)
	d.check(s, "a", 0, upTo(100)...)
}
