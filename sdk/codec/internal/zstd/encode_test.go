package zstd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// encoded is inputs that reach every part of the encoder.
func encoded() map[string][]byte {
	all := corpus()
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 16383, 16384, 16385, 65791, 65792, 128 << 10, 128<<10 + 1, 300_000} {
		for _, letters := range []uint32{1, 2, 5, 100, 129, 140, 256} {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32N(letters))
				if letters == 140 { // uneven, with rare large ones
					b[i] = byte(min(r.ExpFloat64()*9, 255))
				}
			}
			all[fmt.Sprintf("%d of %d letters", n, letters)] = b
		}
	}
	mixed := bytes.Repeat([]byte{0}, 20_000)
	mixed = append(mixed, all["65792 of 256 letters"]...)
	mixed = append(mixed, bytes.Repeat([]byte("the same again and "), 4000)...)
	mixed = append(mixed, bytes.Repeat([]byte{7}, 30_000)...)
	all["mixed"] = append(mixed, mixed...)
	return all
}

func TestEncode(t *testing.T) {
	peer, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	require.NoError(t, err)
	defer peer.Close()
	n := 0
	for name, want := range encoded() {
		for level := range efforts {
			if n++; len(want) > 20_000 && n%7 > 0 {
				continue
			}
			b := Encode([]byte("head"), want, level)
			require.Equal(t, "head", string(b[:4]))
			got, err := peer.DecodeAll(b[4:], nil)
			require.NoError(t, err, "%s at %d", name, level)
			require.True(t, bytes.Equal(want, got), "%s at %d", name, level)
			got, err = unpack(nil, b[4:], len(want))
			require.NoError(t, err, "%s at %d", name, level)
			require.True(t, bytes.Equal(want, got), "%s at %d", name, level)
			require.LessOrEqual(t, len(b), 4+12+len(want)+3*(len(want)/segment+1), "%s at %d", name, level)
		}
	}
	b := Encode(nil, encoded()["mixed"], 1)
	require.Less(t, len(b), 66_000+2000, "the second half is like the first")
}

func FuzzEncode(f *testing.F) {
	inputs := encoded()
	for level := range efforts {
		for name, b := range inputs {
			if len(b) < 3000 && (level == 5 || len(name)%len(efforts) == level) {
				f.Add(b, 1, level)
			}
		}
		// Matches that are long, that lap into each other, and that lie further
		// back than a segment or a window of the level.
		for _, unit := range []int{1, 3, 8, 255, 1021} {
			f.Add(inputs["1024 of 100 letters"][:unit], 200_000/unit/(level+1)%2000+1, level)
		}
		far := append([]byte("what comes again much later"), make([]byte, 2000)...)
		f.Add(append(far, inputs["1023 of 256 letters"]...), 60, level)
	}
	peer, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, b []byte, times, level int) {
		if times < 1 || times > 2000 || len(b)*times > 300_000 || level < 0 || level >= len(efforts) {
			return
		}
		want := bytes.Repeat(b, times)
		got, err := peer.DecodeAll(Encode(nil, want, level), nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
	})
}
