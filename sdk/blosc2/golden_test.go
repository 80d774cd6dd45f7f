package blosc2_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// testdata holds containers that python-blosc2 wrote: see its README.
var testdata = filepath.Join("..", "..", "testdata", "blosc2")

type entry struct {
	File      string                  `json:"file"`
	Kind      string                  `json:"kind"`
	Shape     []int64                 `json:"shape"`
	Chunks    []int64                 `json:"chunks"`
	Blocks    []int64                 `json:"blocks"`
	DType     struct{ String string } `json:"dtype_stored"`
	TypeSize  int                     `json:"typesize"`
	ChunkSize int                     `json:"chunksize"`
	NChunks   int64                   `json:"nchunks"`
	NBytes    int64                   `json:"nbytes"`
	CBytes    int64                   `json:"cbytes"`
	Codec     int                     `json:"codec"`
	Level     int                     `json:"clevel"`
	Filters   []byte                  `json:"filters"`
	SHA256    string                  `json:"sha256"`
	VLMeta    map[string]string       `json:"vlmeta_msgpack"`
	Sizes     []int64                 `json:"chunk_nbytes"`
	Keys      map[string]struct {
		Type   string  `json:"type"`
		Shape  []int64 `json:"shape"`
		DType  string  `json:"dtype"`
		SHA256 string  `json:"sha256"`
	} `json:"keys"`
	Members map[string]struct {
		Offset int64 `json:"offset"`
		Length int64 `json:"length"`
	} `json:"members"`
}

func manifest(t testing.TB) []entry {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, "manifest.json"))
	require.NoError(t, err)
	var m struct{ Entries []json.RawMessage }
	require.NoError(t, json.Unmarshal(b, &m))
	require.Len(t, m.Entries, 288)
	var entries []entry
	for _, raw := range m.Entries {
		var kind struct{ Kind string }
		require.NoError(t, json.Unmarshal(raw, &kind))
		if kind.Kind == "chunk" { // bare: for sdk/codec/blosc
			continue
		}
		var e entry
		require.NoError(t, json.Unmarshal(raw, &e))
		entries = append(entries, e)
	}
	return entries
}

func openTestdata(t testing.TB) storage.FS {
	t.Helper()
	fs, err := file.OpenFS(testdata)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fs.Close()) })
	return fs
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// whole reads all elements of a container, little endian.
func whole(t testing.TB, c blosc2.Container) ([]byte, error) {
	t.Helper()
	ctx := t.Context()
	switch c := c.(type) {
	case *blosc2.NDArray:
		b, err := c.Slice(ctx, nil, nil)
		if err == nil {
			c.DType().LittleEndian(b)
		}
		return b, err
	case *blosc2.SChunk:
		b := make([]byte, c.Header().Size)
		return b, c.ReadBytes(ctx, 0, b)
	}
	t.Fatalf("a %s has no elements", c.Kind())
	return nil, nil
}

var kinds = map[string]string{
	"sframe-schunk": "schunk", "sframe-b2nd": "ndarray", "b2nd": "ndarray", "dictstore-dir": "dictstore", "dictstore-zip": "dictstore",
	"treestore-dir": "treestore", "treestore-zip": "treestore",
}

func TestManifest(t *testing.T) {
	fs := openTestdata(t)
	ctx := t.Context()
	for _, e := range manifest(t) {
		t.Run(e.File, func(t *testing.T) {
			c, err := blosc2.Open(ctx, fs, e.File, blosc2.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, c.Close()) }()
			kind := e.Kind
			if k, ok := kinds[kind]; ok {
				kind = k
			}
			require.Equal(t, kind, c.Kind())
			d, err := c.Describe(ctx)
			require.NoError(t, err)
			require.NoError(t, rawjson.Check(rawjson.Marshal(d)))
			switch c := c.(type) {
			case *blosc2.NDArray:
				s := c.Shape()
				require.Equal(t, e.Shape, s.Shape)
				require.Equal(t, e.Chunks, s.Chunks)
				require.Equal(t, e.Blocks, s.Blocks)
				require.Equal(t, e.DType.String, s.DType)
				checkFrame(t, e, c.SChunk())
				checkElements(t, e, c)
			case *blosc2.SChunk:
				checkFrame(t, e, c)
				checkElements(t, e, c)
				for i, n := range e.Sizes {
					b, err := c.Chunk(ctx, int64(i), nil)
					require.NoError(t, err)
					require.Len(t, b, int(n))
				}
			default:
				checkStore(t, e, c)
			}
		})
	}
}

