package blosc2_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zip"
)

func rands(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// zipOf is a store in a zip: of python-blosc2, or our own of the same leaves.
func zipOf(t *testing.T, ours bool) []byte {
	t.Helper()
	name, fs := "../../testdata/blosc2/store/dict-ext.b2z", storage.NewMemoryFS(0)
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	if !ours {
		return b
	}
	put(t, fs, "z", b)
	c, err := blosc2.Open(t.Context(), fs, "z", blosc2.Options{})
	require.NoError(t, err)
	d, ok := c.(*blosc2.DictStore)
	require.True(t, ok)
	require.NoError(t, d.ToB2Z(t.Context(), fs, "f", false))
	require.NoError(t, c.Close())
	return storagetest.Contents(t, fs, "f")
}

// put writes a new file.
func put(t *testing.T, fs storage.FS, name string, b []byte) {
	t.Helper()
	f, err := fs.Open(t.Context(), name, storage.OpenWrite|storage.OpenCreate|storage.OpenTruncate)
	require.NoError(t, err)
	_, err = f.WriteAt(b, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// valuesOf reads all there is in a store, without words about damage.
func valuesOf(t *testing.T, fs storage.FS) map[string][]byte {
	t.Helper()
	c, err := blosc2.Open(t.Context(), fs, "f", blosc2.Options{})
	require.NoError(t, err)
	defer c.Close()
	_, err = blosc2.Verify(t.Context(), c, func(d blosc2.Damage) { t.Errorf("damaged: %+v", d) })
	require.NoError(t, err)
	d, ok := c.(*blosc2.DictStore)
	require.True(t, ok)
	keys, err := d.Keys(t.Context())
	require.NoError(t, err)
	values := map[string][]byte{}
	for _, key := range keys {
		leaf, err := d.Get(t.Context(), key)
		require.NoError(t, err)
		s, ok := leaf.(*blosc2.SChunk)
		if a, isArray := leaf.(*blosc2.NDArray); isArray {
			s, ok = a.SChunk(), true
		}
		require.True(t, ok)
		values[key] = make([]byte, s.Header().Size)
		require.NoError(t, s.ReadBytes(t.Context(), 0, values[key]))
		require.NoError(t, leaf.Close())
	}
	return values
}

// A zip that lost its end, or any of its directory, gets another one. What was
// cut before that, or is not what was packed, is told.
func TestRepairZip(t *testing.T) {
	ctx := t.Context()
	for _, ours := range []bool{false, true} {
		b := zipOf(t, ours)
		whole := storage.NewMemoryFS(0)
		put(t, whole, "f", b)
		want := valuesOf(t, whole)
		require.NotEmpty(t, want)
		members, err := zip.ParseDirectory(bytes.NewReader(b), int64(len(b)), 1<<20)
		require.NoError(t, err)
		slices.SortFunc(members, func(a, b zip.Member) int { return int(a.Header - b.Header) })
		last := members[len(members)-1]
		require.Equal(t, "embed.b2e", last.Name)
		off, err := last.Data(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		end := int(off + last.Packed)

		mend := func(b []byte) (blosc2.Mended, storage.FS, error) {
			fs := storage.NewMemoryFS(0)
			put(t, fs, "f", b)
			would, err := blosc2.RepairBeside(ctx, fs, "f", blosc2.RepairSpec{DryRun: true}, blosc2.Options{Locking: blosc2.LockedIfPossible})
			require.Equal(t, b, storagetest.Contents(t, fs, "f"))
			did, again := blosc2.RepairBeside(ctx, fs, "f", blosc2.RepairSpec{Keep: "f.old"}, blosc2.Options{Locking: blosc2.LockedIfPossible})
			require.Equal(t, err == nil, again == nil)
			require.Equal(t, would, did)
			if did.Written {
				require.Equal(t, b, storagetest.Contents(t, fs, "f.old"))
			}
			return did, fs, err
		}
		m, _, err := mend(b)
		require.NoError(t, err)
		require.Equal(t, blosc2.Mended{Repaired: blosc2.Repaired{Was: int64(len(members)), Chunks: int64(len(members))}}, m)
		for cut := end; cut < len(b); cut += 7 { // wherever in the directory
			if tail := cut - end; tail == 1 || tail == 2 {
				continue // which might be the first bytes of another member
			}
			m, fs, err := mend(b[:cut])
			require.NoError(t, err, "cut at %d of %d", cut, len(b))
			require.Equal(t, blosc2.Repaired{Was: -1, Chunks: int64(len(members)), Written: true}, m.Repaired)
			require.Equal(t, want, valuesOf(t, fs))
		}
		for at := end; at < len(b); at += 3 { // a flip there is mended, or was not seen, or is told
			flipped := bytes.Clone(b)
			flipped[at] ^= 0x10
			m, fs, err := mend(flipped)
			if err == nil && m.Lost == nil {
				got := valuesOf(t, fs)
				require.Equal(t, len(want), len(got), "flipped at %d", at)
			}
		}
		for _, cut := range []int{0, 3, 29, 40, int(last.Header), int(off), end - 1} {
			_, _, err := mend(b[:cut])
			require.Error(t, err, "cut at %d", cut)
		}
		// A leaf that is not what was packed has no other copy.
		flipped := bytes.Clone(b)
		at, err := members[0].Data(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		flipped[at+members[0].Size/2] ^= 1
		m, _, err = mend(flipped)
		require.NoError(t, err)
		require.False(t, m.Changed)
		require.Len(t, m.Lost, 1)
		_, _, err = mend(flipped[:end])
		require.ErrorIs(t, err, fault.ErrNotFound)
		require.ErrorContains(t, err, members[0].Name)
	}
	fs := storage.NewMemoryFS(0)
	put(t, fs, "f", zipOf(t, true))
	_, err := blosc2.RepairBeside(ctx, fs, "f", blosc2.RepairSpec{}, blosc2.Options{Locking: blosc2.Locked, Locker: storage.NewMemoryLocker()})
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// Killed at any time, or its power cut, there is the zip as it was or as it was to
// be.
func TestKilledWhileRepairingZip(t *testing.T) {
	ctx := context.Background()
	b := zipOf(t, true)
	b = b[:len(b)-30]
	for n := 0; ; n++ {
		disk := faultfs.NewDisk(0)
		put(t, disk, "f", b)
		leave(t, disk, "f.gridhold-3.tmp", false)
		disk.SyncAll()
		x := faultfs.New(faultfs.Nth(n, faultfs.Fault{Kill: true, Done: 50}, everyStep...))
		_, err := blosc2.RepairBeside(ctx, x.FS(disk), "f", blosc2.RepairSpec{Keep: "f.old"}, blosc2.Options{})
		for _, seed := range []uint64{3, 2, 1, 0} {
			after := disk.Cut(rands(seed))
			if seed == 0 {
				after = disk // not cut at all
			}
			if bytes.Equal(storagetest.Contents(t, after, "f"), b) {
				require.Error(t, err)
				_, err := blosc2.RepairBeside(ctx, after, "f", blosc2.RepairSpec{}, blosc2.Options{})
				require.NoError(t, err)
			} else {
				require.Equal(t, b, storagetest.Contents(t, after, "f.old"), "killed at %d", n)
			}
			require.NotEmpty(t, valuesOf(t, after))
		}
		if err == nil {
			require.Greater(t, n, 8)
			require.False(t, there(t, disk, "f.gridhold-3.tmp"))
			break
		}
		require.ErrorIs(t, err, faultfs.ErrKilled)
	}
}
