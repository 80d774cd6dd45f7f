package main

import (
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// engine is one way to run the core. Whatever the engine, the same bytes
// come out.
type engine interface {
	// describe returns the description of the node at path, as JSON.
	describe(ctx context.Context, st storage.Store, path string) (json.RawMessage, error)
	openArray(ctx context.Context, st storage.Store, path string) (array, error)
	list(ctx context.Context, st storage.Store, path string) ([]zarr.Entry, error)
	verify(ctx context.Context, st storage.Store, path string) (checked int64, damaged []zarr.Damage, err error)
	Close() error
}

// array is an opened array with a cache of its shard indexes.
type array interface {
	shape() *description
	// subchunk returns a decoded subchunk at its full shape.
	subchunk(ctx context.Context, index []int64) ([]byte, error)
	// encodedSubchunk returns a subchunk as it is stored; nil: there is none.
	encodedSubchunk(ctx context.Context, index []int64) ([]byte, error)
	// region returns the elements of [start, stop). The memory is the
	// array's again at the next call.
	region(ctx context.Context, start, stop []int64) ([]byte, error)
	// copyOfRegion is region into memory of the caller's; it may be called
	// from several goroutines.
	copyOfRegion(ctx context.Context, start, stop []int64) ([]byte, error)
	Close() error
}

// newEngine makes the engine of the flag --engine.
func newEngine(ctx context.Context, g *globals) (engine, error) {
	switch g.engine {
	case "native":
		o, err := g.options(ctx)
		return machine{o}, err
	case "wasm":
		return newSandbox(ctx, g)
	}
	return nil, unknownEngine(g.engine)
}

func unknownEngine(name string) error { return usagef("--engine %s: want native or wasm", name) }
