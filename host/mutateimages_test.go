package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// TestImagesAgreeOnDamage reads stacks and tables after a few of their bytes
// have changed, natively and in the sandbox: the same pixels and rows, or a
// failure of the same kind.
func TestImagesAgreeOnDamage(t *testing.T) {
	dir, _, err := golden.LoadImages()
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	s := newSandbox(t, host.Config{Memory: 400 << 20, Strict: true})
	mutants, refused := 0, 0
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		table := slices.Contains([]string{".star", ".cs"}, ext)
		if !table && !image.NamedMRC(e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		if len(b) == 0 || len(b) > 1<<17 {
			continue
		}
		r := seeded(e.Name())
		for range 4 {
			mutants++
			m := bytes.Clone(b)
			switch r.IntN(4) {
			case 0:
				m = m[:r.IntN(len(m))]
			case 1: // of the header, where there is one
				m[r.IntN(min(len(m), 256))] ^= 1 << r.IntN(8)
			default:
				for range 1 + r.IntN(3) {
					m[r.IntN(len(m))] ^= 1 << r.IntN(8)
				}
			}
			fs := storage.NewMemoryFS(0)
			f, err := fs.Open(t.Context(), "m"+ext, storage.OpenWrite|storage.OpenCreate)
			require.NoError(t, err)
			_, err = f.WriteAt(m, 0)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			var want, got any
			var nativeErr, sandboxErr error
			if table {
				want, nativeErr = allRows(func(each func(image.TableRow) error) (image.TableInfo, error) {
					return image.ReadTable(t.Context(), bytes.NewReader(m), "m"+ext, image.TableOptions{}, each)
				})
				got, sandboxErr = allRows(func(each func(image.TableRow) error) (image.TableInfo, error) {
					return s.ReadTable(t.Context(), fs, "m"+ext, "m"+ext, image.TableOptions{}, each)
				})
			} else {
				want, nativeErr = allPixels(t, image.Files(fs, image.FilesOptions{}), "m"+ext)
				got, sandboxErr = allPixels(t, s.Images(fs, image.FilesOptions{}), "m"+ext)
			}
			require.Equal(t, fault.CodeOf(nativeErr), fault.CodeOf(sandboxErr), "%s: natively %v, in the sandbox %v", e.Name(), nativeErr, sandboxErr)
			if nativeErr != nil {
				refused++
				require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported, fault.CodeInvalid}, fault.CodeOf(nativeErr), nativeErr)
				continue
			}
			require.Equal(t, want, got, e.Name())
		}
	}
	t.Logf("%d damaged files, %d refused", mutants, refused)
	require.Greater(t, refused, mutants/8)
	require.Less(t, refused, mutants)
	require.EqualValues(t, 1, s.Serial())
}

func allRows(read func(each func(image.TableRow) error) (image.TableInfo, error)) (rows []image.TableRow, err error) {
	_, err = read(func(r image.TableRow) error {
		rows = append(rows, r)
		return nil
	})
	if err != nil {
		rows = nil // what came before the damage may be cut into parts
	}
	return rows, err
}

func allPixels(t *testing.T, files image.ReaderProvider, name string) ([]byte, error) {
	r, err := files.Open(t.Context(), name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	is := r.Describe()
	all := make([]byte, min(is.Bytes(), 1<<24))
	if is.ImageBytes() == 0 {
		return nil, nil
	}
	all = all[:int64(len(all))/is.ImageBytes()*is.ImageBytes()]
	return all, r.ReadImages(t.Context(), all, 0)
}
