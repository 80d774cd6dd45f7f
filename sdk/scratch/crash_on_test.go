//go:build unix && gridhold_crash

package scratch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// crashAt makes this process kill itself when it passes a point for the n-th
// time ("point:n").
func crashAt(where string) {
	point, n, ok := strings.Cut(where, ":")
	if !ok {
		return
	}
	count, err := strconv.Atoi(n)
	if err != nil {
		panic(err)
	}
	var passed atomic.Int64
	Crash = func(p string) {
		if p == point && passed.Add(1) == int64(count) {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// TestCrashPoints kills a process at every point where a scratch changes, for
// the first and for a later time, with another process over the same scratch.
// Whoever is left, and whoever comes next, sees right pixels only; and the
// next can take in everything.
func TestCrashPoints(t *testing.T) {
	for _, point := range []string{
		"made", "header written", "synced", "named", "claimed", "wiped", "half written", "written", "published",
		"stamp written", "stamp published", "removed", "given up", "cut",
	} {
		for _, n := range []int{1, 3} {
			for _, directory := range []bool{false, true} {
				where := fmt.Sprintf("%s:%d", point, n)
				t.Run(fmt.Sprintf("%s/%v", where, directory), func(t *testing.T) { crashPoint(t, where, directory) })
			}
		}
	}
}

func crashPoint(t *testing.T, where string, directory bool) {
	d := newDesk(t, 32, 32)
	j := job{Dir: d.dir, Files: 2, Images: 32, Budget: Everything, RunLength: 4, Directory: directory}
	write := func(version int) {
		j.Version = version
		for i := range j.Files {
			d.write(string(rune('a'+i)), version, j.Images)
		}
	}
	write(0)
	version := 0
	point, _, _ := strings.Cut(where, ":")
	var other *child
	beside := func() { // it has the scratch open, and goes on after the crash
		k := j
		k.Version = version
		k.Waits = true
		other = start(t, k)
		other.lines(t, 1)
	}
	switch point {
	case "claimed", "half written", "written", "published":
		beside()
	case "wiped", "stamp written", "stamp published":
		s, err := j.open(d, j.locations(t))
		require.NoError(t, err)
		d.prefetch(s, j.locations(t))
		require.NoError(t, s.Close())
		if point == "wiped" {
			version = 1
			beside()
		}
		write(1) // what is there is of another time
	case "removed", "given up", "cut":
		// Only in directories: others, and a larger budget, were there before.
		for files := 3; files > 1; files-- {
			k := j
			k.Files, k.Directory = files, true
			if files == 3 {
				d.write("c", 0, 32)
			}
			s, err := k.open(d, k.locations(t))
			require.NoError(t, err)
			d.prefetch(s, k.locations(t))
			require.NoError(t, s.Close())
		}
		j.Budget = 50 * page
	}
	c := start(t, with(j, where))
	rest, _ := io.ReadAll(c.out)
	err := c.Wait()
	var ended *exec.ExitError
	switch {
	case err == nil: // it did not come there so often
		require.Contains(t, string(rest), "PASS")
		if strings.HasSuffix(where, ":1") {
			require.Contains(t, []string{"removed", "given up", "cut"}, point, "every scratch comes there")
			require.False(t, directory, "every directory comes there")
		}
	case !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL:
		require.FailNow(t, "it was not the crash that ended it", "%v: %s%s", err, rest, c.err.String())
	}
	if other != nil {
		other.goOn(t)
		other.lines(t, 64) // all of them
		other.kill(t)
	}
	s, err := j.open(d, j.locations(t))
	require.NoError(t, err)
	for range 2 {
		for i := range j.Files {
			d.check(s, string(rune('a'+i)), j.Version, upTo(j.Images)...)
		}
	}
	d.prefetch(s, j.locations(t))
	require.Equal(t, s.Stats().Eligible, s.Stats().Present, "no run is stuck")
	require.NoError(t, s.Close())
	names, err := d.fs.List(ctx, "")
	require.NoError(t, err)
	for _, name := range names {
		require.NotContains(t, name, temporaryMark, "nothing unfinished is left")
	}
	if directory {
		require.LessOrEqual(t, d.taken("dir"), j.Budget)
		require.Len(t, d.ours("dir"), len(d.scratches("dir")), "nothing unfinished is left")
	}
}

func with(j job, where string) job {
	j.Crash = where
	return j
}
