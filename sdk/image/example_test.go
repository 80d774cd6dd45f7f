package image_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// One image of a stack, named as tables name it.
func ExampleFiles() {
	ctx := context.Background()
	fs := storage.NewMemoryFS(0)
	writeExample(ctx, fs, "job012/stack.mrcs")

	files := image.Files(fs, image.FilesOptions{})
	at, err := image.ParseLocation("000003@job012/stack.mrcs")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := files.Open(ctx, at.Key)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	d := r.Describe()
	pixels := make([]byte, d.ImageBytes())
	if err := r.ReadImages(ctx, pixels, at.Index); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Shape, d.Type, math.Float32frombits(binary.LittleEndian.Uint32(pixels)))
	// Output: [5 4 4] float32 2
}

// What a table names, file by file.
func ExampleReadTable() {
	table := `
data_particles
loop_
_rlnImageName #1
_rlnOpticsGroup #2
000002@a.mrcs 1
000001@b.mrcs 1
000001@a.mrcs 1
000002@a.mrcs 1
`
	var rows []image.ImageLocation
	info, err := image.ReadTable(context.Background(), strings.NewReader(table), "particles.star", image.TableOptions{}, func(r image.TableRow) error {
		rows = append(rows, r.ImageLocation)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := image.GroupLocations(slices.Values(rows))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Rows, "rows,", g.Count(), "images")
	for i := range g.Len() {
		fmt.Println(g.Group(i).Key, g.Group(i).Indices)
	}
	// Output:
	// 4 rows, 3 images
	// a.mrcs [0 1]
	// b.mrcs [0]
}

// A stack of two images.
func ExampleNewMRCWriter() {
	ctx := context.Background()
	fs := storage.NewMemoryFS(0)
	f, err := fs.Open(ctx, "new.mrcs", storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	w, err := image.NewMRCWriter(f, image.MRCLayout{Type: image.Int16, Columns: 3, Rows: 2, PixelSize: 1.25})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		if err := w.Write(ctx, make([]byte, 2*3*2)); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Finish(ctx); err != nil {
		fmt.Println(err)
		return
	}
	info, _ := f.Stat()
	fmt.Println(info.Size, "bytes")
	// Output: 1048 bytes
}

// writeExample writes a stack of five images, each filled with its number.
func writeExample(ctx context.Context, fs storage.FS, name string) {
	if err := fs.Mkdir(ctx, name[:strings.IndexByte(name, '/')]); err != nil {
		panic(err)
	}
	f, err := fs.Open(ctx, name, storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	w, err := image.NewMRCWriter(f, image.MRCLayout{Type: image.Float32, Columns: 4, Rows: 4})
	if err != nil {
		panic(err)
	}
	for i := range 5 {
		var b []byte
		for range 16 {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i)))
		}
		if err := w.Write(ctx, b); err != nil {
			panic(err)
		}
	}
	if err := w.Finish(ctx); err != nil {
		panic(err)
	}
}

// A table of two images for RELION.
func ExampleWriteSTAR() {
	ctx := context.Background()
	fs := storage.NewMemoryFS(0)
	err := image.WriteSTAR(ctx, fs, "picked.star", func(w *image.STARWriter) error {
		w.Comment("version 30001")
		w.Loop("optics", "rlnOpticsGroup", "rlnOpticsGroupName", "rlnImagePixelSize")
		w.Row("1", "first session", "1.25")
		w.Loop("particles", "rlnImageName", "rlnOpticsGroup")
		for i := range int64(2) {
			w.Row(image.ImageLocation{Key: "Extract/a.mrcs", Index: i}.String(), "1")
		}
		return nil // the first error of the writer is WriteSTAR's
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := fs.Open(ctx, "picked.star", storage.OpenRead)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	_, err = image.ReadTable(ctx, io.NewSectionReader(f, 0, 1<<20), "picked.star", image.TableOptions{}, func(r image.TableRow) error {
		fmt.Println(r.ImageLocation, r.PixelSize)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 000001@Extract/a.mrcs 1.25
	// 000002@Extract/a.mrcs 1.25
	// <nil>
}
