package engine

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
)

// asking is the context of an operation on a container: whoever asks whether
// it has ended asks the host whether to go on. So work that reads nothing, as
// that on chunks of zeros, can be cancelled, and lets others run.
type asking struct {
	*Operation
	engine *Engine
}

// Err implements [context.Context].
func (a asking) Err() error { return a.engine.tick(a.Operation) }

// containerPlace is the request of container_open.
type containerPlace struct {
	at     uint32 // of a container that it lies in; 0: none
	key    string // in that
	fs     uint32
	store  *storePlace // of an object of a store; nil: it is in fs
	name   string
	vlmeta bool // of a tree: the frame of a node's metadata
	repair bool // before it is opened
	o      blosc2.Options
}

var durabilities = map[string]blosc2.Durability{
	"": blosc2.SyncOnClose, "close": blosc2.SyncOnClose, "never": blosc2.SyncNever, "commit": blosc2.SyncCommits,
}

var lockings = map[string]blosc2.Locking{"": blosc2.Unlocked, "never": blosc2.Unlocked, "always": blosc2.Locked, "if_possible": blosc2.LockedIfPossible}

// parse takes a request apart; false: it is not as the ABI says.
func (p *containerPlace) parse(m *rawjson.Members) bool {
	p.at, p.key = uint32(m.Int("container", 0, math.MaxUint32, 0)), m.String("key", "")
	p.fs, p.name = uint32(m.Int("fs", 0, math.MaxUint32, 0)), m.String("name", "")
	p.o.Write, p.vlmeta, p.repair = m.Bool("write"), m.Bool("vlmeta"), m.Bool("repair")
	var ok, lockable bool
	p.o.Durability, ok = durabilities[m.String("durability", "")]
	p.o.Locking, lockable = lockings[m.String("locking", "")]
	p.o.LockTimeout = time.Duration(m.Int("lock_timeout_ms", 0, math.MaxInt32, 0)) * time.Millisecond
	p.o.LockNetwork = m.Bool("lock_network")
	ok = ok && lockable
	if raw := m.Raw("store"); raw != nil {
		p.store = &storePlace{}
		ok = ok && p.store.parse(m.Object("store"))
	}
	return ok && m.Err() == nil
}

func (e *Engine) parseContainerOpen(q *request, req []byte) fault.Code {
	q.container = &containerPlace{}
	if !q.container.parse(rawjson.MembersOf(req)) {
		return fault.CodeInvalid
	}
	q.weight = e.memory / 16
	if q.handle = q.container.at; q.handle != 0 {
		if q.at = e.containerOf(q.handle); q.at == nil {
			return fault.CodeClosed
		}
	}
	return 0
}

func (e *Engine) containerOptions(p *containerPlace) blosc2.Options {
	o := p.o
	o.Limits = blosc2.Limits{Index: e.memory / 8, Chunk: e.memory / 4, Meta: e.memory / 16}
	if e.atOnce {
		o.LockTimeout = 0 // waiting is for the host
	}
	return o
}

