package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
)

// However the path of a file is written, and by whichever of the tables and
// stacks, its images are held once.
func TestScratchHoldsAFileOnce(t *testing.T) {
	dir, _, err := golden.LoadImages()
	require.NoError(t, err)
	b, err := os.ReadFile(filepath.Join(dir, "stack_named.mrc"))
	require.NoError(t, err)
	project := t.TempDir()
	stack := filepath.Join(project, "Extract", "job 7", "a.mrc")
	other := filepath.Join(project, "Extract", "a.mrc")
	require.NoError(t, os.MkdirAll(filepath.Dir(stack), 0o777))
	for _, name := range []string{stack, other} {
		require.NoError(t, os.WriteFile(name, b, 0o666))
	}
	link := filepath.Join(project, "Extract", "link.mrc")
	require.NoError(t, os.Symlink(other, link))
	table := func(name string, paths ...string) string {
		name = filepath.Join(project, name)
		text := "data_\nloop_\n_rlnImageName\n"
		for i, p := range paths {
			text += "'" + strconv.Itoa(i%2+1) + "@" + p + "'\n"
		}
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
		return name
	}
	// Four rows of one image and four of another, by five spellings.
	const plain = "Extract/job 7/a.mrc"
	rows := table("rows.star", plain, plain, "./"+plain, "Extract/../Extract//job 7/./a.mrc", stack, plain+":mrcs", plain, plain)
	below := table("Extract/below.star", plain, "job 7/a.mrc")
	two := table("two.star", "Extract/a.mrc", plain, link)
	nothing := table("Extract/nothing.star", "a.mrc")
	all := imagesOf(t, stack)
	for _, engine := range engines {
		for name, tc := range map[string]struct {
			images []string
			want   int64
			keys   int64
		}{
			"rows":                {[]string{rows}, 2, 1},
			"tables":              {[]string{rows, below}, 2, 1},
			"a stack":             {[]string{rows, stack}, all, 1},
			"a stack first":       {[]string{stack, rows}, all, 1},
			"two files":           {[]string{two}, 3, 3},
			"what two roots mean": {[]string{two, nothing}, 3, 3},
		} {
			if engine == "wasm" && name != "rows" && name != "a stack first" {
				continue // the rest is not the engine's
			}
			file := filepath.Join(t.TempDir(), "scr")
			status, out, errs := here(t, append([]string{"scratch", "fill", "--engine", engine, "--run-length", "1", "--json", file}, tc.images...)...)
			require.Equal(t, 0, status, "%s, %s: %s", engine, name, errs)
			var s struct{ Present, Images int64 }
			require.NoError(t, json.Unmarshal(out, &s))
			require.Equal(t, tc.want, s.Images, "%s, %s", engine, name)
			require.Equal(t, tc.want, s.Present, "%s, %s", engine, name)
			status, out, errs = here(t, "scratch", "status", "--json", file)
			require.Equal(t, 0, status, errs)
			var list []struct{ Keys int64 }
			require.NoError(t, json.Unmarshal(out, &list))
			require.Equal(t, tc.keys, list[0].Keys, "%s, %s", engine, name)
		}
	}
	// One path that means two files is an error.
	table("Extract/a.star", "x/a.mrc")
	far := filepath.Join(project, "far")
	for _, d := range []string{far, filepath.Join(project, "Extract")} {
		require.NoError(t, os.MkdirAll(filepath.Join(d, "x"), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(d, "x", "a.mrc"), b, 0o666))
	}
	status, _, errs := here(t, "scratch", "fill", filepath.Join(project, "scr"), filepath.Join(project, "Extract", "a.star"), table("far/a.star", "x/a.mrc"))
	require.Equal(t, 2, status)
	require.Contains(t, errs, "which lies elsewhere")
}
