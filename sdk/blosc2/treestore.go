package blosc2

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
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

// Keys returns the keys of all nodes but the root, sorted: inner ones too, and
// those that have metadata and nothing else. Errors are those of DictStore.Keys.
func (t *TreeStore) Keys(ctx context.Context) ([]string, error) {
	all, err := t.d.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, key := range all {
		if node, ok := strings.CutSuffix(key, "/"+vlmetaLeaf); ok {
			key = node
		}
		if key != "" {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
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

// metadataKey is that of the leaf with a node's metadata.
func metadataKey(node string) string {
	return strings.TrimSuffix(rooted(node), "/") + "/" + vlmetaLeaf
}

// VLMeta opens the frame whose variable-length metalayers are the metadata of
// a node, to be read; nil if the node has none. Close it before the store. See
// SetVLObject.
func (t *TreeStore) VLMeta(ctx context.Context, node string) (*SChunk, error) {
	return t.d.metadata(ctx, node)
}

func (d *DictStore) metadata(ctx context.Context, node string) (*SChunk, error) {
	key := metadataKey(node)
	c, err := d.Get(ctx, key)
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

// SetVLValue sets a variable-length metalayer of a node, "/" for the root. A
// node that has nothing else is there from then on. The frame that holds them is
// replaced in one step: what VLMeta opened before stays as it was. ErrInvalid
// for a leaf, which has metadata of its own, and for names as
// SChunk.SetVLValue; ErrReadOnly.
func (t *TreeStore) SetVLValue(ctx context.Context, node, name string, value []byte) error {
	return t.setMetadata(ctx, node, func(s *SChunk) error { return s.SetVLValue(ctx, name, value) })
}

// SetVLObject is SetVLValue of an object as package msgpack has them.
func (t *TreeStore) SetVLObject(ctx context.Context, node, name string, object any) error {
	return t.setMetadata(ctx, node, func(s *SChunk) error { return s.SetVLObject(ctx, name, object) })
}

// DeleteVL removes a variable-length metalayer of a node: ErrNotFound,
// ErrReadOnly.
func (t *TreeStore) DeleteVL(ctx context.Context, node, name string) error {
	return t.setMetadata(ctx, node, func(s *SChunk) error { return s.DeleteVL(ctx, name) })
}

// setMetadata replaces the frame of a node's metadata by one that is changed,
// under the lock of the store.
func (t *TreeStore) setMetadata(ctx context.Context, node string, change func(s *SChunk) error) error {
	if _, err := t.d.writable(metadataKey(node)); err != nil {
		return err
	}
	key := metadataKey(node)
	return t.d.held(ctx, storage.LockExclusive, func(d *DictStore) (err error) {
		was, err := d.metadata(ctx, node)
		if err != nil {
			return err
		}
		if was != nil {
			defer func() { err = first(err, was.Close()) }()
		}
		made, err := CreateSChunk(ctx, storage.NewMemoryFS(maxMetadata), vlmetaLeaf, Spec{ChunkSize: 1}, Options{})
		if err != nil {
			return err
		}
		defer made.Close()
		if was != nil {
			if err := made.takeVL(ctx, was.f.view); err != nil {
				return err
			}
		}
		if err := change(made); err != nil {
			return err
		}
		return d.put(ctx, key, made, func(d *DictStore) error { return d.passable(ctx, key) })
	})
}

// maxMetadata bounds the bytes of a node's metadata.
const maxMetadata = 1 << 30

// rooted puts the slash in front that may be left out.
func rooted(key string) string {
	if strings.HasPrefix(key, "/") {
		return key
	}
	return "/" + key
}
