package scratch

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A scratch over far more stacks than files may be open.
func TestFewDescriptors(t *testing.T) {
	if os.Getenv("SCRATCH_FEW") != "" {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}))
	} else {
		c := exec.Command(os.Args[0], "-test.run=^TestFewDescriptors$", "-test.v")
		c.Env = append(os.Environ(), "SCRATCH_FEW=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	d := newDesk(t, 8, 8)
	var all [][]image.ImageLocation
	for i := range 300 {
		key := strconv.Itoa(i)
		d.write(key, 0, 3)
		all = append(all, images(key))
	}
	g := group(t, all...)
	for _, kind := range kinds {
		s, err := kind.create(d, g, 2, Everything)
		require.NoError(t, err)
		for range 2 {
			for i := range 300 {
				d.check(s, strconv.Itoa(i*7%300), 0, 2, 0)
			}
		}
		require.Equal(t, int64(900), s.Stats().Present, kind.name)
		require.NoError(t, s.Close())
	}
}

// An image that lies beyond 4 GiB, in its file and in the scratch.
func TestFarAway(t *testing.T) {
	dir := t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	const side, count = 4096, 70 // 64 MiB an image
	d := &desk{t, dir, fs, &raw{fs: fs, rows: side, cols: side}}
	f, err := fs.Open(ctx, "far", readWrite|storage.OpenCreate)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(count*side*side*4))
	_, err = f.WriteAt([]byte("far away"), (count-1)*side*side*4)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	g := group(t, images("far"))
	s, err := CreateMappedFileImageScratch(ctx, g, fs, "scr", 1, Everything, d.raw, waiting)
	require.NoError(t, err)
	closing(t, s)
	got := make([]byte, side*side*4)
	for range 2 {
		require.NoError(t, s.ReadImages(ctx, "far", got, count-1))
		require.Equal(t, "far away", string(got[:8]))
	}
	require.Equal(t, int64(1), s.Stats().Hits)
	info, err := fs.Stat(ctx, "scr")
	require.NoError(t, err)
	require.Less(t, info.Allocated, int64(70<<20))
}

// A process that may write no files of the size of the scratch meets an error
// when it makes one, and leaves nothing behind; one that meets the limit while
// it takes images in reads on. No signal ends either.
func TestFileSizeLimit(t *testing.T) {
	if os.Getenv("SCRATCH_SMALL") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestFileSizeLimit$", "-test.v")
		c.Env = append(os.Environ(), "SCRATCH_SMALL=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	d := newDesk(t, 64, 64) // 16 KiB an image
	d.write("a", 0, 100)
	g := group(t, images("a"))
	s := d.mapped(g, 4, Everything, waiting)
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 3 << 19, Max: old.Max}))
	require.ErrorIs(t, PrefetchScratch(ctx, s, g, NewExecutor(1), nil).Wait(ctx), fault.ErrNoSpace)
	d.check(s, "a", 0, upTo(100)...)
	st := s.Stats()
	require.Positive(t, st.Present)
	require.Less(t, st.Present, int64(33))
	require.Positive(t, st.NoSpace)
	_, err := CreateMappedFileImageScratch(ctx, g, d.fs, "another", 4, Everything, d.raw, waiting)
	require.ErrorIs(t, err, fault.ErrNoSpace)
	_, err = CreateDirectoryImageScratch(ctx, g, d.fs, "dir", 4, 1<<30, d.raw, waiting)
	require.ErrorIs(t, err, fault.ErrNoSpace)
	names, err := d.fs.List(ctx, "")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "dir/", "scr"}, names)
	require.Empty(t, d.scratches("dir"))

	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	next := d.mapped(g, 4, Everything, waiting)
	d.prefetch(next, g)
	require.Equal(t, int64(100), next.Stats().Present)
	d.check(next, "a", 0, upTo(100)...)
}
