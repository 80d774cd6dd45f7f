package zarr_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// small keeps hostile sizes cheap.
var small = zarr.Options{Limits: zarr.Limits{Index: 1 << 16, Chunk: 1 << 20}}

// FuzzMetadata opens any zarr.json.
func FuzzMetadata(f *testing.F) { fuzzMetadata(f, "zarr.json") }

// FuzzMetadataV2 opens any .zarray.
func FuzzMetadataV2(f *testing.F) { fuzzMetadata(f, ".zarray") }

// fuzzMetadata opens a node and reads the first subchunk of what it describes
// from an empty store: an error of a known kind, or fill values.
func fuzzMetadata(f *testing.F, name string) {
	dir, nodes := goldenNodes(f)
	for _, n := range nodes {
		if b, err := os.ReadFile(filepath.Join(dir, n.Path, name)); err == nil {
			f.Add(b)
		}
	}
	cases, err := golden.LoadCorrupt(dir)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		if b, err := os.ReadFile(filepath.Join(dir, c.Path, name)); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, meta []byte) {
		m := storage.NewMemory()
		m.Set(name, meta)
		n, err := zarr.Open(context.Background(), m, "", small)
		if err != nil {
			if c := fault.CodeOf(err); c != fault.CodeCorrupt && c != fault.CodeUnsupported && c != fault.CodeLimit {
				t.Fatalf("%s: %v", c.Name(), err)
			}
			return
		}
		n.Describe()
		a, ok := n.(*zarr.Array)
		if !ok {
			return
		}
		got, err := a.RetrieveSubchunk(context.Background(), zeros(len(a.Shape())), zarr.ReadOptions{})
		if err != nil {
			return
		}
		shape := a.EffectiveSubchunkShape()
		if shape == nil {
			shape = a.ChunkShapeAt(zeros(len(a.Shape())))
		}
		n1, size := int64(1), a.DataType().Size()
		for _, x := range shape {
			n1 *= x
		}
		if size > 0 && int64(len(got)) != n1*size || size == 0 && int64(len(got)) < n1*4 {
			t.Fatalf("%d bytes for %d elements of %d", len(got), n1, size)
		}
	})
}

// FuzzShard reads a shard of any bytes, with each way to store its index:
// an error, or subchunks of the right size whose ranges lie in the shard.
func FuzzShard(f *testing.F) {
	forms := []indexForm{{}, {checksums: 1}, {start: true}, {start: true, bigEndian: true, checksums: 1}}
	for k, form := range forms {
		f.Add(form.shard(zipped(sub8(0, 0)), nil, zipped(sub8(1, 0)), zipped(sub8(1, 1))), uint8(k))
	}
	f.Fuzz(func(t *testing.T, shard []byte, k uint8) {
		form := forms[int(k)%len(forms)]
		m := storage.NewMemory()
		m.Set("zarr.json", form.metadata("[4,4]", "[4,4]", "[2,2]", gzipLE))
		m.Set("c/0/0", shard)
		a, err := zarr.OpenArray(context.Background(), m, "", small)
		if err != nil {
			t.Fatal(err)
		}
		x, err := a.ShardIndex(context.Background(), at(0, 0), zarr.ReadOptions{})
		if err != nil {
			if fault.CodeOf(err) != fault.CodeCorrupt {
				t.Fatal(err)
			}
			return
		}
		for i := range 4 {
			off, n, ok := x.At(i)
			if ok && (off < 0 || n < 0 || off+n > int64(len(shard))) {
				t.Fatalf("entry %d: %d+%d in %d bytes", i, off, n, len(shard))
			}
			got, err := a.RetrieveSubchunk(context.Background(), at(int64(i/2), int64(i%2)), zarr.ReadOptions{})
			if err == nil && len(got) != 8 {
				t.Fatalf("subchunk %d has %d bytes", i, len(got))
			}
		}
	})
}
