package codec

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

func TestNew(t *testing.T) {
	for _, tc := range []struct {
		name, configuration string
		want                error
	}{
		{"gzip", `{"level": 9}`, nil},
		{"gzip", `{"level": 10}`, fault.ErrInvalid},
		{"gzip", `{"level": 1.5}`, fault.ErrInvalid},
		{"gzip", `[]`, fault.ErrInvalid},
		{"zstd", `{"level": -131072, "checksum": true}`, nil},
		{"zstd", `{"level": 23}`, fault.ErrInvalid},
		{"zstd", `{"checksum": 1}`, fault.ErrInvalid},
		{"crc32c", ``, nil},
		{"blosc", `{"cname": "lz4hc", "clevel": 5, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0}`, nil},
		{"blosc", `{"cname": "lzma"}`, fault.ErrUnsupported},
		{"numcodecs.blosc", `{"cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0}`, nil},
		{"numcodecs.zlib", `{"level": -1}`, nil},
		{"numcodecs.zlib", `{"level": -2}`, fault.ErrInvalid},
		{"numcodecs.gzip", `{}`, nil},
		{"numcodecs.zstd", `{"level": 0}`, nil},
		{"numcodecs.lz4", `{"acceleration": 1}`, nil},
		{"numcodecs.bz2", `{"level": 0}`, fault.ErrInvalid},
		{"numcodecs.lzma", `{"format": 1, "check": -1, "preset": null, "filters": null}`, nil},
		{"numcodecs.lzma", `{"format": 4}`, fault.ErrInvalid},
		{"numcodecs.lzma", `{"format": 3}`, fault.ErrInvalid},
		{"numcodecs.lzma", `{"format": 3, "filters": [{"id": 4}]}`, fault.ErrUnsupported},
		{"numcodecs.lzma", `{"format": 3, "filters": [{"id": 3, "dist": 257}, {"id": 33}]}`, fault.ErrInvalid},
		{"numcodecs.lzma", `{"format": 3, "filters": [{"id": 4611686018427387905}]}`, nil},
		{"numcodecs.shuffle", `{"elementsize": -1}`, fault.ErrInvalid},
		{"numcodecs.shuffle", `{"elementsize": 0}`, nil},
		{"numcodecs.crc32", `{"location": "middle"}`, fault.ErrInvalid},
		{"numcodecs.crc32", `{"location": null}`, nil},
		{"numcodecs.crc32c", `{}`, nil},
		{"numcodecs.adler32", `{}`, nil},
		{"numcodecs.fletcher32", `{}`, nil},
		{"numcodecs.jenkins_lookup3", `{"initval": 0, "prefix": null}`, nil},
		{"numcodecs.jenkins_lookup3", `{"initval": -1}`, fault.ErrInvalid},
		{"numcodecs.pcodec", `{}`, fault.ErrUnsupported},
		{"numcodecs.zfpy", `{}`, fault.ErrUnsupported},
		{"numcodecs.delta", `{"dtype": "<i4"}`, fault.ErrUnsupported}, // of elements, not of bytes
		{"zlib", ``, fault.ErrUnsupported},                            // not a name of v3
		{"", ``, fault.ErrUnsupported},
	} {
		t.Run(tc.name+tc.configuration, func(t *testing.T) {
			var raw json.RawMessage
			if tc.configuration != "" {
				raw = json.RawMessage(tc.configuration)
			}
			c, err := New(tc.name, raw)
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
				require.ErrorContains(t, err, tc.name)
				require.Nil(t, c)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.name, c.Name())
		})
	}
}

