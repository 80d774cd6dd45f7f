//go:build unix

package host_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/clock"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/storage"
)

const (
	stacks, perStack = 4, 48
	side             = 32
	runLength        = 4
	childDir         = "GRIDHOLD_HOST_SCRATCH"
)

// pixelsOf are those of the n-th image of all: each tells which it is and
// where it lies in it.
func pixelsOf(n int) []byte {
	b := make([]byte, side*side*4)
	for i := range side * side {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(n*side*side+i))
	}
	return b
}

func stackKey(n int) string { return string(rune('a'+n/perStack)) + ".mrcs" }

func writeStacks(t *testing.T, dir string) {
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	for s := range stacks {
		f, err := fs.Open(t.Context(), stackKey(s*perStack), storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
		require.NoError(t, err)
		w, err := image.NewMRCWriter(f, image.MRCLayout{Type: image.Float32, Columns: side, Rows: side})
		require.NoError(t, err)
		for i := range perStack {
			require.NoError(t, w.Write(t.Context(), pixelsOf(s*perStack+i)))
		}
		require.NoError(t, w.Finish(t.Context()))
		require.NoError(t, f.Close())
	}
}

func allImages(t testing.TB) *image.ImageLocationGrouping {
	g, err := image.GroupLocations(func(yield func(image.ImageLocation) bool) {
		for n := range stacks * perStack {
			yield(image.ImageLocation{Key: stackKey(n), Index: int64(n % perStack)})
		}
	})
	require.NoError(t, err)
	return g
}

func nativeScratch(t testing.TB, fs storage.FS) *scratch.ImageScratch {
	s, err := scratch.CreateMappedFileImageScratch(context.Background(), allImages(t), fs, "scr", runLength, scratch.Everything,
		image.Files(fs, image.FilesOptions{}), scratch.Options{Clock: clock.System{}})
	require.NoError(t, err)
	return s
}

// TestScratchWriter is another process: natively, it reads images through the
// scratch, and so takes them in, one for each number that it is told.
func TestScratchWriter(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("for tests with several processes")
	}
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	s := nativeScratch(t, fs)
	fmt.Println("open")
	in := bufio.NewScanner(os.Stdin)
	got := make([]byte, side*side*4)
	for in.Scan() {
		var n int
		_, err := fmt.Sscan(in.Text(), &n)
		require.NoError(t, err)
		require.NoError(t, s.ReadImages(context.Background(), stackKey(n), got, int64(n%perStack)))
		require.Equal(t, pixelsOf(n), got)
		st := s.Stats()
		fmt.Println(st.Filled, st.Bypassed, st.Damaged)
	}
	require.NoError(t, s.Close())
}

// writer is such a process.
type writer struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startWriter(t *testing.T, dir string) *writer {
	w := &writer{Cmd: exec.Command(os.Args[0], "-test.run=^TestScratchWriter$")}
	w.Env = append(os.Environ(), childDir+"="+dir)
	w.Stderr = os.Stderr
	out, err := w.StdoutPipe()
	require.NoError(t, err)
	w.in, err = w.StdinPipe()
	require.NoError(t, err)
	w.out = bufio.NewReader(out)
	require.NoError(t, w.Start())
	t.Cleanup(func() { _ = w.Process.Kill() })
	require.Equal(t, "open", w.line(t))
	return w
}

func (w *writer) line(t *testing.T) string {
	line, err := w.out.ReadString('\n')
	require.NoError(t, err, line)
	return strings.TrimSpace(line)
}

func (w *writer) tell(t *testing.T, n int) {
	_, err := fmt.Fprintln(w.in, n)
	require.NoError(t, err)
}

// counts are what a writer answers: runs that it took in, reads past a claim
// of another, damage that it found.
func (w *writer) counts(t *testing.T) (filled, bypassed, damaged int) {
	_, err := fmt.Sscan(w.line(t), &filled, &bypassed, &damaged)
	require.NoError(t, err)
	return filled, bypassed, damaged
}

