package scratch_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/storage"
)

// tenImages makes a file system with a stack of 10 images, whose first pixels
// count up from 0, and the locations of all of it.
func tenImages(ctx context.Context) (*storage.MemoryFS, *image.ImageLocationGrouping) {
	fs := storage.NewMemoryFS(0)
	f, _ := fs.Open(ctx, "stack.mrcs", storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
	defer f.Close()
	w, _ := image.NewMRCWriter(f, image.MRCLayout{Type: image.Float32, Columns: 32, Rows: 32})
	for i := range 10 {
		pixels := make([]byte, 32*32*4)
		binary.LittleEndian.PutUint32(pixels, math.Float32bits(float32(i)))
		w.Write(ctx, pixels)
	}
	w.Finish(ctx)
	g, _ := image.GroupLocations(func(yield func(image.ImageLocation) bool) {
		yield(image.ImageLocation{Key: "stack.mrcs", Index: image.WholeFile})
	})
	return fs, g
}

// later is the clock of the examples. A program has clock.System of native/clock.
func later() storage.Clock {
	c := storage.NewManualClock(time.Now().Add(time.Hour))
	c.Skip()
	return c
}

func ExampleCreateHostImageScratch() {
	ctx := context.Background()
	fs, locations := tenImages(ctx)
	s, err := scratch.CreateHostImageScratch(ctx, locations, 4, scratch.Everything, image.Files(fs, image.FilesOptions{}), scratch.Options{Clock: later()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	pixels := make([]byte, 32*32*4)
	for _, i := range []int64{7, 5, 6} {
		if err := s.ReadImages(ctx, "stack.mrcs", pixels, i); err != nil {
			fmt.Println(err)
		}
		fmt.Println(math.Float32frombits(binary.LittleEndian.Uint32(pixels)))
	}
	st := s.Stats()
	fmt.Printf("%d read of the stack, %d images held, %d of them used again\n", st.SourceReads, st.Present, st.Hits)
	// Output:
	// 7
	// 5
	// 6
	// 1 read of the stack, 4 images held, 2 of them used again
}

func ExampleCreateMappedFileImageScratch() {
	ctx := context.Background()
	fs, locations := tenImages(ctx)
	files := image.Files(fs, image.FilesOptions{})
	for _, day := range []string{"one", "two"} {
		s, err := scratch.CreateMappedFileImageScratch(ctx, locations, fs, "images.scratch", 4, scratch.Everything, files, scratch.Options{Clock: later()})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("day", day, "begins with", s.Stats().Present, "images")
		fmt.Println(scratch.PrefetchScratch(ctx, s, locations, scratch.NewExecutor(2), nil).Wait(ctx))
		s.Close()
	}
	// Output:
	// day one begins with 0 images
	// <nil>
	// day two begins with 10 images
	// <nil>
}

func ExampleCreateDirectoryImageScratch() {
	ctx := context.Background()
	fs, locations := tenImages(ctx)
	s, err := scratch.CreateDirectoryImageScratch(ctx, locations, fs, "scratches", 4, 60_000, image.Files(fs, image.FilesOptions{}), scratch.Options{Clock: later()})
	if err != nil {
		fmt.Println(err)
		return
	}
	scratch.PrefetchScratch(ctx, s, locations, scratch.NewExecutor(2), nil).Wait(ctx)
	fmt.Println(s.Stats().Present, "of", s.Stats().Images, "images have room")
	s.Close()
	c, err := scratch.Collect(ctx, fs, "scratches", 0, scratch.Options{})
	fmt.Println(len(c.Removed), "removed:", err)
	// Output:
	// 8 of 10 images have room
	// 1 removed: <nil>
}
