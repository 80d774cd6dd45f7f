package host_test

import (
	"archive/zip"
	"bytes"
	"context"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// damages are what is said of bytes that changed. A name that is in an index
// may lead nowhere, or to what is no container.
var damages = []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported, fault.CodeNotFound, fault.CodeInvalid}

// changed is a copy of some bytes: cut, with a piece moved over another, or a
// few bits flipped.
func changed(r *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	switch r.IntN(4) {
	case 0:
		return b[:r.IntN(len(b))]
	case 1:
		copy(b[r.IntN(len(b)):], b[r.IntN(len(b)):])
	default:
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	}
	return b
}

// writeLongAgo writes a file to which nobody seems to write any more: who finds
// damage in one that somebody does tries again for a while.
func writeLongAgo(t *testing.T, name string, b []byte) {
	require.NoError(t, os.WriteFile(name, b, 0o600))
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(name, long, long))
}

// seeded is the same for the same name each time.
func seeded(name string) *rand.Rand {
	seed := fnv.New64a()
	seed.Write([]byte(name))
	return rand.New(rand.NewPCG(seed.Sum64(), 1))
}

// agreement counts outcomes, and holds one against the other.
type agreement struct{ mutants, refused int }

// same reports whether both were read.
func (a *agreement) same(t *testing.T, what string, native, sandboxed error) bool {
	t.Helper()
	require.Equal(t, native == nil, sandboxed == nil, "%s: natively %v, in the sandbox %v", what, native, sandboxed)
	if native == nil {
		return true
	}
	require.Contains(t, damages, fault.CodeOf(native), native)
	require.Contains(t, damages, fault.CodeOf(sandboxed), sandboxed)
	return false
}

// TestStoresAgreeOnDamage changes a file of what python-blosc2 wrote as more
// than one: sparse frames, and stores in directories; and of embed stores and
// zips. Natively and in the sandbox there are the same keys and the same
// items under each, or a failure of both.
func TestStoresAgreeOnDamage(t *testing.T) {
	s := newSandbox(t, host.Config{Memory: 400 << 20, Strict: true})
	var total, keys agreement
	for _, e := range containerEntries(t) {
		original := filepath.Join(containers, e.File)
		info, err := os.Stat(original)
		require.NoError(t, err)
		if !info.IsDir() && e.Keys == nil {
			continue
		}
		dir := t.TempDir()
		var files []string
		require.NoError(t, filepath.WalkDir(original, func(name string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(original, name)
			to := filepath.Join(dir, "m", rel)
			if err != nil || d.IsDir() {
				return os.MkdirAll(to, 0o777)
			}
			b, err := os.ReadFile(name)
			if len(b) > 0 && filepath.Ext(name) != ".b2lock" {
				files = append(files, to)
			}
			if to == filepath.Join(dir, "m") {
				require.NoError(t, os.RemoveAll(to))
			}
			return os.WriteFile(to, b, 0o666)
		}))
		disk := directory(t, dir)
		r := seeded(e.File)
		for range 8 {
			total.mutants++
			file := files[r.IntN(len(files))]
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			writeLongAgo(t, file, changed(r, b))
			if !agreeOnStore(t, s, disk, e.File, &total, &keys) {
				total.refused++
			}
			require.NoError(t, os.WriteFile(file, b, 0o666))
		}
	}
	t.Logf("%d damaged containers, %d refused; of %d values in the others %d refused", total.mutants, total.refused, keys.mutants, keys.refused)
	require.Greater(t, total.refused, total.mutants/8)
	require.Less(t, total.refused, total.mutants)
	require.Positive(t, keys.refused)
	require.EqualValues(t, 1, s.Serial())
	require.Zero(t, s.Files())
}

// agreeOnStore reads the container m of a directory, natively and in the
// sandbox, and reports whether it was read.
func agreeOnStore(t *testing.T, s *host.Sandbox, disk storage.FS, what string, total, keys *agreement) bool {
	const memory = 400 << 20
	native, nativeErr := blosc2.Open(t.Context(), disk, "m", blosc2.Options{Limits: blosc2.Limits{Index: memory / 8, Chunk: memory / 4, Meta: memory / 16}})
	if nativeErr == nil {
		defer native.Close()
	}
	boxed, err := s.OpenContainer(t.Context(), disk, "m", host.ContainerOptions{})
	if err == nil {
		defer boxed.Close()
	}
	if !total.same(t, what, nativeErr, err) {
		return false
	}
	require.Equal(t, native.Kind(), boxed.Kind(), what)
	store, ok := native.(interface {
		Keys(ctx context.Context) ([]string, error)
		Get(ctx context.Context, key string) (blosc2.Container, error)
	})
	if !ok {
		want, nativeErr := decoded(t, native)
		got, err := decodedInSandbox(t, boxed)
		if !total.same(t, what, nativeErr, err) {
			return false
		}
		require.True(t, bytes.Equal(want, got), what)
		return true
	}
	want, nativeErr := store.Keys(t.Context())
	got, err := boxed.Keys(t.Context())
	if !total.same(t, what, nativeErr, err) {
		return false
	}
	require.Equal(t, want, got, what)
	for _, key := range want {
		keys.mutants++
		leaf, nativeErr := store.Get(t.Context(), key)
		var items []byte
		if nativeErr == nil {
			items, nativeErr = decoded(t, leaf)
			require.NoError(t, leaf.Close())
		}
		inside, err := boxed.Get(t.Context(), key)
		var others []byte
		if err == nil {
			others, err = decodedInSandbox(t, inside)
			require.NoError(t, inside.Close())
		}
		if !keys.same(t, what+" "+key, nativeErr, err) {
			keys.refused++
			continue
		}
		require.True(t, bytes.Equal(items, others), "%s %s", what, key)
	}
	return true
}

// TestZipsAgreeOnDamage changes archives of the peers' arrays, in their
// directories and members.
func TestZipsAgreeOnDamage(t *testing.T) {
	dir, err := golden.Zarr()
	require.NoError(t, err)
	m, err := golden.Load(dir)
	require.NoError(t, err)
	s := newSandbox(t, host.Config{Strict: true})
	var total agreement
	for i, n := range m.Nodes {
		if n.NodeType == "group" || n.Bytes > 1<<14 || i%5 > 0 { // the arrays themselves are in TestEnginesAgreeOnDamage
			continue
		}
		r := seeded(n.Name)
		archive := archived(t, objectsOf(t, loadDir(t, filepath.Join(dir, n.Path))), uint16(8*r.IntN(2)))
		for range 4 {
			total.mutants++
			st := storage.NewMemory()
			st.Set("a.zip", changed(r, archive))
			want, nativeErr := readNatively(t, host.NewZip(st, "a.zip"))
			got, err := readInSandbox(t, s, host.NewZip(st, "a.zip"))
			if !total.same(t, n.Name, nativeErr, err) {
				total.refused++
				continue
			}
			require.True(t, bytes.Equal(want, got), n.Name)
		}
	}
	t.Logf("%d damaged archives, %d refused", total.mutants, total.refused)
	require.Greater(t, total.refused, total.mutants/4)
	require.Less(t, total.refused, total.mutants)
}

// archived is a zip of some objects, by one method: stored or deflated.
func archived(t *testing.T, objects map[string][]byte, method uint16) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: key, Method: method})
		require.NoError(t, err)
		_, err = w.Write(objects[key])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}
