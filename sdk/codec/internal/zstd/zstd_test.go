package zstd

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// corpus is inputs of many shapes and sizes.
func corpus() map[string][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	all := map[string][]byte{"nothing": nil, "byte": {1}, "zeros": make([]byte, 300_000), "ab": bytes.Repeat([]byte("ab"), 40_000)}
	for _, n := range []int{3, 40, 900, 5000, 70_000, 400_000} {
		suffix := string(rune('a' + len(all)))
		noise, few, words, floats, steps := make([]byte, n), make([]byte, n), []byte{}, []byte{}, []byte{}
		for i := range n {
			noise[i] = byte(r.Uint32())
			few[i] = byte(r.NormFloat64() * 9)
		}
		for len(words) < n {
			if k := int(r.Uint32N(90)); k > 0 && len(words) > k && r.Uint32N(3) > 0 {
				from := int(r.Uint32N(uint32(len(words) - k)))
				words = append(words, words[from:from+k]...)
			} else {
				words = append(words, byte(r.Uint32()), byte('a'+r.Uint32N(20)))
			}
		}
		for i := 0; len(floats) < n; i++ {
			floats = binary.LittleEndian.AppendUint32(floats, math.Float32bits(float32(math.Sin(float64(i)/500))))
			steps = binary.LittleEndian.AppendUint16(steps, uint16(i/7))
		}
		all["noise "+suffix], all["few "+suffix], all["words "+suffix], all["floats "+suffix], all["steps "+suffix] = noise, few, words[:n], floats, steps
	}
	return all
}

// unpack appends to dst, within its capacity if that is enough.
func unpack(dst, src []byte, limit int) ([]byte, error) {
	dst = slices.Grow(dst, limit)
	end, err := Decode(dst[:len(dst)+limit], len(dst), src)
	return dst[:end], err
}

func encoders(t testing.TB) []*zstd.Encoder {
	var out []*zstd.Encoder
	for _, l := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBetterCompression, zstd.SpeedBestCompression} {
		for _, o := range [][]zstd.EOption{{zstd.WithEncoderCRC(true)}, {zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true)}, {zstd.WithAllLitEntropyCompression(true), zstd.WithWindowSize(zstd.MinWindowSize)}} {
			e, err := zstd.NewWriter(nil, append(o, zstd.WithEncoderLevel(l), zstd.WithEncoderConcurrency(1))...)
			require.NoError(t, err)
			out = append(out, e)
		}
	}
	return out
}

func TestDecodesWhatThePeerEncodes(t *testing.T) {
	for name, want := range corpus() {
		for i, e := range encoders(t) {
			encoded := e.EncodeAll(want, nil)
			got, err := unpack([]byte("head"), encoded, len(want))
			require.NoError(t, err, "%s, encoder %d", name, i)
			require.True(t, bytes.Equal(want, got[4:]), "%s, encoder %d", name, i)
			if len(want) > 0 {
				_, err = unpack(nil, encoded, len(want)-1)
				require.ErrorIs(t, err, fault.ErrLimit, name)
			}
			for range 20 { // damage is found, or at least does nothing else
				b := bytes.Clone(encoded)
				if len(b) > 0 {
					b[rand.IntN(len(b))] ^= 1 << rand.IntN(8)
				}
				compare(t, b, len(want)+10)
			}
			if n := len(encoded); n > 9 {
				_, err = unpack(nil, encoded[:n-1-rand.IntN(n-1)], len(want))
				require.ErrorIs(t, err, fault.ErrCorrupt, name)
			}
		}
	}
}

