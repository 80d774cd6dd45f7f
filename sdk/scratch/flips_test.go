package scratch

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Every byte of a scratch that says anything is covered by a checksum: one that
// is another than was written is found, and Repair leaves a file that is whole,
// or one whose header says what is wrong with it.
func TestVerifyEveryByte(t *testing.T) {
	b := newBench(t)
	s := b.make(b.disk)
	b.reads(s)
	require.NoError(t, s.Close())
	f, err := b.disk.Open(ctx, "scr", readWrite)
	require.NoError(t, err)
	defer f.Close()
	h, err := readHeader(f, "scr")
	require.NoError(t, err)
	verify := func() (all []Damage) {
		_, err := Verify(ctx, b.disk, "scr", func(d Damage) { all = append(all, d) }, nil)
		if errors.Is(err, fault.ErrUnsupported) { // of another version, it says
			return []Damage{{}}
		}
		require.NoError(t, err)
		return all
	}
	require.Empty(t, verify())
	info, err := f.Stat()
	require.NoError(t, err)
	size := info.Size

	covered := map[string]storage.Range{
		"superblock": {Off: 0, Len: page},
		"keys":       h.sections[sectionKeys],
		"index":      h.sections[sectionIndex],
		"stamp word": {Off: h.stampAt(0), Len: 8},
		"stamp":      {Off: h.stampAt(0) + 8, Len: stampBytes}, // the first one counts
		"states":     h.sections[sectionState],
	}
	for n := range h.runs {
		r := h.number(n)
		covered[r.String()] = storage.Range{Off: h.dataAt(r.off), Len: r.bytes}
	}
	flips := 0
	for what, at := range covered {
		for off := at.Off; off < at.Off+at.Len && off < size; off++ {
			old := make([]byte, 1)
			_, err := f.ReadAt(old, off)
			require.NoError(t, err)
			for _, mask := range []byte{1, 0x80} {
				if what == "superblock" && off%16 > 0 && off > 256 && off < 4000 { // zeros, of which some will do
					continue
				}
				_, err = f.WriteAt([]byte{old[0] ^ mask}, off)
				require.NoError(t, err)
				all := verify()
				require.NotEmpty(t, all, "%s, byte %d, mask %x", what, off, mask)
				if at.Off >= h.sections[sectionState].Off { // of a run
					require.Equal(t, []int64{at.Off, off - off%8}[btoi(what == "states")], all[0].Off, "%s, byte %d", what, off)
				}
				flips++
			}
			_, err = f.WriteAt(old, off)
			require.NoError(t, err)
		}
	}
	require.Empty(t, verify())
	require.Greater(t, flips, 2000)
	t.Logf("%d flips, all found", flips)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
