package main

import (
	"context"
	"errors"
	"runtime"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// opener opens the array in a directory and returns what reads it, through
// one shard cache.
type opener func(ctx context.Context, dir string, whole bool) (reader, error)

// native reads with the core as machine code.
func native(ctx context.Context, dir string, whole bool) (reader, error) {
	st, err := file.Open(dir, file.Options{})
	if err != nil {
		return nil, err
	}
	a, err := zarr.OpenArray(ctx, st, "", zarr.Options{})
	if err != nil {
		return nil, err
	}
	cache := a.ShardCache(zarr.CacheOptions{})
	if whole {
		return func(ctx context.Context, at []int64, buf []byte) ([]byte, error) {
			return a.RetrieveChunk(ctx, []int64{at[0] / shard, at[1] / shard}, zarr.ReadOptions{Cache: cache, Dst: buf})
		}, nil
	}
	return func(ctx context.Context, at []int64, buf []byte) ([]byte, error) {
		return a.RetrieveSubchunk(ctx, at, zarr.ReadOptions{Cache: cache, Dst: buf})
	}, nil
}

// sandboxed reads with the core under wazero, which is lent the codecs of
// this process: warm reads by the tables that the guest hands over, or each
// read through the guest, which is how an array is read that is opened with a
// trace.
func sandboxed(ctx context.Context, guest bool) (opener, error) {
	s, err := host.New(ctx, host.Config{Instances: runtime.GOMAXPROCS(0)})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, dir string, whole bool) (reader, error) {
		if whole {
			return nil, errors.New("the sandbox is measured with subchunks only")
		}
		st, err := file.Open(dir, file.Options{})
		if err != nil {
			return nil, err
		}
		a, err := s.OpenArray(ctx, st, "", host.OpenOptions{Trace: guest})
		if err != nil {
			return nil, err
		}
		cache := a.ShardCache(host.CacheOptions{})
		return func(ctx context.Context, at []int64, buf []byte) ([]byte, error) {
			return a.RetrieveSubchunk(ctx, at, host.ReadOptions{Cache: cache, Dst: buf})
		}, nil
	}, nil
}