func guestScratch(t *testing.T, s *host.Sandbox, fs storage.FS, o scratch.Options) *host.Scratch {
	c, err := s.CreateMappedFileImageScratch(t.Context(), allImages(t), fs, "scr", runLength, scratch.Everything, s.Images(fs, image.FilesOptions{}), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// The guest reads a scratch while three native processes fill it, one of which
// is killed on the way: never a wrong pixel, each run is taken in, and in the
// end all of it comes from there.
func TestGuestSharesScratch(t *testing.T) {
	dir := t.TempDir()
	writeStacks(t, dir)
	writers := []*writer{startWriter(t, dir), startWriter(t, dir), startWriter(t, dir)}
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	s := newSandbox(t, host.Config{})
	c := guestScratch(t, s, fs, scratch.Options{})
	r := rand.New(rand.NewPCG(7, 11))
	total := stacks * perStack
	orders := [][]int{r.Perm(total), r.Perm(total), r.Perm(total), r.Perm(total)}
	got := make([]byte, side*side*4)
	var filled [3]int
	for i := range total {
		for w := range writers {
			if writers[w] != nil {
				writers[w].tell(t, orders[w][i]) // and not waited for
			}
		}
		n := orders[3][i]
		require.NoError(t, c.ReadImages(t.Context(), stackKey(n), got, int64(n%perStack)))
		require.Equal(t, pixelsOf(n), got, "image %d", n)
		if i == total/3 {
			require.NoError(t, writers[2].Process.Kill()) // whatever it is at
			_ = writers[2].Wait()
			writers[2] = nil
		}
		for w := range writers {
			if writers[w] != nil {
				var damaged int
				filled[w], _, damaged = writers[w].counts(t)
				require.Zero(t, damaged)
			}
		}
	}
	st, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Zero(t, st.Damaged+st.Unreadable)
	require.Positive(t, st.Filled, "the guest takes in its share")
	require.Positive(t, filled[0]+filled[1])
	require.Equal(t, st.Eligible, st.Present)
	t.Logf("the guest took in %d runs, the processes %v; it read past claims %d times", st.Filled, filled, st.Bypassed)

	batch := make([]image.ImageLocation, 0, total)
	for _, n := range orders[0] {
		batch = append(batch, image.ImageLocation{Key: stackKey(n), Index: int64(n % perStack)})
	}
	all := make([]byte, total*len(got))
	require.NoError(t, c.ReadBatch(t.Context(), all, batch))
	places, err := c.Locate(t.Context(), batch)
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(dir, "scr"))
	require.NoError(t, err)
	for i, n := range orders[0] {
		require.Equal(t, pixelsOf(n), all[i*len(got):(i+1)*len(got)])
		p := places[i]
		require.Equal(t, pixelsOf(n), raw[p.Off:p.Off+p.Len])
		require.Equal(t, p.RunWord, binary.LittleEndian.Uint64(raw[p.RunAt:]))
		require.Equal(t, p.KeyWord, binary.LittleEndian.Uint64(raw[p.KeyAt:]))
	}
	after, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, st.SourceReads, after.SourceReads, "all of it is there")
	checked, err := s.VerifyScratch(t.Context(), fs, "scr", func(d scratch.Damage) { require.Fail(t, "damaged", "%v", d) })
	require.NoError(t, err)
	require.EqualValues(t, 1+after.Runs, checked)

	// A run whose pixels are wrong is found by the guest, and taken in anew.
	f, err := os.OpenFile(filepath.Join(dir, "scr"), os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{255, 254}, places[0].Off+8)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	fresh := guestScratch(t, s, fs, scratch.Options{})
	require.NoError(t, fresh.ReadBatch(t.Context(), all, batch))
	require.Equal(t, pixelsOf(orders[0][0]), all[:len(got)])
	st, err = fresh.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, st.Damaged)
	require.EqualValues(t, 1, st.Filled)
}

// pausing is a file system that calls while before it reads pixels of a stack.
type pausing struct {
	storage.FS
	mu     sync.Mutex
	before func()
}

func (p *pausing) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	f, err := p.FS.Open(ctx, name, flags)
	if err != nil || !strings.HasSuffix(name, ".mrcs") {
		return f, err
	}
	return &pausingFile{f, p}, nil
}

type pausingFile struct {
	storage.File
	fs *pausing
}

func (f *pausingFile) ReadAt(b []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	before := f.fs.before
	if off >= 1024 {
		f.fs.before = nil
	} else {
		before = nil
	}
	f.fs.mu.Unlock()
	if before != nil {
		before()
	}
	return f.File.ReadAt(b, off)
}

// While the guest takes in a run, another process reads past it, and the other
// way round: neither waits, neither takes in what the other is at.
func TestGuestClaims(t *testing.T) {
	dir := t.TempDir()
	writeStacks(t, dir)
	plain, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer plain.Close()
	fs := &pausing{FS: plain}
	w := startWriter(t, dir)
	c := guestScratch(t, newSandbox(t, host.Config{}), fs, scratch.Options{})
	native := nativeScratch(t, fs)
	defer native.Close()
	got := make([]byte, side*side*4)

	called := false
	fs.before = func() { // the guest has claimed the first run
		called = true
		w.tell(t, 1)
		filled, bypassed, _ := w.counts(t)
		require.Equal(t, []int{0, 1}, []int{filled, bypassed})
	}
	require.NoError(t, c.ReadImages(t.Context(), "a.mrcs", got, 0))
	require.Equal(t, pixelsOf(0), got)
	require.True(t, called)
	w.tell(t, 2)
	filled, bypassed, _ := w.counts(t)
	require.Equal(t, []int{0, 1}, []int{filled, bypassed}, "it is there now")

	called = false
	fs.before = func() { // the native one has claimed the second run
		called = true
		require.NoError(t, c.ReadImages(t.Context(), "a.mrcs", got, runLength))
		require.Equal(t, pixelsOf(runLength), got)
	}
	mine := make([]byte, len(got))
	require.NoError(t, native.ReadImages(t.Context(), "a.mrcs", mine, runLength+1))
	require.Equal(t, pixelsOf(runLength+1), mine)
	require.True(t, called)
	st, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, st.Bypassed)
	require.EqualValues(t, 1, st.Filled)
}

