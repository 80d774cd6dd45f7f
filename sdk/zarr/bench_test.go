package zarr_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

const zstdLE = `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":3,"checksum":false}}]`

// waves is an array of 256 x 256 uint16 in four shards, each of 16 subchunks of
// 32 x 32 (2 KiB): a smooth field with two bits of noise.
func waves(t testing.TB, inner string) *storage.Memory {
	t.Helper()
	f := indexForm{checksums: 1}
	var pack codec.Encoder
	if inner == zstdLE {
		c, err := codec.New("zstd", []byte(`{"level":3,"checksum":false}`))
		require.NoError(t, err)
		pack = c.(codec.Encoder)
	}
	m := storage.NewMemory()
	m.Set("zarr.json", f.metadata("[256,256]", "[128,128]", "[32,32]", inner))
	noise := rand.New(rand.NewPCG(1, 2))
	for s := range 4 {
		var subs [][]byte
		for k := range 16 {
			var b []byte
			for e := range 32 * 32 {
				y, x := s/2*128+k/4*32+e/32, s%2*128+k%4*32+e%32
				v := uint16(20000+9000*math.Sin(float64(x)/47)*math.Cos(float64(y)/67)) + uint16(noise.UintN(4))
				b = binary.LittleEndian.AppendUint16(b, v)
			}
			if pack != nil {
				var err error
				b, err = pack.Encode(nil, b)
				require.NoError(t, err)
			}
			subs = append(subs, b)
		}
		m.Set([]string{"c/0/0", "c/0/1", "c/1/0", "c/1/1"}[s], f.shard(subs...))
	}
	return m
}

// warmReads are those of an array whose indexes are all in a cache, by name.
func warmReads(t testing.TB, inner string) map[string]func() error {
	ctx := context.Background()
	a, err := zarr.OpenArray(ctx, waves(t, inner), "", zarr.Options{})
	require.NoError(t, err)
	o := zarr.ReadOptions{Cache: a.ShardCache(zarr.CacheOptions{})}
	into := o
	into.Dst = make([]byte, 2*32*32)
	region, inRegion := o, o
	inRegion.Dst = make([]byte, 2*64*64)
	idx, next := []int64{0, 0}, rand.New(rand.NewPCG(3, 4))
	somewhere := func() []int64 {
		idx[0], idx[1] = next.Int64N(8), next.Int64N(8)
		return idx
	}
	start, stop := []int64{40, 100}, []int64{104, 164}
	for i := range int64(8) {
		for j := range int64(8) {
			_, err := a.RetrieveSubchunk(ctx, at(i, j), o)
			require.NoError(t, err)
		}
	}
	return map[string]func() error{
		"subchunk":    func() error { _, err := a.RetrieveSubchunk(ctx, somewhere(), o); return err },
		"Into":        func() error { _, err := a.RetrieveSubchunk(ctx, somewhere(), into); return err },
		"region":      func() error { _, err := a.RetrieveRegion(ctx, start, stop, region); return err },
		"region Into": func() error { _, err := a.RetrieveRegion(ctx, start, stop, inRegion); return err },
	}
}

func BenchmarkWarm(b *testing.B) {
	for _, name := range []string{"zstd", "raw"} {
		reads := warmReads(b, map[string]string{"raw": rawLE, "zstd": zstdLE}[name])
		for _, way := range []string{"subchunk", "Into", "region", "region Into"} {
			b.Run(name+", "+way, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := reads[way](); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkIndex loads an index of 4 MiB that nobody has.
func BenchmarkIndex(b *testing.B) {
	f := indexForm{checksums: 1}
	const per = 262_144
	m := storage.NewMemory()
	m.Set("zarr.json", f.metadata("[1,262144]", "[1,262144]", "[1,1]", rawLE))
	m.Set("c/0/0", wideShard(f, per, 0))
	a, err := zarr.OpenArray(b.Context(), m, "", zarr.Options{})
	require.NoError(b, err)
	b.SetBytes(16 * per)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.ShardIndex(b.Context(), at(0, 0), zarr.ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
