//go:build !race

package zarr_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAllocations: a warm read of a subchunk allocates its result, and nothing
// where it is told where to put it; a region in two shards allocates what both
// need, nothing for each subchunk, and eight things of the store's. (Pools lose things on purpose under the race
// detector.)
func TestAllocations(t *testing.T) {
	for name, inner := range map[string]string{"raw": rawLE, "zstd": zstdLE} {
		reads := warmReads(t, inner)
		for way, most := range map[string]float64{"subchunk": 1, "Into": 0, "region": 28, "region Into": 27} {
			got := testing.AllocsPerRun(1000, func() {
				if err := reads[way](); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%s, %s: %v", name, way, got)
			require.LessOrEqual(t, got, most, "%s, %s", name, way)
		}
	}
}
