package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func manifest(t *testing.T) (arrays, groups []golden.Node) {
	t.Helper()
	m, err := golden.Load(fixtures)
	require.NoError(t, err)
	for _, n := range m.Nodes {
		if n.NodeType == "group" {
			groups = append(groups, n)
		} else {
			arrays = append(arrays, n)
		}
	}
	require.GreaterOrEqual(t, len(arrays), 136)
	require.GreaterOrEqual(t, len(groups), 2)
	return arrays, groups
}

// Every array that another library wrote, whole, through the command, by
// either engine.
func TestArrays(t *testing.T) {
	arrays, _ := manifest(t)
	for _, engine := range engines {
		for _, n := range arrays {
			t.Run(engine+"/"+n.Name, func(t *testing.T) {
				t.Parallel()
				got := gridhold(t, "read", "--engine", engine, filepath.Join(fixtures, n.Path)).succeeds(t)
				require.Len(t, got, int(n.Bytes))
				require.Equal(t, n.SHA256, hash(got))
			})
		}
	}
}

func TestGroups(t *testing.T) {
	_, groups := manifest(t)
	for _, engine := range engines {
		for _, n := range groups {
			t.Run(engine+"/"+n.Name, func(t *testing.T) {
				dir := filepath.Join(fixtures, n.Path)
				var found []zarr.Entry
				require.NoError(t, json.Unmarshal(gridhold(t, "ls", "--json", "--engine", engine, dir).succeeds(t), &found))
				var arrays []string
				for _, e := range found {
					if e.Kind == "array" {
						arrays = append(arrays, e.Path)
					}
				}
				for child, sum := range n.Children {
					require.Contains(t, arrays, child)
					require.Equal(t, sum, hash(gridhold(t, "read", "--engine", engine, "--path", child, dir).succeeds(t)))
				}
				require.Len(t, arrays, len(n.Children))
			})
		}
	}
}

// openFixture is an engine on one fixture, in this process: for the many reads
// of single subchunks.
func openFixture(t *testing.T, e engine, path string) (array, *file.Store, error) {
	t.Helper()
	st, err := file.Open(filepath.Join(fixtures, path), file.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { st.Close() })
	a, err := e.openArray(t.Context(), st, "")
	if err == nil {
		t.Cleanup(func() { a.Close() })
	}
	return a, st, err
}

