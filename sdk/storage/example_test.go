package storage_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

func ExampleMemory() {
	m := storage.NewMemory()
	m.Set("c/0/0", []byte("one shard"))
	bs, info, _ := m.ReadRanges(context.Background(), "c/0/0", []storage.Range{{Off: 0, Len: 3}, storage.Suffix(5)}, "")
	fmt.Printf("%s%s, %d bytes\n", bs[0], bs[1], info.Size)

	m.Set("c/0/0", []byte("another"))
	_, _, err := m.ReadRanges(context.Background(), "c/0/0", []storage.Range{storage.All}, info.Version)
	fmt.Println(errors.Is(err, fault.ErrStale))
	// Output:
	// oneshard, 9 bytes
	// true
}

func ExampleHTTP() {
	// A program has web.New of native/web here, a page the browser's fetch.
	server := storagetest.NewOrigin(map[string][]byte{"a b": []byte("0123456789")})
	s := storage.NewHTTP(server, storagetest.OriginURL, storage.HTTPOptions{})
	bs, info, _ := s.ReadRanges(context.Background(), "a b", []storage.Range{storage.Suffix(3)}, "")
	fmt.Printf("%s of %d bytes, version %s\n", bs[0], info.Size, info.Version)
	// Output: 789 of 10 bytes, version "v1"
}

func ExampleCoalesce() {
	for _, m := range storage.Coalesce([]storage.Range{{Off: 100, Len: 10}, {Off: 0, Len: 10}, {Off: 15, Len: 5}}, 5, 0) {
		fmt.Println(m.Off, m.Len, m.Members)
	}
	// Output:
	// 0 20 [1 2]
	// 100 10 [0]
}
