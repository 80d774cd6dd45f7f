package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// ContainerOptions are those of Sandbox.OpenContainer.
type ContainerOptions struct {
	Write      bool              // open for writing too
	Durability blosc2.Durability // of what is written
}

// Container is a Blosc2 container of any kind that was opened in a sandbox: a
// sequence of items, an array, or a store of those. Its methods have the names
// and meanings of package blosc2; one that the kind lacks is ErrInvalid. They
// may be called concurrently; calls of one sandbox take turns. Close it, the
// leaves of a store before the store.
//
// After the guest died a container opens itself again by its name, and shows
// what is there then.
type Container struct {
	sandbox *Sandbox
	recipe  containerRecipe
	parent  *Container // that it is a leaf of; nil: it has a name
	free    func()
	closed  atomic.Bool
	kind    string
}

// containerRecipe is the request of container_open.
type containerRecipe struct {
	FS         uint32          `json:"fs,omitempty"`
	Store      json.RawMessage `json:"store,omitempty"`
	Name       string          `json:"name,omitempty"`
	Container  uint32          `json:"container,omitempty"`
	Key        string          `json:"key,omitempty"`
	VLMeta     bool            `json:"vlmeta,omitempty"`
	Write      bool            `json:"write,omitempty"`
	Durability string          `json:"durability,omitempty"`
}

// ContainerState is what a container is at the moment. Sizes are in bytes.
// The fields of an array, or of a frame, are zero where it is none.
type ContainerState struct {
	Kind string `json:"kind"`
	Tick uint64 `json:"tick"` // changes that were taken over since it was opened

	Shape  []int64 `json:"shape"`
	Chunks []int64 `json:"chunks"`
	Blocks []int64 `json:"blocks"`
	DType  string  `json:"dtype"` // as NumPy writes it

	TypeSize   int64  `json:"typesize"`
	ChunkSize  int64  `json:"chunksize"` // 0: they vary; -1: there was none yet
	BlockSize  int64  `json:"blocksize"`
	NumChunks  int64  `json:"nchunks"`
	Size       int64  `json:"nbytes"`
	PackedSize int64  `json:"cbytes"`
	Codec      string `json:"codec"`
	Level      int    `json:"level"`
	Contiguous bool   `json:"contiguous"`

	Metalayers []string `json:"meta"`
	VLMeta     []string `json:"vlmeta"`
}

var durabilities = map[blosc2.Durability]string{blosc2.SyncOnClose: "close", blosc2.SyncNever: "never", blosc2.SyncCommits: "commit"}

// OpenContainer opens the container of that name, as [blosc2.Open] does. The
// guest reaches what is in fs and nothing else; fs must stay usable until the
// container is closed.
func (s *Sandbox) OpenContainer(ctx context.Context, fs storage.FS, name string, o ContainerOptions) (*Container, error) {
	if fs == nil {
		return nil, fault.New(fault.ErrInvalid, "sandbox", "file system", "is nil")
	}
	id := s.systems.add(fs)
	c := &Container{sandbox: s, free: func() { s.systems.remove(id) }}
	c.recipe = containerRecipe{FS: id, Name: name, Write: o.Write, Durability: durabilities[o.Durability]}
	return c, c.first(ctx)
}

