package blosc2

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// vlmetaLeaf is the name of a leaf that holds a node's metadata.
const vlmetaLeaf = "__vlmeta__"

// TreeStore is a DictStore whose keys are paths of a tree: inner nodes are
// those that keys lead through. Safe for concurrent use.
type TreeStore struct{ d *DictStore }

// Kind is "treestore".
func (t *TreeStore) Kind() string { return "treestore" }

// DictStore returns the store that the tree is in, with the leaves that hold
// metadata. Closing either closes both.
func (t *TreeStore) DictStore() *DictStore { return t.d }

// Close closes the store, not what Get opened. Closing twice is fine.
func (t *TreeStore) Close() error { return t.d.Close() }

// Refresh is DictStore's.
func (t *TreeStore) Refresh(ctx context.Context) (bool, error) { return t.d.Refresh(ctx) }

// Keys returns the keys of all nodes but the root, inner ones too, sorted.
// Errors are those of DictStore.Keys.
func (t *TreeStore) Keys(ctx context.Context) ([]string, error) {
	leaves, err := t.Leaves(ctx)
	if err != nil {
		return nil, err
	}
	keys := leaves
	for _, key := range leaves {
		for i := strings.LastIndexByte(key, '/'); i > 0; i = strings.LastIndexByte(key, '/') {
			key = key[:i]
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// Leaves returns the keys that data is under, sorted. Errors are those of
// DictStore.Keys.
func (t *TreeStore) Leaves(ctx context.Context) ([]string, error) {
	keys, err := t.d.Keys(ctx)
	return slices.DeleteFunc(keys, func(key string) bool { return strings.HasSuffix(key, "/"+vlmetaLeaf) }), err
}

// Children returns the names of the nodes right below a node, sorted. A leaf
// has none, and so has what is not there. Errors are those of DictStore.Keys.
func (t *TreeStore) Children(ctx context.Context, node string) ([]string, error) {
	keys, err := t.Leaves(ctx)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(rooted(node), "/") + "/"
	children := []string{}
	for _, key := range keys {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			child, _, _ := strings.Cut(rest, "/")
			children = append(children, child)
		}
	}
	return slices.Compact(children), nil
}

// Get opens a leaf: ErrNotFound for an inner node. Errors are those of
// DictStore.Get.
func (t *TreeStore) Get(ctx context.Context, key string) (Container, error) {
	return t.d.Get(ctx, rooted(key))
}

// VLMeta opens the frame whose variable-length metalayers are the metadata of
// a node; nil if the node has none. Close it before the store.
func (t *TreeStore) VLMeta(ctx context.Context, node string) (*SChunk, error) {
	key := strings.TrimSuffix(rooted(node), "/") + "/" + vlmetaLeaf
	c, err := t.d.Get(ctx, key)
	if errors.Is(err, fault.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, ok := c.(*SChunk)
	if !ok {
		return nil, errors.Join(fault.New(fault.ErrCorrupt, "key", key, "holds no metadata"), c.Close())
	}
	return s, nil
}

// rooted puts the slash in front that may be left out.
func rooted(key string) string {
	if strings.HasPrefix(key, "/") {
		return key
	}
	return "/" + key
}
