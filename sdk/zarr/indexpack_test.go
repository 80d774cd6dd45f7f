package zarr_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// packed builds a pack of the root, writes it and reads it again.
func packed(t *testing.T, st storage.Store) *zarr.IndexPack {
	t.Helper()
	p, err := zarr.BuildIndexPack(t.Context(), st, "", zarr.Options{}, nil)
	require.NoError(t, err)
	p, err = zarr.ParseIndexPack(p.Bytes())
	require.NoError(t, err)
	return p
}

func openWith(t *testing.T, st storage.Store, path string, p *zarr.IndexPack) *zarr.Array {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), st, path, zarr.Options{IndexPack: p})
	require.NoError(t, err)
	return a
}

// remote is a memory over HTTP: a store that cannot list and tells nothing
// cheaply.
func remote(t *testing.T, objects map[string][]byte) (*storagetest.Origin, *storage.HTTP) {
	t.Helper()
	server := storagetest.NewOrigin(objects)
	return server, storage.NewHTTP(server, storagetest.OriginURL, storage.HTTPOptions{})
}

func grid8Objects(t *testing.T) map[string][]byte {
	objects := map[string][]byte{"zarr.json": endCRC.metadata("[8,8]", "[4,4]", "[2,2]", gzipLE)}
	m := grid8(t, endCRC)
	for s := range 4 {
		key := fmt.Sprintf("c/%d/%d", s/2, s%2)
		b, _, err := storage.ReadAll(t.Context(), m, key, 1<<20)
		require.NoError(t, err)
		objects[key] = b
	}
	return objects
}

func TestIndexPackOneRequestASubchunk(t *testing.T) {
	server, st := remote(t, grid8Objects(t))
	p := packed(t, st)
	require.EqualValues(t, 4, p.Size().Shards)
	a := openWith(t, st, "", p)
	for _, cache := range []*zarr.ShardCache{nil, a.ShardCache(zarr.CacheOptions{})} {
		for k := range 16 {
			server.Reset()
			got, err := a.RetrieveSubchunk(t.Context(), at(int64(k/4), int64(k%4)), zarr.ReadOptions{Cache: cache})
			require.NoError(t, err)
			require.Equal(t, sub8(k/4, k%4), got)
			require.Len(t, server.Requests(), 1)
		}
	}
	server.Reset()
	_, err := a.RetrieveRegion(t.Context(), at(0, 0), at(8, 8), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Len(t, server.Requests(), 4)
	require.NotContains(t, strings.Join(server.Requests(), "\n"), "HEAD")
}

// TestIndexPackReplacedShard: a shard that was rewritten is noticed by its
// version, in each kind of read, and its entry is not used again.
func TestIndexPackReplacedShard(t *testing.T) {
	objects := grid8Objects(t)
	for name, read := range map[string]func(a *zarr.Array, o zarr.ReadOptions) ([]byte, error){
		"subchunk": func(a *zarr.Array, o zarr.ReadOptions) ([]byte, error) {
			return a.RetrieveSubchunk(t.Context(), at(1, 1), o)
		},
		"encoded": func(a *zarr.Array, o zarr.ReadOptions) ([]byte, error) {
			b, err := a.RetrieveEncodedSubchunk(t.Context(), at(1, 1), o)
			if err != nil {
				return nil, err
			}
			return a.DecodeSubchunk(t.Context(), b, nil)
		},
		"region": func(a *zarr.Array, o zarr.ReadOptions) ([]byte, error) {
			return a.RetrieveRegion(t.Context(), at(2, 2), at(4, 4), o)
		},
		"batch": func(a *zarr.Array, o zarr.ReadOptions) ([]byte, error) {
			bs, err := a.RetrieveSubchunks(t.Context(), [][]int64{at(1, 1)}, o)
			if err != nil {
				return nil, err
			}
			return bs[0], nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, st := remote(t, objects)
			a := openWith(t, st, "", packed(t, st))
			fresh := u16(7, 8, 9, 10)
			server.Put("c/0/0", endCRC.shard(nil, zipped(sub8(2, 2)), nil, zipped(fresh)))
			cache := a.ShardCache(zarr.CacheOptions{})
			for i, want := range []int{3, 1} { // refused, the index, the data; then the data
				server.Reset()
				got, err := read(a, zarr.ReadOptions{Cache: cache})
				require.NoError(t, err)
				require.Equal(t, fresh, got)
				require.Len(t, server.Requests(), want, "read %d", i)
			}
			server.Reset()
			got, err := read(a, zarr.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, fresh, got)
			require.Len(t, server.Requests(), 2, "without a cache: the pack's entry is out of use")
		})
	}
}

