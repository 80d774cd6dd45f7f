//go:build unix

package scratch

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/image"
)

// filled makes a full scratch of 4 runs at "scr" and returns its header.
func filled(t *testing.T) (*desk, *image.ImageLocationGrouping, *header) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	d.write("b", 0, 9)
	g := group(t, images("a"), images("b", 0, 2, 4, 6, 8))
	s := d.mapped(g, 4, Everything, waiting)
	d.prefetch(s, g)
	require.NoError(t, s.Close())
	f, err := d.fs.Open(ctx, "scr", readWrite)
	require.NoError(t, err)
	defer f.Close()
	h, err := readHeader(f, "scr")
	require.NoError(t, err)
	require.Equal(t, int64(4), h.runs)
	return d, g, h
}

// whole reads everything through the scratch, which must be right, and
// returns how many runs had to be taken in anew.
func (d *desk) whole(g *image.ImageLocationGrouping, o Options) (s *ImageScratch, again int64) {
	d.t.Helper()
	s = d.mapped(g, 4, Everything, o)
	before := s.Stats().Filled
	d.check(s, "a", 0, 5, 0, 1, 2, 3, 4, 6, 7)
	d.check(s, "b", 0, 8, 0, 2, 6, 4)
	return s, s.Stats().Filled - before
}

// Whatever byte of the file is another one than was written: what is read is
// right, and the file is whole again afterwards.
func TestFlipped(t *testing.T) {
	d, g, h := filled(t)
	name := filepath.Join(d.dir, "scr")
	good, err := os.ReadFile(name)
	require.NoError(t, err)
	le := binary.LittleEndian
	for _, tc := range []struct {
		what  string
		at    int64
		again int64 // runs that are lost; -1: whatever
	}{
		{"layout", atMajor, -1}, {"superblock", 700, 4}, {"size", atSize, 4}, {"its checksum", atCRC, 4},
		{"used", atUsed, 0}, {"boot", atBoot, 0}, {"quota", atQuota, 0},
		{"a key", h.sections[sectionKeys].Off + 50, 4}, {"a name", h.sections[sectionKeys].Off + 2*keyBytes, 4},
		{"the index", h.sections[sectionIndex].Off, 4},
		{"the word of a stamp", h.stampAt(0), 2}, {"its check", h.stampAt(1) + 7, 2}, {"a stamp", h.stampAt(1) + 8 + 9, 2},
		{"the other stamp", h.stampAt(0) + 8 + stampBytes, 0},
		{"a word", h.wordAt(1), 1}, {"its generation", h.wordAt(1) + 1, 1}, {"its sum", h.wordAt(2) + 3, 1}, {"its check", h.wordAt(3) + 6, 1},
		{"the first pixel", h.dataAt(0), 1}, {"a pixel", h.dataAt(h.bytes) - page + 100, 1}, {"behind the pixels", h.size() - 1, 0},
	} {
		bad := append([]byte{}, good...)
		bad[tc.at] ^= 4
		require.NoError(t, os.WriteFile(name, bad, 0o666))
		s, again := d.whole(g, waiting)
		if tc.again >= 0 {
			require.Equal(t, tc.again, again, tc.what)
		}
		require.NoError(t, s.Close())
		s, again = d.whole(g, waiting)
		require.Zero(t, again, tc.what)
		require.NoError(t, s.Close())
	}
	// A word of one run is none of another.
	bad := append([]byte{}, good...)
	le.PutUint64(bad[h.wordAt(0):], le.Uint64(good[h.wordAt(1):]))
	copy(bad[h.dataAt(0):][:4096], good[h.dataAt(4096):])
	require.NoError(t, os.WriteFile(name, bad, 0o666))
	_, again := d.whole(g, waiting)
	require.Equal(t, int64(1), again)
}

// Cut anywhere, or longer than it should be: what is read is right.
func TestCut(t *testing.T) {
	d, g, h := filled(t)
	name := filepath.Join(d.dir, "scr")
	good, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, tc := range []struct{ size, again int64 }{
		{0, 4}, {8, 4}, {100, 4}, {page, 4}, {2*page + 50, 4}, {h.wordAt(0) + 4, 4}, {h.overhead() - 1, 4}, {h.overhead(), 4},
		{h.dataAt(0) + 5, 4}, {h.dataAt(page) - 1, 4}, {h.dataAt(page), 3}, {h.size() - page - 1, 2}, {h.size() + 1, 0}, {h.size() + 99999, 0},
	} {
		require.NoError(t, os.WriteFile(name, good, 0o666))
		require.NoError(t, os.Truncate(name, tc.size))
		s, again := d.whole(g, waiting)
		require.Equal(t, tc.again, again, "cut to %d", tc.size)
		require.NoError(t, s.Close())
	}
}

// A file that is cut, or overwritten, under an open scratch does not end the
// program, and no wrong pixel comes out of what was not read before.
func TestCutMeanwhile(t *testing.T) {
	for _, mapped := range []bool{true, false} {
		d, g, _ := filled(t)
		o := waiting
		o.NoMap = !mapped
		s := d.mapped(g, 4, Everything, o)
		d.check(s, "a", 0, 1)
		require.NoError(t, os.Truncate(filepath.Join(d.dir, "scr"), 5000))
		for range 3 {
			d.check(s, "a", 0, upTo(8)...)
			d.check(s, "b", 0, upTo(9)...)
		}
		require.Positive(t, s.Stats().Unreadable)
	}
}

// Pages that were lost, as by a loss of power: holes in published runs.
func TestLostPages(t *testing.T) {
	for _, tc := range []struct {
		verify      VerifyWhen
		first, then string
		again       int64
	}{
		{VerifyFirst, "x", "x", 2},
		{VerifyRestart, "x", "y", 2},
		{VerifyRestart, "", "", 2}, // who knows
		{VerifyAlways, "x", "x", 2},
	} {
		d := newDesk(t, 16, 16)
		d.write("a", 0, 16)
		g := group(t, images("a"))
		o := waiting
		o.Verify, o.Boot = tc.verify, tc.first
		s := d.mapped(g, 4, Everything, o)
		d.prefetch(s, g)
		require.NoError(t, s.Close())
		f, err := d.fs.Open(ctx, "scr", readWrite)
		require.NoError(t, err)
		h, err := readHeader(f, "scr")
		require.NoError(t, err)
		for _, run := range []int64{1, 3} {
			require.NoError(t, f.PunchHole(h.dataAt(h.number(run).off), page))
		}
		require.NoError(t, f.Close())
		o.Boot = tc.then
		s = d.mapped(g, 4, Everything, o)
		d.check(s, "a", 0, upTo(16)...)
		require.Equal(t, tc.again, s.Stats().Filled, "%+v", tc)
		require.Equal(t, tc.again, s.Stats().Damaged, "%+v", tc)
		require.NoError(t, s.Close())
		// In the next run of the system, what is there is of two: nothing is
		// believed.
		s = d.mapped(g, 4, Everything, o)
		d.check(s, "a", 0, upTo(16)...)
		require.Zero(t, s.Stats().Filled)
		if tc.verify == VerifyRestart {
			require.False(t, s.shelf.(*fileShelf).trusted)
		}
	}
}

// All of a file was written since the system began: it is believed.
func TestTrusted(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 8)
	g := group(t, images("a"))
	o := waiting
	o.Verify, o.Boot = VerifyRestart, "this one"
	for range 3 {
		s := d.mapped(g, 4, Everything, o)
		require.True(t, s.shelf.(*fileShelf).trusted)
		d.check(s, "a", 0, upTo(8)...)
		require.NoError(t, s.Close())
	}
}
