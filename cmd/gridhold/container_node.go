package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// tree is a store of an engine that may be a tree, and that opens what lies
// under its keys.
type tree interface {
	opened
	at(ctx context.Context, key string) (opened, error)
}

// node is an inner node of a tree: the keys below it, and its metadata. It is
// closed by who opened the tree.
type node struct {
	tree
	key string
	is  treeFacts
}

// treeFacts are what a tree, or a node of one, says of itself.
type treeFacts struct {
	Keys   []string       `json:"keys"`
	VLMeta orderedObjects `json:"vlmeta"`
}

// nodeUnder returns the inner node that a key of the tree leads to; missing,
// the error of opening a leaf there, if it leads to none.
func nodeUnder(ctx context.Context, t tree, key string, missing error) (opened, error) {
	if t.Kind() != "treestore" || !errors.Is(missing, fault.ErrNotFound) {
		return nil, missing
	}
	n, err := rootOf(ctx, t)
	if err != nil {
		return nil, err
	}
	n.key = key
	if !slices.Contains(n.is.Keys, key) {
		return nil, missing
	}
	n.is.Keys = slices.DeleteFunc(n.is.Keys, func(other string) bool { return !n.above(other) })
	n.is.VLMeta = slices.DeleteFunc(n.is.VLMeta, func(o namedObject) bool { return o.name != key && !n.above(o.name) })
	return n, nil
}

// rootOf is the root of a tree as a node.
func rootOf(ctx context.Context, t tree) (*node, error) {
	text, err := t.describe(ctx)
	if err != nil {
		return nil, err
	}
	n := &node{tree: t}
	return n, json.Unmarshal(text, &n.is)
}

// Kind is "group".
func (n *node) Kind() string { return "group" }

// above reports whether a key leads through the node.
func (n *node) above(key string) bool { return strings.HasPrefix(key, n.key+"/") }

func (n *node) describe(context.Context) ([]byte, error) {
	return json.Marshal(struct {
		Kind string `json:"kind"`
		treeFacts
	}{"group", n.is})
}

func (n *node) list(ctx context.Context) ([]zarr.Entry, error) {
	entries, err := n.tree.list(ctx)
	return slices.DeleteFunc(entries, func(e zarr.Entry) bool { return !n.above(e.Path) }), err
}

// verify checks the leaves below the node, and the frames of metadata.
func (n *node) verify(ctx context.Context) (checked int64, damaged []zarr.Damage, err error) {
	var keys []string
	for _, o := range n.is.VLMeta {
		keys = append(keys, o.name+metadataSuffix)
	}
	for _, key := range append(keys, n.is.Keys...) {
		leaf, err := n.at(ctx, key)
		if errors.Is(err, fault.ErrNotFound) {
			continue // an inner node
		}
		if err != nil {
			checked++
			d := damageOf(err)
			d.Item = strings.TrimSpace(key + " " + d.Item)
			damaged = append(damaged, d)
			continue
		}
		k, list, err := leaf.verify(ctx)
		checked += k
		for _, d := range list {
			d.Item = strings.TrimSpace(key + " " + d.Item)
			damaged = append(damaged, d)
		}
		if err = errors.Join(err, leaf.Close()); err != nil {
			return checked, damaged, err
		}
	}
	return checked, damaged, nil
}

func (n *node) block(selection, bool) (*block, string, error) {
	return nil, "", fault.New(fault.ErrInvalid, "read", n.key, "a group, whose keys ls lists: choose one with --key")
}

// orderedObjects are the members of an object in their order.
type orderedObjects []namedObject

type namedObject struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON is json.Unmarshaler's.
func (o *orderedObjects) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil { // the opening brace
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		m := namedObject{name: name.(string)}
		if err := d.Decode(&m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

// MarshalJSON is json.Marshaler's.
func (o orderedObjects) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), m.value...)
	}
	return append(b, '}'), nil
}
