package image_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// header makes a header by hand, without the package's own writer.
func header(order binary.ByteOrder, nx, ny, nz, mode int32) []byte {
	h := make([]byte, 1024)
	for off, v := range map[int]int32{0: nx, 4: ny, 8: nz, 12: mode, 36: 1, 64: 1, 68: 2, 72: 3} {
		order.PutUint32(h[off:], uint32(v))
	}
	copy(h[208:], "MAP ")
	copy(h[212:], "\x44\x44")
	if order == binary.ByteOrder(binary.BigEndian) {
		copy(h[212:], "\x11\x11")
	}
	return h
}

func parse(head []byte, size int64, name string) (*image.MRCHeader, error) {
	return image.ParseMRCHeader(head, size, name)
}

// Real files carry all kinds of stamps and tags.
func TestStampsAndTags(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		big := order == binary.ByteOrder(binary.BigEndian)
		for _, tc := range []struct {
			stamp string
			fine  bool // for a little-endian file
		}{
			{"\x44\x44\x00\x00", !big}, {"\x44\x41\x00\x00", !big}, {"\x44\x11\x00\x00", false}, {"\x44\x00\x00\x00", false},
			{"\x44\x20\x20\x20", false}, {"\x11\x11\x00\x00", big}, {"\x00\x00\x00\x00", false},
		} {
			h := header(order, 6, 4, 3, 2)
			copy(h[212:], tc.stamp)
			got, err := parse(h, 1024+6*4*3*4, "a.mrcs")
			require.NoError(t, err)
			require.Equal(t, big, got.BigEndian)
			require.Equal(t, [3]int32{6, 4, 3}, [3]int32{got.NX, got.NY, got.NZ})
			require.Equal(t, tc.fine, len(got.Warnings) == 0, "%q %v: %v", tc.stamp, order, got.Warnings)
		}
		for tag, fine := range map[string]bool{"MAP ": true, "MAP\x00": true, "map ": false, "\x00\x00\x00\x00": false} {
			h := header(order, 6, 4, 3, 2)
			copy(h[208:], tag)
			got, err := parse(h, 1024+6*4*3*4, "a.MRC")
			require.NoError(t, err)
			require.Equal(t, fine, len(got.Warnings) == 0, "%q: %v", tag, got.Warnings)
			_, err = parse(h, 1024+6*4*3*4, "a.dat") // nothing but the name says that it is one
			require.Equal(t, fine, err == nil)
			_, err = parse(h, 1024+6*4*3*4-1, "a.mrc") // nor are the sizes right
			require.Equal(t, fine, err == nil)
		}
	}
}

// A header alone may not lead to memory being taken, nor to sums that wrap.
func TestSizesThatCannotBe(t *testing.T) {
	const most = 1<<31 - 1
	for _, tc := range []struct {
		nx, ny, nz, mode, extended int32
		want                       string
	}{
		{most, most, most, 2, 0, "bad header: sizes"},
		{most, most, 1, 4, 0, "bad header: sizes"},
		{most, most, 1, 0, 0, "truncated data"},
		{most, most, 2, 101, 0, "truncated data"},
		{65536, 65536, 1, 0, 0, "truncated data"},
		{-1, 4, 4, 2, 0, "NX is -1"},
		{4, -1, 4, 2, 0, "NY is -1"},
		{4, 4, -1, 2, 0, "NZ is -1"},
		{4, 0, 4, 2, 0, "NY is 0"},
		{4, 4, 4, 2, -5, "NSYMBT is -5"},
		{4, 4, 4, 2, most, "truncated data"},
	} {
		h := header(binary.LittleEndian, tc.nx, tc.ny, tc.nz, tc.mode)
		binary.LittleEndian.PutUint32(h[92:], uint32(tc.extended))
		fs := storage.NewMemoryFS(0)
		put(t, fs, "a.mrcs", h)
		_, err := image.Files(fs, image.FilesOptions{}).Open(ctx, "a.mrcs")
		require.ErrorIs(t, err, fault.ErrCorrupt)
		require.ErrorContains(t, err, tc.want)
	}
}

func TestOddities(t *testing.T) {
	_, fs, _ := loadImages(t)
	files := image.Files(fs, image.FilesOptions{})
	open := func(key string) *image.MRCHeader {
		r, err := files.Open(ctx, key)
		require.NoError(t, err)
		defer r.Close()
		return r.(interface{ Header() *image.MRCHeader }).Header()
	}
	for key, want := range map[string]string{
		"trailing_2x4x4.mrcs":             "100 bytes follow the data",
		"mapid_missing_2x4x4.mrcs":        "there is no MAP tag",
		"mapcrs_zero_2x4x4.mrcs":          "the header does not name the axes",
		"machst_zero_be_2x4x4.mrcs":       "odd machine stamp",
		"machst_lies_be_2x4x4.mrcs":       "the machine stamp names the other byte order",
		"machst_lies_mode0_le_2x4x6.mrcs": "the machine stamp names the other byte order",
	} {
		require.Equal(t, []string{want}, open(key).Warnings, key)
	}
	strict := image.Files(fs, image.FilesOptions{MRCOptions: image.MRCOptions{Strict: true}})
	for key, read := range map[string]bool{"trailing_2x4x4.mrcs": true, "mapid_missing_2x4x4.mrcs": false, "machst_zero_be_2x4x4.mrcs": false, "mode2_be_7x16x16.mrcs": true} {
		r, err := strict.Open(ctx, key)
		if !read {
			require.ErrorIs(t, err, fault.ErrCorrupt)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, r.Close())
	}
	require.Equal(t, [3]int32{2, 1, 3}, open("mapcrs_213_4x3x5.mrc").Axes)
	require.Len(t, open("labels_10_2x4x4.mrcs").Labels, 10)
	require.Equal(t, "FEI1", open("ext_fei1_3x8x8.mrc").ExtendedType)
	require.Empty(t, open("mode2_le_7x16x16.mrcs").Warnings)
}

