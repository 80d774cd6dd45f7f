package codec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// golden is one entry of testdata/codec/codecs.json.
type golden struct {
	Name          string          `json:"name"`
	ID            string          `json:"id"`
	Configuration json.RawMessage `json:"configuration"`
	Encoded       []byte          `json:"encoded"`
	Size          int             `json:"size"`
	SHA256        string          `json:"sha256"`
	Again         []byte          `json:"again"`
}

func goldens(t testing.TB) []golden {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "codec", "codecs.json"))
	require.NoError(t, err)
	var all []golden
	require.NoError(t, json.Unmarshal(b, &all))
	require.NotEmpty(t, all)
	return all
}

func (g golden) make(t testing.TB) Bytes {
	t.Helper()
	c, err := NewV2(g.ID, g.Configuration)
	require.NoError(t, err)
	require.Equal(t, g.ID, c.Name())
	return c
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func TestPeersEncodings(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel() // decoders share pools
			c := g.make(t)
			before := sum(g.Encoded)
			got, err := c.Decode(t.Context(), []byte("head")[:4:4], g.Encoded, g.Size)
			require.NoError(t, err)
			got = g.tail(c, got)
			require.Equal(t, g.SHA256, sum(got))
			require.Equal(t, before, sum(g.Encoded), "the input was changed")

			most, fixed := c.EncodedSize(int64(g.Size))
			if fixed {
				require.Equal(t, most, int64(len(g.Encoded)))
			} else if strings.Contains(g.Name, "lzma_streams") {
				return // not one encoding, but two
			}
			require.LessOrEqual(t, int64(len(g.Encoded)), most)

			if g.Size > 0 {
				_, err = c.Decode(t.Context(), nil, g.Encoded, g.Size-1)
				require.ErrorIs(t, err, fault.ErrLimit)
			}
			room := make([]byte, 0, g.Size+1000)
			got, err = c.Decode(t.Context(), room, g.Encoded, g.Size)
			require.NoError(t, err)
			require.Equal(t, g.SHA256, sum(got))
			if g.Size > 0 && Copies(c) {
				require.Same(t, &room[:1][0], &got[0], "the room was not used")
			}
		})
	}
}

// tail is got without the head that decoding appended to; results that share
// memory with their input have none.
func (g golden) tail(c Bytes, got []byte) []byte {
	if Copies(c) {
		return got[4:]
	}
	return got
}

func TestEncoding(t *testing.T) {
	n := 0
	for _, g := range goldens(t) {
		c := g.make(t)
		e, ok := c.(Encoder)
		if !ok || c.Name() == "bitround" || strings.HasPrefix(g.Name, "blosc_snappy") { // which nobody writes
			continue
		}
		n++
		t.Run(g.Name, func(t *testing.T) {
			data, err := c.Decode(t.Context(), nil, g.Encoded, g.Size)
			require.NoError(t, err)
			encoded, err := e.Encode([]byte("head"), data)
			require.NoError(t, err)
			require.Equal(t, "head", string(encoded[:4]))
			encoded = encoded[4:]
			most, fixed := c.EncodedSize(int64(len(data)))
			require.LessOrEqual(t, int64(len(encoded)), most)
			if fixed {
				require.EqualValues(t, most, len(encoded))
			}
			switch c.(type) {
			case Elements: // may lose what it rounds
				require.Equal(t, g.Again, encoded, "a peer encodes otherwise")
				return
			case checksum, byteShuffle:
				require.Equal(t, g.Encoded, encoded, "a peer encodes otherwise")
			}
			again, err := c.Decode(t.Context(), nil, encoded, len(data))
			require.NoError(t, err)
			require.Equal(t, g.SHA256, sum(again))
		})
	}
	require.Greater(t, n, 100)
}

// TestDamage cuts and flips each encoding: an error or other bytes, never more
// of them than are due, and no panic.
func TestDamage(t *testing.T) {
	for _, g := range goldens(t) {
		if len(g.Encoded) > 1000 {
			continue
		}
		c := g.make(t)
		decode := func(src []byte, what string, at int) error {
			out, err := c.Decode(context.Background(), nil, src, g.Size)
			require.LessOrEqual(t, len(out), g.Size, "%s %s %d", g.Name, what, at)
			if err != nil {
				code := fault.CodeOf(err)
				require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported}, code, "%s %s %d: %v", g.Name, what, at, err)
			}
			return err
		}
		step := 1 + len(g.Encoded)/16
		for at := 0; at < len(g.Encoded); at += step {
			err := decode(g.Encoded[:at], "cut at", at)
			if _, filter := c.(Elements); !filter && g.ID != "shuffle" && g.Size > 0 && !strings.Contains(g.Name, "lzma_streams") && (at > 0 || g.ID != "zstd") { // nothing is no frames
				require.Error(t, err, "%s cut at %d", g.Name, at)
			}
			damaged := append([]byte(nil), g.Encoded...)
			damaged[at] ^= 0x55
			err = decode(damaged, "flipped at", at)
			if _, sums := c.(checksum); sums {
				require.ErrorIs(t, err, fault.ErrCorrupt, "%s flipped at %d", g.Name, at)
			}
		}
	}
}
