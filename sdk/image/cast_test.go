package image_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

func TestCast(t *testing.T) {
	f32 := func(v ...float32) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	f64 := func(v ...float64) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		return b
	}
	i16 := func(v ...int16) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint16(b, uint16(x))
		}
		return b
	}
	i32 := func(v ...int32) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		}
		return b
	}
	u64 := func(v ...uint64) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		return b
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, tc := range []struct {
		from, to  image.Type
		src, want []byte
	}{
		{image.Float32, image.Int8, f32(300.7, -300, 1.9, -1.9, float32(nan), float32(inf)), []byte{127, 0x80, 1, 0xff, 0, 127}},
		{image.Float32, image.Int32, f32(1e10, -1e10, 7.5), i32(math.MaxInt32, math.MinInt32, 7)},
		{image.Float64, image.Uint64, f64(-1, nan, 1e30, 1<<63), u64(0, 0, math.MaxUint64, 1<<63)},
		{image.Float64, image.Int64, f64(-1e30, 1e30), u64(1<<63, math.MaxInt64)},
		{image.Float64, image.Float32, f64(0.1, 1e300, -1e300), f32(0.1, float32(inf), float32(-inf))},
		{image.Int16, image.Uint8, i16(-5, 256, 255), []byte{0, 255, 255}},
		{image.Int16, image.Float32, i16(-32768, 32767), f32(-32768, 32767)},
		{image.Uint64, image.Int64, u64(math.MaxUint64, 5), u64(math.MaxInt64, 5)},
		{image.Uint64, image.Float64, u64(math.MaxUint64, 5), f64(math.MaxUint64, 5)},
		{image.Int8, image.Int8, []byte{1, 2}, []byte{1, 2}},
		{image.ComplexInt16, image.Complex64, i16(1, -2, 3, -4), f32(1, -2, 3, -4)},
		{image.Complex64, image.ComplexInt16, f32(1.5, -70000), i16(1, -32768)},
	} {
		got := make([]byte, len(tc.want))
		require.NoError(t, image.Cast(got, tc.to, tc.src, tc.from), "%v to %v", tc.from, tc.to)
		require.Equal(t, tc.want, got, "%v to %v", tc.from, tc.to)
	}
	require.ErrorIs(t, image.Cast(make([]byte, 4), image.Float32, make([]byte, 8), image.Complex64), fault.ErrInvalid)
	require.ErrorIs(t, image.Cast(make([]byte, 8), image.Complex64, make([]byte, 4), image.Float32), fault.ErrInvalid)
	require.ErrorIs(t, image.Cast(make([]byte, 4), image.Float32, make([]byte, 8), image.Float32), fault.ErrInvalid)
	require.ErrorIs(t, image.Cast(nil, 0, nil, image.Float32), fault.ErrInvalid)
}

// Every half becomes a float32 of the same value and comes back.
func TestHalves(t *testing.T) {
	all := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(all[2*i:], uint16(i))
	}
	wide, back := make([]byte, 4<<16), make([]byte, 2<<16)
	require.NoError(t, image.Cast(wide, image.Float32, all, image.Float16))
	require.NoError(t, image.Cast(back, image.Float16, wide, image.Float32))
	for i := range 1 << 16 {
		h := binary.LittleEndian.Uint16(back[2*i:])
		if i&0x7c00 == 0x7c00 && i&0x3ff != 0 { // any NaN is a NaN
			require.True(t, h&0x7c00 == 0x7c00 && h&0x3ff != 0)
			continue
		}
		require.Equal(t, uint16(i), h)
		f := float64(math.Float32frombits(binary.LittleEndian.Uint32(wide[4*i:])))
		exp, frac := i>>10&31, float64(i&0x3ff)
		want := math.Ldexp(1024+frac, exp-25)
		switch exp {
		case 0:
			want = math.Ldexp(frac, -24)
		case 31:
			want = math.Inf(1)
		}
		require.Equal(t, math.Copysign(want, 1-float64(i>>15)*2), f)
	}
	// Between two halves the nearer, of two as near the even one.
	for v, want := range map[float64]uint16{
		1 + 1.0/2048: 0x3c00, 1 + 3.0/2048: 0x3c02, 65519.99: 0x7bff, 65520: 0x7c00, 0x1p-25: 0, 0x1.8p-25: 1, 0x1.ffffp-15: 0x400, 1 + 1.0/2048 + 0x1p-50: 0x3c01,
	} {
		src := binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
		got := make([]byte, 2)
		require.NoError(t, image.Cast(got, image.Float16, src, image.Float64))
		require.Equal(t, want, binary.LittleEndian.Uint16(got), "%v", v)
	}
}
