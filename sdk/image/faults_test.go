package image_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Tests named after reports of faults in other programs.

// Report 82: the data begins behind the extended header, whatever blocks that
// is made of and however it is padded; its bytes are given as they are.
func TestReport82ExtendedHeaders(t *testing.T) {
	for _, tc := range []struct {
		tag  string
		size int
	}{{"FEI1", 3 * 768}, {"FEI1", 3*768 + 256}, {"FEI1", 100}, {"FEI2", 3*888 + 1}, {"SERI", 7}, {"CCP4", 81}, {"MRCO", 512}, {"AGAR", 1}, {"WHAT", 1000}, {"\xff\x00\x01z", 33}, {"", 600}} {
		raw := make([]byte, tc.size)
		for i := range raw {
			raw[i] = byte(7*i + 3)
		}
		h := header(binary.LittleEndian, 4, 2, 3, 1)
		binary.LittleEndian.PutUint32(h[92:], uint32(tc.size))
		copy(h[104:108], tc.tag)
		pixels := make([]byte, 3*4*2*2)
		for i := range pixels {
			pixels[i] = byte(i + 1)
		}
		fs := storage.NewMemoryFS(0)
		put(t, fs, "a.mrcs", append(append(h, raw...), pixels...))
		r, err := image.Files(fs, image.FilesOptions{}).Open(ctx, "a.mrcs")
		require.NoError(t, err, "%q of %d", tc.tag, tc.size)
		off, n := r.(interface{ Header() *image.MRCHeader }).Header().Data()
		require.Equal(t, [2]int64{int64(1024 + tc.size), int64(len(pixels))}, [2]int64{off, n})
		got := make([]byte, len(pixels))
		require.NoError(t, r.ReadImages(ctx, got, 0))
		require.Equal(t, pixels, got)
		extended, err := r.(interface {
			ExtendedHeader(context.Context) ([]byte, error)
		}).ExtendedHeader(ctx)
		require.NoError(t, err)
		require.Equal(t, raw, extended)
		require.NoError(t, r.Close())
	}
}

// Report 83: where both byte orders make equal sense, and the stamp says
// neither, the file is not guessed at.
func TestReport83NoOrder(t *testing.T) {
	h := header(binary.LittleEndian, 256, 1, 1, 0)
	clear(h[64:76]) // the axes
	for _, off := range []int{4, 8} {
		binary.LittleEndian.PutUint32(h[off:], 0x00010100) // the same both ways
	}
	const enough = int64(1024 + 65536*0x10100*0x10100)
	for stamp, want := range map[string]int32{"\x44\x44": 256, "\x11\x11": 65536, "\x00\x00": 0, "\x20\x20": 0} {
		copy(h[212:], stamp)
		got, err := parse(h, enough, "a.mrcs")
		if want == 0 {
			require.ErrorIs(t, err, fault.ErrCorrupt, "%q", stamp)
			require.ErrorContains(t, err, "byte order")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, got.NX, "%q", stamp)
	}
	// One that reads the same both ways needs no order.
	binary.LittleEndian.PutUint32(h[0:], 0x00010100)
	copy(h[212:], "\x00\x00")
	got, err := parse(h, 1<<62, "a.mrcs")
	require.NoError(t, err)
	require.Equal(t, int32(0x00010100), got.NX)
}

// Report 84: a count of labels that cannot be is none, or all there is room
// for.
func TestReport84LabelCounts(t *testing.T) {
	for count, want := range map[int32]int{-1: 0, 0: 0, 1: 1, 10: 10, 11: 10, 1<<31 - 1: 10, -1 << 31: 0} {
		h := header(binary.LittleEndian, 4, 2, 3, 1)
		binary.LittleEndian.PutUint32(h[220:], uint32(count))
		copy(h[224:], "SerialEM: Digitized on a camera")
		got, err := parse(h, 1024+48, "a.mrcs")
		require.NoError(t, err)
		require.Len(t, got.Labels, want, "%d", count)
		if want > 0 {
			require.Equal(t, "SerialEM: Digitized on a camera", got.Labels[0])
		}
	}
}

