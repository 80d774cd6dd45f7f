//go:build unix

package scratch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

func TestInspect(t *testing.T) {
	d := newDesk(t, 32, 32)
	d.write("a", 0, 10)
	d.write("b", 0, 3)
	g := group(t, images("a", 0, 1, 2, 5, 7), images("b"))
	began := time.Now()
	s := d.directory(g, 2, 12*page, waiting) // 6 of header, 6 for images
	d.check(s, "a", 0, 0)
	d.check(s, "b", 0, 2)
	all, err := List(ctx, d.fs, "dir")
	require.NoError(t, err)
	require.Len(t, all, 1)
	st := all[0]
	require.Equal(t, s.name, st.Name)
	require.WithinRange(t, st.LastUsed, began, time.Now())
	st.LastUsed = time.Time{}
	want := Status{
		Name: s.name, Size: 14 * page, Allocated: st.Allocated, InUse: true, RunLength: 2, Keys: 2, Images: 8, Runs: 5,
		Present: 2, PresentRuns: 1, PresentBytes: 2 * page, Budget: 6 * page,
	}
	require.Equal(t, want, st)
	require.GreaterOrEqual(t, st.Allocated, int64(8*page))
	require.NoError(t, s.Close())
	st, err = Inspect(ctx, d.fs, s.name)
	require.NoError(t, err)
	require.False(t, st.InUse)
	var m map[string]any
	require.NoError(t, json.Unmarshal(rawjson.Marshal(st), &m))
	require.Equal(t, 2.0, m["present"])
	require.NoError(t, json.Unmarshal(rawjson.Marshal(s.Stats()), &m))
	require.Equal(t, 5.0, m["runs"])

	_, err = Inspect(ctx, d.fs, "a")
	require.ErrorIs(t, err, fault.ErrCorrupt)
	_, err = Inspect(ctx, d.fs, "none")
	require.ErrorIs(t, err, fault.ErrNotFound)
	require.NoError(t, os.Truncate(filepath.Join(d.dir, s.name), 5000))
	st, err = Inspect(ctx, d.fs, s.name)
	require.NoError(t, err)
	require.NotEmpty(t, st.Broken)
}

func TestVerify(t *testing.T) {
	d, _, h := filled(t)
	verify := func() (checked int64, all []Damage, bytes int64) {
		checked, err := Verify(ctx, d.fs, "scr", func(d Damage) { all = append(all, d) }, func(n int64) { bytes += n })
		require.NoError(t, err)
		return checked, all, bytes
	}
	checked, all, bytes := verify()
	require.Equal(t, int64(5), checked)
	require.Empty(t, all)
	require.Equal(t, int64(13*1024), bytes)

	f, err := d.fs.Open(ctx, "scr", readWrite)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte{7}, h.dataAt(0)+4097-1000)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{1, 2, 3, 4, 5, 6, 7, 8}, h.wordAt(1)) // not a word: absent
	require.NoError(t, err)
	require.NoError(t, f.PunchHole(h.dataAt(h.number(2).off), page))
	checked, all, _ = verify()
	require.Equal(t, int64(4), checked)
	const text = "the checksum of the pixels is wrong"
	state := Damage{h.number(1).String(), h.wordAt(1), "the state of the run is not one"}
	require.Equal(t, []Damage{state, {"a 0-3", h.dataAt(0), text}, {"b 0-6", h.dataAt(h.number(2).off), text}}, all)

	all = nil
	cleared, err := Repair(ctx, d.fs, "scr", func(d Damage) { all = append(all, d) })
	require.NoError(t, err)
	require.EqualValues(t, 3, cleared)
	require.Len(t, all, 3)
	checked, all, _ = verify()
	require.Equal(t, int64(2), checked)
	require.Empty(t, all)

	_, err = f.WriteAt([]byte{9}, 200)
	require.NoError(t, err)
	checked, all, _ = verify()
	require.Equal(t, int64(1), checked)
	require.Equal(t, []Damage{{"", 0, "the checksum of the first page is wrong"}}, all)
	_, err = Verify(ctx, d.fs, "none", nil, nil)
	require.ErrorIs(t, err, fault.ErrNotFound)
}
