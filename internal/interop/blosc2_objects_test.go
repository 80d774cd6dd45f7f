package interop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
)

// objects are values that the peer stores one a chunk, or in batches.
type objects struct {
	Name          string   `json:"name"`
	Kind          string   `json:"kind"`
	ItemsPerBlock int      `json:"items_per_block"`
	Values        [][]byte `json:"values"` // MessagePack; of a batch, a list
}

func packed(t *testing.T, v any) []byte {
	b, err := msgpack.Append(nil, v)
	require.NoError(t, err)
	return b
}

// Arrays of objects are read as what they are: an object a chunk, or a batch,
// whose blocks are lists of some of its objects.
func TestBlosc2Objects(t *testing.T) {
	p := pythonBlosc2(t)
	things := []any{
		int64(1), "two", 3.5, nil, true, []byte{0, 255}, strings.Repeat("añ🐉", 1000), []any{},
		msgpack.Map{{Key: "a", Value: []any{int64(1), int64(-2)}}, {Key: "b", Value: msgpack.Map{}}},
	}
	var jobs []objects
	for _, perBlock := range []int{1, 2, 4, 100} {
		job := objects{Name: folder(len(jobs)), Kind: "batcharray", ItemsPerBlock: perBlock}
		for n := 1; n <= len(things); n += 2 {
			job.Values = append(job.Values, packed(t, things[:n]))
		}
		jobs = append(jobs, job)
	}
	job := objects{Name: folder(len(jobs)), Kind: "objectarray"}
	for _, v := range things {
		job.Values = append(job.Values, packed(t, v))
	}
	jobs = append(jobs, job)

	dir, fs := folderFS(t)
	for i, said := range p.jobs(t, "objects", dir, jobs) {
		require.Empty(t, said.Refused, jobs[i].Name)
	}
	for _, job := range jobs {
		c, err := blosc2.Open(t.Context(), fs, job.Name, blosc2.Options{})
		require.NoError(t, err)
		require.Equal(t, job.Kind, c.Kind())
		s := c.(*blosc2.SChunk)
		require.EqualValues(t, len(job.Values), s.NumChunks())
		for i, want := range job.Values {
			if job.Kind == "batcharray" {
				want = inBlocks(t, want, job.ItemsPerBlock)
			}
			got, err := s.Chunk(t.Context(), int64(i), nil)
			require.NoError(t, err)
			require.Equal(t, want, got, fmt.Sprintf("%s %d", job.Kind, i))
		}
		_, err = blosc2.Verify(t.Context(), c, func(d blosc2.Damage) { t.Errorf("%s: %v", job.Name, d) })
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	// What we change beside the objects leaves them as they are.
	for _, job := range jobs {
		ch := changes{Name: job.Name, Ops: []op{{Do: "set vlmeta", Name: "ours", Data: packed(t, "x")}}}
		require.NoError(t, ch.change(t.Context(), fs))
		ch.Ops = []op{{Do: "compact"}}
		require.NoError(t, ch.change(t.Context(), fs))
	}
	for i, got := range p.jobs(t, "read", dir, named(len(jobs))) {
		require.Empty(t, got.Refused)
		require.Equal(t, jobs[i].Kind, got.Kind)
		require.Equal(t, jobs[i].Values, got.Values)
	}
}

// inBlocks packs the items of a list as lists of so many, one after the other.
func inBlocks(t *testing.T, list []byte, perBlock int) []byte {
	v, err := msgpack.Decode(list)
	require.NoError(t, err)
	var b []byte
	for items := v.([]any); len(items) > 0; {
		n := min(perBlock, len(items))
		b = append(b, packed(t, items[:n])...)
		items = items[n:]
	}
	return b
}
