package plugin_test

import (
	"context"
	"fmt"
	"os"

	"github.com/gridhold/gridhold/host/plugin"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// An array that somebody else's codec unpacks.
func ExamplePlugin_BytesCodec() {
	ctx := context.Background()
	wasm, err := os.ReadFile("../../testdata/plugins/tiff.wasm")
	if err != nil {
		panic(err)
	}
	p, err := plugin.Open(ctx, wasm, plugin.Options{})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	store, err := file.Open("../../testdata/plugins/arrays/lzw.zarr", file.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	a, err := zarr.OpenArray(ctx, store, "", zarr.Options{Codecs: p})
	if err != nil {
		panic(err)
	}
	b, err := a.RetrieveRegion(ctx, []int64{0, 0}, []int64{1, 2}, zarr.ReadOptions{})
	fmt.Println(p.About().Name, a.Shape(), len(b), err)
	// Output: tiff [60 90] 4 <nil>
}

// A file of NumPy's as an array.
func ExamplePlugin_Array() {
	ctx := context.Background()
	wasm, err := os.ReadFile("../../testdata/plugins/npy.wasm")
	if err != nil {
		panic(err)
	}
	p, err := plugin.Open(ctx, wasm, plugin.Options{})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	store, err := file.Open("../../testdata/plugins/arrays", file.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	view, err := p.Array(ctx, store, "scalar.npy")
	if err != nil {
		panic(err)
	}
	a, err := zarr.OpenArray(ctx, view, "", zarr.Options{})
	if err != nil {
		panic(err)
	}
	b, err := a.RetrieveRegion(ctx, nil, nil, zarr.ReadOptions{})
	fmt.Println(a.DataType().Name(), a.Shape(), b, err)
	// Output: int64 [] [57 48 0 0 0 0 0 0] <nil>
}
