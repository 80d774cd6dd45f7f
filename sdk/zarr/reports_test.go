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

// Tests named after reports of faults in other libraries: the input that
// broke them, and what is right.

// Report 1: every request for data is exactly an index entry.
func TestReport1RangesAreIndexEntries(t *testing.T) {
	m := grid8(t, endCRC)
	rec := storagetest.Record(m)
	a := open(t, rec)
	cache := a.ShardCache(zarr.CacheOptions{})
	x, err := a.ShardIndex(t.Context(), at(0, 0), zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	for _, k := range []int{3, 0, 2, 1} {
		rec.Reset()
		got, err := a.RetrieveSubchunk(t.Context(), at(int64(k/2), int64(k%2)), zarr.ReadOptions{Cache: cache})
		require.NoError(t, err)
		require.Equal(t, sub8(k/2, k%2), got)
		off, n, ok := x.At(k)
		require.True(t, ok)
		require.Equal(t, []storage.Range{{Off: off, Len: n}}, rec.Calls()[0].Ranges)
		require.Len(t, rec.Calls(), 1)
	}
}

// Report 1, with subchunks of quite different lengths, read in every order: the
// first of a shard begins at 0, and hides what is wrong with the others.
func TestReport1EveryOrder(t *testing.T) {
	m := storage.NewMemory()
	m.Set("zarr.json", endCRC.metadata("[256]", "[256]", "[64]", gzipLE))
	var plain, packed [][]byte
	lengths := map[int]bool{}
	for k := range 4 {
		ns := make([]uint16, 64)
		for i := range ns {
			if i < 20*k {
				ns[i] = uint16(i*i*40503 + k)
			}
		}
		plain = append(plain, u16(ns...))
		packed = append(packed, zipped(plain[k]))
		lengths[len(packed[k])] = true
	}
	require.Len(t, lengths, 4, "no two are of one length")
	m.Set("c/0", endCRC.shard(packed...))
	rec := storagetest.Record(m)
	a := open(t, rec)
	cache := a.ShardCache(zarr.CacheOptions{})
	x, err := a.ShardIndex(t.Context(), at(0), zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	for order := range 4 * 4 * 4 * 4 {
		for _, k := range []int{order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6} {
			rec.Reset()
			got, err := a.RetrieveSubchunk(t.Context(), at(int64(k)), zarr.ReadOptions{Cache: cache})
			require.NoError(t, err)
			require.Equal(t, plain[k], got)
			off, n, ok := x.At(k)
			require.True(t, ok)
			require.EqualValues(t, len(packed[k]), n)
			require.Len(t, rec.Calls(), 1)
			require.Equal(t, []storage.Range{{Off: off, Len: n}}, rec.Calls()[0].Ranges)
		}
	}
}

// Report 2: the size of the index follows from its codecs.
func TestReport2IndexForms(t *testing.T) {
	for _, start := range []bool{false, true} {
		for _, f := range []indexForm{{}, {checksums: 1}, {bigEndian: true, checksums: 1}, {checksums: 2}} {
			f.start = start
			rec := storagetest.Record(grid8(t, f))
			a := open(t, rec)
			cache := a.ShardCache(zarr.CacheOptions{})
			for k := range int64(16) {
				got, err := a.RetrieveSubchunk(t.Context(), at(k/4, k%4), zarr.ReadOptions{Cache: cache})
				require.NoError(t, err)
				require.Equal(t, sub8(int(k/4), int(k%4)), got)
			}
			require.EqualValues(t, f.size(4), rec.Of("c/0/0")[0].Ranges[0].Len)
		}
	}
}

// Report 2: an entry past the end is refused before anything is asked for.
func TestReport2EntryPastTheEnd(t *testing.T) {
	m := grid8(t, endCRC)
	m.Set("c/0/0", endCRC.index([]uint64{1 << 40, 8, 0, 8, 0, 8, 0, 8}))
	rec := storagetest.Record(m)
	a := open(t, rec)
	rec.Reset()
	_, err := a.RetrieveSubchunk(t.Context(), at(1, 1), zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	require.Equal(t, 1, rec.Requests(), "the index alone")
}

// Report 3: what cannot be read is refused when it is opened, by name.
func TestReport3BadShardingMetadata(t *testing.T) {
	good := string(endCRC.metadata("[8,8]", "[4,4]", "[2,2]", rawLE))
	crc := `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]`
	require.Contains(t, good, crc)
	for name, c := range map[string]struct{ old, new, field string }{
		"compressed index":  {crc, `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip","configuration":{"level":1}}]`, "index_codecs"},
		"no index codec":    {crc, `[]`, "index_codecs"},
		"two serializers":   {crc, `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"bytes","configuration":{"endian":"little"}}]`, "index_codecs"},
		"not dividing":      {`"chunk_shape":[2,2]`, `"chunk_shape":[3,2]`, "chunk_shape"},
		"zero":              {`"chunk_shape":[2,2]`, `"chunk_shape":[0,2]`, "chunk_shape"},
		"unknown member":    {`"index_location"`, `"index_place":"end","index_location"`, "index_place"},
		"crc before bytes":  {crc, `[{"name":"crc32c"},{"name":"bytes","configuration":{"endian":"little"}}]`, "index_codecs"},
		"transpose after":   {crc, `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"transpose","configuration":{"order":[2,1,0]}}]`, "index_codecs"},
		"level out of list": {`"codecs":` + rawLE, `"codecs":` + strings.Replace(gzipLE, "5", "11", 1), "level"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, good, c.old)
			m := storage.NewMemory()
			m.Set("zarr.json", []byte(strings.Replace(good, c.old, c.new, 1)))
			rec := storagetest.Record(m)
			_, err := zarr.OpenArray(t.Context(), rec, "", zarr.Options{})
			require.ErrorIs(t, err, fault.ErrCorrupt)
			require.Contains(t, err.Error(), c.field)
			require.Equal(t, 1, rec.Requests())
		})
	}
}

// Report 4: a shard within a shard, its index at the other end.
func TestReport4NestedShards(t *testing.T) {
	inner, outer := indexForm{start: true, checksums: 1}, endCRC
	chain := fmt.Sprintf(`[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,2],"codecs":%s,"index_codecs":%s,"index_location":"start"}}]`, rawLE, inner.codecs())
	m := storage.NewMemory()
	m.Set("zarr.json", outer.metadata("[8,8]", "[8,8]", "[4,4]", chain))
	want := make([]byte, 0, 128)
	for i := range uint16(64) {
		want = append(want, u16(i)...)
	}
	var middles [][]byte
	for mid := range 4 {
		var blocks [][]byte
		for k := range 4 {
			y, x := uint16(mid/2*4+k/2*2), uint16(mid%2*4+k%2*2)
			blocks = append(blocks, u16(8*y+x, 8*y+x+1, 8*y+8+x, 8*y+8+x+1))
		}
		middles = append(middles, inner.shard(blocks...))
	}
	m.Set("c/0/0", outer.shard(middles...))
	rec := storagetest.Record(m)
	a := open(t, rec)
	require.Equal(t, at(4, 4), a.SubchunkShape(), "the outermost level's")
	whole, err := a.RetrieveRegion(t.Context(), at(0, 0), at(8, 8), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, want, whole)
	cache := a.ShardCache(zarr.CacheOptions{})
	x, err := a.ShardIndex(t.Context(), at(0, 0), zarr.ReadOptions{Cache: cache})
	require.ErrorIs(t, err, nil)
	for _, o := range []zarr.ReadOptions{{}, {Cache: cache}, {Cache: cache}} {
		for k := range int64(16) {
			y, col := k/4*2, k%4*2
			rec.Reset()
			got, err := a.RetrieveRegion(t.Context(), at(y, col), at(y+2, col+2), o)
			require.NoError(t, err)
			require.Equal(t, cut(want, at(8, 8), at(y, col), at(2, 2), 2), got)
			off, n, _ := x.At(int(y/4*2 + col/4))
			for _, c := range rec.Calls() {
				for _, r := range c.Ranges {
					if r.Off >= 0 { // the outer index is a suffix
						require.GreaterOrEqual(t, r.Off, off)
						require.LessOrEqual(t, r.Off+r.Len, off+n)
					}
				}
			}
		}
	}
	require.Equal(t, 5, cache.Len(), "the outer index and four inner ones")
	rec.Reset()
	_, err = a.RetrieveRegion(t.Context(), at(6, 6), at(8, 8), zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	require.EqualValues(t, 8, rec.Bytes(), "one innermost subchunk")
}

// Report 6: the index of a shard at the edge is of full size.
func TestReport6EdgeShards(t *testing.T) {
	for _, stored := range []bool{true, false} {
		m := storage.NewMemory()
		m.Set("zarr.json", endCRC.metadata("[5,7]", "[4,4]", "[2,2]", rawLE))
		for s := range 4 {
			var subs [][]byte
			for k := range 4 {
				i, j := s/2*2+k/2, s%2*2+k%2
				if !stored && (i*2 >= 5 || j*2 >= 7) {
					subs = append(subs, nil)
					continue
				}
				subs = append(subs, sub8(i, j))
			}
			m.Set(fmt.Sprintf("c/%d/%d", s/2, s%2), endCRC.shard(subs...))
		}
		a := open(t, m)
		require.Equal(t, at(3, 4), a.SubchunkGridShape())
		got, err := a.RetrieveSubchunk(t.Context(), at(2, 3), zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, sub8(2, 3), got, "whole, as it is stored")
		got, err = a.RetrieveRegion(t.Context(), at(4, 6), at(5, 7), zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, u16(230), got, "clipped to the array")
		_, err = a.RetrieveSubchunk(t.Context(), at(3, 0), zarr.ReadOptions{})
		require.ErrorIs(t, err, fault.ErrOutOfRange, "in the shard, but outside the array")
		x, err := a.ShardIndex(t.Context(), at(1, 1), zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, 4, x.Len())
	}
}

// Report 7: a subchunk or chunk of no bytes is damage, not fill values.
func TestReport7NoBytes(t *testing.T) {
	m := grid8(t, endCRC)
	m.Set("c/0/0", append(make([]byte, 20), endCRC.index([]uint64{10, 0, 1<<64 - 1, 1<<64 - 1, 10, 0, 10, 0})...))
	rec := storagetest.Record(m)
	a := open(t, rec)
	_, err := a.RetrieveSubchunk(t.Context(), at(0, 0), zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	require.Contains(t, err.Error(), "c/0/0")
	require.Contains(t, err.Error(), "(0,0)")
	m.Set("zarr.json", []byte(strings.Replace(string(plainU16), "@", rawLE, 1)))
	m.Set("c/0", nil)
	_, err = open(t, m).RetrieveSubchunk(t.Context(), at(0), zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	require.Contains(t, err.Error(), "c/0")
}

const plainU16 = `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
	"chunk_key_encoding":{"name":"default"},"fill_value":9,"codecs":@}`

// Report 8: a shard that was cut or flipped never reads as empty.
func TestReport8CutAndFlippedShards(t *testing.T) {
	for _, f := range []indexForm{{checksums: 1}, {start: true, checksums: 1}, {}, {start: true}} {
		m := grid8(t, f)
		whole := f.shard(zipped(sub8(0, 0)), zipped(sub8(0, 1)), zipped(sub8(1, 0)), zipped(sub8(1, 1)))
		check := func(what string, shard []byte, sure bool) {
			m.Set("c/0/0", shard)
			a := open(t, m)
			for k := range 4 {
				got, err := a.RetrieveSubchunk(t.Context(), at(int64(k/2), int64(k%2)), zarr.ReadOptions{})
				if err == nil && string(got) != string(sub8(k/2, k%2)) {
					t.Fatalf("%s: subchunk %d reads as %v", what, k, got)
				}
				if sure {
					require.ErrorIs(t, err, fault.ErrCorrupt, what)
				}
			}
		}
		for n := range len(whole) {
			// With the index in front a cut in the data spares what lies before it.
			check(fmt.Sprintf("%+v cut at %d", f, n), whole[:n], f.checksums > 0 && (!f.start || n < f.size(4)))
		}
		first := len(whole) - f.size(4)
		if f.start {
			first = 0
		}
		for i := first; i < first+f.size(4); i++ {
			bad := append([]byte(nil), whole...)
			bad[i] ^= 0x10
			check(fmt.Sprintf("%+v byte %d flipped", f, i), bad, f.checksums > 0)
		}
	}
}

// Report 9: one-byte types need no endian, others do.
func TestReport9EndianOfOneByteTypes(t *testing.T) {
	for _, bytes := range []string{`[{"name":"bytes"}]`, `["bytes"]`, `[{"name":"bytes","configuration":{}}]`} {
		for _, dtype := range []string{"uint8", "int8", "bool"} {
			meta := strings.Replace(strings.Replace(plainU16, "uint16", dtype, 1), "@", bytes, 1)
			if dtype == "bool" {
				meta = strings.Replace(meta, `"fill_value":9`, `"fill_value":true`, 1)
			}
			m := storage.NewMemory()
			m.Set("zarr.json", []byte(meta))
			m.Set("c/1", []byte{1, 0})
			got, err := open(t, m).RetrieveChunk(t.Context(), at(1), zarr.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, []byte{1, 0}, got)
		}
		m := storage.NewMemory()
		m.Set("zarr.json", []byte(strings.Replace(plainU16, "@", bytes, 1)))
		_, err := zarr.OpenArray(t.Context(), m, "", zarr.Options{})
		require.ErrorIs(t, err, fault.ErrCorrupt)
		require.Contains(t, err.Error(), "endian")
	}
}

// Report 14: the shard grid and the subchunk grid differ by another factor
// on each axis.
func TestReport14ShardGridAndSubchunkGrid(t *testing.T) {
	m := storage.NewMemory()
	m.Set("zarr.json", endCRC.metadata("[10,10]", "[6,4]", "[3,2]", rawLE))
	a := open(t, m)
	require.Equal(t, at(2, 3), a.ChunkGridShape())
	require.Equal(t, at(4, 5), a.SubchunkGridShape())
	subs := make([][]byte, 4)
	subs[3] = u16(1, 2, 3, 4, 5, 6)
	m.Set("c/1/1", endCRC.shard(subs...))
	l, ok, err := a.Locate(t.Context(), at(3, 3), zarr.ReadOptions{})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "c/1/1", l.Key)
	got, err := a.RetrieveRegion(t.Context(), at(9, 6), at(10, 8), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(1, 2), got)
	_, err = a.RetrieveSubchunk(t.Context(), at(4, 0), zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrOutOfRange)
	require.Contains(t, err.Error(), "(4,0)")
	require.Contains(t, err.Error(), "(4,5)")
}

// Report 42: entries near 2^31, 2^32 and beyond 2^53 in an object of 5 GiB
// whose bytes follow from their offsets.
func TestReport42LargeOffsets(t *testing.T) {
	const size = 5 << 30
	v := &virtual{size: size, offsets: []uint64{1<<31 - 4, 1<<32 - 4, 1<<53 + 8, 1<<64 - 1}}
	v.meta = endCRC.metadata("[4]", "[4]", "[1]", rawLE)
	a := open(t, v)
	_, err := a.RetrieveSubchunk(t.Context(), at(0), zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrCorrupt, "an entry beyond the object")
	v.offsets[2] = 5<<30 - 68 - 2
	for i, off := range v.offsets[:3] {
		got, err := a.RetrieveSubchunk(t.Context(), at(int64(i)), zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, []byte{virtualByte(off), virtualByte(off + 1)}, got)
	}
	got, err := a.RetrieveSubchunk(t.Context(), at(3), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(9), got)
}

func virtualByte(off uint64) byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], off*0x9e3779b97f4a7c15)
	return b[7]
}
