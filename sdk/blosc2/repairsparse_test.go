package blosc2_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// everyStep are the kinds of operations after which there may be another state.
var everyStep = append([]faultfs.Kind{faultfs.Sync, faultfs.SyncDir}, faultfs.Changes...)

// overwrite writes bytes into a file.
func overwrite(t *testing.T, fs storage.FS, name string, off int64, b []byte) {
	t.Helper()
	f, err := fs.Open(t.Context(), name, storage.OpenRead|storage.OpenWrite)
	require.NoError(t, err)
	_, err = f.WriteAt(b, off)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// sparseFrame makes a directory of 3 chunks, with a file that a killed writer
// left which nothing names, and one with the highest number.
func sparseFrame(t *testing.T, disk storage.FS) (chunks [][]byte) {
	t.Helper()
	ctx := t.Context()
	s, err := blosc2.CreateSChunk(ctx, disk, "f", small(true), writing)
	require.NoError(t, err)
	for i := range 3 {
		chunks = append(chunks, bytes.Repeat([]byte{byte(i + 1), 2, 3, byte(i)}, 100))
		require.NoError(t, s.AppendChunk(ctx, chunks[i]))
	}
	require.NoError(t, s.Close())
	for _, name := range []string{"f/00000005.chunk", "f/00000007.chunk"} {
		leave(t, disk, name, false)
	}
	return chunks
}

// readsAs holds the frame to the chunks.
func readsAs(t *testing.T, fs storage.FS, chunks [][]byte) {
	t.Helper()
	c, err := blosc2.Open(t.Context(), fs, "f", writing)
	require.NoError(t, err)
	require.NoError(t, (&model{chunks: chunks}).equal(t.Context(), c.(*blosc2.SChunk)))
	require.NoError(t, c.Close())
}

// What a header says of lengths is what index and chunks say.
func TestRepairSparse(t *testing.T) {
	ctx := t.Context()
	for name, damage := range map[string]func(header []byte){
		"length of the frame":      func(b []byte) { binary.BigEndian.PutUint64(b[16:], 1<<40) },
		"length of the frame, cut": func(b []byte) { binary.BigEndian.PutUint64(b[16:], uint64(len(b)-20)) },
		"decoded bytes":            func(b []byte) { binary.BigEndian.PutUint64(b[30:], 400) },
		"more decoded bytes":       func(b []byte) { binary.BigEndian.PutUint64(b[30:], 1<<20) },
		"negative":                 func(b []byte) { b[30] = 0xff },
	} {
		t.Run(name, func(t *testing.T) {
			disk := faultfs.NewDisk(0)
			chunks := sparseFrame(t, disk)
			whole := storagetest.Contents(t, disk, "f/chunks.b2frame")
			header := bytes.Clone(whole)
			damage(header)
			overwrite(t, disk, "f/chunks.b2frame", 0, header)
			_, err := blosc2.Open(ctx, disk, "f", blosc2.Options{})
			require.ErrorIs(t, err, fault.ErrCorrupt)
			_, err = blosc2.Repair(ctx, disk, "f", blosc2.Options{})
			require.ErrorIs(t, err, fault.ErrUnsupported)
			for _, dry := range []bool{true, false} {
				m, err := blosc2.RepairBeside(ctx, disk, "f", blosc2.RepairSpec{DryRun: dry, Keep: "f.old"}, blosc2.Options{})
				require.NoError(t, err)
				require.Equal(t, blosc2.Mended{Repaired: blosc2.Repaired{Was: -1, Chunks: 3, Written: true}, Changed: true}, m)
				require.Equal(t, !dry, there(t, disk, "f.old"))
			}
			require.Equal(t, header, storagetest.Contents(t, disk, "f.old/chunks.b2frame"))
			require.Equal(t, whole, storagetest.Contents(t, disk, "f/chunks.b2frame"))
			readsAs(t, disk, chunks)
		})
	}
}

// Files of chunks that nothing names are left out, and what writers left behind
// who were killed; nobody else's.
func TestRepairSparseDrops(t *testing.T) {
	ctx, disk := t.Context(), faultfs.NewDisk(0)
	chunks := sparseFrame(t, disk)
	for _, name := range []string{"f.gridhold-0.tmp", "f/chunks.b2frame.gridhold-0.tmp", "f/5.chunk", "f/note"} {
		leave(t, disk, name, false)
	}
	spec := blosc2.RepairSpec{DryRun: true, Drop: true, Keep: "f.old"}
	would, err := blosc2.RepairBeside(ctx, disk, "f", spec, blosc2.Options{})
	require.NoError(t, err)
	require.Equal(t, blosc2.Mended{Repaired: blosc2.Repaired{Was: 3, Chunks: 3}, Dropped: 10, Swept: 2, Changed: true}, would)
	require.True(t, there(t, disk, "f/chunks.b2frame.gridhold-0.tmp"))
	spec.DryRun = false
	did, err := blosc2.RepairBeside(ctx, disk, "f", spec, blosc2.Options{})
	require.NoError(t, err)
	require.Equal(t, would, did)
	for name, want := range map[string]bool{
		"f/00000005.chunk": false, "f.old/00000005.chunk": true, "f/00000007.chunk": true, "f/5.chunk": true, "f/note": true,
		"f.gridhold-0.tmp": false, "f/chunks.b2frame.gridhold-0.tmp": false,
	} {
		require.Equal(t, want, there(t, disk, name), name)
	}
	readsAs(t, disk, chunks)
	again, err := blosc2.RepairBeside(ctx, disk, "f", spec, blosc2.Options{})
	require.NoError(t, err)
	require.False(t, again.Changed)
}

// A chunk whose file is gone, or cut, is told and stays lost; so does an index.
func TestRepairSparseLost(t *testing.T) {
	ctx, disk := t.Context(), faultfs.NewDisk(0)
	sparseFrame(t, disk)
	leave(t, disk, "f/chunks.b2frame.gridhold-0.tmp", false)
	require.NoError(t, disk.Remove(ctx, "f/00000001.chunk"))
	f, err := disk.Open(ctx, "f/00000002.chunk", storage.OpenWrite)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(40))
	require.NoError(t, f.Close())
	spec := blosc2.RepairSpec{Drop: true, Keep: "f.old"}
	m, err := blosc2.RepairBeside(ctx, disk, "f", spec, blosc2.Options{})
	require.NoError(t, err)
	require.False(t, m.Changed)
	require.Len(t, m.Lost, 2)
	require.Equal(t, "chunk 1", m.Lost[0].Item)
	require.Contains(t, m.Lost[0].Text, "is not there")
	require.Equal(t, "chunk 2", m.Lost[1].Item)
	require.False(t, there(t, disk, "f.old"))
	require.True(t, there(t, disk, "f/chunks.b2frame.gridhold-0.tmp"), "which may be the one that is whole")

	overwrite(t, disk, "f/chunks.b2frame", 16, make([]byte, 8))
	_, err = blosc2.RepairBeside(ctx, disk, "f", spec, blosc2.Options{})
	require.ErrorIs(t, err, fault.ErrNotFound)
}

