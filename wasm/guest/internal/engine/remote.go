package engine

import (
	"context"

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
	return zip.OpenLater(st, p.Zip, zip.Options{Directory: e.memory / 16, Member: e.memory / 4, Keep: e.memory / 16})
}

// mostParallel bounds the requests that a host may want under way: each pins
// what it reads into.
const mostParallel = 1024

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
