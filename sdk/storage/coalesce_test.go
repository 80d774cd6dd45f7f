package storage_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

func TestCoalesce(t *testing.T) {
	type rs = []storage.Range
	for _, tc := range []struct {
		name      string
		rs        rs
		gap, most int64
		want      rs
		members   [][]int
	}{
		{"none", nil, 10, 0, nil, nil},
		{"touching", rs{{0, 5}, {5, 5}}, 0, 0, rs{{0, 10}}, [][]int{{0, 1}}},
		{"touching, only overlap", rs{{0, 5}, {5, 5}}, -1, 0, rs{{0, 5}, {5, 5}}, [][]int{{0}, {1}}},
		{"gap as allowed", rs{{20, 5}, {0, 10}}, 10, 0, rs{{0, 25}}, [][]int{{1, 0}}},
		{"gap too wide", rs{{21, 5}, {0, 10}}, 10, 0, rs{{0, 10}, {21, 5}}, [][]int{{1}, {0}}},
		{"too long together", rs{{0, 5}, {5, 5}, {10, 5}}, 10, 10, rs{{0, 10}, {10, 5}}, [][]int{{0, 1}, {2}}},
		{"long alone", rs{{0, 50}, {60, 5}}, 10, 10, rs{{0, 50}, {60, 5}}, [][]int{{0}, {1}}},
		{"overlap beyond the bound", rs{{0, 10}, {5, 10}}, 0, 10, rs{{0, 15}}, [][]int{{0, 1}}},
		{"same twice", rs{{3, 4}, {3, 4}}, 0, 0, rs{{3, 4}}, [][]int{{0, 1}}},
		{"one inside", rs{{3, 4}, {0, 20}}, 0, 0, rs{{0, 20}}, [][]int{{1, 0}}},
		{"at the end of 63 bits", rs{{math.MaxInt64 - 1, 1}, {0, 1}}, math.MaxInt64, 0, rs{{0, math.MaxInt64}}, [][]int{{1, 0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got rs
			var members [][]int
			for _, m := range storage.Coalesce(tc.rs, tc.gap, tc.most) {
				got = append(got, m.Range)
				members = append(members, m.Members)
			}
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.members, members)
		})
	}
}

// FuzzCoalesce: whatever the ranges, reading the merged ones and slicing
// gives what reading each of them gives.
func FuzzCoalesce(f *testing.F) {
	f.Add([]byte{0, 10, 20, 5, 18, 9}, int8(3), uint8(30))
	f.Add([]byte{255, 255, 0, 0, 254, 1}, int8(-1), uint8(0))
	object := storagetest.Pattern(300, 1)
	f.Fuzz(func(t *testing.T, raw []byte, gap int8, most uint8) {
		var rs []storage.Range
		for ; len(raw) >= 2; raw = raw[2:] {
			rs = append(rs, storage.Range{Off: int64(raw[0]) * 2, Len: int64(raw[1])})
		}
		seen := make([]int, len(rs))
		end := int64(-1)
		for _, m := range storage.Coalesce(rs, int64(gap), int64(most)) {
			require.Greater(t, m.Off, end-1)
			end = m.Off + m.Len
			off, n := m.Range.Resolve(int64(len(object)))
			body := object[off : off+n]
			for _, i := range m.Members {
				seen[i]++
				o, k := rs[i].Resolve(int64(len(object)))
				require.Equal(t, string(object[o:o+k]), string(storage.Slice(body, off, rs[i])))
			}
		}
		for i := range rs {
			require.Equal(t, 1, seen[i])
		}
	})
}
