package scratch_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/storage"
)

// One epoch of a stack, in random order, through a scratch in memory.
func ExampleLoader_Batches() {
	ctx := context.Background()
	fs := storage.NewMemoryFS(0)
	stack(ctx, fs, "stack.mrcs", 10)
	var all []image.ImageLocation
	for i := range int64(10) {
		all = append(all, image.ImageLocation{Key: "stack.mrcs", Index: i})
	}
	g, err := image.GroupLocations(slices.Values(all))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := scratch.CreateHostImageScratch(ctx, g, 4, scratch.Everything, image.Files(fs, image.FilesOptions{}), scratch.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	p, err := scratch.ReaderProvider(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	l, err := scratch.NewLoader(p, scratch.LoaderOptions{Workers: 2, Type: image.Float32})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	rows := 0
	for b, err := range l.Batches(ctx, all, scratch.BatchOptions{Sampler: scratch.Sampler{Batch: 4, Shuffle: true, Seed: 1}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		rows += len(b.Rows)
		fmt.Println(len(b.Rows), "images of", b.Shape, b.Type)
	}
	fmt.Println(rows, "in all")
	// Output:
	// 4 images of [8 8] float32
	// 4 images of [8 8] float32
	// 2 images of [8 8] float32
	// 10 in all
}

// stack writes n images of uint8.
func stack(ctx context.Context, fs storage.FS, name string, n int) {
	f, err := fs.Open(ctx, name, storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	w, err := image.NewMRCWriter(f, image.MRCLayout{Type: image.Uint8, Columns: 8, Rows: 8})
	if err == nil {
		err = w.Write(ctx, make([]byte, n*64))
	}
	if err == nil {
		err = w.Finish(ctx)
	}
	if err != nil {
		panic(err)
	}
}