// Killed at any time, or its power cut, there is the frame as it was or as it was
// to be, and all that was left out is in one place or the other.
func TestKilledWhileRepairingSparse(t *testing.T) {
	ctx := context.Background()
	for _, damaged := range []bool{false, true} {
		for n := 0; ; n++ {
			disk := faultfs.NewDisk(0)
			chunks := sparseFrame(t, disk)
			if damaged {
				overwrite(t, disk, "f/chunks.b2frame", 16, make([]byte, 8))
			}
			disk.SyncAll()
			before := storagetest.Contents(t, disk, "f/chunks.b2frame")
			x := faultfs.New(faultfs.Nth(n, faultfs.Fault{Kill: true, Done: 50}, everyStep...))
			_, err := blosc2.RepairBeside(ctx, x.FS(disk), "f", blosc2.RepairSpec{Drop: true, Keep: "f.old"}, blosc2.Options{})
			for _, seed := range []uint64{3, 2, 1, 0} {
				after := disk.Cut(rands(seed))
				if seed == 0 {
					after = disk // not cut at all
				}
				if now := storagetest.Contents(t, after, "f/chunks.b2frame"); damaged && bytes.Equal(now, before) {
					require.Error(t, err)
					_, err := blosc2.RepairBeside(ctx, after, "f", blosc2.RepairSpec{}, blosc2.Options{})
					require.NoError(t, err)
				} else if damaged {
					require.Equal(t, before, storagetest.Contents(t, after, "f.old/chunks.b2frame"), "killed at %d", n)
				} else {
					require.True(t, there(t, after, "f/00000005.chunk") || there(t, after, "f.old/00000005.chunk"))
				}
				readsAs(t, after, chunks)
			}
			if err == nil {
				require.Greater(t, n, 6)
				break
			}
			require.ErrorIs(t, err, faultfs.ErrKilled)
		}
	}
}
