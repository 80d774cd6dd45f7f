package zip_test

import (
	archive "archive/zip"
	"bytes"
	"context"
	"fmt"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zip"
)

func ExampleOpen() {
	var b bytes.Buffer
	w := archive.NewWriter(&b)
	f, _ := w.Create("array/c/0")
	f.Write([]byte("0123456789"))
	w.Close()

	inner := storage.NewMemory() // or a directory, a web server, a bucket
	inner.Set("data.zip", b.Bytes())
	s, _ := zip.Open(context.Background(), inner, "data.zip", zip.Options{})
	bs, info, _ := s.ReadRanges(context.Background(), "array/c/0", []storage.Range{{Off: 2, Len: 3}, storage.Suffix(1)}, "")
	names, _ := s.List(context.Background(), "array/")
	fmt.Printf("%s%s of %d bytes, %v\n", bs[0], bs[1], info.Size, names)
	// Output: 2349 of 10 bytes, [c/]
}
