package zarr_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func damageOnly(t *testing.T, err error) {
	t.Helper()
	switch c := fault.CodeOf(err); c {
	case 0, fault.CodeCorrupt, fault.CodeUnsupported, fault.CodeLimit:
	default:
		t.Fatalf("%s: %v", c.Name(), err)
	}
}

// FuzzGroup opens a group of any metadata, and every node that its
// consolidated metadata has: none is outside the group, whatever it is called.
func FuzzGroup(f *testing.F) {
	dir, nodes := goldenNodes(f)
	for _, n := range nodes {
		if n.NodeType != "group" {
			continue
		}
		for v2, name := range map[bool]string{false: "zarr.json", true: ".zmetadata"} {
			if b, err := os.ReadFile(filepath.Join(dir, n.Path, name)); err == nil {
				f.Add(b, v2)
			}
		}
	}
	f.Add([]byte(`{"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},"a/.zgroup":{"zarr_format":2},"a/.zattrs":{"x":1}}}`), true)
	f.Add([]byte(`{"zarr_format":3,"node_type":"group","attributes":{"ome":{"version":"0.5","multiscales":[{"axes":[{"name":"x"}],
"datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1.5]}]}]}]}},
"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"../b":{"zarr_format":3,"node_type":"group"}}}}`), false)
	f.Fuzz(func(t *testing.T, text []byte, v2 bool) {
		ctx := t.Context()
		m := storage.NewMemory()
		if v2 {
			m.Set(".zgroup", []byte(`{"zarr_format": 2}`))
			m.Set(".zmetadata", text)
		} else {
			m.Set("zarr.json", text)
		}
		o := small
		o.Consolidated = true
		g, err := zarr.OpenGroup(ctx, m, "", o)
		if err != nil {
			if c := fault.CodeOf(err); c != fault.CodeInvalid { // it is an array
				damageOnly(t, err)
			}
			return
		}
		g.Describe()
		scales, err := g.Multiscales()
		damageOnly(t, err)
		for _, s := range scales {
			for _, l := range s.Levels {
				if n := len(s.Axes); l.Scale != nil && len(l.Scale) != n || l.Translation != nil && len(l.Translation) != n {
					t.Fatalf("%d axes, a level of %v and %v", n, l.Scale, l.Translation)
				}
			}
		}
		entries, err := zarr.List(ctx, m, "", o)
		damageOnly(t, err)
		for _, e := range entries {
			if e.Path == "" {
				continue
			}
			n, err := g.Open(ctx, e.Path)
			if e.Error != "" {
				if err == nil {
					t.Fatalf("%q opens, and is listed as %s", e.Path, e.Error)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%q is listed as %s: %v", e.Path, e.Kind, err)
			}
			if !storage.ValidKey(e.Path) || n.Kind() != e.Kind {
				t.Fatalf("%q: %s, listed as %s", e.Path, n.Kind(), e.Kind)
			}
		}
	})
}

// FuzzChunk reads a chunk of any bytes through the codecs of every array of
// the peers whose first chunk is small: an error of a known kind, or as many
// elements as the chunk has; and a part of it is what the whole has there.
func FuzzChunk(f *testing.F) {
	dir, nodes := goldenNodes(f)
	type kind struct {
		metadata map[string][]byte
		chunk    string
	}
	var kinds []kind
	for _, n := range nodes {
		if n.NodeType == "group" || n.Bytes > 1<<16 || len(kinds) == 1<<16 {
			continue
		}
		k := kind{metadata: map[string][]byte{}}
		for _, name := range []string{"zarr.json", ".zarray", ".zattrs"} {
			if b, err := os.ReadFile(filepath.Join(dir, n.Path, name)); err == nil {
				k.metadata[name] = b
			}
		}
		root := os.DirFS(filepath.Join(dir, n.Path))
		for _, shape := range []string{"c", "c/0", "c/0/0", "c/0/0/0", "c/0/0/0/0", "0", "0.0", "0/0", "0.0.0", "0/0/0", "c.0", "c.0.0"} {
			if s, err := root.(interface {
				ReadFile(string) ([]byte, error)
			}).ReadFile(shape); err == nil && len(s) < 2000 {
				k.chunk = shape
				f.Add(s, uint16(len(kinds)))
				kinds = append(kinds, k)
				break
			}
		}
	}
	f.Logf("%d kinds of chunks", len(kinds))
	if len(kinds) < 100 {
		f.Fatal("too few")
	}
	f.Fuzz(func(t *testing.T, chunk []byte, which uint16) {
		k := kinds[int(which)%len(kinds)]
		m := storage.NewMemory()
		for name, b := range k.metadata {
			m.Set(name, b)
		}
		m.Set(k.chunk, chunk)
		ctx := context.Background()
		a, err := zarr.OpenArray(ctx, m, "", small)
		if err != nil {
			t.Fatal(err)
		}
		axes := len(a.Shape())
		shape := a.ChunkShapeAt(zeros(axes))
		stop := make([]int64, axes)
		for i := range stop {
			stop[i] = min(shape[i], a.Shape()[i])
		}
		whole, err := a.RetrieveRegion(ctx, zeros(axes), stop, zarr.ReadOptions{})
		if err != nil {
			damageOnly(t, err)
			return
		}
		size := a.DataType().Size()
		n := int64(1)
		for _, x := range stop {
			n *= x
		}
		if size > 0 && int64(len(whole)) != n*size {
			t.Fatalf("%d bytes for %d elements of %d", len(whole), n, size)
		}
		lo, part := zeros(axes), make([]int64, axes)
		hi := make([]int64, axes)
		for i := range lo {
			lo[i] = stop[i] / 3
			hi[i] = max(stop[i]*2/3, lo[i]+1)
			part[i] = hi[i] - lo[i]
		}
		if n == 0 {
			return
		}
		got, err := a.RetrieveRegion(ctx, lo, hi, zarr.ReadOptions{})
		if err != nil {
			t.Fatal("of a part of what could be read: ", err)
		}
		if want := cut(whole, stop, lo, part, size); string(want) != string(got) {
			t.Fatalf("%s %s: a part differs", k.metadata["zarr.json"], strings.Trim(k.chunk, "/"))
		}
	})
}
