// Command doors reads subchunks through the two doors that Go has: the core as
// machine code, and the core in its sandbox under wazero. See README.md.
//
//	doors DIR
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: doors DIR")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "doors:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	directory, err := file.Open(dir, file.Options{})
	if err != nil {
		return err
	}
	defer directory.Close()
	store := &counting{Store: directory}
	if err := native(ctx, store); err != nil {
		return err
	}
	return sandboxed(ctx, store)
}

// native is the door for Go.
func native(ctx context.Context, store *counting) error {
	array, err := zarr.OpenArray(ctx, store, "", zarr.Options{})
	if err != nil {
		return err
	}
	for _, cache := range []*zarr.ShardCache{nil, array.ShardCache(zarr.CacheOptions{})} {
		err := tell("Go", cache != nil, store, func(at []int64) ([]byte, error) {
			return array.RetrieveSubchunk(ctx, at, zarr.ReadOptions{Cache: cache})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sandboxed is the door for Go programs that keep the core in a sandbox.
func sandboxed(ctx context.Context, store *counting) error {
	sandbox, err := host.New(ctx, host.Config{})
	if err != nil {
		return err
	}
	defer sandbox.Close()
	array, err := sandbox.OpenArray(ctx, store, "", host.OpenOptions{})
	if err != nil {
		return err
	}
	defer array.Close()
	for _, cache := range []*host.ShardCache{nil, array.ShardCache(host.CacheOptions{})} {
		err := tell("wazero", cache != nil, store, func(at []int64) ([]byte, error) {
			return array.RetrieveSubchunk(ctx, at, host.ReadOptions{Cache: cache})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tell reads the eight subchunks and prints a line about it.
func tell(door string, cached bool, store *counting, read func(at []int64) ([]byte, error)) error {
	const count = 8
	store.loads, store.requests, store.bytes = 0, 0, 0
	sum := 0
	for k := range int64(count) {
		elements, err := read([]int64{5 * k % 32, 11 * k % 32})
		if err != nil {
			return err
		}
		for ; len(elements) > 0; elements = elements[2:] {
			sum += int(binary.LittleEndian.Uint16(elements))
		}
	}
	cache := map[bool]string{false: "no", true: "yes"}[cached]
	fmt.Printf("%s\t%s\t%d\t%d\t%d\t%d\t%d\n", door, cache, count, sum, store.loads, store.requests, store.bytes)
	return nil
}

// counting counts what a store is asked for. Its reads are made one after
// the other here.
type counting struct {
	storage.Store
	loads, requests, bytes int
}

func (c *counting) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	parts, info, err := c.Store.ReadRanges(ctx, key, rs, want)
	c.requests += len(rs)
	for _, r := range rs {
		if r.Off < 0 {
			c.loads++ // the index is a shard's last bytes
		}
	}
	for _, p := range parts {
		c.bytes += len(p)
	}
	return parts, info, err
}
