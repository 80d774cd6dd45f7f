package zarr

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Group is a group of a store, opened for reading. Its methods may be called
// concurrently.
type Group struct {
	store storage.Store
	path  string
	meta  *metadata
	o     Options
}

// Kind is "group".
func (g *Group) Kind() string { return "group" }

// Path is the path of the group in its store, "" for the root.
func (g *Group) Path() string { return g.path }

// Metadata is the text of zarr.json as it was read.
func (g *Group) Metadata() []byte { return g.meta.raw }

// Attributes is the JSON object of the user's attributes.
func (g *Group) Attributes() json.RawMessage { return g.meta.attributes }

// Entry is one node of a listing.
type Entry struct {
	Path     string  `json:"path"` // in the store
	Kind     string  `json:"kind"` // "array" or "group"
	Shape    []int64 `json:"shape,omitempty"`
	DataType string  `json:"data_type,omitempty"`
	Error    string  `json:"error,omitempty"` // why the node cannot be opened
}

// WriteJSON implements [rawjson.Value].
func (e Entry) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("path").String(e.Path)
	w.Name("kind").String(e.Kind)
	if len(e.Shape) > 0 {
		w.Name("shape").Ints(e.Shape)
	}
	writeText(w, "data_type", e.DataType)
	writeText(w, "error", e.Error)
	w.Close('}')
}

func entryOf(path string, n Node, err error) Entry {
	e := Entry{Path: path}
	switch n := n.(type) {
	case *Array:
		e.Kind, e.Shape, e.DataType = n.Kind(), n.Shape(), n.DataType().Name()
	case *Group:
		e.Kind = n.Kind()
	}
	if err != nil {
		e.Kind, e.Error = "unknown", err.Error()
	}
	return e
}

// Open opens the node at a path relative to the group: from the group's
// consolidated metadata where Options.Consolidated asked for it and it has
// the node, and as the function Open does otherwise.
func (g *Group) Open(ctx context.Context, rel string) (Node, error) {
	if g.o.Consolidated {
		if n, err := g.node(rel); n != nil || err != nil {
			return n, err
		}
	}
	return Open(ctx, g.store, prefixOf(g.path)+rel, g.o)
}

// maxNodes and maxLevels bound a listing.
const (
	maxNodes  = 1 << 20
	maxLevels = 64
)

// List returns the nodes below the group at a path, in order of their paths.
// A node whose metadata cannot be opened is listed with its error.
// ErrUnsupported for a store that cannot list, unless Options.Consolidated is
// set and the group has consolidated metadata.
func List(ctx context.Context, st storage.Store, path string, o Options) ([]Entry, error) {
	g, err := OpenGroup(ctx, st, path, o)
	if err != nil {
		return nil, err
	}
	if o.Consolidated && g.meta.consolidated != nil {
		return g.listConsolidated(), nil
	}
	lister, ok := st.(storage.Lister)
	if !ok {
		return nil, fault.New(fault.ErrUnsupported, "zarr", "/"+path, "this store cannot list its keys")
	}
	var out []Entry
	err = walk(ctx, st, lister, path, o, maxLevels, func(e Entry) error {
		if len(out) == maxNodes {
			return fault.New(fault.ErrLimit, "zarr", "/"+path, "more than "+itoa(maxNodes)+" nodes")
		}
		out = append(out, e)
		return nil
	})
	return out, err
}

// walk calls f for each node below the group at path.
func walk(ctx context.Context, st storage.Store, l storage.Lister, path string, o Options, levels int, f func(Entry) error) error {
	if levels == 0 {
		return fault.New(fault.ErrLimit, "zarr", "/"+path, "groups are nested deeper than "+itoa(maxLevels))
	}
	names, err := l.List(ctx, prefixOf(path))
	if err != nil {
		return err
	}
	for _, name := range names {
		name, dir := strings.CutSuffix(name, "/")
		child := prefixOf(path) + name
		if !dir || checkPath(name) != nil {
			continue
		}
		n, err := Open(ctx, st, child, o)
		if errors.Is(err, fault.ErrNotFound) {
			continue // not a node: an implicit group is none
		}
		if fault.CodeOf(err) == fault.CodeCancelled {
			return err
		}
		e := entryOf(child, n, err)
		if err := f(e); err != nil {
			return err
		}
		if e.Kind == "group" {
			if err := walk(ctx, st, l, child, o, levels-1, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunksThere returns the places in the chunk grid, C order, of the chunks of
// an array that exist, if the store can list: what a walk over the whole grid
// would find, however large the grid is.
func chunksThere(ctx context.Context, a *Array, l storage.Lister) ([]int64, error) {
	there := map[int64]bool{}
	var visit func(prefix string, levels int) error
	visit = func(prefix string, levels int) error {
		names, err := l.List(ctx, prefix)
		if err != nil {
			return err
		}
		for _, name := range names {
			// A directory in the place of a chunk counts too: it will be found
			// damaged when it is read.
			if idx, ok := a.placeOf(prefix + strings.TrimSuffix(name, "/")); ok {
				there[linear(idx, a.grid)] = true
			}
			if strings.HasSuffix(name, "/") && levels > 0 {
				if err := visit(prefix+name, levels-1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := visit(prefixOf(a.path), len(a.meta.shape)+1); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(there)), nil
}

// placeOf is the inverse of ChunkKey; false for a key that is no chunk's.
func (a *Array) placeOf(key string) ([]int64, bool) {
	idx := make([]int64, len(a.grid))
	numbers := strings.TrimPrefix(key, prefixOf(a.path))
	if a.meta.keys.Name == "default" {
		numbers = strings.TrimPrefix(strings.TrimPrefix(numbers, "c"), a.meta.keys.Separator)
	}
	if len(idx) > 0 {
		parts := strings.Split(numbers, a.meta.keys.Separator)
		if len(parts) != len(idx) {
			return nil, false
		}
		for i, p := range parts {
			n, err := strconv.ParseInt(p, 10, 64)
			if err != nil {
				return nil, false
			}
			idx[i] = n
		}
	}
	return idx, inside(idx, a.grid) && a.ChunkKey(idx) == key // which has one spelling only
}
