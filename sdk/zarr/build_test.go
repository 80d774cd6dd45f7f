package zarr_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// indexForm is a way to store a shard's index.
type indexForm struct {
	start, bigEndian bool
	checksums        int
}

func (f indexForm) codecs() string {
	endian := "little"
	if f.bigEndian {
		endian = "big"
	}
	return `[{"name":"bytes","configuration":{"endian":"` + endian + `"}}` + strings.Repeat(`,{"name":"crc32c"}`, f.checksums) + `]`
}

func (f indexForm) location() string {
	if f.start {
		return "start"
	}
	return "end"
}

func (f indexForm) size(count int) int { return 16*count + 4*f.checksums }

// sharded writes the metadata of an array of uint16 with fill value 9.
func (f indexForm) metadata(shape, shard, sub string, inner string) []byte {
	return fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":%s,"data_type":"uint16",
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":%s}},"chunk_key_encoding":{"name":"default"},"fill_value":9,
		"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":%s,"codecs":%s,"index_codecs":%s,"index_location":"%s"}}]}`,
		shape, shard, sub, inner, f.codecs(), f.location())
}

const (
	rawLE  = `[{"name":"bytes","configuration":{"endian":"little"}}]`
	gzipLE = `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip","configuration":{"level":5}}]`
)

// shard lays subchunks out one after the other, with an index. A nil
// subchunk is empty.
func (f indexForm) shard(subs ...[]byte) []byte {
	base := 0
	if f.start {
		base = f.size(len(subs))
	}
	var data []byte
	var entries []uint64
	for _, s := range subs {
		if s == nil {
			entries = append(entries, 1<<64-1, 1<<64-1)
			continue
		}
		entries = append(entries, uint64(base+len(data)), uint64(len(s)))
		data = append(data, s...)
	}
	if f.start {
		return append(f.index(entries), data...)
	}
	return append(data, f.index(entries)...)
}

func (f indexForm) index(entries []uint64) []byte {
	var b []byte
	for _, e := range entries {
		if f.bigEndian {
			b = binary.BigEndian.AppendUint64(b, e)
		} else {
			b = binary.LittleEndian.AppendUint64(b, e)
		}
	}
	for range f.checksums {
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	}
	return b
}

// u16 is numbers as stored.
func u16(ns ...uint16) []byte {
	var b []byte
	for _, n := range ns {
		b = binary.LittleEndian.AppendUint16(b, n)
	}
	return b
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// grid8 is an array of 8x8 uint16 in 4 shards of 4x4 with 4 subchunks of 2x2
// each; subchunk (i,j) holds 100i+10j+{0,1,2,3}, gzipped with unequal lengths.
func grid8(t *testing.T, f indexForm) *storage.Memory {
	t.Helper()
	m := storage.NewMemory()
	m.Set("zarr.json", f.metadata("[8,8]", "[4,4]", "[2,2]", gzipLE))
	for s := range 4 {
		var subs [][]byte
		for k := range 4 {
			i, j := s/2*2+k/2, s%2*2+k%2
			subs = append(subs, zipped(sub8(i, j)))
		}
		m.Set(fmt.Sprintf("c/%d/%d", s/2, s%2), f.shard(subs...))
	}
	return m
}

func sub8(i, j int) []byte {
	n := uint16(100*i + 10*j)
	return u16(n, n+1, n+2, n+3)
}

func open(t *testing.T, st storage.Store) *zarr.Array {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
	require.NoError(t, err)
	return a
}

func at(idx ...int64) []int64 { return idx }