// A scratch in the guest's memory, one in a directory, and what is about
// files of scratches.
func TestGuestScratches(t *testing.T) {
	dir := t.TempDir()
	writeStacks(t, dir)
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	s := newSandbox(t, host.Config{})
	files, g := s.Images(fs, image.FilesOptions{}), allImages(t)
	memory, err := s.CreateHostImageScratch(t.Context(), g, runLength, scratch.Everything, files, scratch.Options{})
	require.NoError(t, err)
	shared, err := s.CreateDirectoryImageScratch(t.Context(), g, fs, "dir", runLength, scratch.Everything, files, scratch.Options{})
	require.NoError(t, err)
	for _, c := range []*host.Scratch{memory, shared} {
		var seen []int
		require.NoError(t, c.Prefetch(t.Context(), func(done, files int) { seen = append(seen, done, files) }))
		require.Equal(t, []int{1, 4, 2, 4, 3, 4, 4, 4}, seen)
		st, err := c.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, stacks*perStack, st.Present)
		got := make([]byte, perStack*side*side*4)
		require.NoError(t, c.ReadImages(t.Context(), "c.mrcs", got, 0))
		require.Equal(t, pixelsOf(2*perStack+5), got[5*side*side*4:][:side*side*4])
		after, err := c.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, st.SourceReads, after.SourceReads)
		is, err := c.Describe(t.Context(), "d.mrcs")
		require.NoError(t, err)
		require.Equal(t, []int64{perStack, side, side}, is.Shape)
		require.ErrorIs(t, c.ReadImages(t.Context(), "e.mrcs", got, 0), fault.ErrInvalid)
		require.ErrorIs(t, c.ReadImages(t.Context(), "a.mrcs", got[:side*side*4], perStack), fault.ErrOutOfRange)
		require.ErrorIs(t, c.ReadBatch(t.Context(), got, []image.ImageLocation{{Key: "a.mrcs"}}), fault.ErrInvalid)
	}
	all, err := s.ListScratches(t.Context(), fs, "dir")
	require.NoError(t, err)
	want, err := scratch.List(t.Context(), fs, "dir")
	require.NoError(t, err)
	require.True(t, slices.EqualFunc(want, all, func(a, b scratch.Status) bool { return a.LastUsed.Equal(b.LastUsed) && a.Present == b.Present }))
	require.True(t, all[0].InUse)
	one, err := s.InspectScratch(t.Context(), fs, all[0].Name)
	require.NoError(t, err)
	require.EqualValues(t, stacks*perStack, one.Present)

	// What a guest held is free when it is dead, and held again by the next.
	require.Error(t, s.Trap())
	one, err = scratch.Inspect(t.Context(), fs, all[0].Name)
	require.NoError(t, err)
	require.False(t, one.InUse)
	require.NoError(t, shared.ReadImages(t.Context(), "b.mrcs", make([]byte, side*side*4), 0))
	one, err = scratch.Inspect(t.Context(), fs, all[0].Name)
	require.NoError(t, err)
	require.True(t, one.InUse)
	gone, err := s.CollectScratches(t.Context(), fs, "dir", 0)
	require.NoError(t, err)
	require.Empty(t, gone.Removed, "it is in use")
	require.NoError(t, shared.Close())
	gone, err = s.CollectScratches(t.Context(), fs, "dir", 0)
	require.NoError(t, err)
	require.Equal(t, []string{all[0].Name}, gone.Removed)
	require.NoError(t, memory.Close())
	require.ErrorIs(t, memory.ReadImages(t.Context(), "a.mrcs", nil, 0), fault.ErrClosed)
	require.Zero(t, s.Files())
	require.Zero(t, s.Handles())

	small := newSandbox(t, host.Config{Memory: 16 << 20})
	_, err = small.CreateMappedFileImageScratch(t.Context(), g, fs, "wide", 1<<30, scratch.Everything, small.Images(fs, image.FilesOptions{}), scratch.Options{})
	require.NoError(t, err, "a run is no longer than its stack")
	_, err = s.CreateMappedFileImageScratch(t.Context(), g, fs, "a.mrcs", runLength, scratch.Everything, files, scratch.Options{})
	require.ErrorIs(t, err, fault.ErrExists)
	_, err = s.CreateMappedFileImageScratch(t.Context(), g, fs, "scr", 0, scratch.Everything, files, scratch.Options{})
	require.ErrorIs(t, err, fault.ErrInvalid)
}
