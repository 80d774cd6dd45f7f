package zarr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func openRectilinear(t *testing.T, shape, edges, codecs string) (*zarr.Array, error) {
	st := storage.NewMemory()
	_, err := st.Put(t.Context(), "zarr.json", fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":%s,"data_type":"uint8",
		"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":%s}},"chunk_key_encoding":{"name":"default"},"fill_value":3,"codecs":%s}`, shape, edges, codecs), storage.Condition{})
	require.NoError(t, err)
	return zarr.OpenArray(t.Context(), st, "", zarr.Options{})
}

func TestEdgesLongerThanTheAxis(t *testing.T) {
	for _, edge := range []string{"10", "11", "4611686018427387904", "9223372036854775799", "9223372036854775807"} {
		a, err := openRectilinear(t, "[10]", "["+edge+"]", rawLE)
		if err != nil {
			require.Greater(t, len(edge), 18, "%s: %v", edge, err) // over the limit
			continue
		}
		require.Equal(t, at(1), a.ChunkGridShape(), edge)
		b, err := a.RetrieveRegion(t.Context(), at(9), at(10), zarr.ReadOptions{})
		if len(edge) < 18 {
			require.NoError(t, err)
			require.Equal(t, []byte{3}, b)
		}
	}
}

func TestShardsOfAnEmptyAxis(t *testing.T) {
	codecs := `[{"name":"sharding_indexed","configuration":{"chunk_shape":[4],"codecs":` + rawLE + `,"index_codecs":` + rawLE + `}}]`
	for _, edges := range []string{"[8]", "[[8]]", "[[[8,2]]]"} {
		a, err := openRectilinear(t, "[0]", edges, codecs)
		require.NoError(t, err, edges)
		require.Equal(t, at(0), a.ChunkGridShape())
	}
	_, err := openRectilinear(t, "[0]", "[6]", codecs)
	require.ErrorContains(t, err, "does not divide")
}
