package plugin_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host/plugin"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

const dir = "../../testdata/plugins"

func module(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
	require.NoError(t, err)
	return b
}

// opened is a plugin of testdata, closed with the test.
func opened(t testing.TB, name string, o plugin.Options) *plugin.Plugin {
	t.Helper()
	p, err := plugin.Open(context.Background(), module(t, name), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// want is what arrays/want.json says of each file.
func want(t testing.TB) map[string]struct {
	Shape  []int64
	SHA256 string
} {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "arrays/want.json"))
	require.NoError(t, err)
	w := map[string]struct {
		Shape  []int64
		SHA256 string
	}{}
	require.NoError(t, json.Unmarshal(b, &w))
	return w
}

func TestBinariesAreThoseOfTheSources(t *testing.T) {
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		got := sha256.Sum256(b)
		require.Equal(t, sum, hex.EncodeToString(got[:]), name)
		found = append(found, name)
	}
	all, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join(dir, "hostile/*.wasm"))
	require.NoError(t, err)
	require.Len(t, found, len(all)+len(more))
}

// Arrays that zarr-python wrote with imagecodecs.
func TestCodecsOfZarr(t *testing.T) {
	set := plugin.Set{opened(t, "tiff", plugin.Options{}), opened(t, "aec", plugin.Options{})}
	ctx := context.Background()
	n := 0
	for name, w := range want(t) {
		if filepath.Ext(name) != ".zarr" {
			continue
		}
		n++
		st, err := file.Open(filepath.Join(dir, "arrays", name), file.Options{})
		require.NoError(t, err)
		_, err = zarr.OpenArray(ctx, st, "", zarr.Options{})
		require.ErrorIs(t, err, fault.ErrUnsupported, "%s: without the plugin", name)
		require.Equal(t, w.SHA256, hashOf(t, st, zarr.Options{Codecs: set}, w.Shape), name)
		require.NoError(t, st.Close())
	}
	require.Equal(t, 9, n)
}

func hashOf(t testing.TB, st storage.Store, o zarr.Options, shape []int64) string {
	t.Helper()
	ctx := context.Background()
	a, err := zarr.OpenArray(ctx, st, "", o)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(shape), fmt.Sprint(a.Shape()))
	b, err := a.RetrieveRegion(ctx, make([]int64, len(shape)), shape, zarr.ReadOptions{})
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// A frame that python-blosc2 wrote with a codec of its user's.
func TestCodecOfBlosc2(t *testing.T) {
	ctx := context.Background()
	fs, err := file.OpenFS(filepath.Join(dir, "arrays"))
	require.NoError(t, err)
	defer fs.Close()
	p := opened(t, "tiff", plugin.Options{})
	for _, with := range []bool{false, true} {
		var o blosc2.Options
		if with {
			o.Plugins = plugin.Set{p}.Blosc()
		}
		c, err := blosc2.Open(ctx, fs, "packbits.b2nd", o)
		require.NoError(t, err)
		a := c.(*blosc2.NDArray)
		w := want(t)["packbits.b2nd"]
		got, err := a.Slice(ctx, nil, nil)
		if !with {
			require.ErrorIs(t, err, fault.ErrUnsupported)
		} else {
			require.NoError(t, err)
			sum := sha256.Sum256(got)
			require.Equal(t, w.SHA256, hex.EncodeToString(sum[:]))
		}
		require.NoError(t, c.Close())
	}
}

// Files that NumPy wrote.
func TestReader(t *testing.T) {
	p := opened(t, "npy", plugin.Options{})
	ctx := context.Background()
	st, err := file.Open(filepath.Join(dir, "arrays"), file.Options{})
	require.NoError(t, err)
	defer st.Close()
	n := 0
	for name, w := range want(t) {
		if filepath.Ext(name) != ".npy" {
			continue
		}
		n++
		require.True(t, p.Reads(name))
		view, err := p.Array(ctx, st, name)
		require.NoError(t, err, name)
		require.Equal(t, w.SHA256, hashOf(t, view, zarr.Options{}, w.Shape), name)
	}
	require.Equal(t, 7, n)
	require.False(t, p.Reads("x.zarr"))
	require.False(t, p.Reads(".npy"))
}

