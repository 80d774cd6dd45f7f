package blosc2_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// What the model checks found, made short.

var committing = blosc2.Options{Write: true, Durability: blosc2.SyncCommits}

// afterCuts opens a frame as many power cuts leave it.
func afterCuts(t *testing.T, disk *faultfs.Disk, look func(s *blosc2.SChunk)) {
	t.Helper()
	for seed := range uint64(60) {
		c, err := blosc2.Open(t.Context(), disk.Cut(rand.New(rand.NewPCG(seed, 0))), "f", blosc2.Options{})
		require.NoError(t, err, "seed %d", seed)
		look(c.(*blosc2.SChunk))
		require.NoError(t, c.Close())
	}
}

func small(sparse bool) blosc2.Spec {
	return blosc2.Spec{ChunkSize: 400, Sparse: sparse, Params: blosc.Params{TypeSize: 4, Codec: blosc.LZ4, Level: 5}}
}

// The file in the directory of a new frame has its name for good, not only the
// directory.
func TestCutAfterCreation(t *testing.T) {
	for _, o := range []blosc2.Options{committing, {}} {
		for _, sparse := range []bool{false, true} {
			disk := faultfs.NewDisk(0)
			s, err := blosc2.CreateSChunk(t.Context(), disk, "f", small(sparse), o)
			require.NoError(t, err)
			afterCuts(t, disk, func(s *blosc2.SChunk) { require.Zero(t, s.NumChunks()) })
			require.NoError(t, s.Close())
		}
	}
}

// A commit into a file whose name was not made safe, because the commit that
// gave it the name failed after that, makes it so.
func TestCutAfterALostAnswer(t *testing.T) {
	for _, mishap := range []faultfs.Plan{
		faultfs.Nth(0, faultfs.Fault{Err: faultfs.Errno("EIO"), Done: faultfs.Whole}, faultfs.Rename),
		faultfs.Nth(0, faultfs.Fault{Err: faultfs.Errno("EIO")}, faultfs.SyncDir),
	} {
		ctx, disk := t.Context(), faultfs.NewDisk(0)
		s, err := blosc2.CreateSChunk(ctx, disk, "f", small(false), committing)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		c, err := blosc2.Open(ctx, faultfs.New(mishap).FS(disk), "f", committing)
		require.NoError(t, err)
		s = c.(*blosc2.SChunk)
		require.Error(t, s.SetVLValue(ctx, "a", []byte("1"))) // a frame without chunks is replaced
		require.NoError(t, s.AppendChunk(ctx, make([]byte, 400)))
		afterCuts(t, disk, func(s *blosc2.SChunk) { require.EqualValues(t, 1, s.NumChunks()) })
		require.NoError(t, s.Close())
	}
}

// The files of chunks have their names before an index leads to them.
func TestCutBetweenChunksAndIndex(t *testing.T) {
	ctx, disk := t.Context(), faultfs.NewDisk(0)
	s, err := blosc2.CreateSChunk(ctx, disk, "f", small(true), committing)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	c, err := blosc2.Open(ctx, faultfs.New(faultfs.Nth(1, faultfs.Fault{Kill: true}, faultfs.SyncDir)).FS(disk), "f", committing)
	require.NoError(t, err)
	b := make([]byte, 400)
	b[7] = 1
	require.ErrorIs(t, c.(*blosc2.SChunk).AppendChunk(ctx, b), faultfs.ErrKilled)
	afterCuts(t, disk, func(s *blosc2.SChunk) {
		if s.NumChunks() > 0 {
			got, err := s.Chunk(ctx, 0, nil)
			require.NoError(t, err)
			require.Equal(t, b, got)
		}
	})
}

// A handle that locks does not go on with the state before a commit of its own
// that was reported as failed, and was published.
func TestFailedAfterItWasPublished(t *testing.T) {
	ctx, disk := t.Context(), faultfs.NewDisk(0)
	s, err := blosc2.CreateSChunk(ctx, disk, "f", small(false), writing)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	renamed := false
	fs := faultfs.New(func(op faultfs.Op) (f faultfs.Fault) {
		if renamed && op.Kind == faultfs.Open {
			f.Err, renamed = faultfs.Errno("EMFILE"), false
		}
		renamed = renamed || op.Kind == faultfs.Rename
		return f
	}).FS(disk)
	o := writing
	o.Locking = blosc2.Locked
	c, err := blosc2.Open(ctx, fs, "f", o)
	require.NoError(t, err)
	s = c.(*blosc2.SChunk)
	require.ErrorContains(t, s.SetVLValue(ctx, "a", []byte("1")), "EMFILE")
	names, err := s.VLMeta(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names)
	require.NoError(t, s.Close())
}

// One who is killed while he gives a key another value leaves two under it;
// one who is killed while he removes it then brings no old one to light.
func TestKilledTwiceAtAKey(t *testing.T) {
	ctx := t.Context()
	die := func(disk *faultfs.Disk, n int, threshold int64, do func(d *blosc2.DictStore) error) error {
		fs := faultfs.New(faultfs.Nth(n, faultfs.Fault{Kill: true}, faultfs.Changes...)).FS(disk)
		c, err := blosc2.CreateStore(ctx, fs, "s", blosc2.StoreSpec{OrOpen: true, Threshold: threshold}, writing)
		require.NoError(t, err)
		return do(c.(*blosc2.DictStore))
	}
	look := func(disk *faultfs.Disk) string {
		c, err := blosc2.Open(ctx, disk, "s", blosc2.Options{})
		require.NoError(t, err)
		leaf, err := c.(*blosc2.DictStore).Get(ctx, "/k")
		if err != nil {
			require.ErrorIs(t, err, fault.ErrNotFound)
			return ""
		}
		value, err := valueOf(ctx, leaf)
		require.NoError(t, err)
		return value
	}
	put := func(value string) func(d *blosc2.DictStore) error {
		return func(d *blosc2.DictStore) error {
			c, err := values{"k": value}.container(ctx, "k")
			require.NoError(t, err)
			return d.Put(ctx, "/k", c)
		}
	}
	remove := func(d *blosc2.DictStore) error { return d.Delete(ctx, "/k") }
	twice := 0
	for _, second := range []string{"array new", "frame new"} {
		for _, thresholds := range [][2]int64{{-1, 0}, {0, -1}, {0, 0}} {
			for n, alive := 0, false; !alive; n++ {
				for m, done := 0, false; !done; m++ {
					disk := faultfs.NewDisk(0)
					require.NoError(t, die(disk, 1000, thresholds[0], put("array old")))
					alive = die(disk, n, thresholds[1], put(second)) == nil
					before := look(disk)
					require.Contains(t, []string{"array old", second}, before)
					done = die(disk, m, 0, remove) == nil
					after := look(disk)
					require.Contains(t, []string{before, ""}, after, "%v, killed at %d, and then at %d", thresholds, n, m)
					twice++
				}
			}
		}
	}
	require.Greater(t, twice, 100)
}
