//go:build unix

package scratch

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// imagined is a provider of 3000 stacks of 1000 images that are nowhere.
type imagined struct{}

func (imagined) Open(context.Context, string) (image.Reader, error) { return imagined{}, nil }
func (imagined) Stat(context.Context, string) (storage.FileInfo, error) {
	return storage.FileInfo{Size: 1 << 30, Links: 1}, nil
}
func (imagined) ReadImages(context.Context, []byte, int64) error { return nil }
func (imagined) Close() error                                    { return nil }
func (imagined) Describe() image.Description {
	return image.Description{Type: image.Float32, Shape: []int64{1000, 256, 256}, CoreRank: 2, Count: 1000, ImageShape: []int64{256, 256}}
}

// Three million locations, half of them with gaps, take no time to speak of:
// made, or gone on with.
func TestMillions(t *testing.T) {
	_, fs := deskFS(t)
	g, err := image.GroupLocations(func(yield func(image.ImageLocation) bool) {
		for k := range 3000 {
			key := "stack" + strconv.Itoa(k)
			for i := range int64(1000) {
				if !yield(image.ImageLocation{Key: key, Index: i}) {
					return
				}
			}
		}
	})
	require.NoError(t, err)
	for _, step := range []string{"made", "gone on with"} {
		began := time.Now()
		s, err := CreateDirectoryImageScratch(ctx, g, fs, "dir", 16, Everything, imagined{}, Options{})
		require.NoError(t, err)
		t.Logf("3 million locations %s in %v", step, time.Since(began)) // the bench holds it to a time
		require.Equal(t, int64(3_000_000), s.Stats().Images)
		require.NoError(t, s.Close())
	}
}
