package host_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// containers is what python-blosc2 wrote: see the README there.
var containers = filepath.Join("..", "testdata", "blosc2")

type containerEntry struct {
	File   string
	Kind   string
	SHA256 string
	Keys   map[string]struct{ Type, SHA256 string }
}

func containerEntries(t testing.TB) []containerEntry {
	b, err := os.ReadFile(filepath.Join(containers, "manifest.json"))
	require.NoError(t, err)
	var m struct{ Entries []containerEntry }
	require.NoError(t, json.Unmarshal(b, &m))
	m.Entries = slices.DeleteFunc(m.Entries, func(e containerEntry) bool { return e.Kind == "chunk" })
	require.Len(t, m.Entries, 263)
	return m.Entries
}

func directory(t testing.TB, name string) *file.FS {
	fs, err := file.OpenFS(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fs.Close()) })
	return fs
}

// whole reads all items of a container, little endian.
func whole(t testing.TB, c *host.Container) ([]byte, error) {
	if c.Kind() == "ndarray" {
		return c.LittleSlice(t.Context(), nil, nil)
	}
	st, err := c.State(t.Context())
	if err != nil {
		return nil, err
	}
	b := make([]byte, st.Size)
	return b, c.ReadBytes(t.Context(), 0, b)
}

// TestContainers reads everything that python-blosc2 wrote, with the
// sandbox's own decoders.
func TestContainers(t *testing.T) {
	s := newSandbox(t, host.Config{Strict: true})
	fs := directory(t, containers)
	read := 0
	for _, e := range containerEntries(t) {
		c, err := s.OpenContainer(t.Context(), fs, e.File, host.ContainerOptions{})
		require.NoError(t, err, e.File)
		native, err := blosc2.Open(t.Context(), fs, e.File, blosc2.Options{})
		require.NoError(t, err)
		want, err := native.Describe(t.Context())
		require.NoError(t, err)
		require.NoError(t, native.Close())
		got, err := c.Describe(t.Context())
		require.NoError(t, err, e.File)
		require.Equal(t, string(rawjson.Marshal(want)), string(got), e.File)
		for key, k := range e.Keys {
			if k.Type == "TreeStore" {
				continue
			}
			l, err := c.Get(t.Context(), key)
			require.NoError(t, err, key)
			b, err := whole(t, l)
			require.NoError(t, err, key)
			require.Equal(t, k.SHA256, sum(b), key)
			require.NoError(t, l.Close())
			read++
		}
		if e.Keys == nil {
			b, err := whole(t, c)
			if strings.HasPrefix(e.File, "plugin/") && err != nil {
				require.ErrorIs(t, err, fault.ErrUnsupported)
				require.Contains(t, err.Error(), "plugin")
			} else if e.SHA256 != "" {
				require.NoError(t, err, e.File)
				require.Equal(t, e.SHA256, sum(b), e.File)
				read++
			}
		}
		require.NoError(t, c.Close())
	}
	require.Greater(t, read, 250)
	require.Zero(t, s.Files(), "files are left open")
	require.Zero(t, s.Handles())
}

// TestCorruptContainers holds the sandbox to what the same code natively does
// with each damaged file, and to 400 MiB and 2 seconds.
func TestCorruptContainers(t *testing.T) {
	s := newSandbox(t, host.Config{Memory: 400 << 20, Strict: true})
	fs := directory(t, containers)
	names, err := fs.List(t.Context(), "corrupt")
	require.NoError(t, err)
	refused := 0
	for _, name := range names {
		if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, "/") {
			continue
		}
		name = "corrupt/" + name
		want, nativeErr := readContainer(t, fs, name)
		var got []byte
		storagetest.Within(t, 2*time.Second, func() { got, err = readContainerInSandbox(t, s, fs, name) })
		require.Equal(t, fault.CodeOf(nativeErr), fault.CodeOf(err), "%s: natively %v, in the sandbox %v", name, nativeErr, err)
		if err != nil {
			refused++
			continue
		}
		require.True(t, bytes.Equal(want, got), name)
	}
	require.EqualValues(t, 1, s.Serial(), "none killed the instance")
	t.Log("refused", refused, "of", len(names))
	require.Greater(t, refused, 50)
	require.Zero(t, s.Files())
}

// readContainer reads all items natively, with the limits of a sandbox of 400
// MiB.
func readContainer(t *testing.T, fs storage.FS, name string) ([]byte, error) {
	const memory = 400 << 20
	o := blosc2.Options{Limits: blosc2.Limits{Index: memory / 8, Chunk: memory / 4, Meta: memory / 16}}
	c, err := blosc2.Open(t.Context(), fs, name, o)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return decoded(t, c)
}

// decoded are the items of a container, little endian.
func decoded(t *testing.T, c blosc2.Container) ([]byte, error) {
	switch c := c.(type) {
	case *blosc2.NDArray:
		if c.SChunk().Header().Size > mostDecoded {
			return nil, fault.ErrLimit
		}
		b, err := c.Slice(t.Context(), nil, nil)
		c.DType().LittleEndian(b)
		return b, err
	case *blosc2.SChunk:
		if c.Header().Size > mostDecoded {
			return nil, fault.ErrLimit
		}
		b := make([]byte, c.Header().Size)
		return b, c.ReadBytes(t.Context(), 0, b)
	}
	return nil, nil
}

// mostDecoded keeps a damaged shape from being read at any size.
const mostDecoded = 64 << 20

func readContainerInSandbox(t *testing.T, s *host.Sandbox, fs storage.FS, name string) ([]byte, error) {
	c, err := s.OpenContainer(t.Context(), fs, name, host.ContainerOptions{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return decodedInSandbox(t, c)
}

func decodedInSandbox(t *testing.T, c *host.Container) ([]byte, error) {
	st, err := c.State(t.Context())
	if err != nil || st.Shape == nil && st.TypeSize == 0 {
		return nil, err
	}
	if st.Size > mostDecoded {
		return nil, fault.ErrLimit
	}
	return whole(t, c)
}