// npy is a file of NumPy's with a number in each row.
func npy(rows int) []byte {
	header := fmt.Sprintf("{'descr': '<u4', 'fortran_order': False, 'shape': (%d, 1), }", rows)
	b := []byte("\x93NUMPY\x01\x00\x76\x00" + header + strings.Repeat(" ", 117-len(header)) + "\n")
	for i := range rows {
		b = binary.LittleEndian.AppendUint32(b, uint32(i)/9973)
	}
	return b
}

// The last chunk is short, and everything of the SDK reads what a reader gives.
func TestReaderOfManyChunks(t *testing.T) {
	const rows = 600_001
	ctx := context.Background()
	st := storage.NewMemory()
	st.Set("a.npy", npy(rows))
	p := opened(t, "npy", plugin.Options{})
	view, err := p.Array(ctx, st, "a.npy")
	require.NoError(t, err)
	a, err := zarr.OpenArray(ctx, view, "", zarr.Options{})
	require.NoError(t, err)
	require.Equal(t, []int64{3, 1}, a.ChunkGridShape())
	all, err := a.RetrieveRegion(ctx, []int64{0, 0}, []int64{rows, 1}, zarr.ReadOptions{})
	require.NoError(t, err)
	require.True(t, bytes.Equal(npy(rows)[128:], all))
	part, err := a.RetrieveRegion(ctx, []int64{262_140, 0}, []int64{262_150, 1}, zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, npy(rows)[128+4*262_140:128+4*262_150], part)
	var damage []zarr.Damage
	checked, err := zarr.Verify(ctx, view, "", zarr.Options{}, func(d zarr.Damage) { damage = append(damage, d) })
	require.NoError(t, err)
	require.Empty(t, damage)
	require.Positive(t, checked)

	// Replaced under the reader's eyes.
	st.Set("a.npy", npy(rows+1))
	_, err = a.RetrieveRegion(ctx, []int64{0, 0}, []int64{1, 1}, zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrStale)
	// Removed: no chunk of fill values.
	st.Remove("a.npy")
	_, err = a.RetrieveRegion(ctx, []int64{0, 0}, []int64{1, 1}, zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrStale)
}

func TestEncoder(t *testing.T) {
	p := opened(t, "tiff", plugin.Options{})
	b, err := p.BytesCodec("imagecodecs_packbits", nil)
	require.NoError(t, err)
	for _, src := range []string{"", "a", "aaaaaaaaaaaaaaaaaaaaaaabcdefffffff", strings.Repeat("ab", 1000), strings.Repeat("z", 1000)} {
		packed, err := b.(codec.Encoder).Encode([]byte("before"), []byte(src))
		require.NoError(t, err)
		got, err := b.Decode(context.Background(), []byte("x"), packed[6:], len(src))
		require.NoError(t, err)
		require.Equal(t, "x"+src, string(got))
		if len(src) > 0 {
			_, err = b.Decode(context.Background(), nil, packed[6:], len(src)-1)
			require.ErrorIs(t, err, fault.ErrLimit)
		}
	}
	lzw, err := p.BytesCodec("imagecodecs_lzw", nil)
	require.NoError(t, err)
	_, ok := lzw.(codec.Encoder)
	require.False(t, ok)
	_, err = p.BytesCodec("imagecodecs_jpeg", nil)
	require.ErrorIs(t, err, fault.ErrUnsupported)
}

// With the grant a reader reads other objects of the store, and chunks may lie there.
func TestGrantOfKeys(t *testing.T) {
	ctx := context.Background()
	_, err := plugin.Open(ctx, module(t, "hostile/keys"), plugin.Options{})
	require.ErrorIs(t, err, fault.ErrNotAllowed)

	p := opened(t, "hostile/keys", plugin.Options{Grants: plugin.Grants{Keys: true}})
	st := storage.NewMemory()
	st.Set("a.far", nil)
	_, err = p.Array(ctx, st, "a.far")
	require.ErrorIs(t, err, fault.ErrNotFound) // what the store said of the other one
	st.Set("other", []byte("\x021234567"))
	view, err := p.Array(ctx, st, "a.far")
	require.NoError(t, err)
	a, err := zarr.OpenArray(ctx, view, "", zarr.Options{})
	require.NoError(t, err)
	got, err := a.RetrieveRegion(ctx, []int64{0}, []int64{4}, zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, "2345", string(got))
	st.Remove("other")
	_, err = a.RetrieveRegion(ctx, []int64{0}, []int64{4}, zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrStale)
}
