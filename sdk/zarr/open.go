package zarr

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Node is an *Array or a *Group.
type Node interface {
	Path() string
	Kind() string            // "array" or "group"
	Describe() rawjson.Value // what "gridhold info --json" prints
}

// maxMetadata bounds a zarr.json, consolidated metadata included.
const maxMetadata = 64 << 20

// Open opens the node at a path ("a/b"; "" is the root): a zarr.json, or else
// a .zarray or .zgroup of Zarr v2. ErrNotFound if there is none, ErrCorrupt if
// its metadata contradicts the specification, ErrUnsupported if it asks for
// what is not done here, ErrLimit if for too much. Nothing but the metadata
// is read.
func Open(ctx context.Context, st storage.Store, path string, o Options) (Node, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	key := prefixOf(path) + metadataKey
	raw, _, err := storage.ReadAll(ctx, st, key, maxMetadata)
	if errors.Is(err, fault.ErrNotFound) {
		return openV2(ctx, st, path, o)
	}
	if err != nil {
		return nil, err
	}
	m, err := parseMetadata(raw, o)
	if err != nil {
		return nil, badMetadata(key, err)
	}
	return newNode(st, path, m, o)
}

func openV2(ctx context.Context, st storage.Store, path string, o Options) (Node, error) {
	for _, name := range []string{".zarray", ".zgroup"} {
		key := prefixOf(path) + name
		raw, _, err := storage.ReadAll(ctx, st, key, maxMetadata)
		if errors.Is(err, fault.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		attributes, _, err := storage.ReadAll(ctx, st, prefixOf(path)+".zattrs", maxMetadata)
		switch {
		case errors.Is(err, fault.ErrNotFound):
			attributes = nil
		case err != nil:
			return nil, err
		case attributes == nil:
			attributes = []byte{} // there, and empty: a store may answer that with nil
		}
		m, err := parseV2(name, raw, attributes, o)
		if err != nil {
			return nil, badMetadata(key, err)
		}
		if m.node == "group" && o.Consolidated {
			if err := readConsolidatedV2(ctx, st, path, m); err != nil {
				return nil, err
			}
		}
		return newNode(st, path, m, o)
	}
	return nil, fault.New(fault.ErrNotFound, "zarr", prefixOf(path)+metadataKey, "no Zarr node here")
}

func newNode(st storage.Store, path string, m *metadata, o Options) (Node, error) {
	if m.node == "group" {
		return &Group{store: st, path: path, meta: m, o: o}, nil
	}
	a := newArray(st, path, m, o)
	var err error
	if a.pack, err = o.IndexPack.of(a); err != nil {
		return nil, err
	}
	return a, nil
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