// TestIndexPackEmptySubchunk: that a subchunk is not stored is asked of the
// shard, which another writer may have changed.
func TestIndexPackEmptySubchunk(t *testing.T) {
	objects := grid8Objects(t)
	objects["c/0/0"] = endCRC.shard(zipped(sub8(0, 0)), nil, nil, nil)
	server, st := remote(t, objects)
	fill := u16(9, 9, 9, 9)
	read := func(a *zarr.Array, o zarr.ReadOptions) [][]byte {
		one, err := a.RetrieveSubchunk(t.Context(), at(0, 1), o)
		require.NoError(t, err)
		two, err := a.RetrieveRegion(t.Context(), at(0, 2), at(2, 4), o)
		require.NoError(t, err)
		three, err := a.RetrieveSubchunks(t.Context(), [][]int64{at(0, 1)}, o)
		require.NoError(t, err)
		_, _, err = a.Locate(t.Context(), at(0, 1), o)
		require.NoError(t, err)
		return [][]byte{one, two, three[0]}
	}
	p := packed(t, st)
	a := openWith(t, st, "", p)
	server.Reset()
	for _, got := range read(a, zarr.ReadOptions{Cache: a.ShardCache(zarr.CacheOptions{})}) {
		require.Equal(t, fill, got)
	}
	require.Equal(t, []string{"GET c/0/0 bytes=-68"}, server.Requests(), "the index, once for all")

	a = openWith(t, st, "", packed(t, st))
	server.Put("c/0/0", endCRC.shard(nil, zipped(sub8(0, 1)), nil, nil))
	for _, got := range read(a, zarr.ReadOptions{Cache: a.ShardCache(zarr.CacheOptions{})}) {
		require.Equal(t, sub8(0, 1), got)
	}
}

// TestIndexPackMissingShard: a pack says nothing of a shard that was not
// there; it costs one request, and is found when it comes.
func TestIndexPackMissingShard(t *testing.T) {
	objects := grid8Objects(t)
	shard := objects["c/1/1"]
	delete(objects, "c/1/1")
	server, st := remote(t, objects)
	p := packed(t, st)
	require.EqualValues(t, 3, p.Size().Shards)
	a := openWith(t, st, "", p)
	server.Reset()
	got, err := a.RetrieveSubchunk(t.Context(), at(3, 3), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(9, 9, 9, 9), got)
	require.Len(t, server.Requests(), 1)
	server.Put("c/1/1", shard)
	got, err = a.RetrieveSubchunk(t.Context(), at(3, 3), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, sub8(3, 3), got)
}

