package engine

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
	"github.com/gridhold/gridhold/wasm/wire"
)

// answer is what an operation came to.
type answer struct {
	kind   uint32
	bytes  []byte
	from   *buffers // where bytes go when they are dropped; nil: nowhere
	object uint32
	off    int64
	length int64
}

// do carries out a request.
func (e *Engine) do(ctx context.Context, q *request) (answer, error) {
	switch q.kind {
	case wire.KindReadSubchunk:
		return e.readSubchunk(ctx, q)
	case wire.KindReadEncoded:
		return e.readEncoded(ctx, q)
	case wire.KindReadRegion:
		return e.readRegion(ctx, q)
	case wire.KindShardTable:
		return e.shardTable(ctx, q)
	case wire.KindLocate:
		return e.locate(ctx, q)
	case wire.KindReadSubchunks:
		return e.readSubchunks(ctx, q)
	case wire.KindLocateSubchunks:
		return e.locateSubchunks(ctx, q)
	case wire.KindDecode:
		b, err := q.at.array.DecodeSubchunk(ctx, q.data, q.at.buffers.get())
		return answer{kind: wire.Bytes, bytes: b, from: q.at.buffers}, err
	case wire.KindOpen:
		return e.open(ctx, q.place)
	case wire.KindVerify:
		return e.verify(ctx, q.place)
	case wire.KindList:
		entries, err := zarr.List(ctx, e.store(&q.place.Store), q.place.Path, e.optionsAt(q.place))
		return inJSON(listing(entries), err)
	case wire.KindClose:
		open, err := e.close(q.handle)
		if !open {
			return answer{}, fault.New(fault.ErrClosed, "handle", "", "")
		}
		return answer{}, err
	}
	if q.kind >= wire.KindImagesOpen {
		return e.doImages(ctx, q)
	}
	if q.kind >= wire.KindContainerOpen {
		return e.doContainer(ctx, q)
	}
	return e.doCache(q)
}

func (e *Engine) doContainer(ctx context.Context, q *request) (answer, error) {
	if op := operationOf(ctx); op != nil {
		ctx = asking{op, e}
	}
	switch q.kind {
	case wire.KindContainerOpen:
		return e.containerOpen(ctx, q)
	case wire.KindContainerCreate:
		return e.containerCreate(ctx, q)
	case wire.KindContainerRead:
		return e.containerRead(ctx, q)
	case wire.KindContainerWrite:
		return e.containerWrite(ctx, q)
	}
	return e.containerDo(ctx, q)
}

func (e *Engine) doCache(q *request) (answer, error) {
	switch q.kind {
	case wire.KindCacheNew:
		return e.cacheNew(q)
	case wire.KindCacheStats:
		return inJSON(statistics{q.at.cache.Stats(), q.at.owner.tally}, nil)
	case wire.KindCacheClear:
		q.at.cache.Clear()
		return answer{}, nil
	case wire.KindCacheInvalidate:
		q.at.cache.Invalidate(q.index)
		return answer{}, nil
	}
	return answer{}, fault.New(fault.ErrUnsupported, "operation", "", "no such kind")
}

func (e *Engine) open(ctx context.Context, p *place) (answer, error) {
	var tally *storage.Tally
	if p.Trace {
		tally = new(storage.Tally)
	}
	node, err := e.find(ctx, p, tally)
	if err != nil {
		return answer{}, err
	}
	if p.Node != "any" && p.Node != node.Kind() {
		return answer{}, fault.New(fault.ErrInvalid, "zarr", "/"+p.Path, "is of the kind "+node.Kind()+", want "+p.Node)
	}
	a, err := inJSON(node.Describe(), nil)
	if err != nil {
		return answer{}, err
	}
	o := &object{}
	switch n := node.(type) {
	case *zarr.Array:
		var host uint32
		if p.Store.Kind == "host" {
			host = p.Store.ID
		}
		o = arrayObject(n, host)
		o.zipped, o.tally = p.Store.Zip != "", tally
	case *zarr.Group:
		o.group = n
	}
	a.object, err = e.put(o)
	return a, err
}

// find opens a node: from the consolidated metadata of the root if that is
// asked for and there is some.
func (e *Engine) find(ctx context.Context, p *place, tally *storage.Tally) (zarr.Node, error) {
	o := e.optionsAt(p)
	if tally != nil {
		o.Trace = tally.Note
	}
	st := e.tracedStore(&p.Store, o.Trace)
	if p.IndexPack != nil {
		var err error
		if o.IndexPack, err = e.indexPack(ctx, p.IndexPack); err != nil {
			return nil, err
		}
	}
	if p.Consolidated && p.Path != "" {
		root, err := zarr.Open(ctx, st, "", o)
		if err != nil && !errors.Is(err, fault.ErrNotFound) {
			return nil, err
		}
		if g, ok := root.(*zarr.Group); ok {
			return g.Open(ctx, p.Path)
		}
	}
	return zarr.Open(ctx, st, p.Path, o)
}

func (e *Engine) optionsAt(p *place) zarr.Options {
	o := e.options()
	o.Consolidated = p.Consolidated
	return o
}

func (e *Engine) cacheNew(q *request) (answer, error) {
	// The guest's memory is small: what is not asked for takes an eighth of
	// it, and no cache more than a quarter.
	budget := q.budget
	if budget == 0 {
		budget = min(e.memory/8, 256<<20)
	}
	budget = min(budget, e.memory/4)
	c := q.at.array.ShardCache(zarr.CacheOptions{Budget: budget, RememberMissing: q.flags&wire.FlagRememberMissing != 0})
	h, err := e.put(&object{cache: c, owner: q.at})
	if err != nil {
		return answer{}, err
	}
	q.at.mu.Lock()
	q.at.below = append(q.at.below, h)
	q.at.mu.Unlock()
	if !e.known(q.handle) { // the array was closed meanwhile
		e.handles.Remove(h)
		return answer{}, fault.New(fault.ErrClosed, "handle", "", "")
	}
	return answer{object: h}, nil
}

func (e *Engine) verify(ctx context.Context, p *place) (answer, error) {
	var found findings
	var err error
	found.checked, err = zarr.Verify(ctx, e.store(&p.Store), p.Path, e.options(), func(d zarr.Damage) {
		found.damaged = append(found.damaged, d)
	})
	return inJSON(found, err)
}

// listing is the answer of list.
type listing []zarr.Entry

// WriteJSON implements [rawjson.Value].
func (l listing) WriteJSON(w *rawjson.Writer) {
	w.Open('[')
	for _, entry := range l {
		entry.WriteJSON(w)
	}
	w.Close(']')
}

// findings are the answer of verify.
type findings struct {
	checked int64
	damaged []zarr.Damage
}

// WriteJSON implements [rawjson.Value].
func (f findings) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("checked").Int(f.checked)
	w.Name("damaged").Open('[')
	for _, d := range f.damaged {
		d.WriteJSON(w)
	}
	w.Close(']')
	w.Close('}')
}

func inJSON(v rawjson.Value, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{kind: wire.JSON, bytes: rawjson.Marshal(v)}, nil
}
