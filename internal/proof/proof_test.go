package proof

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/proof.md anew")

const docs = "../../docs"

// TestPage holds docs/proof.md to the files it is made of.
func TestPage(t *testing.T) {
	files, err := ReadDir(filepath.Join(docs, "proof"))
	require.NoError(t, err)
	page := Page(files)
	name := filepath.Join(docs, "proof.md")
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(page), 0o666))
	}
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, page, string(got), "run make proof")
}

func TestRecords(t *testing.T) {
	dir := t.TempDir()
	one := Record{What: "a run", When: time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC), Command: "make it", Counts: map[string]int64{"operations": 1234567, "lost": 0, "milliseconds of the longest": 5}}
	two := one
	two.What, two.Machine, two.Found = "another", "plan9/mips, 1 cores", []string{"a fault,\nmended"}
	require.NoError(t, Write(filepath.Join(dir, "a.json"), one))
	require.NoError(t, Write(filepath.Join(dir, "b.json"), one, two))
	files, err := ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
	one.When, one.Found = one.When.Truncate(time.Second), []string{}
	require.Equal(t, []Record{one}, files[0].Records)
	page := Page(files)
	for _, want := range []string{
		"## Altogether\n\n| | |\n| --- | ---: |\n| operations | 3,703,701 |\n| lost | 0 |\n\n## a run",
		"| milliseconds of the longest | 5 |",
		"\n## another\n\n`make it`, 30 November 2026, plan9/mips, 1 cores ([b.json](proof/b.json))\n",
		"This run found nothing.\n", "\n* a fault, mended\n",
	} {
		require.Contains(t, page, want)
	}

	// What happened and must not is written, and told.
	one.Counts = map[string]int64{"torn": 1}
	require.ErrorContains(t, Write(filepath.Join(dir, "c.json"), one), `"torn" is 1`)
	_, err = ReadDir(dir)
	require.ErrorContains(t, err, `c.json: "torn" is 1, not 0`)
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"when":"2026-11-30T12:00:00Z","command":"c","counts":{"a":1},"found":[]}`:                  `"what"`,
		`{"what":"w","command":"c","counts":{"a":1},"found":[]}`:                                     `"when"`,
		`{"what":"w","when":"yesterday","command":"c","counts":{"a":1},"found":[]}`:                  "yesterday",
		`{"what":"w","when":"2026-11-30T12:00:00Z","counts":{"a":1},"found":[]}`:                     `"command"`,
		`{"what":"w","when":"2026-11-30T12:00:00Z","command":"c","found":[]}`:                        `"counts"`,
		`{"what":"w","when":"2026-11-30T12:00:00Z","command":"c","counts":{"a":1}}`:                  `"found"`,
		`{"what":"w","when":"2026-11-30T12:00:00Z","command":"c","counts":{"a":-1},"found":[]}`:      `"a" is -1`,
		`{"what":"w","when":"2026-11-30T12:00:00Z","command":"c","counts":{"a":0.5},"found":[]}`:     "0.5",
		`{"what":"w","when":"2026-11-30T12:00:00Z","command":"c","counts":{"a":1},"found":[],"x":1}`: `"x"`,
		`[]`: "no records",
		``:   "no records",
		`{`:  "invalid character",
	} {
		_, err := parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}
