package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// flippable is a file of which a checksum covers the most.
type flippable struct {
	url, file string
	where     string             // what is said of damage: the key, the member, the chunk
	free      func(off int) bool // bytes that no checksum covers; nil: none
}

// noise does not pack, so that there are few bits that mean nothing.
func noise(n int) []byte {
	r, b := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// noisyArray makes an array of Zarr with one chunk, or shard, of 16 numbers.
func noisyArray(t *testing.T, codecs string, sub []int64) (dir string) {
	t.Helper()
	dir = t.TempDir()
	st, err := file.Open(dir, file.Options{})
	require.NoError(t, err)
	defer st.Close()
	spec := zarr.ArraySpec{Shape: []int64{4, 4}, ChunkShape: []int64{4, 4}, SubchunkShape: sub, DataType: "uint16"}
	require.NoError(t, json.Unmarshal([]byte(codecs), &spec.Codecs))
	a, err := zarr.CreateArray(t.Context(), st, "", spec, zarr.Options{})
	require.NoError(t, err)
	require.NoError(t, a.StoreRegion(t.Context(), []int64{0, 0}, []int64{4, 4}, noise(32)))
	return dir
}

// outside is a free of all that lies in none of the parts.
func outside(parts ...[2]int) func(off int) bool {
	return func(off int) bool {
		return !slices.ContainsFunc(parts, func(p [2]int) bool { return off >= p[0] && off < p[1] })
	}
}

// archived packs the files of a directory, and returns the parts of the archive
// that CRC-32 covers: the members.
func archived(t *testing.T, dir string, method uint16) (name string, covered [][2]int) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, key := range []string{"zarr.json", "c/0/0"} {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(key)))
		require.NoError(t, err)
		m, err := w.CreateHeader(&zip.FileHeader{Name: key, Method: method})
		require.NoError(t, err)
		_, err = m.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	name = filepath.Join(t.TempDir(), "a.zip")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o666))
	return name, membersOf(t, name)
}

func membersOf(t *testing.T, name string) (covered [][2]int) {
	r, err := zip.OpenReader(name)
	require.NoError(t, err)
	defer r.Close()
	for _, f := range r.File {
		off, err := f.DataOffset()
		require.NoError(t, err)
		part := [2]int{int(off), int(off) + int(f.CompressedSize64)}
		if f.Method == zip.Deflate { // where bits fill bytes up
			part[0], part[1] = part[0]+1, part[1]-6
		}
		covered = append(covered, part)
	}
	return covered
}

