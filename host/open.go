package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
	"github.com/gridhold/gridhold/wasm/wire"
)

// opener is what holds a handle in the guest: it knows how to get one on an
// instance that has none of it.
type opener interface {
	openOn(ctx context.Context, in *instance) (uint32, error)
}

// handle returns o's handle on this instance. What was closed is not opened
// again by a call that waited meanwhile: whoever closes it asks the slots that
// are in use, and each opener looks once it has one.
func (in *instance) handle(ctx context.Context, o opener) (uint32, error) {
	if h, ok := in.handles[o]; ok {
		return h, nil
	}
	h, err := o.openOn(ctx, in)
	if err == nil {
		in.handles[o] = h
	}
	return h, err
}

// has says whether o, or something that lies within it, is open on this
// instance.
func (in *instance) has(o opener) bool {
	for x := range in.handles {
		if lies(x, o) {
			return true
		}
	}
	return false
}

// lies says whether x is o or lies within it.
func lies(x, o opener) bool {
	for x != o {
		inner, ok := x.(interface{ within() opener })
		if !ok {
			return false
		}
		if x = inner.within(); x == nil {
			return false
		}
	}
	return true
}

// forget closes o's handle on this instance, if it has one. The guest closes
// what lies within o with it.
func (in *instance) forget(o opener) error {
	h, ok := in.handles[o]
	for x := range in.handles {
		if lies(x, o) {
			delete(in.handles, x)
		}
	}
	if !ok {
		return nil
	}
	_, err := in.do(context.Background(), wire.KindClose, binary.LittleEndian.AppendUint32(nil, h), nil)
	return err
}

// node is what arrays and groups have in common. It is its own opener.
type node struct {
	sandbox     *Sandbox
	store       storage.Store
	place       place
	free        func()
	description []byte
	closed      atomic.Bool
}

func (n *node) openOn(ctx context.Context, in *instance) (uint32, error) {
	if n.closed.Load() { // while the call waited for its instance
		return 0, errClosed("zarr")
	}
	r, err := in.open(ctx, n.place)
	if err != nil {
		return 0, err
	}
	if string(r.bytes) != string(n.description) {
		_, _ = in.do(ctx, wire.KindClose, binary.LittleEndian.AppendUint32(nil, r.object), nil)
		return 0, fault.New(fault.ErrStale, "zarr", "/"+n.place.Path, "its metadata changed since it was opened")
	}
	return r.object, nil
}

func (in *instance) open(ctx context.Context, p place) (reply, error) {
	req, err := json.Marshal(p)
	if err != nil {
		return reply{}, fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	return in.do(ctx, wire.KindOpen, req, nil)
}

// Path is the node's path in its store, "" for the root.
func (n *node) Path() string { return n.place.Path }

// Store is the store that the node was opened on.
func (n *node) Store() storage.Store { return n.store }

// Describe returns the description JSON of the node, as "gridhold info
// --json" prints it. The bytes must not be changed.
func (n *node) Describe() json.RawMessage { return n.description }

// Close frees the node, and the caches of an array. Later calls give
// ErrClosed; closing twice is fine.
func (n *node) Close() error {
	if n.closed.Swap(true) {
		return nil
	}
	n.sandbox.end(n, n.free)
	return nil
}

// openNode opens a node of the kind that is asked for.
func (s *Sandbox) openNode(ctx context.Context, st storage.Store, path, kind string, o OpenOptions) (*node, error) {
	p, free, err := s.place(st, path, kind, o)
	if err != nil {
		return nil, err
	}
	if free, err = s.admit(free); err != nil {
		return nil, err
	}
	in, err := s.take(ctx)
	if err != nil {
		free()
		return nil, err
	}
	defer s.put(in)
	r, err := in.open(ctx, p)
	if err != nil {
		free()
		return nil, err
	}
	n := &node{sandbox: s, store: st, place: p, free: free, description: r.bytes}
	in.handles[n] = r.object
	return n, nil
}

// Node is an *Array or a *Group.
type Node interface {
	Path() string
	Kind() string // "array" or "group"
	Describe() json.RawMessage
	Close() error
}

// Open opens the array or group at a path of a store, "" for its root. The
// store must stay usable until the node is closed. Errors are those of
// [zarr.Open], and ErrInternal where the guest died.
func (s *Sandbox) Open(ctx context.Context, st storage.Store, path string, o OpenOptions) (Node, error) {
	n, err := s.openNode(ctx, st, path, "any", o)
	if err != nil {
		return nil, err
	}
	var d struct{ Kind string }
	if err := json.Unmarshal(n.description, &d); err != nil {
		_ = n.Close()
		return nil, internal("describes a node with what is not JSON")
	}
	if d.Kind == "group" {
		return &Group{n}, nil
	}
	return arrayOf(n)
}

// OpenArray opens an array, as Open does.
func (s *Sandbox) OpenArray(ctx context.Context, st storage.Store, path string, o OpenOptions) (*Array, error) {
	n, err := s.openNode(ctx, st, path, "array", o)
	if err != nil {
		return nil, err
	}
	return arrayOf(n)
}

// OpenGroup opens a group, as Open does.
func (s *Sandbox) OpenGroup(ctx context.Context, st storage.Store, path string, o OpenOptions) (*Group, error) {
	n, err := s.openNode(ctx, st, path, "group", o)
	if err != nil {
		return nil, err
	}
	return &Group{n}, nil
}

// Group is a group that was opened in a sandbox.
type Group struct{ *node }

// Kind is "group".
func (*Group) Kind() string { return "group" }

// List returns all nodes below a group. Errors are those of [zarr.List].
func (s *Sandbox) List(ctx context.Context, st storage.Store, path string) ([]zarr.Entry, error) {
	var entries []zarr.Entry
	return entries, s.about(ctx, st, path, wire.KindList, &entries)
}

// Verify reads everything at and below a path and reports what is damaged,
// after all of it was read; see [zarr.Verify].
func (s *Sandbox) Verify(ctx context.Context, st storage.Store, path string, report func(zarr.Damage)) (checked int64, err error) {
	var found struct {
		Checked int64
		Damaged []zarr.Damage
	}
	err = s.about(ctx, st, path, wire.KindVerify, &found)
	for _, d := range found.Damaged {
		report(d)
	}
	return found.Checked, err
}

// about carries out an operation about a place, whose result is JSON.
func (s *Sandbox) about(ctx context.Context, st storage.Store, path string, kind uint32, result any) error {
	p, free, err := s.place(st, path, "", OpenOptions{})
	if err != nil {
		return err
	}
	defer free()
	in, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.put(in)
	req, err := json.Marshal(p)
	if err != nil {
		return fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	r, err := in.do(ctx, kind, req, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(r.bytes, result); err != nil {
		return internal("answers what is not JSON: " + err.Error())
	}
	return nil
}
