package image_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

func TestWriteAndRead(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, tc := range []struct {
		name     string
		layout   image.MRCLayout
		sections int
		shape    []int64
	}{
		{"a.mrcs", image.MRCLayout{Type: image.Float32, Columns: 7, Rows: 5}, 4, []int64{4, 5, 7}},
		{"a.mrcs", image.MRCLayout{Type: image.Float16, Columns: 7, Rows: 5, PixelSize: 1.25, Labels: []string{"made for a test"}}, 1, []int64{1, 5, 7}},
		{"a.mrc", image.MRCLayout{Type: image.Int8, Columns: 3, Rows: 3}, 1, []int64{3, 3}},
		{"a.mrcs", image.MRCLayout{Type: image.Uint8, Columns: 3, Rows: 3}, 2, []int64{2, 3, 3}},
		{"a.mrcs", image.MRCLayout{Type: image.Int16, Columns: 3, Rows: 3, Extended: []byte{9}, ExtendedType: "SERI"}, 2, []int64{2, 3, 3}},
		{"a.mrcs", image.MRCLayout{Type: image.Uint16, Columns: 16, Rows: 16, Extended: make([]byte, 768*20), ExtendedType: "FEI1"}, 20, []int64{20, 16, 16}},
		{"a.mrc", image.MRCLayout{Type: image.Complex64, Columns: 3, Rows: 2, Volume: 5}, 5, []int64{5, 2, 3}},
		{"a.mrc", image.MRCLayout{Type: image.ComplexInt16, Columns: 3, Rows: 2, Volume: 2}, 6, []int64{3, 2, 2, 3}},
		{"a.mrcs", image.MRCLayout{Type: image.Float32, Columns: 7, Rows: 5}, 0, []int64{0, 5, 7}},
	} {
		fs := storage.NewMemoryFS(0)
		f, err := fs.Open(ctx, tc.name, storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
		require.NoError(t, err)
		w, err := image.NewMRCWriter(f, tc.layout)
		require.NoError(t, err)
		size := int(tc.layout.Columns*tc.layout.Rows) * tc.layout.Type.Size()
		pixels := make([]byte, tc.sections*size)
		for i := range pixels {
			pixels[i] = byte(random.Uint32())
		}
		files := image.Files(fs, image.FilesOptions{})
		for i := range tc.sections {
			require.NoError(t, w.Write(ctx, pixels[i*size:(i+1)*size]))
			_, err := files.Open(ctx, tc.name)
			require.ErrorIs(t, err, fault.ErrCorrupt, "it is not whole yet")
		}
		require.ErrorIs(t, w.Write(ctx, make([]byte, size+1)), fault.ErrInvalid)
		require.NoError(t, w.Finish(ctx))
		require.NoError(t, f.Close())

		r, err := files.Open(ctx, tc.name)
		require.NoError(t, err)
		d := r.Describe()
		require.Equal(t, tc.layout.Type, d.Type)
		require.Equal(t, tc.shape, d.Shape)
		got := make([]byte, d.Bytes())
		require.NoError(t, r.ReadImages(ctx, got, 0))
		require.Equal(t, pixels, got)
		m := r.(interface{ Header() *image.MRCHeader }).Header()
		require.Empty(t, m.Warnings)
		require.InDelta(t, tc.layout.PixelSize, m.PixelSize, 1e-6)
		require.Equal(t, tc.layout.Labels, m.Labels)
		require.NoError(t, r.Close())
	}
	f, err := storage.NewMemoryFS(0).Open(ctx, "a", storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
	require.NoError(t, err)
	for _, l := range []image.MRCLayout{{}, {Type: image.Float64, Columns: 1, Rows: 1}, {Type: image.Int8, Columns: 1}, {Type: image.Int8, Columns: 1, Rows: 1, Volume: -1}} {
		_, err := image.NewMRCWriter(f, l)
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
	w, err := image.NewMRCWriter(f, image.MRCLayout{Type: image.Int8, Columns: 1, Rows: 1, Volume: 2})
	require.NoError(t, err)
	require.NoError(t, w.Write(ctx, []byte{1, 2, 3}))
	require.ErrorIs(t, w.Finish(ctx), fault.ErrInvalid)
}

// The last image of a stack may lie past 4 GiB.
func TestFarImages(t *testing.T) {
	const side, count = 16384, 20 // of int8: 256 MiB each
	head := header(binary.LittleEndian, side, side, count, 0)
	f := &sparse{head: head, size: 1024 + side*side*count, at: 1024 + side*side*count - 1}
	m, err := image.OpenMRC(ctx, f, "far.mrcs", image.MRCOptions{})
	require.NoError(t, err)
	one := make([]byte, side*side)
	require.NoError(t, m.ReadImages(ctx, one, count-1))
	require.Equal(t, byte(77), one[len(one)-1])
	require.Zero(t, one[0])
}

// sparse is a large file of zeros with a header and one byte.
type sparse struct {
	storage.File
	head     []byte
	size, at int64
}

func (s *sparse) Stat() (storage.FileInfo, error) { return storage.FileInfo{Size: s.size}, nil }

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, s.head[min(off, int64(len(s.head))):])
	clear(p[n:])
	if s.at >= off && s.at < off+int64(len(p)) {
		p[s.at-off] = 77
	}
	return len(p), nil
}