// TestFrames: blocks without a content size, frames one after the other, and
// between them what is to be skipped.
func TestFrames(t *testing.T) {
	var b bytes.Buffer
	var want []byte
	for name, content := range corpus() {
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(1<<14))
		require.NoError(t, err)
		for rest := content; len(rest) > 0; {
			n := min(len(rest), 30_000)
			_, err = w.Write(rest[:n])
			require.NoError(t, err)
			require.NoError(t, w.Flush())
			rest = rest[n:]
		}
		require.NoError(t, w.Close(), name)
		b.Write([]byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3})
		want = append(want, content...)
	}
	got, err := unpack(nil, b.Bytes(), len(want))
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
	_, err = unpack(nil, b.Bytes(), len(want)-1)
	require.ErrorIs(t, err, fault.ErrLimit)
	_, err = unpack(nil, append(b.Bytes(), 0), len(want))
	require.ErrorIs(t, err, fault.ErrCorrupt)
}

var peer, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))

// compare holds Decode to the library.
func compare(t *testing.T, b []byte, limit int) {
	const guard = 16
	room := bytes.Repeat([]byte{0xa5}, limit+guard)
	got, err := unpack(room[:0:limit], b, limit)
	require.Equal(t, bytes.Repeat([]byte{0xa5}, guard), room[limit:], "wrote past the end")
	want, peerErr := peer.DecodeAll(b, make([]byte, 0, limit))
	if peerErr == nil && limit > 0 {
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
	}
	if err != nil {
		require.True(t, fault.CodeOf(err) == fault.CodeCorrupt || fault.CodeOf(err) == fault.CodeLimit, "%v", err)
	}
}

// TestDictionary: frames of a dictionary, which only it decodes.
func TestDictionary(t *testing.T) {
	all := corpus()
	var parts [][]byte
	for name, b := range all {
		if len(b) >= 5000 && name[0] != 'n' {
			for i := 0; i+600 < min(len(b), 60_000); i += 600 {
				parts = append(parts, b[i:i+500])
			}
		}
	}
	raw, err := dict.BuildZstdDict(parts, dict.Options{MaxDictSize: 20_000, HashBytes: 6, ZstdDictID: 77_777, ZstdLevel: zstd.SpeedDefault})
	require.NoError(t, err)
	d, err := ParseDictionary(raw)
	require.NoError(t, err)
	smaller := 0
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedBetterCompression} {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderDict(raw), zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		bare, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		for name, b := range all {
			for _, want := range [][]byte{b, b[:min(len(b), 700)]} {
				encoded := e.EncodeAll(want, nil)
				room := make([]byte, len(want))
				end, err := d.Decode(room, 0, encoded)
				require.NoError(t, err, name)
				require.True(t, bytes.Equal(want, room[:end]), name)
				plain := bare.EncodeAll(want, nil)
				_, err = d.Decode(room, 0, plain)
				require.NoError(t, err, "a frame without a dictionary")
				if len(encoded) < len(plain)-20 {
					smaller++
					_, err = Decode(room, 0, encoded)
					require.ErrorIs(t, err, fault.ErrCorrupt, "without the dictionary")
				}
			}
		}
	}
	require.NotZero(t, smaller, "no frame refers to the dictionary")
	for n := range min(len(raw), 3000) {
		b := bytes.Clone(raw[:n])
		_, _ = ParseDictionary(b) // no panic
		if n < 100 {
			_, err := ParseDictionary(b)
			require.ErrorIs(t, err, fault.ErrCorrupt)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, content := range corpus() {
		if len(content) <= 5000 {
			for _, e := range encoders(f) {
				f.Add(e.EncodeAll(content, nil), len(content))
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		if limit >= 0 && limit <= 1<<18 {
			compare(t, b, limit)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	e := encoders(b)[11]
	all := corpus()
	for _, name := range []string{"few", "words", "floats"} {
		for key, content := range all {
			if len(content) < 400_000 || key[:3] != name[:3] {
				continue
			}
			encoded := e.EncodeAll(content, nil)
			dst := make([]byte, 0, len(content))
			b.Run(name+"/own", func(b *testing.B) {
				b.SetBytes(int64(len(content)))
				for b.Loop() {
					if _, err := unpack(dst, encoded, len(content)); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(name+"/library", func(b *testing.B) {
				b.SetBytes(int64(len(content)))
				for b.Loop() {
					if _, err := peer.DecodeAll(encoded, dst); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
