package zarr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// Verify costs time by what is stored: the grids have 2^60 chunks.
func TestVerifyOfHugeGrids(t *testing.T) {
	for _, encoding := range []string{`{"name":"default"}`, `{"name":"default","configuration":{"separator":"."}}`, `{"name":"v2"}`, `{"name":"v2","configuration":{"separator":"/"}}`} {
		st := storage.NewMemory()
		put := func(key string, b []byte) {
			_, err := st.Put(t.Context(), key, b, storage.Condition{})
			require.NoError(t, err)
		}
		put("a/zarr.json", fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[1073741824,1073741824],"data_type":"uint8",
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,1]}},"chunk_key_encoding":%s,"fill_value":0,"codecs":%s}`, encoding, rawLE))
		a, err := zarr.OpenArray(t.Context(), st, "a", zarr.Options{})
		require.NoError(t, err)
		put(a.ChunkKey(at(1<<30-1, 1<<30-1)), []byte{1})
		put(a.ChunkKey(at(7, 1<<29)), []byte{1, 2})
		put(a.ChunkKey(at(1<<30, 0)), nil) // outside the grid
		put("a/c/07/8", nil)               // a spelling that nobody reads
		put("a/notes", nil)
		var found []zarr.Damage
		checked, err := zarr.Verify(t.Context(), st, "a", zarr.Options{}, func(d zarr.Damage) { found = append(found, d) })
		require.NoError(t, err)
		require.EqualValues(t, 1, checked)
		require.Len(t, found, 1)
		require.Equal(t, a.ChunkKey(at(7, 1<<29)), found[0].Item)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = zarr.Verify(ctx, st, "a", zarr.Options{}, func(zarr.Damage) {})
		require.ErrorIs(t, err, fault.ErrCancelled)
	}
}
