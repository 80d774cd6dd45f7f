package main

import (
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// machine is the core as machine code.
type machine struct{ o zarr.Options }

func (machine) Close() error { return nil }

// plain are options to look with: the codecs are those of the flags.
func (m machine) plain() zarr.Options { return zarr.Options{Codecs: m.o.Codecs} }

func (m machine) describe(ctx context.Context, st storage.Store, path string) (json.RawMessage, error) {
	n, err := zarr.Open(ctx, st, path, m.plain())
	if err != nil {
		return nil, err
	}
	return json.Marshal(n.Describe())
}

func (m machine) list(ctx context.Context, st storage.Store, path string) ([]zarr.Entry, error) {
	return zarr.List(ctx, st, path, m.plain())
}

func (m machine) verify(ctx context.Context, st storage.Store, path string) (checked int64, damaged []zarr.Damage, err error) {
	checked, err = zarr.Verify(ctx, st, path, m.plain(), func(d zarr.Damage) { damaged = append(damaged, d) })
	return checked, damaged, err
}

func (m machine) openArray(ctx context.Context, st storage.Store, path string) (array, error) {
	a, err := zarr.OpenArray(ctx, st, path, m.o)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(a.Describe())
	if err != nil {
		return nil, err
	}
	open := &machineArray{Array: a, cache: a.ShardCache(zarr.CacheOptions{})}
	return open, json.Unmarshal(text, &open.is)
}

type machineArray struct {
	*zarr.Array
	is    description
	cache *zarr.ShardCache
	buf   []byte // of the last region
}

func (m *machineArray) Close() error        { return nil }
func (m *machineArray) shape() *description { return &m.is }

func (m *machineArray) subchunk(ctx context.Context, index []int64) ([]byte, error) {
	return m.RetrieveSubchunk(ctx, index, zarr.ReadOptions{Cache: m.cache})
}

func (m *machineArray) encodedSubchunk(ctx context.Context, index []int64) ([]byte, error) {
	return m.RetrieveEncodedSubchunk(ctx, index, zarr.ReadOptions{Cache: m.cache})
}

func (m *machineArray) copyOfRegion(ctx context.Context, start, stop []int64) ([]byte, error) {
	return m.RetrieveRegion(ctx, start, stop, zarr.ReadOptions{Cache: m.cache})
}

func (m *machineArray) region(ctx context.Context, start, stop []int64) (_ []byte, err error) {
	m.buf, err = m.RetrieveRegion(ctx, start, stop, zarr.ReadOptions{Cache: m.cache, Dst: m.buf})
	return m.buf, err
}