func TestIndexPackIsBoundToItsArray(t *testing.T) {
	objects := grid8Objects(t)
	_, st := remote(t, objects)
	p := packed(t, st)
	for name, meta := range map[string][]byte{
		"shape":    endCRC.metadata("[8,9]", "[4,4]", "[2,2]", gzipLE),
		"subchunk": endCRC.metadata("[8,8]", "[4,4]", "[4,2]", gzipLE),
		"codecs":   endCRC.metadata("[8,8]", "[4,4]", "[2,2]", rawLE),
		"place":    indexForm{start: true, checksums: 1}.metadata("[8,8]", "[4,4]", "[2,2]", gzipLE),
	} {
		m := storage.NewMemory()
		m.Set("zarr.json", meta)
		_, err := zarr.OpenArray(t.Context(), m, "", zarr.Options{IndexPack: p})
		require.ErrorIs(t, err, fault.ErrWrongArray, name)
		require.ErrorContains(t, err, "layout", name)
	}
	same := strings.Replace(string(objects["zarr.json"]), `"shape"`, `"attributes":{"a":1}, "shape" `, 1)
	m := storage.NewMemory()
	m.Set("zarr.json", []byte(same))
	_, err := zarr.OpenArray(t.Context(), m, "", zarr.Options{IndexPack: p})
	require.NoError(t, err, "attributes move no subchunk")

	// The same layout, other bytes: never the one's offsets on the other's.
	other := grid8Objects(t)
	other["c/0/0"] = endCRC.shard(nil, nil, zipped(u16(1, 2, 3, 4)), zipped(u16(5, 6, 7, 8)))
	server, otherStore := remote(t, other)
	server.Quirks.MD5Tag = true // tags that the first server has not given
	a := openWith(t, otherStore, "", p)
	got, err := a.RetrieveSubchunk(t.Context(), at(1, 1), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(5, 6, 7, 8), got)
}

const pyramidJSON = `{"zarr_format":3,"node_type":"group","attributes":{"ome":{"version":"0.5","multiscales":[{"axes":[{"name":"y"},{"name":"x"}],
	"datasets":[{"path":"0"},{"path":"1"},{"path":"plain"}]}]}}}`

// TestIndexPackOfAPyramid: every level, over a store that cannot list.
func TestIndexPackOfAPyramid(t *testing.T) {
	objects := map[string][]byte{"img/zarr.json": []byte(pyramidJSON)}
	for key, b := range grid8Objects(t) {
		objects["img/0/"+key] = b
	}
	objects["img/1/zarr.json"] = endCRC.metadata("[4,4]", "[4,4]", "[2,2]", gzipLE)
	objects["img/1/c/0/0"] = objects["img/0/c/1/1"]
	objects["img/plain/zarr.json"] = []byte(strings.Replace(plainU16, "@", rawLE, 1))
	server, st := remote(t, objects)
	var seen []string
	p, err := zarr.BuildIndexPack(t.Context(), st, "img", zarr.Options{}, func(p zarr.Packed) {
		seen = append(seen, fmt.Sprintf("%s %d/%d", p.Array, p.Seen, p.Shards))
	})
	require.NoError(t, err)
	require.Equal(t, []string{"img/0 1/4", "img/0 2/4", "img/0 3/4", "img/0 4/4", "img/1 1/1"}, seen)
	require.EqualValues(t, 2, p.Size().Arrays)
	server.Reset()
	a := openWith(t, st, "img/1", p)
	got, err := a.RetrieveSubchunk(t.Context(), at(1, 1), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, sub8(3, 3), got)
	require.Len(t, server.Requests(), 2, "the metadata and the subchunk")
	openWith(t, st, "img/0", p)
	openWith(t, st, "img/plain", p) // which has no indexes
	g, err := zarr.OpenGroup(t.Context(), st, "img", zarr.Options{IndexPack: p})
	require.NoError(t, err)
	n, err := g.Open(t.Context(), "0")
	require.NoError(t, err)
	server.Reset()
	_, err = n.(*zarr.Array).RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Len(t, server.Requests(), 1)
	m := storage.NewMemory()
	for key, b := range objects {
		m.Set(strings.Replace(key, "img/0", "img/2", 1), b)
	}
	_, err = zarr.OpenArray(t.Context(), m, "img/2", zarr.Options{IndexPack: p})
	require.ErrorIs(t, err, fault.ErrWrongArray)
	require.ErrorContains(t, err, "path")
}

