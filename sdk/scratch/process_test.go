//go:build unix

package scratch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/image"
)

// job is what another process is to do. It reads images in an order of its
// own, again and again, and writes a line for each.
type job struct {
	Dir       string // of the desk
	Files     int    // sources "a", "b", ...
	Images    int64  // of each
	Version   int
	Directory bool // the scratch is in "dir", else it is the file "scr"
	Budget    int64
	RunLength int64
	Seed      uint64
	Waits     bool // between opening and reading, for goOn
	Prefetch  bool
	Crash     string // end at the n-th time that this point is passed: "point:n"
}

const childJob = "SCRATCH_JOB"

func (j job) locations(t testing.TB) *image.ImageLocationGrouping {
	var all [][]image.ImageLocation
	for i := range j.Files {
		all = append(all, images(string(rune('a'+i))))
	}
	return group(t, all...)
}

func (j job) desk(t testing.TB) *desk {
	fs, err := file.OpenFS(j.Dir)
	require.NoError(t, err)
	return &desk{t, j.Dir, fs, &raw{fs: fs, rows: 32, cols: 32}}
}

func (j job) open(d *desk, g *image.ImageLocationGrouping) (*ImageScratch, error) {
	if j.Directory {
		return CreateDirectoryImageScratch(ctx, g, d.fs, "dir", j.RunLength, j.Budget, d.raw, waiting)
	}
	return CreateMappedFileImageScratch(ctx, g, d.fs, "scr", j.RunLength, j.Budget, d.raw, waiting)
}

// TestChild is the other process.
func TestChild(t *testing.T) {
	text := os.Getenv(childJob)
	if text == "" {
		t.Skip("for tests with several processes")
	}
	var j job
	require.NoError(t, json.Unmarshal([]byte(text), &j))
	crashAt(j.Crash)
	d, g := j.desk(t), j.locations(t)
	s, err := j.open(d, g)
	require.NoError(t, err)
	fmt.Println("open")
	if j.Waits {
		_, err := os.Stdin.Read(make([]byte, 1))
		require.NoError(t, err)
	}
	if j.Prefetch {
		require.NoError(t, PrefetchScratch(ctx, s, g, NewExecutor(2), nil).Wait(ctx))
		fmt.Println("full")
	}
	r := rand.New(rand.NewPCG(j.Seed, 1))
	for {
		for _, n := range r.Perm(j.Files * int(j.Images)) {
			d.check(s, string(rune('a'+n/int(j.Images))), j.Version, int64(n)%j.Images)
			fmt.Println(n)
		}
		if j.Crash != "" {
			return // the point was not passed
		}
	}
}

// child is a process that does a job.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err bytes.Buffer
}

func start(t testing.TB, j job) *child {
	text, err := json.Marshal(j)
	require.NoError(t, err)
	c := &child{Cmd: exec.Command(os.Args[0], "-test.run=^TestChild$")}
	c.Env = append(os.Environ(), childJob+"="+string(text))
	c.Stderr = &c.err
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	c.in, err = c.StdinPipe()
	require.NoError(t, err)
	c.out = bufio.NewReader(out)
	require.NoError(t, c.Start())
	t.Cleanup(func() { c.Process.Kill() })
	return c
}

// goOn lets a child go on that waits.
func (c *child) goOn(t testing.TB) {
	_, err := c.in.Write([]byte{'\n'})
	require.NoError(t, err)
}

// lines waits until the child has written n lines more.
func (c *child) lines(t testing.TB, n int) {
	for range n {
		line, err := c.out.ReadString('\n')
		if err != nil {
			rest, _ := io.ReadAll(c.out)
			require.FailNow(t, "the other process ended", "%s%s%s", line, rest, c.err.String())
		}
	}
}

// kill ends it as if the power of the process were cut. Its having ended
// before, for whatever reason, is a failure.
func (c *child) kill(t testing.TB) {
	require.NoError(t, c.Process.Kill())
	rest, _ := io.ReadAll(c.out)
	err := c.Wait()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		require.FailNow(t, "it was not the kill that ended it", "%v: %s%s", err, rest, c.err.String())
	}
}

// rounds is how often processes are killed; SCRATCH_KILLS has another number.
func rounds(t testing.TB, usual int) int {
	if n, err := strconv.Atoi(os.Getenv("SCRATCH_KILLS")); err == nil {
		return n
	}
	return usual
}

