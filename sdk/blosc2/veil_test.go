package blosc2_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

// A file that is to be a leaf, and has another name still, opens as nothing: also
// if its writer is killed then. It gets its header right before its name.
func TestFilesToBeAreNoFrames(t *testing.T) {
	ctx := t.Context()
	for n := 0; ; n++ {
		disk := faultfs.NewDisk(0)
		c, err := blosc2.CreateStore(ctx, disk, "s.b2d", blosc2.StoreSpec{}, committing)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		leaf := leafArray(t, disk, "leaf", 10)

		died := ""
		plan := func(op faultfs.Op) (f faultfs.Fault) {
			if n--; n == -1 {
				f.Kill, f.Done, died = true, 50, string(op.Kind)
			}
			return f
		}
		tried := n
		c, err = blosc2.Open(ctx, faultfs.New(plan).FS(disk), "s.b2d", committing)
		if err == nil {
			err = c.(*blosc2.DictStore).Put(ctx, "/a/b", leaf)
		}
		n = tried
		names := []string{}
		for _, dir := range []string{"s.b2d", "s.b2d/a"} {
			if there(t, disk, dir) {
				in, listErr := disk.List(ctx, dir)
				require.NoError(t, listErr)
				for _, name := range in {
					names = append(names, dir+"/"+name)
				}
			}
		}
		for _, name := range names {
			if !strings.HasSuffix(name, ".tmp") {
				continue
			}
			if f, openErr := blosc2.Open(ctx, disk, name, blosc2.Options{}); openErr == nil {
				require.NoError(t, f.Close())
				require.Contains(t, []string{"sync", "rename", "stat"}, died, "killed at %d with a whole frame under %s", n, name)
			}
		}
		require.NoError(t, leaf.Close())
		if err == nil {
			require.Greater(t, n, 10)
			break
		}
		require.ErrorIs(t, err, faultfs.ErrKilled)
	}
}
