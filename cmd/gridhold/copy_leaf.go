package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
)

// metadataSuffix ends the key of the leaf that holds the metadata of a node of
// a tree.
const metadataSuffix = "/__vlmeta__"

// copyable is a container as it is copied, whatever the engine.
type copyable interface {
	Kind() string
	// leafKeys are the keys of all leaves, those with the metadata of a tree
	// too; ok is false for what is a leaf itself.
	leafKeys(ctx context.Context) (keys []string, ok bool, err error)
	// leafAt opens a leaf; "": what is one itself, which closing leaves open.
	leafAt(ctx context.Context, key string) (copyLeaf, error)
}

// copyLeaf is a frame as it is copied.
type copyLeaf interface {
	Kind() string
	facts() (frame, error) // of an array; nil: it is none
	attributes(ctx context.Context) (json.RawMessage, error)
	copyTo(ctx context.Context, t *frameTarget, key, name string, f copyFlags) error
	Close() error
}

// eachLeaf calls do with every leaf of a store; or, with the key alone, with
// what is a leaf itself.
func eachLeaf(ctx context.Context, c copyable, alone string, do func(key string, leaf copyLeaf) error) error {
	keys, ok, err := c.leafKeys(ctx)
	if err != nil {
		return err
	}
	if !ok {
		keys = []string{""}
	}
	for _, key := range keys {
		leaf, err := c.leafAt(ctx, key)
		if err == nil {
			if key == "" {
				key = alone
			}
			err = errors.Join(do(key, leaf), leaf.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isTree(c copyable) bool { return c.Kind() == "treestore" || c.Kind() == "group" }

func (c *container) leafKeys(ctx context.Context) (keys []string, ok bool, err error) {
	switch c := c.Container.(type) {
	case *blosc2.EmbedStore:
		keys, err = c.Keys(ctx)
	case *blosc2.DictStore:
		keys, err = c.Keys(ctx)
	case *blosc2.TreeStore:
		keys, err = c.DictStore().Keys(ctx)
	default:
		return nil, false, nil
	}
	return keys, true, err
}

func (c *container) leafAt(ctx context.Context, key string) (copyLeaf, error) {
	if key == "" {
		return nativeLeaf{c.Container, nothingToClose{}}, nil
	}
	leaf, err := c.leaf(ctx, key)
	return nativeLeaf{leaf, leaf}, err
}

type nothingToClose struct{}

func (nothingToClose) Close() error { return nil }

// nativeLeaf is a leaf that the machine has open.
type nativeLeaf struct {
	blosc2.Container
	closer io.Closer
}

func (l nativeLeaf) Close() error { return l.closer.Close() }

func (l nativeLeaf) facts() (frame, error) {
	if a, ok := l.Container.(*blosc2.NDArray); ok {
		return nativeFrame{a.SChunk(), a}, nil
	}
	return nil, nil
}

func (l nativeLeaf) attributes(ctx context.Context) (json.RawMessage, error) {
	switch c := l.Container.(type) {
	case *blosc2.NDArray:
		return attributesOf(ctx, nativeValues{c.SChunk()})
	case *blosc2.SChunk:
		return attributesOf(ctx, nativeValues{c})
	}
	return nil, nil
}

// nativeValues are the variable-length metalayers of a frame.
type nativeValues struct{ s *blosc2.SChunk }

func (v nativeValues) names(ctx context.Context) ([]string, error) { return v.s.VLMeta(ctx) }
func (v nativeValues) value(ctx context.Context, name string) ([]byte, error) {
	return v.s.VLValue(ctx, name)
}

func (l nativeLeaf) copyTo(ctx context.Context, t *frameTarget, key, name string, f copyFlags) error {
	t.p.begin(key)
	defer t.p.end()
	var made io.Closer
	switch c := l.Container.(type) {
	case *blosc2.NDArray:
		ff, err := f.frames(len(c.Shape().Shape))
		if err != nil {
			return err
		}
		if made, err = c.Copy(ctx, t.fs, name, ff.parts, t.spec(ff, nil), frameOptions, t.steps(c.SChunk().Header().Size)); err != nil {
			return err
		}
	case *blosc2.SChunk:
		ff, err := f.frames(-1)
		if err != nil {
			return err
		}
		if made, err = c.Copy(ctx, t.fs, name, t.spec(ff, nil), frameOptions, t.steps(c.Header().Size)); err != nil {
			return err
		}
	default:
		return noLeaf(key, c.Kind())
	}
	return made.Close()
}

func noLeaf(key, kind string) error {
	return fault.New(fault.ErrInvalid, "copy", key, "a "+kind+" has keys: choose one with --key, or copy it to a name that ends in .b2z or .b2d")
}

func (b *boxed) leafKeys(ctx context.Context) (keys []string, ok bool, err error) {
	if !strings.HasSuffix(b.Kind(), "store") {
		return nil, false, nil
	}
	if b.Kind() != "treestore" {
		keys, err = b.Keys(ctx)
		return keys, true, err
	}
	n, err := rootOf(ctx, b)
	if err != nil {
		return nil, true, err
	}
	return n.leafKeys(ctx)
}

func (b *boxed) leafAt(ctx context.Context, key string) (copyLeaf, error) {
	if key == "" {
		return boxedLeaf{b, nothingToClose{}}, nil
	}
	o, err := b.at(ctx, key)
	if err != nil {
		return nil, err
	}
	leaf := o.(*boxed)
	return boxedLeaf{leaf, leaf}, nil
}

// boxedLeaf is a leaf that the guest has open, which also writes the copies
// that are frames.
type boxedLeaf struct {
	*boxed
	closer io.Closer
}

func (l boxedLeaf) Close() error { return l.closer.Close() }

func (l boxedLeaf) facts() (frame, error) {
	if l.Kind() == "ndarray" {
		return boxedFrame{l.boxed}, nil
	}
	return nil, nil
}

func (l boxedLeaf) attributes(ctx context.Context) (json.RawMessage, error) {
	return attributesOf(ctx, boxedValues{l.boxed})
}

// boxedValues are the variable-length metalayers of a frame in the guest.
type boxedValues struct{ b *boxed }

func (v boxedValues) names(context.Context) ([]string, error) { return v.b.state.VLMeta, nil }
func (v boxedValues) value(ctx context.Context, name string) ([]byte, error) {
	return v.b.VLValue(ctx, name)
}

func (l boxedLeaf) copyTo(ctx context.Context, t *frameTarget, key, name string, f copyFlags) error {
	axes := -1
	switch l.Kind() {
	case "ndarray":
		axes = len(l.state.Shape)
	case "schunk", "batcharray", "objectarray":
	default:
		return noLeaf(key, l.Kind())
	}
	ff, err := f.frames(axes)
	if err != nil {
		return err
	}
	t.p.begin(key)
	defer t.p.end()
	c, err := l.Copy(ctx, t.fs, name, host.ContainerSpec{Shape: ff.parts, Spec: t.spec(ff, nil)})
	if err != nil {
		return err
	}
	return c.Close()
}

// leafKeys are those of what lies below the node, as its own root has them.
func (n *node) leafKeys(ctx context.Context) (keys []string, ok bool, err error) {
	for _, o := range n.is.VLMeta {
		keys = append(keys, strings.TrimPrefix(strings.TrimSuffix(o.name, "/"), n.key)+metadataSuffix)
	}
	for _, key := range n.is.Keys {
		leaf, err := n.at(ctx, key)
		if errors.Is(err, fault.ErrNotFound) {
			continue // an inner node
		}
		if err == nil {
			err = leaf.Close()
		}
		if err != nil {
			return nil, true, err
		}
		keys = append(keys, strings.TrimPrefix(key, n.key))
	}
	return keys, true, nil
}

func (n *node) leafAt(ctx context.Context, key string) (copyLeaf, error) {
	return n.tree.leafAt(ctx, n.key+key)
}
