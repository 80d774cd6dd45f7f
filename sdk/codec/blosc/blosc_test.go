package blosc

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

type golden struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Encoded []byte `json:"encoded"`
	Size    int    `json:"size"`
	SHA256  string `json:"sha256"`
}

// goldens are the chunks that c-blosc wrote.
func goldens(t testing.TB) []golden {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "codec", "codecs.json"))
	require.NoError(t, err)
	var all, chunks []golden
	require.NoError(t, json.Unmarshal(b, &all))
	for _, g := range all {
		if g.ID == "blosc" {
			chunks = append(chunks, g)
		}
	}
	require.NotEmpty(t, chunks)
	return chunks
}

func find(t testing.TB, name string) golden {
	t.Helper()
	for _, g := range goldens(t) {
		if g.Name == name {
			return g
		}
	}
	t.Fatalf("no golden %s", name)
	return golden{}
}

// TestCoverage holds the goldens to what they are for: every compressor, with
// every shuffle, split and not, stored and not, one block and several.
func TestCoverage(t *testing.T) {
	seen := map[string]int{}
	for _, g := range goldens(t) {
		h, err := ParseHeader(g.Encoded)
		require.NoError(t, err)
		require.Equal(t, g.Size, h.Size)
		if h.Stored {
			seen["stored"]++
			continue
		}
		seen[h.Codec.String()]++
		seen[h.Filters[MaxFilters-1].ID.String()]++
		if h.Size > 0 && h.streams(h.blockLen(0)) > 1 {
			seen["split"]++
		} else {
			seen["whole"]++
		}
		if h.Blocks() > 1 && h.blockLen(h.Blocks()-1) < h.BlockSize {
			seen["last block shorter"]++
		}
		if count := h.blockLen(0) / h.TypeSize; h.Filters[MaxFilters-1].ID == BitShuffle && count%8 > 0 {
			seen["bits left as they were"]++
		}
	}
	for _, what := range []string{"stored", "blosclz", "lz4", "snappy", "zlib", "zstd", "nofilter", "shuffle", "bitshuffle",
		"split", "whole", "last block shorter", "bits left as they were"} {
		require.Positive(t, seen[what], what)
	}
}

func TestHeaderRefused(t *testing.T) {
	good := find(t, "blosc_lz4_1_4_even").Encoded
	size := binary.LittleEndian.Uint32(good[4:])
	for _, tc := range []struct {
		name string
		edit func(b []byte) []byte
		want error
	}{
		{"short", func(b []byte) []byte { return b[:15] }, fault.ErrCorrupt},
		{"version", func(b []byte) []byte { b[0] = 3; return b }, fault.ErrUnsupported},
		{"compressor", func(b []byte) []byte { b[2] |= 0xe0; return b }, fault.ErrUnsupported},
		{"both shuffles", func(b []byte) []byte { b[2] |= 5; return b }, fault.ErrUnsupported},
		{"cut", func(b []byte) []byte { return b[:len(b)-1] }, fault.ErrCorrupt},
		{"negative", func(b []byte) []byte { b[7] = 0x80; return b }, fault.ErrCorrupt},
		{"more than due", func(b []byte) []byte { binary.LittleEndian.PutUint32(b[4:], size+1); return b }, fault.ErrLimit},
		{"block size 0", func(b []byte) []byte { clear(b[8:12]); return b }, fault.ErrCorrupt},
		{"too many blocks", func(b []byte) []byte { binary.LittleEndian.PutUint32(b[8:], 1); return b }, fault.ErrCorrupt},
		{"packed size", func(b []byte) []byte { clear(b[12:16]); return b }, fault.ErrCorrupt},
		{"stored, but packed", func(b []byte) []byte { b[2] |= 2; return b }, fault.ErrCorrupt},
		{"start in the header", func(b []byte) []byte { binary.LittleEndian.PutUint32(b[16:], 16); return b }, fault.ErrCorrupt},
		{"start past the end", func(b []byte) []byte { binary.LittleEndian.PutUint32(b[16:], uint32(len(b))); return b }, fault.ErrCorrupt},
		{"start negative", func(b []byte) []byte { b[19] = 0xff; return b }, fault.ErrCorrupt},
		{"stream past the end", func(b []byte) []byte { b[23] = 0x7f; return b }, fault.ErrCorrupt},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Decode(nil, tc.edit(bytes.Clone(good)), int(size))
			require.ErrorIs(t, err, tc.want)
		})
	}
}

func TestTypeSizeZeroIsOne(t *testing.T) {
	g := find(t, "blosc_lz4_0_1_even")
	b := bytes.Clone(g.Encoded)
	require.EqualValues(t, 1, b[3])
	b[3] = 0
	got, err := Decode(nil, b, g.Size)
	require.NoError(t, err)
	require.Equal(t, g.SHA256, sum(got))
}

func TestBytesAfterTheChunkAreIgnored(t *testing.T) {
	g := find(t, "blosc_zstd_1_blocks")
	got, err := Decode([]byte("head"), append(bytes.Clone(g.Encoded), "tail"...), g.Size)
	require.NoError(t, err)
	require.Equal(t, g.SHA256, sum(got[4:]))
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func TestBloscLZRefuses(t *testing.T) {
	for name, src := range map[string]string{
		"literals past the end":   "\x05ab",
		"match before the output": "\x00a\x20\x01",
		"match past the end":      "\x00a\xe0\xff\xff\x00\x00",
		"ends within a length":    "\x00a\xe0\xff",
		"ends within a match":     "\x00a\x20",
		"ends within a far match": "\x00a\x3f\xff\x00",
	} {
		_, err := fillBloscLZ(make([]byte, 64), []byte(src))
		require.ErrorIs(t, err, fault.ErrCorrupt, name)
	}
	n, err := fillBloscLZ(make([]byte, 64), nil)
	require.NoError(t, err)
	require.Zero(t, n)
}

func FuzzDecode(f *testing.F) {
	for _, g := range goldens(f) {
		if len(g.Encoded) < 1500 {
			f.Add(g.Encoded)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1 << 17
		got, err := Decode([]byte("head"), src, limit)
		if err != nil {
			code := fault.CodeOf(err)
			require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported}, code)
			return
		}
		require.True(t, bytes.HasPrefix(got, []byte("head")))
		h, err := ParseHeader(src)
		require.NoError(t, err)
		require.Len(t, got, 4+h.Size)
	})
}

func FuzzBloscLZ(f *testing.F) {
	for _, g := range goldens(f) {
		if strings.HasPrefix(g.Name, "blosc_blosclz_0_") && len(g.Encoded) > 24 && len(g.Encoded) < 1500 {
			f.Add(g.Encoded[24:])
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		const size = 1 << 14
		dst := bytes.Repeat([]byte{0xa5}, size+8)
		if n, err := fillBloscLZ(dst[:size:size], src); err == nil {
			again := make([]byte, n)
			_, err := fillBloscLZ(again, src)
			require.NoError(t, err)
			require.True(t, bytes.Equal(again, dst[:n]), "depends on the room there is")
		}
		require.Equal(t, bytes.Repeat([]byte{0xa5}, 8), dst[size:], "wrote past the end")
	})
}
