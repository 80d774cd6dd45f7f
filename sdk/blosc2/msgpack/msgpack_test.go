package msgpack

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// vectors are values, their bytes as python's msgpack 1.1 packs them, and
// their JSON.
var vectors = []struct {
	hex  string
	v    any
	json string
}{
	{"c0", nil, `null`},
	{"c3", true, `true`},
	{"7f", int64(127), `127`},
	{"cc80", int64(128), `128`},
	{"cd0100", int64(256), `256`},
	{"ce00010000", int64(65536), `65536`},
	{"cf0000000100000000", int64(1) << 32, `4294967296`},
	{"cfffffffffffffffff", uint64(math.MaxUint64), `18446744073709551615`},
	{"e0", int64(-32), `-32`},
	{"d0df", int64(-33), `-33`},
	{"d1ff7f", int64(-129), `-129`},
	{"d2ffff7fff", int64(-32769), `-32769`},
	{"d3ffffffff7fffffff", int64(math.MinInt32) - 1, `-2147483649`},
	{"cb3ff8000000000000", 1.5, `1.5`},
	{"cb7ff0000000000000", math.Inf(1), `{"float":"+Inf"}`},
	{"a3616263", "abc", `"abc"`},
	{"d920" + strings.Repeat("61", 32), strings.Repeat("a", 32), `"` + strings.Repeat("a", 32) + `"`},
	{"da0100" + strings.Repeat("61", 256), strings.Repeat("a", 256), `"` + strings.Repeat("a", 256) + `"`},
	{"c40201ff", []byte{1, 255}, `{"bytes":"01ff"}`},
	{"93010203", []any{int64(1), int64(2), int64(3)}, `[1,2,3]`},
	{"82a16101a162c0", Map{{"a", int64(1)}, {"b", nil}}, `{"a":1,"b":null}`},
	{"8101c2", Map{{int64(1), false}}, `{"map":[[1,false]]}`},
	{"d82c" + strings.Repeat("00", 16), Ext{44, make([]byte, 16)}, `{"ext":44,"bytes":"` + strings.Repeat("00", 16) + `"}`},
	{"c7032d910102", Ext{45, []byte{0x91, 1, 2}}, `{"ext":45,"bytes":"910102"}`},
}

func TestVectors(t *testing.T) {
	for _, tc := range vectors {
		b, err := hex.DecodeString(tc.hex)
		require.NoError(t, err)
		got, err := Decode(b)
		require.NoError(t, err, tc.hex)
		require.Equal(t, tc.v, got, tc.hex)
		again, err := Append(nil, got)
		require.NoError(t, err)
		require.Equal(t, tc.hex, hex.EncodeToString(again))
		var w rawjson.Writer
		WriteJSON(&w, got)
		require.Equal(t, tc.json, string(w.Bytes()))
	}
}

func TestLongForms(t *testing.T) {
	list := make([]any, 70_000)
	for i := range list {
		list[i] = int64(i)
	}
	for _, v := range []any{list, list[:300], make([]byte, 70_000), strings.Repeat("x", 70_000), Ext{1, make([]byte, 300)}} {
		b, err := Append([]byte("head"), v)
		require.NoError(t, err)
		got, err := Decode(b[4:])
		require.NoError(t, err)
		require.Equal(t, v, got)
	}
	f, err := Decode([]byte{0xca, 0x3f, 0xc0, 0, 0})
	require.NoError(t, err)
	require.Equal(t, 1.5, f)
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		b    string
		want error
	}{
		"nothing":           {"", fault.ErrCorrupt},
		"reserved":          {"\xc1", fault.ErrCorrupt},
		"more after it":     {"\x01\x02", fault.ErrCorrupt},
		"string cut":        {"\xa3ab", fault.ErrCorrupt},
		"bytes of 4 GiB":    {"\xc6\xff\xff\xff\xff", fault.ErrCorrupt},
		"list of 4 Gi":      {"\xdd\xff\xff\xff\xff\x01", fault.ErrCorrupt},
		"map without value": {"\x81\x01", fault.ErrCorrupt},
		"ext cut":           {"\xd8\x2c\x00", fault.ErrCorrupt},
		"deep":              {strings.Repeat("\x91", 200) + "\x01", fault.ErrLimit},
		"many":              {"\xdd\x00\x80\x00\x00" + strings.Repeat("\x01", 1<<23), fault.ErrLimit},
	} {
		_, err := Decode([]byte(tc.b))
		require.ErrorIs(t, err, tc.want, name)
	}
	_, err := Append(nil, struct{}{})
	require.ErrorIs(t, err, fault.ErrInvalid)
}

func FuzzDecode(f *testing.F) {
	for _, tc := range vectors {
		b, _ := hex.DecodeString(tc.hex)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Decode(b)
		if err != nil {
			require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeLimit}, fault.CodeOf(err))
			return
		}
		again, err := Append(nil, v)
		require.NoError(t, err)
		require.LessOrEqual(t, len(again), len(b)+4*len(b)) // a float32 grows
		var w rawjson.Writer
		WriteJSON(&w, v)
		require.NoError(t, rawjson.Check(w.Bytes()))
	})
}