func checkFrame(t *testing.T, e entry, s *blosc2.SChunk) {
	t.Helper()
	ctx := t.Context()
	h := s.Header()
	require.Equal(t, e.TypeSize, h.TypeSize)
	require.Equal(t, e.ChunkSize, h.ChunkSize)
	require.Equal(t, e.NChunks, s.NumChunks())
	require.Equal(t, e.NBytes, h.Size)
	require.Equal(t, e.CBytes, h.PackedSize)
	require.Equal(t, e.Codec, h.Codec)
	require.Equal(t, e.Level, h.Level)
	require.Equal(t, e.Filters, h.Filters[:])
	if e.Kind != "batcharray" { // whose own the manifest leaves out
		vlmeta, err := s.VLMeta(ctx)
		require.NoError(t, err)
		require.Len(t, vlmeta, len(e.VLMeta))
	}
	for name, want := range e.VLMeta {
		got, err := s.VLValue(ctx, name)
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(got))
	}
}

func checkElements(t *testing.T, e entry, c blosc2.Container) {
	t.Helper()
	b, err := whole(t, c)
	if e.SHA256 == "" && err == nil { // uninitialised: any bytes
		return
	}
	if strings.HasPrefix(e.File, "plugin/") && err != nil {
		require.ErrorIs(t, err, fault.ErrUnsupported)
		require.ErrorContains(t, err, "plugin")
		return
	}
	require.NoError(t, err)
	require.Equal(t, e.SHA256, sum(b))
}

func checkStore(t *testing.T, e entry, c blosc2.Container) {
	t.Helper()
	ctx := t.Context()
	var keys []string
	var get func(context.Context, string) (blosc2.Container, error)
	var err error
	switch c := c.(type) {
	case *blosc2.EmbedStore:
		keys, err = c.Keys(ctx)
		get = c.Get
	case *blosc2.DictStore:
		keys, err = c.Keys(ctx)
		get = c.Get
	case *blosc2.TreeStore:
		keys, err = c.Keys(ctx)
		get = c.Get
	}
	require.NoError(t, err)
	var want []string
	for key := range e.Keys {
		want = append(want, key)
	}
	slices.Sort(want)
	require.Equal(t, want, keys)
	for key, k := range e.Keys {
		leaf, err := get(ctx, key)
		if k.Type == "TreeStore" {
			require.ErrorIs(t, err, fault.ErrNotFound)
			continue
		}
		require.NoError(t, err, key)
		require.Equal(t, k.Type, leaf.Kind())
		b, err := whole(t, leaf)
		require.NoError(t, err, key)
		require.Equal(t, k.SHA256, sum(b), key)
		if a, ok := leaf.(*blosc2.NDArray); ok {
			require.Equal(t, k.Shape, a.Shape().Shape)
			require.Equal(t, k.DType, a.DType().String())
		}
		require.NoError(t, leaf.Close())
	}
	_, err = get(ctx, "/none")
	require.ErrorIs(t, err, fault.ErrNotFound)
}

type corruptCase struct {
	File   string
	Kind   string
	What   string
	Python []struct {
		Stage  string
		OK     bool
		SHA256 string
	}
}

// stricter are the damages that python-blosc2 does not see, and this package
// does.
var stricter = []string{
	"bad-magic.b2nd", "header-fixarray-type.b2nd", "header-len-type-swap.b2nd", "frame-len-type-swap.b2nd",
	"zip-dotdot.b2z",
}

func TestCorrupt(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(testdata, "corrupt", "manifest.json"))
	require.NoError(t, err)
	var m struct{ Cases []corruptCase }
	require.NoError(t, json.Unmarshal(b, &m))
	require.Len(t, m.Cases, 74)
	fs := openTestdata(t)
	for _, tc := range m.Cases {
		t.Run(tc.File, func(t *testing.T) {
			debug.FreeOSMemory()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := readCorrupt(t, fs, tc)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20))
			storagetest.Within(t, 2*time.Second, func() { _, _ = readCorrupt(t, fs, tc) })
			refused := slices.Contains(stricter, tc.File)
			for _, p := range tc.Python {
				refused = refused || !p.OK
			}
			if !refused {
				require.NoError(t, err)
				for _, p := range tc.Python {
					if p.Stage == "read" {
						require.Equal(t, p.SHA256, got)
					}
				}
				return
			}
			require.Error(t, err)
			code := fault.CodeOf(err)
			require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeUnsupported, fault.CodeLimit, fault.CodeNotFound}, code, err.Error())
		})
	}
}

// readCorrupt reads all that there is, and returns the hash of elements.
func readCorrupt(t *testing.T, fs storage.FS, tc corruptCase) (string, error) {
	name := "corrupt/" + tc.File
	if tc.Kind == "chunk" {
		b, err := os.ReadFile(filepath.Join(testdata, "corrupt", tc.File))
		require.NoError(t, err)
		c, err := blosc.Open(b, blosc.Options{})
		if err == nil {
			_, err = c.Decode(nil)
		}
		return "", err
	}
	c, err := blosc2.Open(t.Context(), fs, name, blosc2.Options{})
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, metaErr := c.Describe(t.Context())
	if strings.HasSuffix(name, ".b2z") {
		return "", metaErr
	}
	b, err := whole(t, c)
	return sum(b), errors.Join(err, metaErr)
}
