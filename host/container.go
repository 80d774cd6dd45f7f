package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// ContainerOptions are those of Sandbox.OpenContainer.
type ContainerOptions struct {
	Write      bool              // open for writing too
	Durability blosc2.Durability // of what is written
	// Locking, LockTimeout and LockNetwork are those of [blosc2.Options]. The
	// locks are the process's: those of package native/file, or what a method
	// Locker of the file system gives.
	Locking     blosc2.Locking
	LockTimeout time.Duration
	LockNetwork bool
	// Repair looks for a state that the container's header does not lead to and
	// puts it back before the container is opened, as [blosc2.Repair] does.
	// After the guest died it is not done again.
	Repair bool
}

// Container is a Blosc2 container of any kind that was opened in a sandbox: a
// sequence of items, an array, or a store of those. Its methods have the names
// and meanings of package blosc2; one that the kind lacks is ErrInvalid. They
// may be called concurrently; those of one container take turns. Close it, the
// leaves of a store before the store.
//
// After the guest died a container opens itself again by its name, and shows
// what is there then.
type Container struct {
	sandbox *Sandbox
	recipe  containerRecipe
	parent  *Container // that it is a leaf of; nil: it has a name
	home    *slot      // whose instance has it: no other sees what it holds
	free    func()
	timeout time.Duration // of each wait for the lock; 0: none
	held    bool          // it is a hold, and ends with its instance
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
	Locking    string          `json:"locking,omitempty"`
	LockMS     int64           `json:"lock_timeout_ms,omitempty"`
	Network    bool            `json:"lock_network,omitempty"`
	Repair     bool            `json:"repair,omitempty"`
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

// lock puts how to write and lock into the recipe.
func (c *Container) lock(o ContainerOptions) {
	c.recipe.Durability, c.recipe.Locking, c.recipe.Network = durabilities[o.Durability], lockings[o.Locking], o.LockNetwork
	c.recipe.LockMS, c.timeout = o.LockTimeout.Milliseconds(), o.LockTimeout
}

var lockings = map[blosc2.Locking]string{blosc2.Unlocked: "never", blosc2.Locked: "always", blosc2.LockedIfPossible: "if_possible"}

var durabilities = map[blosc2.Durability]string{blosc2.SyncOnClose: "close", blosc2.SyncNever: "never", blosc2.SyncCommits: "commit"}

// OpenContainer opens the container of that name, as [blosc2.Open] does. The
// guest reaches what is in fs and nothing else; fs must stay usable until the
// container is closed.
func (s *Sandbox) OpenContainer(ctx context.Context, fs storage.FS, name string, o ContainerOptions) (*Container, error) {
	if fs == nil {
		return nil, fault.New(fault.ErrInvalid, "sandbox", "file system", "is nil")
	}
	id := s.systems.add(fs)
	free, err := s.admit(func() { s.systems.remove(id) })
	if err != nil {
		return nil, err
	}
	c := &Container{sandbox: s, free: free}
	c.recipe = containerRecipe{FS: id, Name: name, Write: o.Write, Repair: o.Repair}
	c.lock(o)
	if err := c.first(ctx); err != nil {
		return nil, err
	}
	c.recipe.Repair = false
	return c, nil
}

// OpenContainerObject opens an object of a store, for reading: a frame or a
// zip.
func (s *Sandbox) OpenContainerObject(ctx context.Context, st storage.Store, key string) (*Container, error) {
	p, free, err := s.lend(st)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(p)
	if err != nil {
		free()
		return nil, fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	if free, err = s.admit(free); err != nil {
		return nil, err
	}
	c := &Container{sandbox: s, free: free, recipe: containerRecipe{Store: raw, Name: key}}
	if err := c.first(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// first opens the container for the first time.
func (c *Container) first(ctx context.Context) error {
	r, err := locked(ctx, c.timeout, func() (reply, bool, error) {
		return c.once(ctx, func(in *instance) (reply, error) {
			r, err := c.open(ctx, in)
			if err == nil {
				in.handles[c] = r.object
			}
			return r, err
		})
	})
	if err == nil {
		var st ContainerState
		st, err = stateOf(r)
		c.kind = st.Kind
	}
	if err != nil {
		c.free()
	}
	return err
}

// once takes the instance for one operation, and says whether that met a lock
// that another holds.
func (c *Container) once(ctx context.Context, do func(in *instance) (reply, error)) (_ reply, waits bool, err error) {
	in, err := c.sandbox.takeAt(ctx, c.home)
	if err != nil {
		return reply{}, false, err
	}
	defer c.sandbox.put(in)
	in.waits = false
	r, err := do(in)
	if err == nil && c.home == nil { // it was just opened, and nobody else has it
		c.home = in.slot
	}
	return r, in.waits, err
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
	if c.closed.Load() {
		return 0, errClosed("container")
	}
	if c.held {
		return 0, fault.New(fault.ErrClosed, "lock", "", "the hold ended with the guest")
	}
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
	free, err := c.sandbox.admit(func() {})
	if err != nil {
		return nil, err
	}
	l := &Container{sandbox: c.sandbox, parent: c, home: c.home, free: free, recipe: recipe}
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
	return c.sandbox.endAt(c, c.home, c.free)
}

// within is the store that a leaf is closed with.
func (c *Container) within() opener {
	if c.parent == nil {
		return nil
	}
	return c.parent
}

// do carries out an operation on the container, whose request req makes of
// its handle.
// Where that makes a container, it is made's.
func (c *Container) do(ctx context.Context, kind uint32, dst []byte, req func(in *instance, h uint32) ([]byte, error), made ...*Container) (reply, error) {
	if c.closed.Load() {
		return reply{}, errClosed("container")
	}
	return locked(ctx, c.timeout, func() (reply, bool, error) {
		return c.once(ctx, func(in *instance) (reply, error) {
			h, err := in.handle(ctx, c)
			if err != nil {
				return reply{}, err
			}
			b, err := req(in, h)
			if err != nil {
				return reply{}, err
			}
			r, err := in.do(ctx, kind, b, dst)
			if err == nil && made != nil {
				in.handles[made[0]] = r.object
			}
			return r, err
		})
	})
}

// HoldingLock calls do with the container held exclusively: see
// [blosc2.SChunk.HoldingLock]. held is closed when do returns, and gone when
// the guest dies: its calls are ErrClosed then.
func (c *Container) HoldingLock(ctx context.Context, do func(ctx context.Context, held *Container) error) error {
	return c.holding(ctx, false, do)
}

// HoldingSharedLock calls do with the container held shared.
func (c *Container) HoldingSharedLock(ctx context.Context, do func(ctx context.Context, held *Container) error) error {
	return c.holding(ctx, true, do)
}

func (c *Container) holding(ctx context.Context, shared bool, do func(ctx context.Context, held *Container) error) (err error) {
	held := &Container{sandbox: c.sandbox, parent: c, home: c.home, free: func() {}, held: true, kind: c.kind, timeout: c.timeout}
	_, err = c.do(ctx, wire.KindContainerDo, nil, func(in *instance, h uint32) ([]byte, error) {
		return json.Marshal(deed{Container: h, Do: "hold", Shared: shared})
	}, held)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	return do(ctx, held)
}