var flippables = map[string]func(t *testing.T) flippable{
	"shard: index and subchunks with crc32c": func(t *testing.T) flippable {
		dir := noisyArray(t, `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]`, []int64{2, 2})
		return flippable{dir, "c/0/0", "c/0/0", nil}
	},
	"chunk with crc32c": chunkWith(`{"name":"crc32c"}`, nil),
	"chunk with gzip": chunkWith(`{"name":"gzip","configuration":{"level":5}}`, func(n int) func(off int) bool {
		return func(off int) bool { return off >= 3 && off <= 10 || off == n-9 } // flags, time and system; bits that fill bytes up
	}),
	"chunk with zstd": chunkWith(`{"name":"zstd","configuration":{"level":3,"checksum":true}}`, func(n int) func(off int) bool {
		return func(off int) bool { return off >= 4 && off < 6 } // how large a window is, and a bit that nobody uses
	}),
	"chunk with fletcher32": chunkWith(`{"name":"numcodecs.fletcher32"}`, nil),
	"chunk with adler32":    chunkWith(`{"name":"numcodecs.adler32"}`, nil),
	"chunk with crc32":      chunkWith(`{"name":"numcodecs.crc32"}`, nil),
	"chunk with zlib": chunkWith(`{"name":"numcodecs.zlib","configuration":{"level":5}}`, func(n int) func(off int) bool {
		return func(off int) bool { return off == 2 || off == n-5 }
	}),
	"zip, stored": func(t *testing.T) flippable {
		name, covered := archived(t, noisyArray(t, `[{"name":"bytes","configuration":{"endian":"little"}}]`, nil), zip.Store)
		return flippable{"zip://" + name, name, "", outside(covered...)}
	},
	"zip, deflated": func(t *testing.T) flippable {
		name, covered := archived(t, noisyArray(t, `[{"name":"bytes","configuration":{"endian":"little"}}]`, nil), zip.Deflate)
		return flippable{"zip://" + name, name, "", outside(covered...)}
	},
	"b2z": func(t *testing.T) flippable {
		dir := t.TempDir()
		fs, err := file.OpenFS(dir)
		require.NoError(t, err)
		defer fs.Close()
		c, err := blosc2.CreateStore(t.Context(), fs, "s.b2d", blosc2.StoreSpec{}, blosc2.Options{})
		require.NoError(t, err)
		leaf, err := blosc2.CreateFrom(t.Context(), fs, "leaf.b2nd", blosc2.Shape{Shape: []int64{100}, DType: "|u1"}, noise(100), blosc2.Spec{}, blosc2.Options{})
		require.NoError(t, err)
		d := c.(*blosc2.DictStore)
		require.NoError(t, d.Put(t.Context(), "/leaf", leaf))
		require.NoError(t, d.ToB2Z(t.Context(), fs, "s.b2z", false))
		require.NoError(t, leaf.Close())
		require.NoError(t, d.Close())
		name := filepath.Join(dir, "s.b2z")
		return flippable{name, name, "", outside(membersOf(t, name)...)}
	},
	"frame with checksums": func(t *testing.T) flippable {
		dir := t.TempDir()
		fs, err := file.OpenFS(dir)
		require.NoError(t, err)
		defer fs.Close()
		a, err := blosc2.CreateFrom(t.Context(), fs, "a.b2nd", blosc2.Shape{Shape: []int64{100}, DType: "|u1", Chunks: []int64{40}}, noise(100), blosc2.Spec{Checksums: true}, blosc2.Options{})
		require.NoError(t, err)
		name := filepath.Join(dir, "a.b2nd")
		h := a.SChunk().Header()
		require.NoError(t, a.Close())
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		trailer, err := blosc2.ParseTrailerLen(b)
		require.NoError(t, err)
		index := int(h.HeaderLen + h.PackedSize) // of whose header only what makes other entries counts
		return flippable{name, name, "", outside([2]int{int(h.HeaderLen), index}, [2]int{index + 32, len(b) - int(trailer)})}
	},
	"index pack": func(t *testing.T) flippable {
		dir := noisyArray(t, `[{"name":"bytes","configuration":{"endian":"little"}}]`, []int64{2, 2})
		st, err := file.Open(dir, file.Options{})
		require.NoError(t, err)
		defer st.Close()
		p, err := zarr.BuildIndexPack(t.Context(), st, "", zarr.Options{}, nil)
		require.NoError(t, err)
		name := filepath.Join(t.TempDir(), "pack")
		require.NoError(t, os.WriteFile(name, p.Bytes(), 0o666))
		return flippable{name, name, "", outside([2]int{8, len(p.Bytes())})} // its name and version come first
	},
}

func chunkWith(codec string, free func(n int) func(off int) bool) func(t *testing.T) flippable {
	return func(t *testing.T) flippable {
		dir := noisyArray(t, `[{"name":"bytes","configuration":{"endian":"little"}},`+codec+`]`, nil)
		f := flippable{dir, "c/0/0", "c/0/0", nil}
		if free != nil {
			info, err := os.Stat(filepath.Join(dir, "c", "0", "0"))
			require.NoError(t, err)
			f.free = free(int(info.Size()))
		}
		return f
	}
}

// Of each kind of file in which something is covered by a checksum, verify finds
// every byte that is another one than was written, where it is covered.
func TestVerifyFindsEveryFlip(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	covered, others, seen := 0, 0, 0
	for kind, build := range flippables {
		t.Run(kind, func(t *testing.T) {
			f := build(t)
			name := f.file
			if !filepath.IsAbs(name) {
				name = filepath.Join(f.url, filepath.FromSlash(name))
			}
			whole, err := os.ReadFile(name)
			require.NoError(t, err)
			status, out := runs(t, "verify", f.url)
			require.Equal(t, statusFine, status, out)
			for off := range whole {
				free := f.free != nil && f.free(off)
				if free && off%8 != 0 { // there are many, which differ little
					continue
				}
				mask := byte(1) << (off * 3 % 8)
				b := bytes.Clone(whole)
				b[off] ^= mask
				require.NoError(t, os.WriteFile(name, b, 0o666))
				require.NoError(t, os.Chtimes(name, long, long)) // who would be waited for, had he just written
				status, out := runs(t, "verify", f.url)
				if free {
					others++
					if status != statusFine {
						seen++
					}
					continue
				}
				covered++
				require.Equal(t, statusDamaged, status, "byte %d of %d, mask %x: %s", off, len(whole), mask, out)
				require.Contains(t, out, f.where, "byte %d", off)
			}
		})
	}
	require.Positive(t, covered)
	t.Logf("%d flips of what checksums cover, all found; of %d others %d", covered, others, seen)
}