func TestNewElements(t *testing.T) {
	for _, tc := range []struct {
		name, configuration, decoded string
		from, to                     string
		want                         error
	}{
		{"delta", `{"dtype": "<i4", "astype": "<i2"}`, "<i4", "<i4", "<i2", nil},
		{"delta", `{"dtype": "int32"}`, "<i4", "<i4", "<i4", nil},
		{"delta", `{}`, "<u8", "<u8", "<u8", nil},
		{"delta", `{"dtype": "<i8"}`, "<i4", "", "", fault.ErrInvalid},
		{"delta", `{"dtype": ">i4"}`, "<i4", "", "", fault.ErrUnsupported},
		{"delta", `{"dtype": "<i4", "astype": "<f4"}`, "<i4", "", "", fault.ErrUnsupported},
		{"delta", `{"dtype": "<M8[ns]"}`, "<i8", "", "", fault.ErrUnsupported},
		{"astype", `{"encode_dtype": "|u1", "decode_dtype": "float64"}`, "<f8", "<f8", "|u1", nil},
		{"astype", `{"encode_dtype": "<f2"}`, "<f8", "<f8", "<f2", nil},
		{"astype", `{}`, "<f8", "", "", fault.ErrInvalid},
		{"fixedscaleoffset", `{"offset": 0, "scale": 4, "dtype": "<f8", "astype": "<i4"}`, "<f8", "<f8", "<i4", nil},
		{"fixedscaleoffset", `{"scale": 4}`, "<f8", "", "", fault.ErrInvalid},
		{"quantize", `{"digits": 3, "dtype": "<f4"}`, "<f4", "<f4", "<f4", nil},
		{"quantize", `{"digits": 3, "dtype": "<i4"}`, "<i4", "", "", fault.ErrInvalid},
		{"bitround", `{"keepbits": 10}`, "<f2", "<f2", "<f2", nil},
		{"bitround", `{"keepbits": 11}`, "<f2", "", "", fault.ErrInvalid},
		{"packbits", `{}`, "|b1", "|b1", "|u1", nil},
		{"packbits", `{}`, "|u1", "", "", fault.ErrInvalid},
		{"zlib", `{}`, "<f4", "", "", fault.ErrUnsupported},
	} {
		t.Run(tc.name+tc.configuration+tc.decoded, func(t *testing.T) {
			c, err := NewElements("numcodecs."+tc.name, json.RawMessage(tc.configuration), tc.decoded)
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
				require.Nil(t, c)
				return
			}
			require.NoError(t, err)
			from, to := c.Types()
			require.Equal(t, [2]string{tc.from, tc.to}, [2]string{from, to})
		})
	}
	_, err := NewElements("delta", nil, "<i4")
	require.ErrorIs(t, err, fault.ErrUnsupported)
}

func TestNewV2(t *testing.T) {
	for _, id := range []string{"blosc", "bz2", "crc32", "gzip", "lz4", "lzma", "packbits", "shuffle", "zlib", "zstd"} {
		c, err := NewV2(id, json.RawMessage(`{"id": "`+id+`"}`))
		require.NoError(t, err, id)
		require.Equal(t, id, c.Name())
	}
	for id, why := range map[string]string{
		"delta": "object", "quantize": "object", "pcodec": "no such codec", "zfpy": "no such codec", "vlen-utf8": "no such codec", "numcodecs.zlib": "no such codec",
	} {
		c, err := NewV2(id, json.RawMessage(`{"id": "`+id+`", "dtype": "object", "digits": 1}`))
		require.ErrorIs(t, err, fault.ErrUnsupported, id)
		require.ErrorContains(t, err, why)
		require.Nil(t, c)
	}
}

// TestBitRound compares with the definition: the nearest float that has only
// so many bits, the even one of two.
func TestBitRound(t *testing.T) {
	c, err := NewElements("numcodecs.bitround", json.RawMessage(`{"keepbits": 3}`), "<f4")
	require.NoError(t, err)
	for _, tc := range []struct{ from, want float32 }{
		{1, 1}, {1.0625, 1}, {1.0626, 1.125}, {1.1875, 1.25}, {1.99, 2}, {-1.0626, -1.125}, {0, 0}, {1.5, 1.5},
	} {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(tc.from))
		got, err := c.(Encoder).Encode(nil, b[:])
		require.NoError(t, err)
		require.Equal(t, tc.want, math.Float32frombits(binary.LittleEndian.Uint32(got)), "%v", tc.from)
	}
}

func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		f := half(uint16(h))
		require.Equal(t, uint16(h), toHalf(f), "%#04x", h)
		if next := half(uint16(h + 1)); h&0x7fff < 0x7bff { // half way goes to the even one
			middle := (f + next) / 2
			require.Equal(t, uint16(h+h&1), toHalf(middle), "%#04x", h)
			require.Equal(t, uint16(h), toHalf(math.Nextafter(middle, f)), "%#04x", h)
			require.Equal(t, uint16(h+1), toHalf(math.Nextafter(middle, next)), "%#04x", h)
		}
	}
	require.Equal(t, uint16(0x7c00), toHalf(65520))
	require.Equal(t, uint16(0x7bff), toHalf(65519.99))
	require.Equal(t, uint16(0xfc00), toHalf(math.Inf(-1)))
}

