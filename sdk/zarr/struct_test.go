package zarr_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

const (
	structType = `{"name":"struct","configuration":{"fields":[{"name":"x","data_type":"float32"},{"name":"ok","data_type":"bool"}]}}`
	structured = `{"name":"structured","configuration":{"fields":[["x","float32"],["ok","bool"]]}}`
)

// tensorstore wants the fill value of a struct as an object, older versions of
// zarr-python want base64 under the older name.
func TestZeroFillOfStructs(t *testing.T) {
	for dtype, want := range map[string]string{structType: `{"x":0,"ok":false}`, structured: `"AAAAAAA="`} {
		a, err := zarr.CreateArray(t.Context(), storage.NewMemory(), "", zarr.ArraySpec{Shape: at(2), ChunkShape: at(2), DataType: dtype}, zarr.Options{})
		require.NoError(t, err)
		var m struct {
			FillValue json.RawMessage `json:"fill_value"`
		}
		require.NoError(t, json.Unmarshal(a.Metadata(), &m))
		require.JSONEq(t, want, string(m.FillValue))
		require.Equal(t, make([]byte, 5), a.FillValue())
	}
}

// zarr-python 3.1 writes structs without an endian, in little-endian order.
func TestStructsWithoutEndian(t *testing.T) {
	st := storage.NewMemory()
	a, err := zarr.CreateArray(t.Context(), st, "", zarr.ArraySpec{Shape: at(1), ChunkShape: at(1), DataType: structured,
		Codecs: []zarr.Codec{{Name: "bytes"}}}, zarr.Options{})
	require.NoError(t, err)
	st.Set("c/0", []byte{0, 0, 0xc0, 0x3f, 1})
	got, err := a.RetrieveRegion(t.Context(), at(0), at(1), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0xc0, 0x3f, 1}, got)
}
