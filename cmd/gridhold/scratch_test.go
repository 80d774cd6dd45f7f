package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/scratch"
)

// stacks returns some good stacks of the fixtures, and a table that names the
// first image of each, and all of the first one.
func stacks(t *testing.T) (names []string, table string) {
	dir, m, err := golden.LoadImages()
	require.NoError(t, err)
	table = filepath.Join(t.TempDir(), "t.star")
	text := "data_\nloop_\n_rlnImageName\n"
	for _, f := range m.Files {
		if f.Expect == "ok" && strings.HasSuffix(f.File, ".mrcs") && len(f.SHA256) > 1 && len(names) < 4 {
			abs, err := filepath.Abs(filepath.Join(dir, f.File))
			require.NoError(t, err)
			names = append(names, abs)
			text += "1@" + abs + "\n"
			if len(names) == 1 {
				text += "2@" + abs + "\n1@" + abs + "\n"
			}
		}
	}
	require.Len(t, names, 4)
	require.NoError(t, os.WriteFile(table, []byte(text), 0o666))
	return names, table
}

func TestScratch(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) { testScratch(t, engine) })
	}
}

func testScratch(t *testing.T, engine string) {
	names, table := stacks(t)
	file := filepath.Join(t.TempDir(), "scr")
	run := func(want int, args ...string) (out, errs string) {
		t.Helper()
		status, text, errs := here(t, append([]string{"scratch", "--engine", engine}, args...)...)
		require.Equal(t, want, status, errs)
		if want != 0 {
			require.Regexp(t, `^gridhold: [^\n]+\n$`, errs)
		}
		return string(text), errs
	}
	out, _ := run(0, "create", file, names[0], names[1])
	require.Contains(t, out, "held: 0 of")
	var list []struct {
		Images, Present, Keys int64
		InUse                 bool `json:"in_use"`
	}
	out, _ = run(0, "status", "--json", file)
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list, 1)
	require.Equal(t, int64(2), list[0].Keys)
	require.Zero(t, list[0].Present)
	require.False(t, list[0].InUse)
	all := list[0].Images

	out, _ = run(0, "fill", "--json", file, names[0], names[1])
	var s struct{ Present, Filled, Images int64 }
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Equal(t, all, s.Present)
	require.Equal(t, int64(2), s.Filled)
	out, _ = run(0, "fill", "--json", file, names[0], names[1])
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Zero(t, s.Filled, "all of it is there")
	run(0, "verify", file)

	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	raw[len(raw)-4096+5] ^= 1
	require.NoError(t, os.WriteFile(file, raw, 0o666))
	out, errs := run(3, "verify", file)
	require.Contains(t, out, "the checksum of the pixels is wrong")
	require.Contains(t, errs, "1 damaged of 3 checked")

	run(1, "create", names[2], names[0]) // a user's file
	run(1, "create", file, filepath.Join(t.TempDir(), "none.mrcs"))
	run(1, "create", file, "scratch_test.go")
	run(1, "create", "--run-length", "0", file, names[0])
	run(1, "fill", "--budget", "100", file+"2", names[0])
	require.NoFileExists(t, file+"2")
	run(2, "fill", "--budget", "lots", file, names[0])
	run(1, "status", file+"2")
	run(1, "gc", file)
	run(2, "status", "--engine", "steam", file)

	// A directory, of a table and of stacks.
	dir := filepath.Join(t.TempDir(), "d") + "/"
	run(0, "fill", "--budget", "1M", "--run-length", "2", dir, table)
	run(0, "fill", "--budget", "1M", dir, names[2], names[3])
	out, _ = run(0, "status", "--json", dir)
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list, 2)
	require.Equal(t, 5+imagesOf(t, names[2], names[3]), list[0].Images+list[1].Images)
	out, _ = run(0, "status", dir)
	require.Equal(t, 2, strings.Count(out, "unused since 2"))
	run(0, "verify", dir)
	require.NoError(t, os.WriteFile(dir+"mine.gridhold-scratch", []byte("mine"), 0o666))
	out, _ = run(0, "gc", dir)
	require.Contains(t, out, "freed 0 bytes")
	out, _ = run(0, "gc", "--budget", "0", "--json", dir)
	var got struct{ Removed []string }
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Len(t, got.Removed, 2)
	require.FileExists(t, dir+"mine.gridhold-scratch")
}

// imagesOf is how many images some stacks hold.
func imagesOf(t *testing.T, names ...string) (n int64) {
	for _, name := range names {
		status, text, errs := here(t, "info", "--json", name)
		require.Equal(t, 0, status, errs)
		var d imageDescription
		require.NoError(t, json.Unmarshal(text, &d))
		n += d.Images
	}
	return n
}

func TestSize(t *testing.T) {
	for text, want := range map[string]size{
		"0": 0, "17": 17, "4K": 4096, "2M": 2 << 20, "3GiB": 3 << 30, "1TB": 1 << 40, "8192T": 8192 << 40,
	} {
		var s size
		require.NoError(t, s.Set(text), text)
		require.Equal(t, want, s, text)
	}
	for _, text := range []string{"", "K", "-1", "1.5G", "5KM", "9000000T", "4X", "1 G"} {
		require.Error(t, new(size).Set(text), text)
	}
	s := size(scratch.Everything)
	require.Equal(t, "everything", s.String())
}
