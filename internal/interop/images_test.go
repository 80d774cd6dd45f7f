package interop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// pixels is what a peer says of the pixels of a file.
type pixels struct {
	Refused string  `json:"refused"`
	Shape   []int64 `json:"shape"`
	DType   string  `json:"dtype"`
	SHA256  string  `json:"sha256"`
}

func imagePeer(t *testing.T) *peer {
	t.Helper()
	requirePeers(t)
	p, err := start("images")
	require.NoError(t, err)
	return p
}

func openDir(t *testing.T) (string, *file.FS) {
	t.Helper()
	dir := t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fs.Close()) })
	return dir, fs
}

// What we write, mrcfile and vitrio read as it was meant.
func TestImagesWeWrite(t *testing.T) {
	p, ctx := imagePeer(t), context.Background()
	dir, fs := openDir(t)
	random := rand.New(rand.NewPCG(5, 6))
	for _, typ := range []image.Type{image.Int8, image.Uint8, image.Int16, image.Uint16, image.Float16, image.Float32, image.Complex64} {
		for i, tc := range []struct {
			name     string
			volume   int32
			sections int64
			extended int
			shape    []int64
		}{
			{"stack.mrcs", 0, 7, 0, []int64{7, 5, 11}},
			{"one.mrcs", 0, 1, 0, []int64{1, 5, 11}},
			{"volume.mrc", 6, 6, 0, []int64{6, 5, 11}},
			{"volumes.mrcs", 3, 6, 0, []int64{2, 3, 5, 11}},
			{"extended.mrcs", 0, 4, 768, []int64{4, 5, 11}},
			{"unaligned.mrcs", 0, 4, 1, []int64{4, 5, 11}},
		} {
			name := fmt.Sprintf("%d-%d-%s", typ, i, tc.name)
			f, err := fs.Open(ctx, name, storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
			require.NoError(t, err)
			w, err := image.NewMRCWriter(f, image.MRCLayout{
				Type: typ, Columns: 11, Rows: 5, Volume: tc.volume, PixelSize: 1.25, Extended: make([]byte, tc.extended), Labels: []string{"a test"},
			})
			require.NoError(t, err)
			b := make([]byte, tc.sections*55*int64(typ.Size()))
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			require.NoError(t, w.Write(ctx, b))
			require.NoError(t, w.Finish(ctx))
			require.NoError(t, f.Close())
			sum := sha256.Sum256(b)
			for _, library := range []string{"mrcfile", "vitrio"} {
				var said pixels
				p.exchange(t, map[string]any{"do": "read", "path": filepath.Join(dir, name), "library": library}, &said)
				if tc.extended == 1 && library == "vitrio" && typ.Size() > 1 {
					require.NotEmpty(t, said.Refused, "it wants data that are aligned")
					continue
				}
				require.Empty(t, said.Refused, "%s %s", library, name)
				want := tc.shape
				if library == "mrcfile" && tc.name == "one.mrcs" { // it goes by the header alone
					want = []int64{5, 11}
				}
				require.Equal(t, want, said.Shape, "%s %s", library, name)
				require.Equal(t, hex.EncodeToString(sum[:]), said.SHA256, "%s %s", library, name)
				if library == "vitrio" || typ != image.Uint8 { // mrcfile takes all bytes for signed
					require.Equal(t, typ.String(), said.DType, "%s %s", library, name)
				}
			}
		}
	}
}

// What mrcfile and vitrio write, we read.
func TestImagesTheyWrite(t *testing.T) {
	p, ctx := imagePeer(t), context.Background()
	dir, fs := openDir(t)
	files := image.Files(fs, image.FilesOptions{})
	for _, library := range []string{"mrcfile", "vitrio"} {
		for _, dtype := range []string{"int8", "int16", "uint16", "float16", "float32", "complex64"} {
			for i, tc := range []struct {
				name   string
				shape  []int64
				volume bool
			}{
				{"stack.mrcs", []int64{7, 5, 11}, false}, {"image.mrc", []int64{5, 11}, false}, {"volume.mrc", []int64{4, 5, 11}, true},
			} {
				name := fmt.Sprintf("%s-%s-%d-%s", library, dtype, i, tc.name)
				var said pixels
				p.exchange(t, map[string]any{"do": "write", "path": filepath.Join(dir, name), "library": library, "dtype": dtype, "shape": tc.shape, "volume": tc.volume}, &said)
				require.Empty(t, said.Refused, name)
				r, err := files.Open(ctx, name)
				require.NoError(t, err)
				d := r.Describe()
				require.Equal(t, tc.shape, d.Shape, name)
				require.Equal(t, dtype, d.Type.String(), name)
				all := make([]byte, d.Bytes())
				require.NoError(t, r.ReadImages(ctx, all, 0))
				require.NoError(t, r.Close())
				sum := sha256.Sum256(all)
				require.Equal(t, said.SHA256, hex.EncodeToString(sum[:]), name)
			}
		}
	}
}

// Tables that NumPy writes: packed and aligned records, two versions of the
// format.
func TestTablesTheyWrite(t *testing.T) {
	p, ctx := imagePeer(t), context.Background()
	dir, fs := openDir(t)
	rows := [][2]any{}
	for i := range 100 {
		rows = append(rows, [2]any{fmt.Sprintf(">J%d/stack.mrcs", i%7), i * 3})
	}
	for _, padding := range []int{0, 1, 2, 3, 17} {
		var said struct {
			Refused string `json:"refused"`
		}
		p.exchange(t, map[string]any{"do": "write_table", "path": filepath.Join(dir, "t.cs"), "rows": rows, "padding": padding}, &said)
		require.Empty(t, said.Refused)
		f, err := fs.Open(ctx, "t.cs", storage.OpenRead)
		require.NoError(t, err)
		n := 0
		_, err = image.ReadTable(ctx, io.NewSectionReader(f, 0, math.MaxInt64), "t.cs", image.TableOptions{}, func(r image.TableRow) error {
			require.Equal(t, image.ImageLocation{Key: fmt.Sprintf("J%d/stack.mrcs", n%7), Index: int64(n * 3)}, r.ImageLocation)
			require.Equal(t, uint64(n+7), r.UID)
			require.Equal(t, 1.5, r.PixelSize)
			n++
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 100, n)
		require.NoError(t, f.Close())
	}
}
