package deflate

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func corpus() [][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	all := [][]byte{nil, {1}, {1, 1}, {1, 2, 3}, bytes.Repeat([]byte("ab"), 3), make([]byte, 100_000)}
	for n := 1; n < 200_000; n = n*2 + 1 {
		for _, letters := range []uint32{2, 20, 256} {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32N(letters))
			}
			all = append(all, b)
		}
		var words []byte
		for len(words) < n {
			if k := int(r.Uint32N(600)); k > 0 && len(words) > k && r.Uint32N(3) > 0 {
				from := int(r.Uint32N(uint32(len(words) - k)))
				words = append(words, words[from:from+k]...)
			} else {
				words = append(words, byte(r.ExpFloat64()*20), byte(r.Uint32()))
			}
		}
		all = append(all, words[:n])
	}
	return all
}

func unpack(t *testing.T, b []byte) []byte {
	src := bytes.NewReader(b)
	got, err := io.ReadAll(flate.NewReader(src))
	require.NoError(t, err)
	require.Zero(t, src.Len(), "bytes after the end")
	return got
}

func TestAppend(t *testing.T) {
	for i, want := range corpus() {
		for level := 1; level <= 9; level++ {
			b := Append([]byte("head"), want, level)
			require.Equal(t, "head", string(b[:4]))
			require.True(t, bytes.Equal(want, unpack(t, b[4:])), "%d at %d", i, level)
			require.LessOrEqual(t, len(b), 4+len(want)+5*(len(want)/1000+1))
		}
	}
}

// The library's sizes are those of zlib but for the shortest matches.
func TestSizes(t *testing.T) {
	text := bytes.Repeat([]byte("seven sleepy snails slid slowly south; "), 10)
	r := rand.New(rand.NewPCG(1, 2))
	for len(text) < 300_000 {
		from := r.IntN(len(text) - 30)
		text = append(text, text[from:from+3+r.IntN(27)]...)
		text = append(text, byte('a'+r.IntN(26)))
	}
	for _, level := range []int{1, 6, 9} {
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, level)
		require.NoError(t, err)
		_, err = w.Write(text)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.LessOrEqual(t, float64(len(Append(nil, text, level))), 1.05*float64(b.Len()), "at %d", level)
	}
}

func FuzzAppend(f *testing.F) {
	for _, b := range corpus() {
		if len(b) < 3000 {
			f.Add(b, 1, 6)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, times, level int) {
		if times < 1 || times > 2000 || len(b)*times > 200_000 || level < 1 || level > 9 {
			return
		}
		want := bytes.Repeat(b, times)
		require.True(t, bytes.Equal(want, unpack(t, Append(nil, want, level))))
	})
}
