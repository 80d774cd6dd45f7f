package zarr_test

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func openWithFill(t *testing.T, dtype, fill string) (*zarr.Array, error) {
	m := storage.NewMemory()
	m.Set("zarr.json", fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[1],"data_type":%q,
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},"chunk_key_encoding":{"name":"default"},
		"fill_value":%s,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`, dtype, fill))
	return zarr.OpenArray(t.Context(), m, "", zarr.Options{})
}

func TestFillValues(t *testing.T) {
	for _, c := range []struct{ dtype, fill, want string }{
		{"bool", "true", "01"},
		{"int8", "-128", "80"},
		{"int64", "-9007199254740993", "ffffffffffffdfff"},
		{"uint64", "18446744073709551615", "ffffffffffffffff"},
		{"uint64", "9007199254740993", "0100000000002000"},
		{"float16", "1", "003c"},
		{"float16", "65504", "ff7b"},
		{"float16", "2049", "0068"}, // a tie, to even
		{"float16", "2051", "0268"},
		{"float16", "5.960464477539063e-08", "0100"},
		{"float16", "2.9802322387695312e-08", "0000"},
		{"float16", "6.103515625e-05", "0004"},
		{"float16", "6.1005353927612305e-05", "0004"}, // rounds up out of the subnormals
		{"float16", "-0.0", "0080"},
		{"float16", `"NaN"`, "007e"},
		{"float16", `"0x7e01"`, "017e"},
		{"float32", "0.1", "cdcccc3d"},
		{"float32", "16777217", "0000804b"}, // a tie, to even
		{"float32", `"NaN"`, "0000c07f"},
		{"float32", `"0x7fc00123"`, "2301c07f"},
		{"float32", `"-Infinity"`, "000080ff"},
		{"float64", "-0.0", "0000000000000080"},
		{"float64", "1e308", "a0c8eb85f3cce17f"},
		{"float64", `"NaN"`, "000000000000f87f"},
		{"float64", `"Infinity"`, "000000000000f07f"},
		{"complex64", `[1, "NaN"]`, "0000803f0000c07f"},
		{"complex128", `["0x7ff8000000000001", -1.5]`, "010000000000f87f000000000000f8bf"},
	} {
		a, err := openWithFill(t, c.dtype, c.fill)
		require.NoError(t, err, "%s %s", c.dtype, c.fill)
		require.Equal(t, c.want, hex.EncodeToString(a.FillValue()), "%s %s", c.dtype, c.fill)
		got, err := a.RetrieveSubchunk(t.Context(), at(0), zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, a.FillValue(), got)
	}
}

func TestBadFillValues(t *testing.T) {
	for _, c := range [][2]string{
		{"bool", "1"}, {"bool", `"true"`}, {"bool", "null"},
		{"int8", "128"}, {"int8", "1.0"}, {"int8", "1e1"}, {"int8", `"1"`}, {"uint8", "-1"}, {"uint16", "70000"},
		{"uint64", "18446744073709551616"}, {"int32", "true"}, {"int32", "[]"},
		{"float32", `"nan"`}, {"float32", `"0x7fc0"`}, {"float32", `"0x7fc0012g"`}, {"float32", "1e39"}, {"float64", "1e400"},
		{"float16", "65520"}, {"float16", `"1"`}, {"float64", "null"}, {"float64", "[0]"},
		{"complex64", "1"}, {"complex64", "[1]"}, {"complex64", "[1,2,3]"}, {"complex64", `["x",0]`},
	} {
		_, err := openWithFill(t, c[0], c[1])
		require.ErrorIs(t, err, fault.ErrCorrupt, "%s %s", c[0], c[1])
		require.Contains(t, err.Error(), "fill_value")
	}
}
