package host_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// benchPlan is a smooth field with four bits of noise: 64 shards of 1024
// subchunks of 2 KiB.
func benchPlan() plan {
	noise := rand.New(rand.NewPCG(1, 2))
	return plan{shape: 8192, shard: 1024, sub: 32, codecs: []string{"zstd"}, value: func(y, x int64) uint16 {
		return uint16(20000+10000*math.Sin(float64(y)/900)*math.Cos(float64(x)/700)) + uint16(noise.UintN(16))
	}}
}

func benchStore(b *testing.B, p plan) *file.Store {
	dir := os.Getenv("GRIDHOLD_BENCH_DATA") // kept between runs
	if dir == "" {
		dir = b.TempDir()
	}
	if _, err := os.Stat(filepath.Join(dir, "zarr.json")); err != nil {
		p.each(b, func(key string, data []byte) {
			name := filepath.Join(dir, filepath.FromSlash(key))
			require.NoError(b, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(b, os.WriteFile(name, data, 0o644))
		})
	}
	st, err := file.Open(dir, file.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { _ = st.Close() })
	return st
}

// BenchmarkRead reads random subchunks of 2 KiB with all indexes in the
// cache: natively, in the sandbox with codecs lent, and without.
func BenchmarkRead(b *testing.B) {
	p := benchPlan()
	st := benchStore(b, p)
	grid := p.shape / p.sub
	next := rand.New(rand.NewPCG(3, 4))
	idx := make([]int64, 2)
	random := func() []int64 {
		idx[0], idx[1] = next.Int64N(grid), next.Int64N(grid)
		return idx
	}
	warm := func(read func(idx []int64) error) {
		for y := range p.shape / p.shard {
			for x := range p.shape / p.shard {
				require.NoError(b, read([]int64{y * p.shard / p.sub, x * p.shard / p.sub}))
			}
		}
	}
	dst := make([]byte, 0, 2*p.sub*p.sub)

	native, err := zarr.OpenArray(b.Context(), st, "", zarr.Options{})
	require.NoError(b, err)
	no := zarr.ReadOptions{Cache: native.ShardCache(zarr.CacheOptions{}), Dst: dst}
	readers := map[string]func(idx []int64) error{
		"native": func(idx []int64) error { _, err := native.RetrieveSubchunk(b.Context(), idx, no); return err },
	}
	for name, strict := range map[string]bool{"lent": false, "strict": true} {
		a, err := newSandbox(b, host.Config{Strict: strict}).OpenArray(b.Context(), st, "", host.OpenOptions{})
		require.NoError(b, err)
		o := host.ReadOptions{Cache: a.ShardCache(host.CacheOptions{}), Dst: dst}
		readers[name] = func(idx []int64) error { _, err := a.RetrieveSubchunk(b.Context(), idx, o); return err }
	}
	for _, read := range readers {
		warm(read)
	}
	for _, name := range []string{"native", "lent", "strict"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := readers[name](random()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	// The three take turns, so that what else the machine does falls on all.
	b.Run("turns", func(b *testing.B) {
		spent := map[string]time.Duration{}
		for b.Loop() {
			for name, read := range readers {
				start := cpuTime()
				for range 1000 {
					if err := read(random()); err != nil {
						b.Fatal(err)
					}
				}
				spent[name] += cpuTime() - start
			}
		}
		for name, d := range spent {
			b.ReportMetric(float64(d.Nanoseconds())/float64(b.N)/1000, name+"-cpu-ns/read")
		}
		b.ReportMetric(float64(spent["native"])/float64(spent["lent"]), "lent/native")
		b.ReportMetric(float64(spent["native"])/float64(spent["strict"]), "strict/native")
	})
}
