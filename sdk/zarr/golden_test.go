package zarr_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// loadDir puts a directory into memory. A directory that stands in the place
// of a chunk is simply not there.
func loadDir(t testing.TB, dir string) *storage.Memory {
	t.Helper()
	m := storage.NewMemory()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		key, err := filepath.Rel(dir, p)
		m.Set(filepath.ToSlash(key), b)
		return err
	})
	require.NoError(t, err)
	return m
}

func goldenNodes(t testing.TB) (dir string, nodes []golden.Node) {
	t.Helper()
	dir, err := golden.Zarr()
	require.NoError(t, err)
	m, err := golden.Load(dir)
	require.NoError(t, err)
	return dir, m.Nodes
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func zeros(n int) []int64 { return make([]int64, n) }

// cut takes n elements per axis from lo out of a block. size is that of an
// element, 0 if each comes with its length.
func cut(b []byte, block, lo, n []int64, size int64) []byte {
	ends := []int64{0} // of each element, if they differ in size
	for off := int64(0); size == 0 && off < int64(len(b)); {
		off += 4 + int64(binary.LittleEndian.Uint32(b[off:]))
		ends = append(ends, off)
	}
	element := func(i int64) []byte {
		if size == 0 {
			return b[ends[i]:ends[i+1]]
		}
		return b[i*size : (i+1)*size]
	}
	out := []byte{}
	var walk func(axis int, at int64)
	walk = func(axis int, at int64) {
		if axis == len(block) {
			out = append(out, element(at)...)
			return
		}
		for i := range n[axis] {
			walk(axis+1, at*block[axis]+lo[axis]+i)
		}
	}
	walk(0, 0)
	return out
}

// clip takes the first n elements per axis of a block.
func clip(b []byte, block, n []int64, size int64) []byte {
	return cut(b, block, zeros(len(n)), n, size)
}

func TestGolden(t *testing.T) {
	dir, nodes := goldenNodes(t)
	arrays := 0
	for _, n := range nodes {
		if n.NodeType == "group" {
			continue
		}
		arrays++
		t.Run(n.Name, func(t *testing.T) {
			st := loadDir(t, filepath.Join(dir, n.Path))
			a, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
			require.NoError(t, err)
			whole, err := a.RetrieveRegion(t.Context(), zeros(len(n.Shape)), n.Shape, zarr.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, n.SHA256, sum(whole))
			samples(t, a, n)
			everySubchunk(t, a, whole)
			randomRegions(t, a, whole)
		})
	}
	require.Equal(t, 235, arrays)
}

func samples(t *testing.T, a *zarr.Array, n golden.Node) {
	if n.Shards == nil {
		return
	}
	cache := a.ShardCache(zarr.CacheOptions{})
	require.Equal(t, n.Subchunk, a.SubchunkShape())
	require.Equal(t, n.Shards.SubchunkGrid, a.SubchunkGridShape())
	require.Equal(t, n.Exclusive, a.IsExclusivelySharded())
	for _, s := range n.Shards.Some {
		for _, o := range []zarr.ReadOptions{{}, {Cache: cache}, {Cache: cache, Dst: make([]byte, 1<<16)}} {
			got, err := a.RetrieveSubchunk(t.Context(), s.Subchunk, o)
			require.NoError(t, err)
			if s.DecodedSHA256 != "" {
				require.Equal(t, s.DecodedSHA256, sum(clip(got, a.EffectiveSubchunkShape(), s.ClippedShape, a.DataType().Size())))
			}
			if !n.Exclusive {
				continue
			}
			enc, err := a.RetrieveEncodedSubchunk(t.Context(), s.Subchunk, zarr.ReadOptions{Cache: o.Cache})
			require.NoError(t, err)
			l, ok, err := a.Locate(t.Context(), s.Subchunk, o)
			require.NoError(t, err)
			if s.Empty {
				require.Nil(t, enc)
				require.False(t, ok)
				continue
			}
			require.Equal(t, s.EncodedSHA256, sum(enc))
			require.Equal(t, []any{s.Key, s.Off, s.Len}, []any{l.Key, l.Off, l.Len})
			dec, err := a.DecodeSubchunk(t.Context(), enc, nil)
			require.NoError(t, err)
			require.Equal(t, got, dec)
		}
	}
}

// everySubchunk compares each subchunk with the same region of the whole.
func everySubchunk(t *testing.T, a *zarr.Array, whole []byte) {
	cache := a.ShardCache(zarr.CacheOptions{})
	grid, edge, shape := a.SubchunkGridShape(), a.EffectiveSubchunkShape(), a.Shape()
	total := int64(1)
	for _, n := range grid {
		total *= n
	}
	for k := range min(total, 300) {
		idx, rest := zeros(len(grid)), k
		for i := len(grid) - 1; i >= 0; i-- {
			idx[i], rest = rest%grid[i], rest/grid[i]
		}
		got, err := a.RetrieveSubchunk(t.Context(), idx, zarr.ReadOptions{Cache: cache})
		require.NoError(t, err)
		edge, lo, inside := edge, zeros(len(grid)), zeros(len(grid))
		if edge == nil { // chunks of many shapes
			edge = a.ChunkShapeAt(idx)
		}
		for i := range idx {
			lo[i] = idx[i] * edge[i]
			if a.EffectiveSubchunkShape() == nil {
				lo[i] = before(a, idx, i)
			}
			inside[i] = min(edge[i], shape[i]-lo[i])
		}
		want := cut(whole, shape, lo, inside, a.DataType().Size())
		require.Equal(t, want, clip(got, edge, inside, a.DataType().Size()), "subchunk %v", idx)
	}
}

// before sums the edges of the chunks before idx along an axis.
func before(a *zarr.Array, idx []int64, axis int) int64 {
	at, sum := slices.Clone(idx), int64(0)
	for at[axis] = 0; at[axis] < idx[axis]; at[axis]++ {
		sum += a.ChunkShapeAt(at)[axis]
	}
	return sum
}

func randomRegions(t *testing.T, a *zarr.Array, whole []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	shape := a.Shape()
	cache := a.ShardCache(zarr.CacheOptions{})
	for range 20 {
		lo, hi, n := zeros(len(shape)), zeros(len(shape)), zeros(len(shape))
		for i, s := range shape {
			lo[i] = r.Int64N(s + 1)
			hi[i] = lo[i] + r.Int64N(s-lo[i]+1)
			n[i] = hi[i] - lo[i]
		}
		got, err := a.RetrieveRegion(t.Context(), lo, hi, zarr.ReadOptions{Cache: cache})
		require.NoError(t, err)
		want := cut(whole, shape, lo, n, a.DataType().Size())
		require.Equal(t, want, got, "region %v..%v", lo, hi)
	}
}

func TestGoldenGroups(t *testing.T) {
	dir, nodes := goldenNodes(t)
	for _, n := range nodes {
		if n.NodeType != "group" {
			continue
		}
		t.Run(n.Name, func(t *testing.T) {
			st := loadDir(t, filepath.Join(dir, n.Path))
			es, err := zarr.List(t.Context(), st, "", zarr.Options{})
			require.NoError(t, err)
			arrays := map[string]bool{}
			for _, e := range es {
				require.Empty(t, e.Error)
				arrays[e.Path] = e.Kind == "array"
			}
			require.NotEmpty(t, n.Children)
			for path, want := range n.Children {
				require.True(t, arrays[path], path)
				a, err := zarr.OpenArray(t.Context(), st, path, zarr.Options{})
				require.NoError(t, err)
				b, err := a.RetrieveRegion(t.Context(), zeros(len(a.Shape())), a.Shape(), zarr.ReadOptions{})
				require.NoError(t, err)
				require.Equal(t, want, sum(b))
			}
			checked, err := zarr.Verify(t.Context(), st, "", zarr.Options{}, func(d zarr.Damage) { t.Errorf("damage: %v", d) })
			require.NoError(t, err)
			require.Positive(t, checked)
		})
	}
}

func TestCorrupt(t *testing.T) {
	dir, _ := goldenNodes(t)
	cases, err := golden.LoadCorrupt(dir)
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			st := loadDir(t, filepath.Join(dir, c.Path))
			a, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
			if err == nil {
				_, err = a.RetrieveRegion(t.Context(), zeros(len(a.Shape())), a.Shape(), zarr.ReadOptions{})
			}
			t.Log(err)
			if !strings.HasPrefix(c.Expect, "reject") {
				return
			}
			if c.Name == "shard_is_directory" {
				require.NoError(t, err) // missing, in memory
				return
			}
			require.Error(t, err)
			code := fault.CodeOf(err)
			require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported}, code)
			require.NotContains(t, err.Error(), "\n")
			if a == nil {
				return
			}
			var damage []zarr.Damage
			_, err = zarr.Verify(t.Context(), st, "", zarr.Options{}, func(d zarr.Damage) { damage = append(damage, d) })
			require.NoError(t, err)
			require.NotEmpty(t, damage)
		})
	}
}