// Report 86: modes that are not read are refused by their number.
func TestReport86Modes(t *testing.T) {
	for mode := int32(-2); mode < 130; mode++ {
		h := header(binary.LittleEndian, 4, 2, 3, mode)
		got, err := parse(h, 1024+8*24, "a.mrcs")
		switch mode {
		case 0, 1, 2, 3, 4, 6, 12, 101:
			require.NoError(t, err)
			require.Equal(t, mode, got.Mode)
		default:
			require.ErrorIs(t, err, fault.ErrUnsupported)
			require.ErrorContains(t, err, fmt.Sprint("mode: ", mode))
		}
	}
	fs := storage.NewMemoryFS(0)
	put(t, fs, "a.mrcs", append(header(binary.LittleEndian, 4, 1, 1, 0), 0xff, 0x80, 0x7f, 0))
	r, err := image.Files(fs, image.FilesOptions{}).Open(ctx, "a.mrcs")
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, image.Int8, r.Describe().Type)
	raw, wide := make([]byte, 4), make([]byte, 16)
	require.NoError(t, r.ReadImages(ctx, raw, 0))
	require.NoError(t, image.Cast(wide, image.Float32, raw, image.Int8))
	var want bytes.Buffer
	require.NoError(t, binary.Write(&want, binary.LittleEndian, []float32{-1, -128, 127, 0}))
	require.Equal(t, want.Bytes(), wide, "a pixel of -1 is -1")
}

// Report 91: an image number past the end is an error that names it, and a
// name without a number is all of its file.
func TestReport91PastTheEnd(t *testing.T) {
	_, fs, _ := loadImages(t)
	files := image.Files(fs, image.FilesOptions{})
	r, err := files.Open(ctx, "mode2_le_7x16x16.mrcs")
	require.NoError(t, err)
	defer r.Close()
	for text, first := range map[string]int64{"1@f": 0, "000007@f": 6, "8@f": -1, "9223372036854775807@f": -1} {
		l, err := image.ParseLocation(text)
		require.NoError(t, err)
		at, n, err := r.Describe().Images(l)
		if first < 0 {
			require.ErrorIs(t, err, fault.ErrOutOfRange, text)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, [2]int64{first, 1}, [2]int64{at, n}, text)
	}
	l, err := image.ParseLocation("f")
	require.NoError(t, err)
	_, n, err := r.Describe().Images(l)
	require.NoError(t, err)
	require.Equal(t, int64(7), n)
}

// Report 83: the pixels of one stack in both byte orders under every stamp that
// real files carry, and under the one of the other order.
func TestReport83Pixels(t *testing.T) {
	want := make([]byte, 0, 3*6*4*4)
	for i := range 3 * 6 * 4 {
		want = binary.LittleEndian.AppendUint32(want, uint32(0x3f800000+i))
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		stored := make([]byte, len(want))
		for i := 0; i < len(want); i += 4 {
			order.PutUint32(stored[i:], binary.LittleEndian.Uint32(want[i:]))
		}
		for _, stamp := range []string{"\x44\x44\x00\x00", "\x44\x41\x00\x00", "\x44\x11\x00\x00", "\x44\x00\x00\x00", "\x44\x20\x20\x20", "\x11\x11\x00\x00", "\x00\x00\x00\x00"} {
			h := header(order, 6, 4, 3, 2)
			copy(h[212:], stamp)
			fs := storage.NewMemoryFS(0)
			put(t, fs, "a.mrcs", append(h, stored...))
			r, err := image.Files(fs, image.FilesOptions{}).Open(ctx, "a.mrcs")
			require.NoError(t, err, "%v %q", order, stamp)
			got := make([]byte, len(want))
			require.NoError(t, r.ReadImages(ctx, got, 0))
			require.Equal(t, want, got, "%v %q", order, stamp)
			require.NoError(t, r.ReadImages(ctx, got[:96], 2))
			require.Equal(t, want[2*96:], got[:96])
			require.NoError(t, r.Close())
		}
	}
}