func startEngine(t *testing.T, name string) engine {
	t.Helper()
	e, err := newEngine(t.Context(), &globals{engine: name, compileCache: filepath.Join(shared, "compiled")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// Every sample of the manifest: where it lies, what is stored there, what
// that decodes to.
func TestSubchunks(t *testing.T) {
	arrays, _ := manifest(t)
	samples := 0
	for _, engine := range engines {
		e := startEngine(t, engine)
		for _, n := range arrays {
			if n.Shards == nil {
				continue
			}
			t.Run(engine+"/"+n.Name, func(t *testing.T) {
				a, st, err := openFixture(t, e, n.Path)
				require.NoError(t, err)
				core, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
				require.NoError(t, err)
				require.Equal(t, n.Shards.SubchunkGrid, a.shape().SubchunkGridShape)
				for _, s := range n.Shards.Some {
					samples++
					checkSample(t, a, core, s)
				}
			})
		}
	}
	require.GreaterOrEqual(t, samples, 500*len(engines))
}

func checkSample(t *testing.T, a array, core *zarr.Array, s golden.Sample) {
	t.Helper()
	ctx := t.Context()
	stored, err := a.encodedSubchunk(ctx, s.Subchunk)
	require.NoError(t, err)
	at, ok, err := core.Locate(ctx, s.Subchunk, zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, !s.Empty, ok)
	if s.Empty {
		require.Nil(t, stored)
		return
	}
	require.Equal(t, s.EncodedSHA256, hash(stored), "stored bytes of %v", s.Subchunk)
	require.Equal(t, []any{s.Key, s.Off, s.Len}, []any{at.Key, at.Off, at.Len}, "place of %v", s.Subchunk)

	d := a.shape()
	start, stop := make([]int64, len(d.Shape)), make([]int64, len(d.Shape))
	for i := range start {
		start[i] = s.Subchunk[i] * d.SubchunkShape[i]
		stop[i] = start[i] + s.ClippedShape[i]
	}
	clipped, err := a.region(ctx, start, stop)
	require.NoError(t, err)
	require.Equal(t, s.DecodedSHA256, hash(clipped), "elements of %v", s.Subchunk)
	whole, err := a.subchunk(ctx, s.Subchunk)
	require.NoError(t, err)
	if d.ItemSize > 0 { // 0: elements of variable length
		require.Len(t, whole, int(volume(d.ItemSize, d.subchunk(s.Subchunk))))
	}
	if slices.Equal(s.ClippedShape, d.subchunk(s.Subchunk)) {
		require.Equal(t, s.DecodedSHA256, hash(whole), "subchunk %v", s.Subchunk)
	}
}

// Both engines describe every fixture in the same words, failures included.
func TestEnginesAgree(t *testing.T) {
	arrays, groups := manifest(t)
	damaged, err := golden.LoadCorrupt(fixtures)
	require.NoError(t, err)
	var paths []string
	for _, n := range append(arrays, groups...) {
		paths = append(paths, n.Path)
	}
	for _, c := range damaged {
		paths = append(paths, c.Path)
	}
	native, wasm := startEngine(t, "native"), startEngine(t, "wasm")
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			st, err := file.Open(filepath.Join(fixtures, path), file.Options{})
			require.NoError(t, err)
			defer st.Close()
			said := func(e engine) (texts []string) {
				info, err := e.describe(t.Context(), st, "")
				texts = append(texts, string(info), textOf(err))
				checked, damaged, err := e.verify(t.Context(), st, "")
				report, _ := json.Marshal(damaged)
				return append(texts, string(report), time.Duration(checked).String(), textOf(err))
			}
			require.Equal(t, said(native), said(wasm))
		})
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return text(err)
}

func TestVerifyFindsNothingInWholeArrays(t *testing.T) {
	arrays, groups := manifest(t)
	e := startEngine(t, "native")
	for _, n := range append(arrays, groups...) {
		t.Run(n.Name, func(t *testing.T) {
			st, err := file.Open(filepath.Join(fixtures, n.Path), file.Options{})
			require.NoError(t, err)
			defer st.Close()
			_, damaged, err := e.verify(t.Context(), st, "")
			require.NoError(t, err)
			require.Empty(t, damaged)
		})
	}
}

// The most that reading a damaged array may take. It is CPU, not wall: the
// machine may be busy with others. A slow one takes ten times what ours takes.
var most = map[string]cost{
	"native": {10 * time.Second, 200 << 20},
	"wasm":   {10 * time.Second, 400 << 20},
}

func TestCorrupt(t *testing.T) {
	damaged, err := golden.LoadCorrupt(fixtures)
	require.NoError(t, err)
	m, err := golden.Load(fixtures)
	require.NoError(t, err)
	rejected := 0
	said := map[string]string{} // by the first engine; the others use the same words
	for _, engine := range engines {
		var dearest cost
		gridhold(t, "info", "--engine", engine, filepath.Join(fixtures, m.Nodes[0].Path)).succeeds(t) // compiles, once
		e := startEngine(t, engine)
		for _, c := range damaged {
			base := m.Nodes[slices.IndexFunc(m.Nodes, func(n golden.Node) bool { return n.Name == c.Base })]
			t.Run(engine+"/"+c.Name, func(t *testing.T) {
				path := filepath.Join(fixtures, c.Path)
				whole := gridhold(t, "read", "--engine", engine, path)
				if engine == engines[0] {
					said[c.Name] = whole.stderr
				}
				require.Equal(t, said[c.Name], whole.stderr)
				switch {
				case strings.HasPrefix(c.Expect, "reject"):
					rejected++
					whole.fails(t, statusFailed)
					affordable(t, engine, whole.cost)
					at := damagedSubchunk(t, e, c, base)
					one := gridhold(t, "read", "--engine", engine, "--subchunk", index(at).String(), path)
					one.fails(t, statusFailed)
					affordable(t, engine, one.cost)
					require.Empty(t, one.stdout)
					found := gridhold(t, "verify", "--engine", engine, path)
					if strings.Contains(one.stderr, "zarr.json: ") && strings.HasSuffix(one.stderr, fault.ErrUnsupported.Error()+"\n") {
						found.fails(t, statusFailed) // nothing of it can be checked, which is no damage
					} else {
						found.fails(t, statusDamaged)
					}
					affordable(t, engine, found.cost)
					dearest = dearest.or(whole.cost).or(one.cost).or(found.cost)
				case strings.HasPrefix(c.Expect, "reads"):
					whole.succeeds(t)
					if c.Name != "overlapping_ranges" { // where one subchunk really is another's
						require.Equal(t, base.SHA256, hash(whole.stdout))
					}
				default: // either way is right, but never other data
					if whole.status == statusFine {
						require.Equal(t, base.SHA256, hash(whole.stdout))
					} else {
						whole.fails(t, statusFailed)
					}
				}
			})
		}
		t.Logf("%s: at most %v of CPU and %d MiB", engine, dearest.CPU, dearest.Peak>>20)
	}
	require.GreaterOrEqual(t, rejected, 50*len(engines))
}

// or returns the worse of each.
func (c cost) or(d cost) cost {
	return cost{max(c.CPU, d.CPU), max(c.Peak, d.Peak)}
}

func affordable(t *testing.T, engine string, c cost) {
	t.Helper()
	require.Less(t, c.CPU, most[engine].CPU)
	require.Less(t, c.Peak, most[engine].Peak)
}

// damagedSubchunk returns a subchunk that cannot be read, after checking that
// every one that can is that of the undamaged array.
func damagedSubchunk(t *testing.T, e engine, c golden.Corrupt, base golden.Node) []int64 {
	t.Helper()
	right, _, err := openFixture(t, e, base.Path)
	require.NoError(t, err)
	a, _, err := openFixture(t, e, c.Path)
	if err != nil { // none of it can
		return make([]int64, len(base.Shape))
	}
	var broken []int64
	each(right.shape().SubchunkGridShape, func(at []int64) {
		got, err := a.subchunk(t.Context(), at)
		if err != nil {
			broken = at
			return
		}
		want, err := right.subchunk(t.Context(), at)
		require.NoError(t, err)
		require.Equal(t, want, got, "subchunk %v", at)
	})
	require.NotNil(t, broken, "no subchunk is refused")
	return broken
}
