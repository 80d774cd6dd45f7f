package block

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// corpus is inputs of many shapes and sizes.
func corpus() [][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	all := [][]byte{nil, {1}, bytes.Repeat([]byte("ab"), 3), make([]byte, 100_000)}
	for n := 1; n < 70_000; n = n*3/2 + 1 {
		for _, letters := range []uint32{2, 20, 256} {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32N(letters))
			}
			all = append(all, b)
		}
		var words []byte
		for len(words) < n {
			if k := int(r.Uint32N(60)); k > 0 && len(words) > k && r.Uint32N(3) > 0 {
				from := int(r.Uint32N(uint32(len(words) - k)))
				words = append(words, words[from:from+k]...)
			} else {
				words = append(words, byte(r.Uint32()), byte(r.Uint32()))
			}
		}
		all = append(all, words[:n])
	}
	return all
}

func TestLZ4RoundTrip(t *testing.T) {
	for _, want := range corpus() {
		encoded := AppendLZ4([]byte("head"), want)[4:]
		require.LessOrEqual(t, int64(len(encoded)), LZ4Bound(int64(len(want))))
		got := make([]byte, len(want))
		n, err := FillLZ4(got, encoded)
		require.NoError(t, err)
		require.Equal(t, len(want), n)
		require.True(t, bytes.Equal(want, got))
		if n > 0 {
			_, err = FillLZ4(got[:n-1], encoded)
			require.ErrorIs(t, err, fault.ErrCorrupt)
		}
	}
	zeros := AppendLZ4(nil, make([]byte, 100_000))
	require.Less(t, len(zeros), 500)
}

func TestSnappyOfAPeer(t *testing.T) {
	for _, want := range corpus() {
		encoded := s2.EncodeSnappyBetter(nil, want)
		got := make([]byte, len(want)+5)
		n, err := FillSnappy(got, encoded)
		require.NoError(t, err)
		require.Equal(t, len(want), n)
		require.True(t, bytes.Equal(want, got[:n]))
	}
}

func TestRepeat(t *testing.T) {
	for distance := 1; distance < 70; distance++ {
		for n := range 100 {
			for _, spare := range []int{0, 5, 40} {
				at := 70
				b := make([]byte, at+n+spare)
				for i := range at {
					b[i] = byte(i * 7)
				}
				want := append([]byte(nil), b...)
				for i := range n {
					want[at+i] = want[at+i-distance]
				}
				Repeat(b, at, distance, n)
				require.Equal(t, want[:at+n], b[:at+n], "%d bytes from %d back, %d spare", n, distance, spare)
			}
		}
	}
}

func TestLZ4Refuses(t *testing.T) {
	for name, src := range map[string][]byte{
		"empty":                  {},
		"literals past the end":  {0x50, 1, 2},
		"no offset":              {0x10, 1, 9},
		"offset zero":            {0x10, 1, 0, 0, 0},
		"before the output":      {0x10, 1, 2, 0, 0},
		"endless literals":       bytes.Repeat([]byte{255}, 100),
		"endless match":          append([]byte{0x1f, 1, 1, 0}, bytes.Repeat([]byte{255}, 100)...),
		"length without its end": {0xf0},
		"ends with a match":      {0x10, 1, 1, 0},
	} {
		_, err := FillLZ4(make([]byte, 64), src)
		require.ErrorIs(t, err, fault.ErrCorrupt, name)
	}
}

func FuzzLZ4(f *testing.F) {
	for _, b := range corpus() {
		if len(b) < 2000 {
			f.Add(AppendLZ4(nil, b), len(b))
			f.Add(b, 100)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		if size < 0 || size > 1<<16 {
			return
		}
		dst := bytes.Repeat([]byte{0xa5}, size+8)
		if n, err := FillLZ4(dst[:size:size], b); err == nil {
			require.LessOrEqual(t, n, size)
			again := make([]byte, n)
			_, err := FillLZ4(again, b)
			require.NoError(t, err)
			require.True(t, bytes.Equal(again, dst[:n]), "depends on the room there is")
		}
		require.Equal(t, bytes.Repeat([]byte{0xa5}, 8), dst[size:], "wrote past the end")
		got := make([]byte, len(b))
		n, err := FillLZ4(got, AppendLZ4(nil, b))
		require.NoError(t, err)
		require.True(t, n == len(b) && bytes.Equal(b, got))
	})
}

func FuzzSnappy(f *testing.F) {
	for _, b := range corpus() {
		if len(b) < 2000 {
			f.Add(s2.EncodeSnappy(nil, b))
		}
	}
	f.Add([]byte("\x80\x80\x80\x80\x80\x00")) // a size of more than 32 bits
	f.Fuzz(func(t *testing.T, b []byte) {
		dst := make([]byte, 1<<16)
		n, err := FillSnappy(dst, b)
		if err != nil {
			return
		}
		// The peer reads all of it alike, and more: its own extension.
		want, err := s2.Decode(nil, b)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, dst[:n]))
		size, _ := binary.Uvarint(b)
		require.EqualValues(t, size, n)
	})
}

func BenchmarkFillLZ4(b *testing.B) {
	all := corpus()
	for name, data := range map[string][]byte{"words": all[len(all)-1], "two letters": all[len(all)-4], "noise": all[len(all)-2]} {
		encoded := AppendLZ4(nil, data)
		dst := make([]byte, len(data))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := FillLZ4(dst, encoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestLZ4HCRoundTrip(t *testing.T) {
	for i, want := range corpus() {
		for _, level := range []int{1, 3, 5, 9} {
			if level == 9 && i%4 > 0 {
				continue // slow
			}
			start := min(len(want)/3, 1000)
			encoded := AppendLZ4HC([]byte("head"), want, start, level)[4:]
			require.LessOrEqual(t, int64(len(encoded)), LZ4Bound(int64(len(want)-start)))
			got := make([]byte, len(want))
			copy(got, want[:start])
			n, err := FillLZ4After(got, start, encoded)
			require.NoError(t, err)
			require.Equal(t, len(want)-start, n)
			require.True(t, bytes.Equal(want, got), "%d at %d", i, level)
		}
	}
}

func FuzzLZ4HC(f *testing.F) {
	for _, b := range corpus() {
		if len(b) < 2000 {
			f.Add(b, 1, 5)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, times, level int) {
		if times < 1 || times > 200 || len(b)*times > 50_000 || level < 1 || level > 9 {
			return
		}
		want := bytes.Repeat(b, times)
		got := make([]byte, len(want))
		n, err := FillLZ4(got, AppendLZ4HC(nil, want, 0, level))
		require.NoError(t, err)
		require.True(t, n == len(want) && bytes.Equal(want, got))
	})
}