func TestTruncate(t *testing.T) {
	for _, tc := range []struct {
		f    float64
		to   string
		want uint64
	}{
		{2.9, "i8", 2}, {-2.9, "i8", math.MaxUint64 - 1}, {1 << 62, "i8", 1 << 62}, {-1 << 63, "i8", 1 << 63},
		{1 << 63, "i8", 1 << 63}, {math.NaN(), "i8", 1 << 63}, {math.Inf(-1), "i8", 1 << 63},
		{1 << 63, "u8", 1 << 63}, {math.MaxUint64 - 4096, "u8", math.MaxUint64 - 4095}, {math.Inf(1), "u8", 0}, {math.NaN(), "u8", 1 << 63},
		{-2147483648.9, "i4", 0xffffffff80000000}, {1 << 31, "i4", 1 << 31}, {math.NaN(), "i4", 1 << 31},
		{1 << 31, "u4", 1 << 31}, {300, "u1", 300}, {1 << 40, "u1", 1 << 31},
	} {
		to, ok := parseNumber(tc.to)
		require.True(t, ok)
		require.Equal(t, tc.want, truncate(tc.f, to), "%v to %s", tc.f, tc.to)
	}
}

// TestLookup3 holds the hash to the values that its author publishes.
func TestLookup3(t *testing.T) {
	require.Equal(t, uint32(0xdeadbeef), lookup3(nil, 0))
	require.Equal(t, uint32(0xbd5b7dde), lookup3(nil, 0xdeadbeef))
	require.Equal(t, uint32(0x17770551), lookup3([]byte("Four score and seven years ago"), 0))
	require.Equal(t, uint32(0xcd628161), lookup3([]byte("Four score and seven years ago"), 1))
}

// FuzzCodecs decodes anything with every codec: within its limit, with errors
// of the known kinds, and alike a second time.
func FuzzCodecs(f *testing.F) {
	all := goldens(f)
	seen := map[string]uint16{}
	var made []Bytes
	for _, g := range all {
		key := g.ID + string(g.Configuration)
		n, ok := seen[key]
		if !ok {
			n = uint16(len(made))
			seen[key] = n
			made = append(made, g.make(f))
		}
		if len(g.Encoded) < 300 {
			f.Add(g.Encoded, n)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, n uint16) {
		c := made[int(n)%len(made)]
		const limit = 1 << 15
		got, err := c.Decode(t.Context(), nil, src, limit)
		if err != nil {
			require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported}, fault.CodeOf(err))
			return
		}
		require.LessOrEqual(t, len(got), limit)
		again, err := c.Decode(t.Context(), make([]byte, 0, limit), src, limit)
		require.NoError(t, err)
		require.Equal(t, sum(got), sum(again))
		if e, ok := c.(Encoder); ok {
			if encoded, err := e.Encode(nil, got); err == nil {
				most, _ := c.EncodedSize(int64(len(got)))
				require.LessOrEqual(t, int64(len(encoded)), most)
			}
		}
	})
}

func BenchmarkElements(b *testing.B) {
	src := make([]byte, 1<<16)
	for i := range src {
		src[i] = byte(i * 7)
	}
	for _, configuration := range []string{
		`{"id": "delta", "dtype": "<i4"}`,
		`{"id": "delta", "dtype": "<u2"}`,
		`{"id": "delta", "dtype": "<f4"}`,
		`{"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<f4"}`,
		`{"id": "fixedscaleoffset", "offset": 1, "scale": 10, "dtype": "<f8", "astype": "<i2"}`,
		`{"id": "fletcher32"}`,
	} {
		var id struct{ ID string }
		require.NoError(b, json.Unmarshal([]byte(configuration), &id))
		c, err := NewV2(id.ID, json.RawMessage(configuration))
		require.NoError(b, err)
		in := src
		if id.ID == "fletcher32" {
			in, _ = c.(Encoder).Encode(nil, src)
		}
		dst := make([]byte, 0, 1<<19)
		b.Run(configuration, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if _, err := c.Decode(b.Context(), dst, in, 1<<19); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
