package zarr_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// More tests named after reports; see reports_test.go.

// Report 6: shards at the edge that are written anew keep an index of full
// size, whether their subchunks outside the array were stored or not.
func TestReport6EdgeShardsWrittenAnew(t *testing.T) {
	for _, stored := range []bool{true, false} {
		m := storage.NewMemory()
		m.Set("zarr.json", endCRC.metadata("[5,7]", "[4,4]", "[2,2]", rawLE))
		for s := range 4 {
			var subs [][]byte
			for k := range 4 {
				if i, j := s/2*2+k/2, s%2*2+k%2; stored || (i*2 < 5 && j*2 < 7) {
					subs = append(subs, sub8(i, j))
				} else {
					subs = append(subs, nil)
				}
			}
			m.Set(fmt.Sprintf("c/%d/%d", s/2, s%2), endCRC.shard(subs...))
		}
		a := open(t, m)
		before, err := a.RetrieveRegion(t.Context(), at(0, 0), at(5, 7), zarr.ReadOptions{})
		require.NoError(t, err)
		require.NoError(t, a.StoreRegion(t.Context(), at(3, 3), at(5, 5), u16(1, 2, 3, 4)))
		require.NoError(t, a.StoreRegion(t.Context(), at(4, 6), at(5, 7), u16(5)))
		want := before
		for _, p := range []struct {
			y, x int
			v    uint16
		}{{3, 3, 1}, {3, 4, 2}, {4, 3, 3}, {4, 4, 4}, {4, 6, 5}} {
			binary.LittleEndian.PutUint16(want[2*(7*p.y+p.x):], p.v)
		}
		again := open(t, m)
		got, err := again.RetrieveRegion(t.Context(), at(0, 0), at(5, 7), zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got)
		for s := range 4 {
			key := fmt.Sprintf("c/%d/%d", s/2, s%2)
			b, _, err := storage.ReadAll(t.Context(), m, key, 1000)
			require.NoError(t, err)
			x, err := again.ShardIndex(t.Context(), at(int64(s/2), int64(s%2)), zarr.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, 4, x.Len(), key)
			for k := range 4 {
				if off, n, ok := x.At(k); ok {
					require.LessOrEqual(t, off+n, int64(len(b)-endCRC.size(4)), "%s: the index of four entries is what follows the data", key)
				}
			}
		}
	}
}

// Report 7: an entry of no bytes is damage however it is read, and no server
// is asked for a range that ends before it begins.
func TestReport7HoweverItIsRead(t *testing.T) {
	m := grid8(t, endCRC)
	m.Set("c/0/0", append(make([]byte, 20), endCRC.index([]uint64{10, 0, 1<<64 - 1, 1<<64 - 1, 10, 0, 0, 0})...))
	server := storagetest.NewOrigin(nil)
	for _, key := range []string{"zarr.json", "c/0/0"} {
		b, _, err := storage.ReadAll(t.Context(), m, key, 1<<20)
		require.NoError(t, err)
		server.Put(key, b)
	}
	a := open(t, storage.NewHTTP(server, storagetest.OriginURL, storage.HTTPOptions{}))
	for _, idx := range [][]int64{at(0, 0), at(1, 0), at(1, 1)} {
		for name, read := range map[string]func() ([]byte, error){
			"alone": func() ([]byte, error) { return a.RetrieveSubchunk(t.Context(), idx, zarr.ReadOptions{}) },
			"encoded": func() ([]byte, error) {
				b, err := a.RetrieveEncodedSubchunk(t.Context(), idx, zarr.ReadOptions{})
				require.NoError(t, err)
				require.NotNil(t, b, "it is not missing")
				return a.DecodeSubchunk(t.Context(), b, nil)
			},
			"region": func() ([]byte, error) {
				y, x := 2*idx[0], 2*idx[1]
				return a.RetrieveRegion(t.Context(), at(y, x), at(y+2, x+2), zarr.ReadOptions{})
			},
			"batch": func() ([]byte, error) {
				_, err := a.RetrieveSubchunks(t.Context(), [][]int64{idx}, zarr.ReadOptions{})
				return nil, err
			},
		} {
			_, err := read()
			require.ErrorIs(t, err, fault.ErrCorrupt, "%s %v", name, idx)
		}
	}
	for _, r := range server.Requests() {
		if _, span, ranged := strings.Cut(r, "bytes="); ranged && span[0] != '-' {
			var from, to int
			n, _ := fmt.Sscanf(span, "%d-%d", &from, &to)
			require.True(t, n == 1 || from <= to, r)
		}
	}
	got, err := a.RetrieveSubchunk(t.Context(), at(0, 1), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(9, 9, 9, 9), got, "its neighbour is empty, as it says")
}

