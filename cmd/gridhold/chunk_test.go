package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every chunk of every fixture, whatever its grid and the size of its
// elements: inside the array it holds the array's elements, outside the fill
// value. And every array comes out whole in small slabs.
func TestChunks(t *testing.T) {
	arrays, _ := manifest(t)
	e := startEngine(t, "native")
	for _, n := range arrays {
		if n.Bytes > 1<<16 {
			continue // tens of thousands of elements add time and nothing else
		}
		t.Run(n.Name, func(t *testing.T) {
			a, _, err := openFixture(t, e, n.Path)
			require.NoError(t, err)
			d := a.shape()
			var whole bytes.Buffer
			require.NoError(t, stream(t.Context(), a, &whole, make([]int64, len(d.Shape)), d.Shape, 100))
			require.Equal(t, n.SHA256, hash(whole.Bytes()))

			elements := split(d, whole.Bytes())
			fill, err := d.fill()
			require.NoError(t, err)
			each(d.ChunkGridShape, func(at []int64) {
				var got bytes.Buffer
				require.NoError(t, writeChunk(t.Context(), a, &got, at))
				start, shape := d.chunk(at)
				cells := split(d, got.Bytes())
				require.Len(t, cells, int(volume(1, shape)))
				each(shape, func(in []int64) {
					want, i := fill, int64(0)
					inside := true
					for axis := range in {
						x := start[axis] + in[axis]
						inside = inside && x < d.Shape[axis]
						i = i*d.Shape[axis] + x
					}
					if inside {
						want = elements[i]
					}
					require.Equal(t, want, cells[0], "chunk %v at %v", at, in)
					cells = cells[1:]
				})
			})
		})
	}
}

// split cuts bytes into elements.
func split(d *description, b []byte) (elements [][]byte) {
	for len(b) > 0 {
		n := d.element(b)
		elements = append(elements, b[:n:n])
		b = b[n:]
	}
	return elements
}

// each calls f with every place of a grid, in C order.
func each(grid []int64, f func(at []int64)) {
	for i := range volume(1, grid) {
		at := make([]int64, len(grid))
		for axis := len(grid) - 1; axis >= 0; axis-- {
			at[axis], i = i%grid[axis], i/grid[axis]
		}
		f(at)
	}
}

// The key of every chunk is that of a file, where there is one.
func TestChunkKeys(t *testing.T) {
	arrays, _ := manifest(t)
	e := startEngine(t, "native")
	for _, n := range arrays {
		a, _, err := openFixture(t, e, n.Path)
		require.NoError(t, err)
		found := 0
		each(a.shape().ChunkGridShape, func(at []int64) {
			if _, err := os.Stat(filepath.Join(fixtures, n.Path, chunkKey("", a.shape(), at))); err == nil {
				found++
			}
		})
		files := 0
		require.NoError(t, filepath.WalkDir(filepath.Join(fixtures, n.Path), func(name string, d os.DirEntry, err error) error {
			switch filepath.Base(name) {
			case "zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata":
			default:
				if err == nil && !d.IsDir() {
					files++
				}
			}
			return err
		}))
		require.Equal(t, files, found, n.Name)
	}
}
