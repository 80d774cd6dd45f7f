package zarr

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Node is an *Array or a *Group.
type Node interface {
	Path() string
	Kind() string  // "array" or "group"
	Describe() any // what "gridhold info --json" prints
}

// maxMetadata bounds a zarr.json, consolidated metadata included.
const maxMetadata = 64 << 20

// Open opens the node at a path ("a/b"; "" is the root). ErrNotFound if there
// is none, ErrCorrupt if its metadata contradicts the specification,
// ErrUnsupported if it asks for what is not done here, ErrLimit if for too
// much. Nothing but the metadata is read.
func Open(ctx context.Context, st storage.Store, path string, o Options) (Node, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	key := prefixOf(path) + metadataKey
	raw, _, err := storage.ReadAll(ctx, st, key, maxMetadata)
	if errors.Is(err, fault.ErrNotFound) {
		return nil, notNode(ctx, st, path)
	}
	if err != nil {
		return nil, err
	}
	m, err := parseMetadata(raw, o)
	if err != nil {
		return nil, badMetadata(key, err)
	}
	if m.node == "group" {
		return &Group{store: st, path: path, meta: m, o: o}, nil
	}
	return newArray(st, path, m, o), nil
}

// notNode is the error for a path without a zarr.json.
func notNode(ctx context.Context, st storage.Store, path string) error {
	for _, name := range []string{".zarray", ".zgroup"} {
		if _, _, err := storage.ReadAll(ctx, st, prefixOf(path)+name, maxMetadata); err == nil {
			return fault.New(fault.ErrUnsupported, "zarr", prefixOf(path)+name, "a node of Zarr v2")
		}
	}
	return fault.New(fault.ErrNotFound, "zarr", prefixOf(path)+metadataKey, "no Zarr node here")
}

// OpenArray opens the array at a path: errors as those of Open, and
// ErrInvalid if a group is there.
func OpenArray(ctx context.Context, st storage.Store, path string, o Options) (*Array, error) {
	n, err := Open(ctx, st, path, o)
	if err != nil {
		return nil, err
	}
	if a, ok := n.(*Array); ok {
		return a, nil
	}
	return nil, fault.New(fault.ErrInvalid, "zarr", "/"+path, "is a group, want an array")
}

// OpenGroup opens the group at a path: errors as those of Open, and
// ErrInvalid if an array is there.
func OpenGroup(ctx context.Context, st storage.Store, path string, o Options) (*Group, error) {
	n, err := Open(ctx, st, path, o)
	if err != nil {
		return nil, err
	}
	if g, ok := n.(*Group); ok {
		return g, nil
	}
	return nil, fault.New(fault.ErrInvalid, "zarr", "/"+path, "is an array, want a group")
}