// fileSystem returns one of the host's, or, under 0, the instance's own in
// memory.
func (e *Engine) fileSystem(id uint32) storage.FS {
	if id != 0 {
		return fileSystem{e, id}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.files == nil {
		e.files = storage.NewMemoryFS(e.memory / 2)
	}
	return e.files
}

func (e *Engine) containerOpen(ctx context.Context, q *request) (answer, error) {
	p := q.container
	o := &object{}
	var err error
	switch {
	case p.at != 0:
		o.owner = q.at
		o.container, err = leafOf(ctx, q.at.container, p)
	case p.store != nil:
		// Its context is that of all reads of the object, not of this operation.
		o.container, err = blosc2.OpenObject(context.Background(), e.store(p.store), p.name, e.containerOptions(p))
	default:
		if p.repair {
			if _, err := blosc2.Repair(ctx, e.fileSystem(p.fs), p.name, e.containerOptions(p)); err != nil {
				return answer{}, err
			}
		}
		o.container, err = blosc2.Open(ctx, e.fileSystem(p.fs), p.name, e.containerOptions(p))
	}
	if err != nil {
		return answer{}, err
	}
	return e.containerAnswer(ctx, q, o)
}

// containerAnswer makes the handle of a container that was opened.
func (e *Engine) containerAnswer(ctx context.Context, q *request, o *object) (answer, error) {
	a, err := inJSON(stateOf(o.container), nil)
	if err == nil {
		a.object, err = e.put(o)
	}
	if err == nil && o.owner != nil {
		o.owner.mu.Lock()
		o.owner.below = append(o.owner.below, a.object)
		o.owner.mu.Unlock()
		if !e.known(q.handle) { // closed meanwhile
			e.handles.Remove(a.object)
			err = fault.New(fault.ErrClosed, "handle", "", "")
		}
	}
	if err != nil {
		return answer{}, errors.Join(err, o.closeContainer(), e.freeMemory(o))
	}
	return a, nil
}

// leafOf opens what lies under a key, or the metadata of a node.
func leafOf(ctx context.Context, c blosc2.Container, p *containerPlace) (blosc2.Container, error) {
	if p.vlmeta {
		t, ok := c.(*blosc2.TreeStore)
		if !ok {
			return nil, wrongKind(c, "metadata of nodes")
		}
		s, err := t.VLMeta(ctx, p.key)
		if err == nil && s == nil {
			err = fault.New(fault.ErrNotFound, "vlmeta", p.key, "the node has none")
		}
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	switch c := c.(type) {
	case *blosc2.EmbedStore:
		return c.Get(ctx, p.key)
	case *blosc2.DictStore:
		return c.Get(ctx, p.key)
	case *blosc2.TreeStore:
		return c.Get(ctx, p.key)
	}
	return nil, wrongKind(c, "keys")
}

func wrongKind(c blosc2.Container, has string) error {
	return fault.New(fault.ErrInvalid, "container", "", "a "+c.Kind()+" has no "+has)
}

// closeContainer closes a container, of an object that is one, or ends the
// hold that it is.
func (o *object) closeContainer() error {
	switch {
	case o.endHold != nil:
		return o.endHold()
	case o.container != nil:
		return o.container.Close()
	}
	return nil
}

// frameOf returns the frame of a container that is one, or lies in one.
func frameOf(c blosc2.Container) *blosc2.SChunk {
	switch c := c.(type) {
	case *blosc2.SChunk:
		return c
	case *blosc2.NDArray:
		return c.SChunk()
	case *blosc2.EmbedStore:
		return c.SChunk()
	case *blosc2.DictStore:
		return c.Embedded().SChunk()
	case *blosc2.TreeStore:
		return c.DictStore().Embedded().SChunk()
	}
	return nil
}

// dataOf is frameOf for calls about what is in the frame.
func dataOf(c blosc2.Container) (*blosc2.SChunk, error) {
	switch c := c.(type) {
	case *blosc2.SChunk:
		return c, nil
	case *blosc2.NDArray:
		return c.SChunk(), nil
	}
	return nil, wrongKind(c, "items: open one of its keys")
}

// stateOf is what a container is at the moment, without a look at the file.
func stateOf(c blosc2.Container) state { return state{c} }

type state struct{ c blosc2.Container }

// WriteJSON implements [rawjson.Value].
func (s state) WriteJSON(w *rawjson.Writer) {
	f := frameOf(s.c)
	w.Open('{')
	w.Name("kind").String(s.c.Kind())
	w.Name("tick").Int(int64(f.ChangeTick()))
	if a, ok := s.c.(*blosc2.NDArray); ok {
		shape := a.Shape()
		w.Name("shape").Ints(shape.Shape)
		w.Name("chunks").Ints(shape.Chunks)
		w.Name("blocks").Ints(shape.Blocks)
		w.Name("dtype").String(a.DType().String())
	}
	if _, err := dataOf(s.c); err == nil {
		h := f.Header()
		w.Name("typesize").Int(int64(h.TypeSize))
		w.Name("chunksize").Int(int64(h.ChunkSize))
		w.Name("blocksize").Int(int64(h.BlockSize))
		w.Name("nchunks").Int(f.NumChunks())
		w.Name("nbytes").Int(h.Size)
		w.Name("cbytes").Int(h.PackedSize)
		w.Name("codec").String(blosc.Codec(h.Codec).String())
		w.Name("level").Int(int64(h.Level))
		w.Name("contiguous").Bool(!h.Sparse)
	}
	writeNames(w.Name("meta"), f.Metalayers())
	if vlmeta, err := f.VLMeta(context.Background()); err == nil {
		writeNames(w.Name("vlmeta"), vlmeta)
	}
	w.Close('}')
}

func writeNames(w *rawjson.Writer, names []string) {
	w.Open('[')
	for _, n := range names {
		w.String(n)
	}
	w.Close(']')
}