// OpenContainerObject opens an object of a store, for reading: a frame or a
// zip.
func (s *Sandbox) OpenContainerObject(ctx context.Context, st storage.Store, key string) (*Container, error) {
	p, free, err := s.place(st, "", "")
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(p.Store)
	if err != nil {
		free()
		return nil, fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	c := &Container{sandbox: s, free: free, recipe: containerRecipe{Store: raw, Name: key}}
	return c, c.first(ctx)
}

// first opens the container for the first time.
func (c *Container) first(ctx context.Context) error {
	in, err := c.sandbox.take(ctx)
	if err != nil {
		c.free()
		return err
	}
	defer c.sandbox.put(in)
	r, err := c.open(ctx, in)
	if err == nil {
		var st ContainerState
		if st, err = stateOf(r); err == nil {
			c.kind = st.Kind
			in.handles[c] = r.object
		}
	}
	if err != nil {
		c.free()
	}
	return err
}

func stateOf(r reply) (st ContainerState, err error) {
	if json.Unmarshal(r.bytes, &st) != nil {
		err = internal("describes a container with what is not JSON")
	}
	return st, err
}

func (c *Container) open(ctx context.Context, in *instance) (reply, error) {
	recipe := c.recipe
	if c.parent != nil {
		if c.parent.closed.Load() {
			return reply{}, errClosed("container")
		}
		h, err := in.handle(ctx, c.parent)
		if err != nil {
			return reply{}, err
		}
		recipe.Container = h
	}
	req, err := json.Marshal(recipe)
	if err != nil {
		return reply{}, fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	return in.do(ctx, wire.KindContainerOpen, req, nil)
}

// openOn opens it again, on another instance.
func (c *Container) openOn(ctx context.Context, in *instance) (uint32, error) {
	r, err := c.open(ctx, in)
	if err != nil {
		return 0, err
	}
	st, err := stateOf(r)
	if err == nil && st.Kind != c.kind {
		err = fault.New(fault.ErrStale, "container", c.recipe.Name, "it is a "+st.Kind+" by now")
	}
	if err != nil {
		_, _ = in.do(ctx, wire.KindClose, binary.LittleEndian.AppendUint32(nil, r.object), nil)
		return 0, err
	}
	return r.object, nil
}

// Kind is that of [blosc2.Container].
func (c *Container) Kind() string { return c.kind }

// Get opens what lies under a key of a store. ErrNotFound.
func (c *Container) Get(ctx context.Context, key string) (*Container, error) {
	return c.leaf(ctx, containerRecipe{Key: key})
}

// NodeVLMeta opens the frame whose variable-length metalayers are the
// metadata of a node of a tree. ErrNotFound where it has none.
func (c *Container) NodeVLMeta(ctx context.Context, node string) (*Container, error) {
	return c.leaf(ctx, containerRecipe{Key: node, VLMeta: true})
}

func (c *Container) leaf(ctx context.Context, recipe containerRecipe) (*Container, error) {
	if c.closed.Load() {
		return nil, errClosed("container")
	}
	l := &Container{sandbox: c.sandbox, parent: c, free: func() {}, recipe: recipe}
	if err := l.first(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Close closes the container: of one that was written to it reports whether
// that is safe. Later calls give ErrClosed; closing twice is fine.
func (c *Container) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	defer c.free()
	in, err := c.sandbox.take(context.Background())
	if err != nil {
		if errors.Is(err, fault.ErrClosed) {
			return nil
		}
		return err
	}
	defer c.sandbox.put(in)
	for o := range in.handles {
		if l, ok := o.(*Container); ok && l.parent == c {
			delete(in.handles, o) // the guest closes it with its store
		}
	}
	h, ok := in.handles[c]
	if !ok {
		return nil
	}
	delete(in.handles, c)
	_, err = in.do(context.Background(), wire.KindClose, binary.LittleEndian.AppendUint32(nil, h), nil)
	return err
}

// do carries out an operation on the container, whose request req makes of
// its handle.
func (c *Container) do(ctx context.Context, kind uint32, dst []byte, req func(in *instance, h uint32) ([]byte, error)) (reply, error) {
	if c.closed.Load() {
		return reply{}, errClosed("container")
	}
	in, err := c.sandbox.take(ctx)
	if err != nil {
		return reply{}, err
	}
	defer c.sandbox.put(in)
	h, err := in.handle(ctx, c)
	if err != nil {
		return reply{}, err
	}
	b, err := req(in, h)
	if err != nil {
		return reply{}, err
	}
	return in.do(ctx, kind, b, dst)
}
