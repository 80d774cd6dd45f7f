package host_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// TestEnginesAgreeOnDamage reads the peers' arrays after a few of their bytes
// have changed, natively and in the sandbox with its own decoders: the same
// elements, or a failure of both. The changes are the same each time.
func TestEnginesAgreeOnDamage(t *testing.T) {
	dir, err := golden.Zarr()
	require.NoError(t, err)
	m, err := golden.Load(dir)
	require.NoError(t, err)
	strict := newSandbox(t, host.Config{Strict: true})
	mutants, refused := 0, 0
	for _, n := range m.Nodes {
		if n.NodeType == "group" || n.Bytes > 1<<17 {
			continue
		}
		objects := objectsOf(t, loadDir(t, filepath.Join(dir, n.Path)))
		r := seeded(n.Name)
		for range 6 {
			mutants++
			st := mutant(r, objects)
			want, nativeErr := readNatively(t, st)
			got, sandboxErr := readInSandbox(t, strict, st)
			if nativeErr != nil {
				refused++
			}
			require.Equal(t, nativeErr == nil, sandboxErr == nil, "%s: natively %v, in the sandbox %v", n.Name, nativeErr, sandboxErr)
			require.True(t, bytes.Equal(want, got), n.Name)
			if nativeErr != nil { // of several damages either may be met first
				damage := []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported}
				require.Contains(t, damage, fault.CodeOf(nativeErr), nativeErr)
				require.Contains(t, damage, fault.CodeOf(sandboxErr), sandboxErr)
			}
		}
	}
	t.Logf("%d damaged arrays, %d refused", mutants, refused)
	require.Greater(t, refused, mutants/4)
	require.Less(t, refused, mutants)
}

// objectsOf lists what a store holds, below any prefix.
func objectsOf(t *testing.T, st *storage.Memory) map[string][]byte {
	all := map[string][]byte{}
	var walk func(prefix string)
	walk = func(prefix string) {
		names, err := st.List(t.Context(), prefix)
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "/") {
				walk(prefix + name)
				continue
			}
			b, _, err := storage.ReadAll(t.Context(), st, prefix+name, 1<<30)
			require.NoError(t, err)
			all[prefix+name] = b
		}
	}
	walk("")
	return all
}

// mutant is a copy with one object changed.
func mutant(r *rand.Rand, objects map[string][]byte) *storage.Memory {
	keys := make([]string, 0, len(objects))
	for k := range objects {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	chosen := keys[r.IntN(len(keys))]
	st := storage.NewMemory()
	for _, k := range keys {
		b := objects[k]
		if k == chosen && len(b) > 0 {
			b = changed(r, b)
		}
		st.Set(k, b)
	}
	return st
}

// mostElements keeps a mutated shape from being read at any size.
const mostElements = 1 << 16

func elements(shape []int64) int64 {
	n := int64(1)
	for _, x := range shape {
		if n *= x; n > mostElements {
			return mostElements + 1
		}
	}
	return n
}

func readNatively(t *testing.T, st storage.Store) ([]byte, error) {
	// The limits that the sandbox's memory gives to the guest.
	a, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{Limits: zarr.Limits{Index: 64 << 20, Chunk: 128 << 20}})
	if err != nil || elements(a.Shape()) > mostElements {
		return nil, err
	}
	return a.RetrieveRegion(t.Context(), make([]int64, len(a.Shape())), a.Shape(), zarr.ReadOptions{})
}

func readInSandbox(t *testing.T, s *host.Sandbox, st storage.Store) ([]byte, error) {
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if elements(a.Shape()) > mostElements {
		return nil, nil
	}
	return a.RetrieveRegion(t.Context(), make([]int64, len(a.Shape())), a.Shape(), host.ReadOptions{})
}
