package inflate

import (
	"bytes"
	"compress/flate"
	stdgzip "compress/gzip"
	stdzlib "compress/zlib"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// corpus is inputs of many shapes and sizes.
func corpus() [][]byte {
	r := rand.New(rand.NewPCG(5, 6))
	all := [][]byte{nil, {1}, bytes.Repeat([]byte("ab"), 3), make([]byte, 100_000)}
	for _, n := range []int{9, 300, 5000, 66_000, 200_000} {
		for _, letters := range []float64{0.6, 9, 60, 1e6} {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(int(r.NormFloat64() * letters))
			}
			all = append(all, b)
		}
		var words, floats []byte
		for len(words) < n {
			if k := int(r.Uint32N(300)); k > 0 && len(words) > k && r.Uint32N(3) > 0 {
				from := int(r.Uint32N(uint32(len(words) - k)))
				words = append(words, words[from:from+k]...)
			} else {
				words = append(words, byte(r.Uint32()), byte(r.Uint32()))
			}
		}
		for i := 0; len(floats) < n; i++ {
			floats = binary.LittleEndian.AppendUint32(floats, math.Float32bits(float32(math.Sin(float64(i)/500))))
		}
		all = append(all, words[:n], floats)
	}
	return all
}

// inflated appends to dst, within its capacity if that is enough.
func inflated(decode func([]byte, int, []byte) (int, error), dst, src []byte, limit int) ([]byte, error) {
	dst = slices.Grow(dst, limit)
	end, err := decode(dst[:len(dst)+limit], len(dst), src)
	return dst[:end], err
}

func packed(t testing.TB, data []byte, level int, w io.WriteCloser, to *bytes.Buffer) []byte {
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return bytes.Clone(to.Bytes())
}

func inZlib(t testing.TB, data []byte, level int) []byte {
	var b bytes.Buffer
	w, err := stdzlib.NewWriterLevel(&b, level)
	require.NoError(t, err)
	return packed(t, data, level, w, &b)
}

func inGzip(t testing.TB, data []byte, level int) []byte {
	var b bytes.Buffer
	w, err := stdgzip.NewWriterLevel(&b, level)
	require.NoError(t, err)
	w.Name, w.Comment, w.Extra = "näme", "comment", []byte{1, 2, 3}
	return packed(t, data, level, w, &b)
}

func TestDecodesWhatThePeerEncodes(t *testing.T) {
	for i, want := range corpus() {
		for _, level := range []int{flate.NoCompression, flate.BestSpeed, 6, flate.BestCompression, flate.HuffmanOnly} {
			encoded := inZlib(t, want, level)
			got, err := inflated(Zlib, []byte("head"), append(bytes.Clone(encoded), "rest"...), len(want))
			require.NoError(t, err, "input %d, level %d", i, level)
			require.True(t, bytes.Equal(want, got[4:]), "input %d, level %d", i, level)
			if len(want) > 0 {
				_, err = inflated(Zlib, nil, encoded, len(want)-1)
				require.ErrorIs(t, err, fault.ErrLimit)
			}
			_, err = inflated(Zlib, nil, encoded[:rand.IntN(len(encoded))], len(want))
			require.ErrorIs(t, err, fault.ErrCorrupt)
			for range 30 {
				encoded[rand.IntN(len(encoded))] ^= 1 << rand.IntN(8)
				compare(t, encoded, len(want)+20)
			}

			encoded = inGzip(t, want, level)
			got, err = inflated(Gzip, []byte("head"), append(encoded, encoded...), 2*len(want))
			require.NoError(t, err, "input %d, level %d", i, level)
			require.True(t, bytes.Equal(append(bytes.Clone(want), want...), got[4:]))
			_, err = inflated(Gzip, nil, append(encoded, 0), len(want))
			require.ErrorIs(t, err, fault.ErrCorrupt)
		}
	}
	_, err := inflated(Gzip, nil, nil, 10)
	require.ErrorIs(t, err, fault.ErrCorrupt)
}

func TestGzipHeader(t *testing.T) {
	full := inGzip(t, []byte("content"), 6)
	n := gzipHeader(full)
	for i := range n {
		require.Zero(t, gzipHeader(full[:i]), "cut at %d", i)
	}
	sealed := append([]byte{0x1f, 0x8b, 8, 2, 0, 0, 0, 0, 0, 0}, 0, 0)
	require.Zero(t, gzipHeader(sealed), "the checksum of the header")
	r, err := stdgzip.NewReader(bytes.NewReader(full))
	require.NoError(t, err)
	require.Equal(t, "comment", r.Comment)
}

// compare holds what is decoded to the standard library.
func compare(t *testing.T, b []byte, limit int) {
	const guard = 16
	room := bytes.Repeat([]byte{0xa5}, limit+guard)
	got, err := inflated(Zlib, room[:0:limit], b, limit)
	require.Equal(t, bytes.Repeat([]byte{0xa5}, guard), room[limit:], "wrote past the end")
	var want []byte
	r, peerErr := stdzlib.NewReader(bytes.NewReader(b))
	if peerErr == nil {
		want, peerErr = io.ReadAll(io.LimitReader(r, int64(limit)+1))
		if peerErr == nil && len(want) <= limit {
			_, peerErr = r.Read(make([]byte, 1))
			if peerErr == io.EOF {
				peerErr = nil
			}
		}
	}
	switch {
	case peerErr != nil:
		require.Error(t, err)
	case len(want) > limit: // what lies behind the limit may be damaged, too
		require.Error(t, err)
	default:
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
	}

	// The same stream, without a checksum in the way.
	end, used, err := inflate(room[:limit], 0, b)
	require.Equal(t, bytes.Repeat([]byte{0xa5}, guard), room[limit:], "wrote past the end")
	src := bytes.NewReader(b)
	want, peerErr = io.ReadAll(io.LimitReader(flate.NewReader(src), int64(limit)+1))
	switch {
	case len(want) > limit:
		require.Error(t, err)
	case peerErr != nil:
		require.Error(t, err)
	default:
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, room[:end]))
		require.Equal(t, len(b)-src.Len(), used)
	}
}

func FuzzInflate(f *testing.F) {
	for _, b := range corpus() {
		if len(b) <= 5000 {
			for _, level := range []int{0, 1, 9, flate.HuffmanOnly} {
				encoded := inZlib(f, b, level)
				f.Add(encoded, len(b))
				f.Add(encoded[2:], len(b))
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		if limit >= 0 && limit <= 1<<17 {
			compare(t, b, limit)
		}
	})
}

func FuzzGzip(f *testing.F) {
	f.Add(inGzip(f, []byte("content"), 6))
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 16
		got, err := inflated(Gzip, nil, b, limit)
		var want []byte
		r, peerErr := stdgzip.NewReader(bytes.NewReader(b))
		if peerErr == nil {
			want, peerErr = io.ReadAll(io.LimitReader(r, limit+1))
		}
		switch {
		case len(want) > limit, peerErr != nil:
			require.Error(t, err)
		default:
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))
		}
	})
}

func BenchmarkInflate(b *testing.B) {
	all := corpus()
	for name, data := range map[string][]byte{"words": all[len(all)-2], "floats": all[len(all)-1], "letters": all[len(all)-5]} {
		encoded := inZlib(b, data, 6)
		dst := make([]byte, 0, len(data))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := inflated(Zlib, dst, encoded, len(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/library", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				r, err := stdzlib.NewReader(bytes.NewReader(encoded))
				require.NoError(b, err)
				if _, err := io.ReadFull(r, dst[:len(data)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
