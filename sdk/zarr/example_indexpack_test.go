package zarr_test

import (
	"context"
	"fmt"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func ExampleBuildIndexPack() {
	ctx := context.Background()
	m := storage.NewMemory()
	a, _ := zarr.CreateArray(ctx, m, "", zarr.ArraySpec{
		Shape: []int64{64}, ChunkShape: []int64{32}, SubchunkShape: []int64{4}, DataType: "uint8", FillValue: []byte("0"),
	}, zarr.Options{})
	elements := make([]byte, 64)
	for i := range elements {
		elements[i] = byte(i + 1)
	}
	_ = a.StoreRegion(ctx, []int64{0}, []int64{64}, elements)

	pack, _ := zarr.BuildIndexPack(ctx, m, "", zarr.Options{}, nil)
	fmt.Println(pack.Size().Shards, "shards")

	store := storagetest.Record(m) // counts what reaches it
	a, _ = zarr.OpenArray(ctx, store, "", zarr.Options{IndexPack: pack})
	store.Reset()
	b, _ := a.RetrieveSubchunk(ctx, []int64{9}, zarr.ReadOptions{})
	fmt.Println(b, store.Requests(), "request")
	// Output:
	// 2 shards
	// [37 38 39 40] 1 request
}

func ExampleOptions_trace() {
	ctx := context.Background()
	m := storage.NewMemory()
	a, _ := zarr.CreateArray(ctx, m, "", zarr.ArraySpec{
		Shape: []int64{64}, ChunkShape: []int64{32}, SubchunkShape: []int64{4}, DataType: "uint8", FillValue: []byte("0"),
	}, zarr.Options{})
	_ = a.StoreRegion(ctx, []int64{0}, []int64{4}, []byte{1, 2, 3, 4})

	var tally storage.Tally
	a, _ = zarr.OpenArray(ctx, m, "", zarr.Options{Trace: tally.Note})
	_, _ = a.RetrieveSubchunk(ctx, []int64{0}, zarr.ReadOptions{})
	cost := tally.Cost()
	fmt.Println(cost.IndexLoads, cost.Reads, cost.Elements)
	// Output: 1 1 4
}
