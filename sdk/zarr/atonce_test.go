package zarr_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// crowd is a store that answers for a chunk only when so many readers wait.
type crowd struct {
	storage.Store
	want int

	mu   sync.Mutex
	here int
	full chan struct{}
}

func (c *crowd) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	if strings.HasPrefix(key, "c/") {
		c.mu.Lock()
		if c.here++; c.here == c.want {
			close(c.full)
		}
		c.mu.Unlock()
		select {
		case <-c.full:
		case <-ctx.Done():
			return nil, storage.ObjectInfo{}, ctx.Err()
		}
	}
	return c.Store.ReadRanges(ctx, key, rs, want)
}

// TestAtOnce: of an array without shards 32 chunks are on their way at once, in
// a batch and in a region.
func TestAtOnce(t *testing.T) {
	m := storage.NewMemory()
	made, err := zarr.CreateArray(t.Context(), m, "", zarr.ArraySpec{
		Shape: []int64{64}, ChunkShape: []int64{1}, DataType: "uint8", FillValue: []byte("0"),
	}, zarr.Options{})
	require.NoError(t, err)
	require.NoError(t, made.Fill(t.Context(), func(_ context.Context, start, stop []int64) ([]byte, error) {
		b := make([]byte, stop[0]-start[0])
		for i := range b {
			b[i] = byte(start[0]) + byte(i) + 1
		}
		return b, nil
	}, nil))
	var all [][]int64
	var want []byte
	for i := range int64(64) {
		all, want = append(all, []int64{i}), append(want, byte(i+1))
	}
	for name, read := range map[string]func(ctx context.Context, a *zarr.Array) ([]byte, error){
		"batch": func(ctx context.Context, a *zarr.Array) ([]byte, error) {
			parts, err := a.RetrieveSubchunks(ctx, all, zarr.ReadOptions{})
			var b []byte
			for _, p := range parts {
				b = append(b, p...)
			}
			return b, err
		},
		"region": func(ctx context.Context, a *zarr.Array) ([]byte, error) {
			return a.RetrieveRegion(ctx, []int64{0}, []int64{64}, zarr.ReadOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := zarr.OpenArray(t.Context(), &crowd{Store: m, want: 32, full: make(chan struct{})}, "", zarr.Options{})
			require.NoError(t, err)
			got, err := read(t.Context(), a)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}