// Report 9: the same within a shard, for its subchunks and for its index.
func TestReport9EndianWithinShards(t *testing.T) {
	sharded := string(endCRC.metadata("[4]", "[4]", "[2]", rawLE))
	index := `"index_codecs":` + endCRC.codecs()
	require.Contains(t, sharded, index)
	for _, bytes := range []string{`[{"name":"bytes"}]`, `["bytes"]`, `[{"name":"bytes","configuration":{}}]`} {
		inner := strings.Replace(sharded, `"codecs":`+rawLE, `"codecs":`+bytes, 1)
		for _, dtype := range []string{"uint8", "int8", "bool"} {
			m := storage.NewMemory()
			meta := strings.Replace(inner, `"uint16"`, `"`+dtype+`"`, 1)
			if dtype == "bool" {
				meta = strings.Replace(meta, `"fill_value":9`, `"fill_value":true`, 1)
			}
			m.Set("zarr.json", []byte(meta))
			m.Set("c/0", endCRC.shard([]byte{1, 0}, []byte{0, 1}))
			a := open(t, m)
			got, err := a.RetrieveSubchunk(t.Context(), at(1), zarr.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, []byte{0, 1}, got)
			got, err = a.RetrieveRegion(t.Context(), at(0), at(4), zarr.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, []byte{1, 0, 0, 1}, got)
		}
		for name, meta := range map[string]string{
			"subchunks of uint16": inner,
			"index":               strings.Replace(sharded, index, `"index_codecs":`+bytes, 1), // entries have 8 bytes each
		} {
			m := storage.NewMemory()
			m.Set("zarr.json", []byte(meta))
			_, err := zarr.OpenArray(t.Context(), m, "", zarr.Options{})
			require.ErrorIs(t, err, fault.ErrCorrupt, "%s %s", name, bytes)
			require.ErrorContains(t, err, "endian", "%s %s", name, bytes)
		}
	}
}

// Report 14: the key, the place and the value of every element where the
// shards and the subchunks differ by another factor on each axis.
func TestReport14EveryElement(t *testing.T) {
	m := storage.NewMemory()
	m.Set("zarr.json", endCRC.metadata("[10,10]", "[6,4]", "[3,2]", rawLE))
	value := func(y, x int) uint16 { return uint16(100*y + x) }
	for s := range 6 {
		var subs [][]byte
		for k := range 4 {
			var b []byte
			for e := range 6 {
				b = append(b, u16(value(s/3*6+k/2*3+e/2, s%3*4+k%2*2+e%2))...)
			}
			subs = append(subs, b)
		}
		m.Set(fmt.Sprintf("c/%d/%d", s/3, s%3), endCRC.shard(subs...))
	}
	a := open(t, m)
	o := zarr.ReadOptions{Cache: a.ShardCache(zarr.CacheOptions{})}
	for y := range 10 {
		for x := range 10 {
			got, err := a.RetrieveRegion(t.Context(), at(int64(y), int64(x)), at(int64(y+1), int64(x+1)), o)
			require.NoError(t, err)
			require.Equal(t, u16(value(y, x)), got)
			l, ok, err := a.Locate(t.Context(), at(int64(y/3), int64(x/2)), o)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, fmt.Sprintf("c/%d/%d", y/6, x/4), l.Key)
			require.EqualValues(t, 12*(y%6/3*2+x%4/2), l.Off, "(%d,%d)", y, x)
		}
	}
}

// Report 26: a window of 9x9 subchunks of one shard takes one load of the
// index; the second time none; without a cache one a read.
func TestReport26Window(t *testing.T) {
	m := storage.NewMemory()
	m.Set("zarr.json", endCRC.metadata("[18,18]", "[18,18]", "[2,2]", rawLE))
	var subs [][]byte
	for k := range 81 {
		subs = append(subs, sub8(k/9, k%9))
	}
	m.Set("c/0/0", endCRC.shard(subs...))
	rec := storagetest.Record(m)
	a := open(t, rec)
	cache := a.ShardCache(zarr.CacheOptions{})
	for pass, indexes := range []int{1, 0, 81} {
		o := zarr.ReadOptions{Cache: cache}
		if pass == 2 {
			o.Cache = nil
		}
		rec.Reset()
		for k := range 81 {
			got, err := a.RetrieveSubchunk(t.Context(), at(int64(k/9), int64(k%9)), o)
			require.NoError(t, err)
			require.Equal(t, subs[k], got)
		}
		require.Equal(t, 81+indexes, rec.Requests(), "pass %d", pass)
	}
	rec.Reset()
	_, err := a.RetrieveRegion(t.Context(), at(0, 0), at(18, 18), zarr.ReadOptions{})
	require.NoError(t, err)
	require.LessOrEqual(t, rec.Requests(), 2, "a region loads the index once also without a cache")
}