// Two processes over one file are killed at any time, again and again, one by
// one or both. Nobody ever sees a wrong pixel, and the next go on with what is
// there.
func TestKilled(t *testing.T) {
	d := newDesk(t, 32, 32)
	j := job{Dir: d.dir, Files: 3, Images: 256, Budget: Everything, RunLength: 4}
	r := rand.New(rand.NewPCG(7, 7))
	present, resumed := int64(0), 0
	for round := range rounds(t, 10) {
		if round%8 == 0 { // from nothing
			j.Version = round
			for i := range j.Files {
				d.write(string(rune('a'+i)), j.Version, j.Images)
			}
			present = 0
			if round%16 == 0 {
				d.fs.Remove(ctx, "scr")
			}
		}
		j.Seed = uint64(2 * round)
		first := start(t, j)
		j.Seed++
		second := start(t, j)
		second.lines(t, 1+r.IntN(200))
		first.lines(t, 1+r.IntN(100))
		first.kill(t)
		if round%2 == 0 {
			second.lines(t, r.IntN(100))
		}
		second.kill(t)

		s, err := j.open(d, j.locations(t))
		require.NoError(t, err)
		now := s.Stats().Present
		require.GreaterOrEqual(t, now, present, "what was taken in stays")
		if now > present && present > 0 {
			resumed++
		}
		present = now
		for i := range j.Files {
			key := string(rune('a' + i))
			for r := range s.layout.all(Everything) {
				if r.key.name == key && s.shelf.has(r) {
					d.check(s, key, j.Version, r.pos, r.pos+r.count-1)
				}
			}
		}
		require.Zero(t, s.Stats().SourceReads, "and is right")
		require.Zero(t, s.Stats().Damaged)
		require.NoError(t, s.Close())
	}
	t.Logf("%d rounds; %d went on with what was there", rounds(t, 10), resumed)
	require.Positive(t, resumed)
	s, err := j.open(d, j.locations(t))
	require.NoError(t, err)
	d.prefetch(s, j.locations(t))
	require.Equal(t, int64(3*256), s.Stats().Present, "no run is stuck")
	require.NoError(t, s.Close())
}

// The same with jobs over one directory that has no room for both.
func TestKilledInDirectory(t *testing.T) {
	d := newDesk(t, 32, 32)
	const all = 256 * page
	for _, key := range []string{"a", "b"} {
		d.write(key, 0, 128)
	}
	r := rand.New(rand.NewPCG(8, 8))
	for round := range rounds(t, 6) {
		j := job{Dir: d.dir, Files: 1 + round%2, Images: 128, Directory: true, RunLength: 4, Budget: all + 30*page}
		j.Seed = uint64(2 * round)
		first := start(t, j)
		j.Files, j.Seed = 2, j.Seed+1
		if round%3 == 0 {
			j.RunLength = 8
		}
		second := start(t, j)
		first.lines(t, 1+r.IntN(200))
		second.lines(t, 1+r.IntN(200))
		require.LessOrEqual(t, d.taken("dir"), j.Budget)
		first.kill(t)
		second.lines(t, r.IntN(50)) // nothing of it is gone
		require.LessOrEqual(t, d.taken("dir"), j.Budget)
		second.kill(t)
		// A third job has all the room.
		s, err := j.open(d, j.locations(t))
		require.NoError(t, err)
		d.prefetch(s, j.locations(t))
		require.Equal(t, int64(256), s.Stats().Present)
		d.check(s, "a", 0, upTo(128)...)
		require.LessOrEqual(t, d.taken("dir"), j.Budget)
		require.NoError(t, s.Close())
		require.Len(t, d.ours("dir"), len(d.scratches("dir")), "nothing unfinished is left")
	}
}

// A process that stands still in the middle of taking in a run keeps nobody
// from reading, and its claim goes with it.
func TestStopped(t *testing.T) {
	d := newDesk(t, 32, 32)
	d.write("a", 0, 8)
	g := group(t, images("a"))
	s := d.mapped(g, 4, Everything, waiting)
	other, err := d.fs.Open(ctx, "scr", readWrite)
	require.NoError(t, err)
	_, err = other.LockRange(lockRun+1, 2)
	require.NoError(t, err)
	d.check(s, "a", 0, upTo(8)...)
	d.prefetch(s, g)
	st := s.Stats()
	require.Equal(t, int64(4), st.Present)
	require.Equal(t, int64(5), st.Bypassed)
	require.NoError(t, other.Close())
	d.check(s, "a", 0, 5)
	require.Equal(t, int64(8), s.Stats().Present)
}

// Two processes that fill one file at the same time read every run of the
// sources once, or nearly so, and each sees what the other took in.
func TestTwoFill(t *testing.T) {
	d := newDesk(t, 32, 32)
	j := job{Dir: d.dir, Files: 3, Images: 256, Budget: Everything, RunLength: 4, Prefetch: true}
	for i := range j.Files {
		d.write(string(rune('a'+i)), 0, j.Images)
	}
	s, err := j.open(d, j.locations(t))
	require.NoError(t, err)
	closing(t, s)
	c := start(t, j)
	c.lines(t, 1)
	require.NoError(t, PrefetchScratch(ctx, s, j.locations(t), NewExecutor(2), nil).Wait(ctx))
	c.lines(t, 200)
	for i := range j.Files {
		d.check(s, string(rune('a'+i)), 0, upTo(256)...)
	}
	require.Equal(t, int64(768), s.Stats().Present)
	c.kill(t)
}
