package blosc

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// field is packed weather data: float32, smooth with noise, in steps of 1/256.
func field(rows, cols int) []byte {
	r := rand.New(rand.NewPCG(7, 0))
	b := make([]byte, 0, 4*rows*cols)
	for i := range rows {
		y := float64(i) * 0.001
		for k := range cols {
			x := 40 * math.Pi * float64(k) / float64(cols)
			v := 280 + 20*math.Sin(x+y)*math.Cos(0.3*y) + 0.3*r.NormFloat64()
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(math.Round(v*256)/256)))
		}
	}
	return b
}

// benched goes through the codecs, levels and filters of bench/containers.py.
func benched(b *testing.B, do func(b *testing.B, src []byte, p Params)) {
	src := field(512, 1024)
	for _, c := range []struct {
		codec Codec
		level int
	}{{BloscLZ, 5}, {LZ4, 5}, {Zstd, 1}, {Zstd, 5}, {LZ4HC, 5}, {Zlib, 5}} {
		for _, id := range []FilterID{Shuffle, BitShuffle} {
			b.Run(c.codec.String()+strconv.Itoa(c.level)+"-"+id.String(), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				do(b, src, Params{Codec: c.codec, Level: c.level, TypeSize: 4, BlockSize: 256 << 10, Filters: []Filter{{ID: id}}})
			})
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	benched(b, func(b *testing.B, src []byte, p Params) {
		var out []byte
		var err error
		for b.Loop() {
			if out, err = Encode(out[:0], src, p); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(src))/float64(len(out)), "ratio")
	})
}

func BenchmarkDecode(b *testing.B) {
	benched(b, func(b *testing.B, src []byte, p Params) {
		packed, err := Encode(nil, src, p)
		if err != nil {
			b.Fatal(err)
		}
		c, err := Open(packed, Options{})
		if err != nil {
			b.Fatal(err)
		}
		dst := make([]byte, 0, len(src))
		for b.Loop() {
			if _, err := c.Decode(dst); err != nil {
				b.Fatal(err)
			}
		}
	})
}
