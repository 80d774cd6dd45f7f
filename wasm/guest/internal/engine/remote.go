package engine

import (
	"context"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
	"github.com/gridhold/gridhold/sdk/zip"
)

// store returns the store that a request names.
func (e *Engine) store(p *storePlace) storage.Store { return e.tracedStore(p, nil) }

// tracedStore is store, and t is told of requests to servers.
func (e *Engine) tracedStore(p *storePlace, t storage.Trace) storage.Store {
	var st storage.Store = store{engine: e, id: p.ID}
	if p.Kind == "http" {
		st = storage.NewHTTP(fetcher{e}, p.URL, storage.HTTPOptions{
			Clock: clock{e}, ForbiddenIsMissing: p.ForbiddenIsMissing, NoSuffix: p.NoSuffix, Trace: t,
			Gap: p.Gap, MaxMerged: p.MaxMerged, Parallel: p.Parallel,
		})
	}
	if p.Zip == "" {
		return st
	}
	return &archive{inner: st, key: p.Zip, o: zip.Options{Directory: e.memory / 16, Member: e.memory / 4, Keep: e.memory / 16}}
}

// mostParallel bounds the requests that a host may want under way: each pins
// what it reads into.
const mostParallel = 1024

// archive is a zip.Store that is opened when it is first read.
type archive struct {
	inner storage.Store
	key   string
	o     zip.Options
	open  atomic.Pointer[zip.Store]
}

func (a *archive) store(ctx context.Context) (*zip.Store, error) {
	if st := a.open.Load(); st != nil {
		return st, nil
	}
	st, err := zip.Open(ctx, a.inner, a.key, a.o)
	if err != nil {
		return nil, err
	}
	a.open.CompareAndSwap(nil, st) // of two that opened it, one is kept
	return a.open.Load(), nil
}

// ReadRanges implements [storage.Store].
func (a *archive) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	st, err := a.store(ctx)
	if err != nil {
		return nil, storage.ObjectInfo{}, inArchive(a.key, err)
	}
	return st.ReadRanges(ctx, key, rs, want)
}

// List implements [storage.Lister].
func (a *archive) List(ctx context.Context, prefix string) ([]string, error) {
	st, err := a.store(ctx)
	if err != nil {
		return nil, inArchive(a.key, err)
	}
	return st.List(ctx, prefix)
}

// inArchive keeps an archive that is not there from reading as one that lacks
// a member: a chunk that is missing means fill values.
func inArchive(key string, err error) error {
	if fault.CodeOf(err) != fault.CodeNotFound {
		return err
	}
	return fault.New(fault.ErrInvalid, "zip", key, "no such archive")
}

// packPlace names the object that an index pack is.
type packPlace struct {
	store storePlace
	key   string
}

// parse takes it apart; false: it is not as the ABI says.
func (p *packPlace) parse(m *rawjson.Members) bool {
	p.key = m.String("key", "")
	return p.store.parse(m.Object("store")) && m.Err() == nil && p.key != ""
}

// indexPack reads the pack that a request names.
func (e *Engine) indexPack(ctx context.Context, p *packPlace) (*zarr.IndexPack, error) {
	b, _, err := storage.ReadAll(ctx, e.store(&p.store), p.key, e.memory/4)
	if err != nil {
		return nil, err
	}
	return zarr.ParseIndexPack(b)
}

// mustBeTheHosts refuses to tell the host where bytes lie in what is no object
// of its own.
func (o *object) mustBeTheHosts() error {
	if !o.zipped {
		return nil
	}
	return fault.New(fault.ErrUnsupported, "zip", "", "members of an archive are read by the guest")
}

// tableOf returns the index that the host is to read by. The host takes what
// the table lacks for fill values, of which an index pack is no proof.
func (q *request) tableOf(ctx context.Context) (*zarr.ShardIndex, error) {
	o := q.options()
	x, err := q.at.array.ShardIndex(ctx, q.index, o)
	if err != nil || !x.Packed() {
		return x, err
	}
	for i := range x.Len() {
		if _, _, ok := x.At(i); !ok {
			o.Reload = true
			return q.at.array.ShardIndex(ctx, q.index, o)
		}
	}
	return x, nil
}

// statistics are the answer of cache_stats.
type statistics struct {
	cache.Stats
	tally *storage.Tally // nil: the array is not traced
}

// WriteJSON implements [rawjson.Value].
func (s statistics) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	s.WriteMembers(w)
	if s.tally != nil {
		w.Name("cost")
		s.tally.Cost().WriteJSON(w)
	}
	w.Close('}')
}