// Report 28: one array by two paths, and another one of the same keys below
// another path: never the places of one in the bytes of the other.
func TestReport28Paths(t *testing.T) {
	m := storage.NewMemory()
	for i, dir := range []string{"a/", "b/"} {
		m.Set(dir+"zarr.json", endCRC.metadata("[4,4]", "[4,4]", "[2,2]", gzipLE))
		var subs [][]byte
		for k := range 4 { // the second's lie elsewhere
			subs = append(subs, zipped(sub8(k+i*50, k)))
		}
		if i == 1 {
			subs[0], subs[3] = subs[3], nil
		}
		m.Set(dir+"c/0/0", endCRC.shard(subs...))
	}
	a, err := zarr.OpenArray(t.Context(), m, "a", zarr.Options{})
	require.NoError(t, err)
	o := zarr.ReadOptions{Cache: a.ShardCache(zarr.CacheOptions{})}
	_, err = a.RetrieveSubchunk(t.Context(), at(1, 1), o)
	require.NoError(t, err)
	b, err := zarr.OpenArray(t.Context(), m, "b", zarr.Options{})
	require.NoError(t, err)
	_, err = b.RetrieveSubchunk(t.Context(), at(1, 1), o)
	require.ErrorIs(t, err, fault.ErrWrongArray)
	for _, path := range []string{"/a", "a/", "./a", "b/../a"} { // there is one spelling
		_, err = zarr.OpenArray(t.Context(), m, path, zarr.Options{})
		require.ErrorIs(t, err, fault.ErrInvalid, path)
	}
	again, err := zarr.OpenArray(t.Context(), m, "a", zarr.Options{})
	require.NoError(t, err)
	got, err := again.RetrieveSubchunk(t.Context(), at(1, 1), o)
	require.NoError(t, err)
	require.Equal(t, sub8(3, 3), got)
}

// Report 1: what a server is asked for ends at the last byte of the entry.
func TestReport1RequestsOfServers(t *testing.T) {
	m := grid8(t, endCRC)
	server := storagetest.NewOrigin(nil)
	for _, key := range []string{"zarr.json", "c/0/0", "c/0/1", "c/1/0", "c/1/1"} {
		b, _, err := storage.ReadAll(t.Context(), m, key, 1<<20)
		require.NoError(t, err)
		server.Put(key, b)
	}
	a := open(t, storage.NewHTTP(server, storagetest.OriginURL, storage.HTTPOptions{}))
	o := zarr.ReadOptions{Cache: a.ShardCache(zarr.CacheOptions{})}
	for s := range 4 {
		x, err := a.ShardIndex(t.Context(), at(int64(s/2), int64(s%2)), o)
		require.NoError(t, err)
		for _, k := range []int{2, 0, 3, 1} {
			i, j := s/2*2+k/2, s%2*2+k%2
			got, err := a.RetrieveSubchunk(t.Context(), at(int64(i), int64(j)), o)
			require.NoError(t, err)
			require.Equal(t, sub8(i, j), got)
			off, n, ok := x.At(k)
			require.True(t, ok)
			all := server.Requests()
			require.Contains(t, all[len(all)-1], fmt.Sprintf("c/%d/%d bytes=%d-%d", s/2, s%2, off, off+n-1))
		}
	}
}

// Report 2: an entry that leads past the end is refused, of every form of the
// index, and of data nothing is asked for.
func TestReport2EntriesPastTheEnd(t *testing.T) {
	for _, start := range []bool{false, true} {
		for _, f := range []indexForm{{}, {checksums: 1}, {bigEndian: true, checksums: 1}, {checksums: 2}} {
			f.start = start
			m := grid8(t, f)
			for _, entry := range [][2]uint64{{1 << 40, 8}, {0, 1 << 40}, {1 << 63, 8}, {8, 1<<63 - 1}, {1<<64 - 2, 8}, {200, 100}} {
				index := f.index([]uint64{0, 8, 0, 8, 0, 8, entry[0], entry[1]})
				shard := append(make([]byte, 100), index...)
				if f.start {
					shard = append(index, make([]byte, 100)...)
				}
				m.Set("c/0/0", shard)
				rec := storagetest.Record(m)
				a := open(t, rec)
				rec.Reset()
				_, err := a.RetrieveSubchunk(t.Context(), at(1, 1), zarr.ReadOptions{})
				require.ErrorIs(t, err, fault.ErrCorrupt, "%+v %v", f, entry)
				require.Equal(t, 1, rec.Requests(), "%+v %v: the index alone", f, entry)
			}
		}
	}
}