func TestIndexPackRefusals(t *testing.T) {
	m := storage.NewMemory()
	m.Set("zarr.json", []byte(strings.Replace(plainU16, "@", rawLE, 1)))
	_, err := zarr.BuildIndexPack(t.Context(), m, "", zarr.Options{}, nil)
	require.ErrorIs(t, err, fault.ErrUnsupported, "no shards")

	server, st := remote(t, grid8Objects(t))
	server.Quirks = storagetest.Quirks{NoTag: true, NoDate: true}
	_, err = zarr.BuildIndexPack(t.Context(), st, "", zarr.Options{}, nil)
	require.ErrorIs(t, err, fault.ErrUnsupported)
	require.ErrorContains(t, err, "versions")

	server.Quirks = storagetest.Quirks{}
	server.Put("c/0/1", []byte("short"))
	_, err = zarr.BuildIndexPack(t.Context(), st, "", zarr.Options{}, nil)
	require.ErrorIs(t, err, fault.ErrCorrupt)

	server.Put("zarr.json", endCRC.metadata("[8796093022208,8]", "[4,4]", "[2,2]", gzipLE))
	_, err = zarr.BuildIndexPack(t.Context(), st, "", zarr.Options{}, nil)
	require.ErrorIs(t, err, fault.ErrLimit, "before memory is taken for so many shards")

	good := packed(t, grid8(t, endCRC)).Bytes()
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x41
		_, err := zarr.ParseIndexPack(bad)
		require.Error(t, err, "byte %d", i)
		_, err = zarr.ParseIndexPack(good[:i])
		require.Error(t, err, "cut at %d", i)
	}
	forged := append([]byte("\x01\x00"), make([]byte, 16)...)  // an array of any layout
	forged = append(forged, "\x01\x05\x00\x00\x00\x00\x00"...) // of a shard of no version
	file := binary.LittleEndian.AppendUint32([]byte("GHINDEX\x01"), storage.UpdateCRC(0, forged))
	_, err = zarr.ParseIndexPack(append(file, forged...))
	require.ErrorIs(t, err, fault.ErrCorrupt)
	require.ErrorContains(t, err, "no version")
	later := append([]byte(nil), good...)
	later[7] = 2
	_, err = zarr.ParseIndexPack(later)
	require.ErrorIs(t, err, fault.ErrUnsupported)
}

// TestIndexPackIsSmall: at most 4 bytes a subchunk and 64 a shard, whatever
// order the writer left, on subchunks as zstd makes them of 2 KiB of data with
// some noise.
func TestIndexPackIsSmall(t *testing.T) {
	const shards, per = 16, 1024
	r := rand.New(rand.NewPCG(1, 2))
	entries := func(order func([]int)) []uint64 {
		place := make([]int, per)
		for i := range place {
			place[i] = i
		}
		order(place)
		e := make([]uint64, 2*per)
		off := uint64(0)
		for _, i := range place {
			n := uint64(1100 + r.NormFloat64()*60)
			e[2*i], e[2*i+1] = off, n
			off += n
		}
		return e
	}
	for name, order := range map[string]func([]int){
		"C order": func([]int) {},
		"Morton":  morton,
		"as threads finish": func(p []int) {
			r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := map[string][]byte{"zarr.json": endCRC.metadata("[4096,1024]", "[1024,256]", "[32,8]", gzipLE)}
			want := map[string][]uint64{}
			for s := range shards {
				e := entries(order)
				key := fmt.Sprintf("c/%d/%d", s/4, s%4)
				want[key] = e
				objects[key] = append(make([]byte, 1_500_000), endCRC.index(e)...)
			}
			server := storagetest.NewOrigin(objects)
			server.Quirks.MD5Tag = true // as object stores do, the longest that is common
			p := packed(t, storage.NewHTTP(server, storagetest.OriginURL, storage.HTTPOptions{}))
			size := p.Size()
			require.EqualValues(t, shards, size.Shards)
			t.Logf("%d bytes: %.2f a subchunk", size.Bytes, float64(size.Bytes)/(shards*per))
			require.LessOrEqual(t, size.Bytes, int64(4*shards*per+64*shards))
			a := openWith(t, storage.NewHTTP(server, storagetest.OriginURL, storage.HTTPOptions{}), "", p)
			server.Reset()
			for s := range int64(shards) {
				x, err := a.ShardIndex(t.Context(), at(s/4, s%4), zarr.ReadOptions{})
				require.NoError(t, err)
				for i := range per {
					off, n, ok := x.At(i)
					require.True(t, ok)
					require.Equal(t, want[x.Key()][2*i:2*i+2], []uint64{uint64(off), uint64(n)})
				}
			}
			require.Empty(t, server.Requests())
		})
	}
}

