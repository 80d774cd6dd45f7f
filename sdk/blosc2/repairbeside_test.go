package blosc2_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// unpublished makes a frame of 3 chunks, with dead bytes, whose header leads to
// the first two: its writer was killed before he wrote it.
func unpublished(t *testing.T, disk *faultfs.Disk) (chunks [][]byte) {
	t.Helper()
	ctx := t.Context()
	s, err := blosc2.CreateSChunk(ctx, disk, "f", small(false), writing)
	require.NoError(t, err)
	for i := range 3 {
		chunks = append(chunks, bytes.Repeat([]byte{byte(i + 1), 2, 3, byte(i)}, 100))
	}
	require.NoError(t, s.AppendChunk(ctx, chunks[2])) // which is replaced, and dead
	require.NoError(t, s.UpdateChunk(ctx, 0, chunks[0]))
	require.NoError(t, s.AppendChunk(ctx, chunks[1]))
	require.NoError(t, s.Close())
	last := func(op faultfs.Op) (f faultfs.Fault) {
		f.Kill = op.Kind == faultfs.Write && op.Off == 0
		return f
	}
	c, err := blosc2.Open(ctx, faultfs.New(last).FS(disk), "f", writing)
	require.NoError(t, err)
	require.ErrorIs(t, c.(*blosc2.SChunk).AppendChunk(ctx, chunks[2]), faultfs.ErrKilled)
	return chunks
}

func TestRepairBeside(t *testing.T) {
	ctx := t.Context()
	for _, drop := range []bool{false, true} {
		disk := faultfs.NewDisk(0)
		chunks := unpublished(t, disk)
		before := storagetest.Contents(t, disk, "f")
		spec := blosc2.RepairSpec{DryRun: true, Drop: drop, Keep: "f.old"}
		would, err := blosc2.RepairBeside(ctx, disk, "f", spec, blosc2.Options{})
		require.NoError(t, err)
		require.Equal(t, blosc2.Repaired{Was: 2, Chunks: 3, Written: true}, would.Repaired)
		require.Equal(t, drop, would.Dropped > 0)
		require.Equal(t, before, storagetest.Contents(t, disk, "f"))
		names, err := disk.List(ctx, "")
		require.NoError(t, err)
		require.Equal(t, []string{"f"}, names)

		spec.DryRun = false
		did, err := blosc2.RepairBeside(ctx, disk, "f", spec, blosc2.Options{})
		require.NoError(t, err)
		require.Equal(t, would, did)
		require.Equal(t, before, storagetest.Contents(t, disk, "f.old"))
		names, err = disk.List(ctx, "")
		require.NoError(t, err)
		require.Equal(t, []string{"f", "f.old"}, names)
		c, err := blosc2.Open(ctx, disk, "f", blosc2.Options{})
		require.NoError(t, err)
		require.NoError(t, (&model{chunks: chunks}).equal(ctx, c.(*blosc2.SChunk)))
		dead, err := c.(*blosc2.SChunk).Dead(ctx)
		require.NoError(t, err)
		require.Equal(t, drop, dead == 0)
		require.NoError(t, c.Close())

		// There is nothing to do any more; or the name of the copy is taken.
		again, err := blosc2.RepairBeside(ctx, disk, "f", spec, blosc2.Options{})
		require.NoError(t, err)
		require.False(t, again.Changed)
		spec.Drop = true
		_, err = blosc2.RepairBeside(ctx, disk, "f", spec, blosc2.Options{})
		if drop {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, fault.ErrExists)
		}
	}
}

// Killed at any time, or its power cut, there is the file as it was or as it
// was to be, and whoever opens it sweeps.
func TestKilledWhileRepairing(t *testing.T) {
	ctx := context.Background()
	for n := 0; ; n++ {
		disk := faultfs.NewDisk(0)
		unpublished(t, disk)
		disk.SyncAll()
		before := storagetest.Contents(t, disk, "f")
		x := faultfs.New(faultfs.Nth(n, faultfs.Fault{Kill: true, Done: 50}, append([]faultfs.Kind{faultfs.Sync, faultfs.SyncDir}, faultfs.Changes...)...))
		_, err := blosc2.RepairBeside(ctx, x.FS(disk), "f", blosc2.RepairSpec{Drop: true, Keep: "f.old"}, blosc2.Options{})
		if !bytes.Equal(before, storagetest.Contents(t, disk, "f")) {
			require.Equal(t, before, storagetest.Contents(t, disk, "f.old"), "killed at %d", n)
			c, err := blosc2.Open(ctx, disk, "f", writing)
			require.NoError(t, err)
			require.EqualValues(t, 3, c.(*blosc2.SChunk).NumChunks())
			require.NoError(t, c.Close())
			names, err := disk.List(ctx, "")
			require.NoError(t, err)
			require.Equal(t, []string{"f", "f.old"}, names)
		}
		if err == nil {
			require.Greater(t, n, 8)
			break
		}
		require.ErrorIs(t, err, faultfs.ErrKilled)
	}
}
