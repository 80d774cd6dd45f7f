package blosc2_test

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/storage"
)

func ExampleOpen() {
	ctx := context.Background()
	fs, err := file.OpenFS("../../testdata/blosc2")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fs.Close()
	c, err := blosc2.Open(ctx, fs, "ndim/2d.b2nd", blosc2.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	a := c.(*blosc2.NDArray)
	items, err := a.Slice(ctx, []blosc2.Span{{Start: 40, Stop: 45}, {Start: 66, Stop: 67}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.DType(), a.Shape().Shape)
	for ; len(items) > 0; items = items[4:] {
		fmt.Println(int32(binary.LittleEndian.Uint32(items)))
	}
	// Output:
	// <i4 [45 67]
	// 2746
	// 2813
	// 2880
	// 2947
	// 3014
}

func ExampleCreateArray() {
	ctx := context.Background()
	fs := storage.NewMemoryFS(0)
	shape := blosc2.Shape{Shape: []int64{1000, 1000}, DType: "<f4"}
	a, err := blosc2.CreateArray(ctx, fs, "zeros.b2nd", shape, blosc2.Spec{}, blosc2.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	fmt.Println(a.SChunk().Header().Size, "bytes,", a.SChunk().Header().PackedSize, "stored")
	// Output:
	// 4000000 bytes, 0 stored
}

func ExampleNDArray_Copy() {
	ctx, fs := context.Background(), storage.NewMemoryFS(0)
	shape := blosc2.Shape{Shape: []int64{4, 3}, DType: "|u1"}
	a, err := blosc2.CreateFrom(ctx, fs, "a.b2nd", shape, []byte("abcdefghijkl"), blosc2.Spec{}, blosc2.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	parts := blosc2.Shape{Chunks: []int64{2, 3}, Blocks: []int64{1, 3}}
	b, err := a.Copy(ctx, fs, "b.b2nd", parts, blosc2.Spec{Checksums: true}, blosc2.Options{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	if err := b.Append(ctx, 0, []byte("mno")); err != nil {
		fmt.Println(err)
		return
	}
	row, err := b.Slice(ctx, []blosc2.Span{{Start: 4, Stop: 5}, {Start: 2, Stop: -1, Step: -1}}, nil)
	fmt.Println(b.Shape().Shape, b.SChunk().NumChunks(), string(row), err)
	// Output:
	// [5 3] 3 onm <nil>
}