// TestIndexPackAnyIndex: gaps, overlaps, subchunks of no bytes and those that
// are not stored come out as they went in.
func TestIndexPackAnyIndex(t *testing.T) {
	const per, size = 16, 100_000
	r := rand.New(rand.NewPCG(5, 6))
	objects := map[string][]byte{"zarr.json": endCRC.metadata("[800,4]", "[4,4]", "[1,1]", gzipLE)}
	want := map[string][]uint64{}
	for s := range 200 {
		e := make([]uint64, 0, 2*per)
		for range per {
			switch r.IntN(6) {
			case 0:
				e = append(e, 1<<64-1, 1<<64-1)
			case 1:
				e = append(e, uint64(r.IntN(size)), 0)
			case 2:
				e = append(e, 0, size)
			default:
				off := r.IntN(size)
				e = append(e, uint64(off), uint64(r.IntN(size-off)))
			}
		}
		key := fmt.Sprintf("c/%d/0", s)
		want[key] = e
		objects[key] = append(make([]byte, size), endCRC.index(e)...)
	}
	_, st := remote(t, objects)
	a := openWith(t, st, "", packed(t, st))
	for s := range int64(200) {
		x, err := a.ShardIndex(t.Context(), at(s, 0), zarr.ReadOptions{})
		require.NoError(t, err)
		require.EqualValues(t, size+16*per+4, x.Size())
		for i := range per {
			off, n, ok := x.At(i)
			stored := want[x.Key()][2*i] != 1<<64-1
			require.Equal(t, stored, ok)
			if stored {
				require.Equal(t, want[x.Key()][2*i:2*i+2], []uint64{uint64(off), uint64(n)}, "shard %d entry %d", s, i)
			}
		}
	}
}

// morton orders the places of a square along a Z-shaped curve.
func morton(p []int) {
	for z := range p {
		y, x := 0, 0
		for b := range 5 {
			x |= z >> (2 * b) & 1 << b
			y |= z >> (2*b + 1) & 1 << b
		}
		p[z] = 32*y + x
	}
}

// FuzzIndexPack: whatever the bytes, no panic; and what is read as entries
// lies within the shard.
func FuzzIndexPack(f *testing.F) {
	m := storage.NewMemory()
	m.Set("zarr.json", endCRC.metadata("[8,8]", "[4,4]", "[2,2]", rawLE))
	m.Set("c/0/0", endCRC.shard(u16(1, 2, 3, 4), nil, u16(5, 6, 7, 8), u16(9, 9, 9, 9)))
	p, err := zarr.BuildIndexPack(f.Context(), m, "", zarr.Options{}, nil)
	require.NoError(f, err)
	f.Add(p.Bytes()[12:])
	f.Fuzz(func(t *testing.T, b []byte) {
		file := append([]byte("GHINDEX\x01"), 0, 0, 0, 0)
		file = append(file, b...)
		binary.LittleEndian.PutUint32(file[8:], storage.UpdateCRC(0, b))
		p, err := zarr.ParseIndexPack(file)
		if err != nil {
			return
		}
		a, err := zarr.OpenArray(t.Context(), m, "", zarr.Options{IndexPack: p})
		if err != nil {
			return
		}
		for s := range int64(4) {
			x, err := a.ShardIndex(t.Context(), at(s/2, s%2), zarr.ReadOptions{})
			if err != nil || x.Missing() {
				continue
			}
			for i := range x.Len() {
				off, n, ok := x.At(i)
				if ok && (off < 0 || n < 0 || off+n < 0 || x.Size() >= 0 && off+n > x.Size()) {
					t.Fatalf("%d+%d of %d", off, n, x.Size())
				}
			}
		}
	})
}
