//go:build unix

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/clock"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/storage"
)

func init() { children["scratch"] = goThroughScratch }

// The same numbers stand in peers/with_scratch.py.
const (
	scratchStacks = "abc"
	scratchCount  = 1000 // images of a stack
	scratchSide   = 16
	scratchRun    = 4
	scratchBatch  = 4
	scratchImage  = 4 * scratchSide * scratchSide
	scratchLine   = 8192 // bytes that are written for a batch
)

// scratchDesk is a directory with stacks and a scratch of them.
type scratchDesk struct {
	fs        *file.FS // all of the machine's
	dir       string
	locations []image.ImageLocation
}

func openScratchDesk(dir string) (*scratchDesk, error) {
	fs, err := file.OpenFS("/")
	if err != nil {
		return nil, err
	}
	d := &scratchDesk{fs: fs, dir: dir}
	for _, s := range scratchStacks {
		for i := range int64(scratchCount) {
			d.locations = append(d.locations, image.ImageLocation{Key: dir + "/" + string(s) + ".mrcs", Index: i})
		}
	}
	return d, nil
}

// pixels of the row-th location: they count up from the row.
func (d *scratchDesk) pixels(row int) (b []byte) {
	for i := range scratchSide * scratchSide {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(row+i)))
	}
	return b
}

func (d *scratchDesk) make(ctx context.Context) error {
	for s, name := range scratchStacks {
		f, err := d.fs.Open(ctx, (d.dir + "/" + string(name) + ".mrcs")[1:], storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
		if err != nil {
			return err
		}
		w, err := image.NewMRCWriter(f, image.MRCLayout{Type: image.Float32, Columns: scratchSide, Rows: scratchSide})
		for i := 0; i < scratchCount && err == nil; i++ {
			err = w.Write(ctx, d.pixels(s*scratchCount+i))
		}
		if err == nil {
			err = w.Finish(ctx)
		}
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (d *scratchDesk) open(ctx context.Context, o scratch.Options) (*scratch.ImageScratch, error) {
	g, err := image.GroupLocations(func(yield func(image.ImageLocation) bool) {
		for _, l := range d.locations {
			if !yield(l) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	o.Clock = clock.System{}
	files := image.Files(d.fs, image.FilesOptions{})
	return scratch.CreateMappedFileImageScratch(ctx, g, d.fs, d.dir[1:]+"/scr", scratchRun, scratch.Everything, files, o)
}

// goThroughScratch is what peers/with_scratch.py does, in Go.
func goThroughScratch(dir string) {
	ctx := context.Background()
	fail := func(why ...any) {
		fmt.Fprintln(os.Stderr, why...)
		os.Exit(1)
	}
	d, err := openScratchDesk(dir)
	if err != nil {
		fail(err)
	}
	s, err := d.open(ctx, scratch.Options{})
	if err != nil {
		fail(err)
	}
	p, err := scratch.ReaderProvider(s)
	if err != nil {
		fail(err)
	}
	l, err := scratch.NewLoader(p, scratch.LoaderOptions{})
	if err != nil {
		fail(err)
	}
	fmt.Println("open")
	dst, at := make([]byte, scratchBatch*scratchImage), make([]image.ImageLocation, scratchBatch)
	for {
		rows := rand.Perm(len(d.locations))[:scratchBatch]
		for i, r := range rows {
			at[i] = d.locations[r]
		}
		if err := l.ReadBatch(ctx, dst, at); err != nil {
			fail(err)
		}
		for i, r := range rows {
			if !bytes.Equal(dst[i*scratchImage:(i+1)*scratchImage], d.pixels(r)) {
				fail("wrong pixels of", at[i])
			}
		}
		fmt.Printf("%-*d\n", scratchLine, rows[0])
	}
}

// reader is a process that goes through the scratch.
type reader struct {
	cmd *exec.Cmd
	out *bufio.Reader
	err bytes.Buffer
}

func startReader(t *testing.T, dir string, inPython bool) *reader {
	t.Helper()
	r := new(reader)
	if inPython {
		r.cmd = exec.Command(python, "with_scratch.py", dir)
		r.cmd.Dir = "peers"
	} else {
		exe, err := os.Executable()
		require.NoError(t, err)
		r.cmd = exec.Command(exe)
		r.cmd.Env = append(os.Environ(), childRole+"=scratch", childDir+"="+dir)
	}
	r.cmd.Stderr = &r.err
	out, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	r.out = bufio.NewReader(out)
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() { r.cmd.Process.Kill() })
	r.lines(t, 1)
	return r
}

// lines waits for so many of its lines.
func (r *reader) lines(t *testing.T, n int) {
	t.Helper()
	for range n {
		if _, err := r.out.ReadString('\n'); err != nil {
			r.cmd.Wait()
			require.FailNow(t, "a reader ended", r.err.String())
		}
	}
}

// kill ends it; that it had ended before is a failure.
func (r *reader) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Kill())
	r.cmd.Wait()
	require.Equal(t, syscall.SIGKILL, r.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), r.err.String())
}

// Go and Python go through one scratch file, whose runs both take in, and are
// killed at any time. No pixel is ever wrong, what was taken in stays, and no
// run is stuck.
func TestScratchKills(t *testing.T) {
	requirePeers(t)
	ctx, dir := context.Background(), t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	d, err := openScratchDesk(dir)
	require.NoError(t, err)
	defer d.fs.Close()
	require.NoError(t, d.make(ctx))
	random := rand.New(rand.NewPCG(9, 9))
	readers := [2]*reader{} // Go, Python
	present, grew := int64(0), 0
	began, whole := time.Now(), *times(0, 1) == 1
	for round := range *times(6, 100) {
		if !whole && round >= 3 && time.Since(began) > 12*time.Second {
			break // the machine has other work, too
		}
		for i := range readers {
			if readers[i] == nil {
				readers[i] = startReader(t, dir, i == 1)
			}
		}
		for _, r := range readers {
			r.lines(t, 1+random.IntN(30))
		}
		for i, r := range readers {
			if round%3 == 2 || round%3 == i {
				r.kill(t)
				readers[i] = nil
			}
		}
		// Who only looks changes nothing; what is there is right.
		s, err := d.open(ctx, scratch.Options{ReadOnly: true})
		require.NoError(t, err)
		if now := s.Stats().Present; now > present {
			grew++
			present = now
		} else {
			require.Equal(t, present, now, "what was taken in stays")
		}
		got := make([]byte, scratchImage)
		for row, at := range d.locations {
			require.NoError(t, s.ReadImages(ctx, at.Key, got, at.Index))
			require.Equal(t, d.pixels(row), got)
		}
		require.Zero(t, s.Stats().Damaged)
		require.GreaterOrEqual(t, s.Stats().Hits, present)
		require.NoError(t, s.Close())
		if round%6 == 5 {
			require.NoError(t, os.Remove(filepath.Join(dir, "scr")))
			present = 0
		}
	}
	require.Greater(t, grew, 1, "they were killed while they took in")
	for _, r := range readers {
		if r != nil {
			r.kill(t)
		}
	}
	s, err := d.open(ctx, scratch.Options{})
	require.NoError(t, err)
	defer s.Close()
	all, err := image.GroupLocations(func(yield func(image.ImageLocation) bool) {
		for _, l := range d.locations {
			if !yield(l) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.NoError(t, scratch.PrefetchScratch(ctx, s, all, scratch.NewExecutor(2), nil).Wait(ctx))
	require.Equal(t, int64(len(d.locations)), s.Stats().Present)
	require.Zero(t, s.Stats().Damaged)
}