func TestExtendedHeader(t *testing.T) {
	_, fs, _ := loadImages(t)
	r, err := image.Files(fs, image.FilesOptions{}).Open(ctx, "ext_ccp4_sym_4x8x8.map")
	require.NoError(t, err)
	defer r.Close()
	raw, err := r.(interface {
		ExtendedHeader(context.Context) ([]byte, error)
	}).ExtendedHeader(ctx)
	require.NoError(t, err)
	require.Len(t, raw, 160)
	require.True(t, strings.HasPrefix(string(raw), "X,"), "%q", raw)
}

// A stack that a program is still writing.
func TestAllowPartial(t *testing.T) {
	_, fs, _ := loadImages(t)
	r, err := image.Files(fs, image.FilesOptions{MRCOptions: image.MRCOptions{AllowPartial: true}}).Open(ctx, "bad_two_images_missing.mrcs")
	require.NoError(t, err)
	defer r.Close()
	d := r.Describe()
	require.Equal(t, int64(6), d.Count)
	one := make([]byte, d.ImageBytes())
	for i := range int64(4) {
		require.NoError(t, r.ReadImages(ctx, one, i))
	}
	require.ErrorIs(t, r.ReadImages(ctx, one, 4), fault.ErrCorrupt)
	require.ErrorContains(t, r.ReadImages(ctx, make([]byte, 2*len(one)), 3), "truncated data")
	f, err := fs.Open(ctx, "bad_two_images_missing.mrcs", storage.OpenWrite)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt(make([]byte, d.ImageBytes()), 1024+4*d.ImageBytes())
	require.NoError(t, err)
	require.NoError(t, r.ReadImages(ctx, one, 4))
	require.Error(t, r.ReadImages(ctx, one, 5))
}

func TestSignOfBytes(t *testing.T) {
	_, fs, _ := loadImages(t)
	for sign, want := range map[image.ByteSign]image.Type{
		image.BytesAsMarked: image.Uint8, image.BytesSigned: image.Int8, image.BytesUnsigned: image.Uint8,
	} {
		r, err := image.Files(fs, image.FilesOptions{MRCOptions: image.MRCOptions{Bytes: sign}}).Open(ctx, "mode0_imod_unsigned_2x5x7.mrcs")
		require.NoError(t, err)
		require.Equal(t, want, r.Describe().Type)
		require.NoError(t, r.Close())
	}
}

// A file that shrinks under a reader is a short read.
func TestShrinks(t *testing.T) {
	_, fs, st := loadImages(t)
	r, err := image.Files(fs, image.FilesOptions{}).Open(ctx, "mode2_le_7x16x16.mrcs")
	require.NoError(t, err)
	defer r.Close()
	s, err := image.Objects(st, image.FilesOptions{}).Open(ctx, "mode2_le_7x16x16.mrcs")
	require.NoError(t, err)
	f, err := fs.Open(ctx, "mode2_le_7x16x16.mrcs", storage.OpenWrite)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(1024+100))
	st.Set("mode2_le_7x16x16.mrcs", []byte("another"))
	one := make([]byte, r.Describe().ImageBytes())
	require.ErrorIs(t, r.ReadImages(ctx, one, 0), fault.ErrCorrupt)
	require.ErrorIs(t, s.ReadImages(ctx, one, 0), fault.ErrStale)
}

// Readers of a stack that another program replaces all the time get images of
// the old one or of the new one.
func TestReplacedWhileRead(t *testing.T) {
	fs := storage.NewMemoryFS(0)
	write := func(name string, value byte, columns int32) {
		b := append(header(binary.LittleEndian, columns, 4, 3, 0), bytes.Repeat([]byte{value}, int(columns)*12)...)
		put(t, fs, name, b)
	}
	write("a.mrcs", 1, 4)
	var wg sync.WaitGroup
	var stop atomic.Bool
	for range 8 {
		wg.Go(func() {
			files := image.Files(fs, image.FilesOptions{})
			for !stop.Load() {
				r, err := files.Open(ctx, "a.mrcs")
				if err != nil {
					t.Error(err)
					return
				}
				d := r.Describe()
				all := make([]byte, d.Bytes())
				if err := r.ReadImages(ctx, all, 0); err != nil {
					t.Error(err)
				}
				if want := byte(d.ImageShape[1] - 3); bytes.Count(all, []byte{want}) != len(all) {
					t.Errorf("not all of %d: %v", want, all)
				}
				r.Close()
			}
		})
	}
	for i := range 100 {
		write("new", byte(i%50+1), int32(i%50+4))
		require.NoError(t, fs.Rename(ctx, "new", "a.mrcs"))
	}
	stop.Store(true)
	wg.Wait()
}
