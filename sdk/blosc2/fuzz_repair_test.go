package blosc2

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// FuzzRepairBeside: what is repaired of a file, or of the index of a sparse frame
// with its chunks beside, opens; what is not is as it was, and nothing else is
// left there.
func FuzzRepairBeside(f *testing.F) {
	sparse, chunks := "../../testdata/blosc2/sparse/nd/", map[string][]byte{}
	names, err := filepath.Glob(sparse + "*" + chunkSuffix)
	require.NoError(f, err)
	for _, name := range append(names, sparse+chunksFile) {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		chunks[path.Base(filepath.ToSlash(name))] = b
	}
	f.Add(chunks[chunksFile], true)
	f.Add(chunks[chunksFile][:len(chunks[chunksFile])-1], true)
	for _, b := range goldens(f, "tiny/*.b2nd", "schunk/v*.b2frame", "store/*.b2z", "corrupt/*.b2z") {
		if len(b) < 20_000 {
			f.Add(b, false)
			f.Add(b[:len(b)-len(b)/40], false)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, sparse bool) {
		ctx := t.Context()
		fs, file := onlyFile(t, b), "f"
		if sparse {
			file = "d/" + chunksFile
			require.NoError(t, fs.Mkdir(ctx, "d"))
			for name, chunk := range chunks {
				w, err := fs.Open(ctx, "d/"+name, storage.OpenWrite|storage.OpenCreate)
				require.NoError(t, err)
				_, err = w.WriteAt(chunk, 0)
				require.NoError(t, err)
				require.NoError(t, w.Close())
			}
			require.NoError(t, fs.Rename(ctx, "f", file))
		}
		name := file[:1]
		before, err := fs.List(ctx, dirOf(file))
		require.NoError(t, err)
		m, err := RepairBeside(ctx, fs, name, RepairSpec{Drop: true}, hostile)
		if err != nil {
			refusal(t, err)
		}
		after, err := fs.List(ctx, dirOf(file))
		require.NoError(t, err)
		require.Equal(t, before, after)
		if !m.Changed {
			require.True(t, bytes.Equal(b, storagetest.Contents(t, fs, file)))
		}
		if m.Written {
			c, err := Open(ctx, fs, name, hostile)
			require.NoError(t, err)
			require.NoError(t, c.Close())
		}
	})
}
