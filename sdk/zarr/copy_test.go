package zarr_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// Every array of the peers, copied into other chunks and shards, holds the
// same elements.
func TestCopyOfEveryArray(t *testing.T) {
	dir, nodes := goldenNodes(t)
	for _, n := range nodes {
		if n.NodeType == "group" {
			continue
		}
		t.Run(n.Name, func(t *testing.T) {
			src := open(t, loadDir(t, filepath.Join(dir, n.Path)))
			spec, err := src.Like()
			if err != nil {
				require.ErrorIs(t, err, fault.ErrUnsupported)
				require.Nil(t, src.ChunkShape())
				return
			}
			for i := range spec.ChunkShape { // each twice as long, in two
				spec.SubchunkShape = spec.ChunkShape
				spec.ChunkShape = append([]int64{}, spec.ChunkShape...)
				spec.ChunkShape[i] *= 2
				break
			}
			dst, err := zarr.CreateArray(t.Context(), storage.NewMemory(), "copy", spec, zarr.Options{})
			require.NoError(t, err)
			var last zarr.Copied
			require.NoError(t, zarr.Copy(t.Context(), dst, src, func(c zarr.Copied) { last = c }))
			require.Equal(t, last.Total, last.Chunks)
			got, err := dst.RetrieveRegion(t.Context(), zeros(len(n.Shape)), n.Shape, zarr.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, n.SHA256, sum(got))
			require.Equal(t, src.FillValue(), dst.FillValue())
		})
	}
}

// An empty .zattrs is damage, also where a store answers no bytes with nil.
func TestEmptyAttributesOfV2(t *testing.T) {
	m := storage.NewMemory()
	m.Set(".zgroup", []byte(`{"zarr_format":2}`))
	_, err := zarr.OpenGroup(t.Context(), m, "", zarr.Options{})
	require.NoError(t, err)
	m.Set(".zattrs", nil)
	_, err = zarr.OpenGroup(t.Context(), nilWhereEmpty{m}, "", zarr.Options{})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	require.Contains(t, err.Error(), ".zattrs")
}

type nilWhereEmpty struct{ *storage.Memory }

func (s nilWhereEmpty) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	bs, info, err := s.Memory.ReadRanges(ctx, key, rs, want)
	for i := range bs {
		if len(bs[i]) == 0 {
			bs[i] = nil
		}
	}
	return bs, info, err
}

func TestCopyBetweenUnlikeArrays(t *testing.T) {
	m := storage.NewMemory()
	create := func(path, dtype string, shape ...int64) *zarr.Array {
		a, err := zarr.CreateArray(t.Context(), m, path, zarr.ArraySpec{Shape: shape, ChunkShape: shape, DataType: dtype}, zarr.Options{})
		require.NoError(t, err)
		return a
	}
	one, two, bytes := create("one", "uint16", 4), create("two", "uint16", 4, 4), create("bytes", "uint8", 4)
	require.ErrorIs(t, zarr.Copy(t.Context(), two, one, nil), fault.ErrInvalid)
	require.ErrorIs(t, zarr.Copy(t.Context(), one, two, nil), fault.ErrInvalid)
	require.ErrorIs(t, zarr.Copy(t.Context(), one, bytes, nil), fault.ErrInvalid)
}
