package zarr

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/gridhold/gridhold/sdk/storage"
)

// RetrieveSubchunks returns the elements of several subchunks, in the order
// asked for, as RetrieveSubchunk would: the stored bytes of those that lie in
// one shard are read in one batch and decoded side by side. Errors are those
// of RetrieveSubchunk; the first ends the batch.
func (a *Array) RetrieveSubchunks(ctx context.Context, idxs [][]int64, o ReadOptions) ([][]byte, error) {
	o.Dst = nil
	places, err := a.places(idxs, o)
	if err != nil {
		return nil, err
	}
	if o.Cache == nil {
		o.Cache = a.ShardCache(CacheOptions{}) // for this batch
	}
	out := make([][]byte, len(idxs))
	if !a.byRange || a.meta.elem.variable || a.meta.codecs.order != nil {
		return whole(out, parallel(len(idxs), a.atOnce(), func(i int) (err error) {
			out[i], err = a.RetrieveSubchunk(ctx, idxs[i], o)
			return err
		}))
	}
	n := a.meta.codecs.size(a.shards.sub)
	if err := a.o.Limits.check("subchunk", n, true); err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = make([]byte, n)
	}
	shards := byShard(places)
	return whole(out, parallel(len(shards), a.atOnce(), func(k int) error {
		return a.batchOfShard(ctx, shards[k], places, out, o)
	}))
}

// whole returns a batch if all of it was read.
func whole(out [][]byte, err error) ([][]byte, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}

// places finds the subchunks of a batch.
func (a *Array) places(idxs [][]int64, o ReadOptions) ([]place, error) {
	out := make([]place, len(idxs))
	for i, idx := range idxs {
		var err error
		if out[i], err = a.locate(idx, o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// byShard groups the positions of a batch by their shards.
func byShard(places []place) [][]int {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(places[a].shard, places[b].shard) })
	var out [][]int
	for i, p := range order {
		if i == 0 || places[p].shard != places[order[i-1]].shard {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// batchOfShard reads the subchunks of one shard into out.
func (a *Array) batchOfShard(ctx context.Context, which []int, places []place, out [][]byte, o ReadOptions) error {
	s := a.shards
	r := reader{cache: o.Cache, limits: a.o.Limits, tick: a.o.Tick, trace: a.o.Trace}
	for attempt := 0; ; attempt++ {
		x, err := a.index(ctx, places[which[0]], o, attempt)
		if err != nil {
			return err
		}
		ref, empty := a.refOf(x, places[which[0]].shard), false
		l := r.load(&ref)
		lo, whole := make([]int64, len(s.sub)), cOrder(nil, s.sub, s.elem.size)
		for _, i := range which {
			p := part{i: places[i].inner, lo: lo, hi: s.sub, out: view{buf: out[i], stride: whole.stride}}
			off, n, ok := x.at(p.i)
			if !ok {
				empty = true
				fillAll(out[i], a.meta.fill)
				continue
			}
			p.r = storage.Range{Off: off, Len: n}
			if err = l.add(ctx, p); err != nil {
				break
			}
		}
		if err == nil && empty {
			err = ref.from.check(ctx)
		}
		if err == nil {
			err = l.decode(ctx)
		}
		l.release()
		if !again(err, attempt) {
			return chunkError(err, x.key)
		}
	}
}

// refOf is the reference to a shard whose index is known.
func (a *Array) refOf(x *ShardIndex, shard int64) shardRef {
	idx := make([]int64, len(a.grid))
	unravel(shard, a.grid, idx)
	ref := a.shardRef(idx, false)
	ref.from.version, ref.from.packed = x.info.Version, x.packed
	return ref
}

// LocateSubchunks is Locate for several subchunks, in the order asked for. A
// subchunk that is not stored has the zero Location, whose Key is empty.
func (a *Array) LocateSubchunks(ctx context.Context, idxs [][]int64, o ReadOptions) ([]Location, error) {
	if o.Cache == nil {
		o.Cache = a.ShardCache(CacheOptions{})
	}
	places, err := a.places(idxs, o)
	if err != nil {
		return nil, err
	}
	out := make([]Location, len(idxs))
	reload, reloaded := o.Reload, map[int64]bool{} // each shard's index once
	for i, idx := range idxs {
		o.Reload = reload && !reloaded[places[i].shard]
		reloaded[places[i].shard] = true
		l, ok, err := a.Locate(ctx, idx, o)
		if err != nil {
			return nil, err
		}
		if ok {
			out[i] = l
		}
	}
	return out, nil
}

// Subchunk is one subchunk of an iteration.
type Subchunk struct {
	Index []int64 // in the subchunk grid
	Data  []byte  // as RetrieveSubchunk returns it; the caller's
}

// iterationBatch is how many subchunks an iteration reads ahead.
const iterationBatch = 64

// Subchunks iterates over all subchunks, shard by shard, so that each shard's
// index is loaded once and neighbours are read together. It ends after an
// error.
func (a *Array) Subchunks(ctx context.Context, o ReadOptions) iter.Seq2[Subchunk, error] {
	return func(yield func(Subchunk, error) bool) {
		if err := o.Cache.check(a); err != nil {
			yield(Subchunk{}, err)
			return
		}
		if o.Cache == nil {
			o.Cache = a.ShardCache(CacheOptions{})
		}
		chunks, _ := product(a.grid...)
		chunk := make([]int64, len(a.grid))
		for k := range chunks {
			unravel(k, a.grid, chunk)
			for batch := range slices.Chunk(a.subchunksOf(chunk), iterationBatch) {
				data, err := a.RetrieveSubchunks(ctx, batch, o)
				if err != nil {
					yield(Subchunk{}, err)
					return
				}
				for i := range batch {
					if !yield(Subchunk{batch[i], data[i]}, nil) {
						return
					}
				}
			}
		}
	}
}

// subchunksOf lists the subchunks of a chunk that hold elements of the array.
func (a *Array) subchunksOf(chunk []int64) [][]int64 {
	if a.shards == nil {
		return [][]int64{slices.Clone(chunk)}
	}
	edge := a.meta.grid.chunkShape(chunk)
	first, count := make([]int64, len(chunk)), make([]int64, len(chunk))
	total := int64(1)
	for i := range chunk {
		origin := a.meta.grid.origin(i, chunk[i])
		first[i] = origin / a.subEdge[i]
		count[i] = min((origin+edge[i])/a.subEdge[i], a.subGrid[i]) - first[i]
		total *= count[i]
	}
	out := make([][]int64, total)
	for k := range out {
		idx := make([]int64, len(chunk))
		unravel(int64(k), count, idx)
		for i := range idx {
			idx[i] += first[i]
		}
		out[k] = idx
	}
	return out
}
