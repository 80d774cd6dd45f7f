package zarr

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Consolidated metadata holds the metadata of all nodes below a group, so
// that they can be found where listing is impossible. It can be out of date,
// so it is used only where Options.Consolidated asks for it.

// parseConsolidated reads the member consolidated_metadata of a v3 group.
func (m *metadata) parseConsolidated(raw json.RawMessage) error {
	const field = "consolidated_metadata"
	if isNull(raw) {
		return nil
	}
	f, err := object(field, raw)
	if err != nil {
		return err
	}
	if kind, err := text(field+".kind", f["kind"]); err != nil {
		return err
	} else if kind != "inline" {
		return nil // of a kind that need not be understood
	}
	m.consolidated, err = object(field+".metadata", f["metadata"])
	return err
}

// readConsolidatedV2 reads .zmetadata of a v2 group, if there is one, into
// the form that v3 has: a text per node, made of .zarray or .zgroup and
// .zattrs.
func readConsolidatedV2(ctx context.Context, st storage.Store, path string, m *metadata) error {
	key := prefixOf(path) + ".zmetadata"
	raw, _, err := storage.ReadAll(ctx, st, key, maxMetadata)
	if errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := parseObject(raw)
	if err != nil {
		return badMetadata(key, err)
	}
	all, err := object("metadata", f["metadata"])
	if err != nil {
		return badMetadata(key, err)
	}
	m.consolidated = fields{}
	for k, v := range all {
		dir, name := "", k
		if i := strings.LastIndexByte(k, '/'); i >= 0 {
			dir, name = k[:i], k[i+1:]
		}
		if dir == "" || name != ".zarray" && name != ".zgroup" {
			continue
		}
		attributes := all[dir+"/.zattrs"]
		if attributes == nil {
			attributes = json.RawMessage("{}")
		}
		m.consolidated[dir] = json.RawMessage(`{` + strconv.Quote(name) + `:` + string(v) + `,".zattrs":` + string(attributes) + `}`)
	}
	return nil
}

// node opens a descendant from the group's consolidated metadata; nil if it
// is not there.
func (g *Group) node(rel string) (Node, error) {
	raw, ok := g.meta.consolidated[rel]
	if !ok {
		return nil, nil
	}
	path := prefixOf(g.path) + rel
	if err := checkPath(path); err != nil {
		return nil, err
	}
	var m *metadata
	var err error
	if g.meta.format == 2 {
		m, err = parseV2Pair(raw, g.o)
	} else {
		m, err = parseMetadata(raw, g.o)
	}
	if err != nil {
		return nil, badMetadata(prefixOf(g.path)+"consolidated metadata of "+rel, err)
	}
	return newNode(g.store, path, m, g.o)
}

// listConsolidated lists the nodes of a group by its consolidated metadata.
func (g *Group) listConsolidated() []Entry {
	names, order := make([]string, 0, len(g.meta.consolidated)), make([]int, len(g.meta.consolidated))
	for rel := range g.meta.consolidated {
		order[len(names)] = len(names)
		names = append(names, rel)
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	out := make([]Entry, 0, len(names))
	for _, i := range order {
		rel := names[i]
		n, err := g.node(rel)
		out = append(out, entryOf(prefixOf(g.path)+rel, n, err))
	}
	return out
}
