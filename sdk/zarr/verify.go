package zarr

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Damage is one thing that Verify found, or could not look at.
type Damage struct {
	Item string `json:"item"` // the key, and the subchunk where there is one
	Off  int64  `json:"off"`  // in the object; -1: unknown
	Text string `json:"text"`
	// Unchecked: it may be whole, but takes a codec that is not there.
	Unchecked bool `json:"unchecked,omitempty"`
}

// WriteJSON implements [rawjson.Value].
func (d Damage) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("item").String(d.Item)
	w.Name("off").Int(d.Off)
	w.Name("text").String(d.Text)
	if d.Unchecked {
		w.Name("unchecked").Bool(true)
	}
	w.Close('}')
}

// Verify reads every index, checksum and chunk of the node at a path and of
// the nodes below it, and reports what is damaged. It returns how many
// stored chunks and subchunks it decoded. An error means that it could not
// go on (the store failed, ctx ended), not that it found damage.
func Verify(ctx context.Context, st storage.Store, path string, o Options, report func(Damage)) (checked int64, err error) {
	n, err := Open(ctx, st, path, o)
	if err != nil {
		if damaged(err) {
			report(damageOf(prefixOf(path)+metadataKey, err))
			return 0, nil
		}
		return 0, err
	}
	v := verifier{report: report}
	if a, ok := n.(*Array); ok {
		return v.array(ctx, a)
	}
	nodes, err := List(ctx, st, path, o)
	if err != nil {
		return 0, err
	}
	for _, e := range nodes {
		if e.Kind == "group" {
			continue
		}
		n, err := v.node(ctx, st, e.Path, o)
		checked += n
		if err != nil {
			return checked, err
		}
	}
	return checked, nil
}

type verifier struct{ report func(Damage) }

func (v verifier) node(ctx context.Context, st storage.Store, path string, o Options) (int64, error) {
	a, err := OpenArray(ctx, st, path, o)
	if damaged(err) {
		v.report(damageOf(prefixOf(path)+metadataKey, err))
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return v.array(ctx, a)
}

// damaged tells damage from a failure of the outside.
func damaged(err error) bool {
	return errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrLimit) || errors.Is(err, fault.ErrUnsupported)
}

func damageOf(item string, err error) Damage {
	d := Damage{Item: item, Off: -1, Text: err.Error(), Unchecked: errors.Is(err, fault.ErrUnsupported)}
	for e := (*fault.Error)(nil); errors.As(err, &e); err = e.Err {
		if e.Off >= 0 {
			d.Off = e.Off
		}
	}
	return d
}

// array checks the chunks of an array: those that exist where the store can
// list, and every place of the grid where it cannot.
func (v verifier) array(ctx context.Context, a *Array) (checked int64, err error) {
	chunks, _ := product(a.grid...)
	place := func(k int64) int64 { return k }
	if l, ok := a.store.(storage.Lister); ok {
		there, err := chunksThere(ctx, a, l)
		if err != nil {
			return 0, err
		}
		chunks, place = int64(len(there)), func(k int64) int64 { return there[k] }
	}
	idx := make([]int64, len(a.grid))
	for k := range chunks {
		if err := storage.Ended(ctx, a.path); err != nil {
			return checked, err
		}
		unravel(place(k), a.grid, idx)
		n, err := v.chunk(ctx, a, idx)
		checked += n
		if err != nil && !damaged(err) && fault.CodeOf(err) != fault.CodeIO {
			return checked, err
		}
		if err != nil {
			v.report(damageOf(a.ChunkKey(idx), err))
		}
	}
	return checked, nil
}

// chunk decodes a chunk, or each stored subchunk of a shard by itself.
func (v verifier) chunk(ctx context.Context, a *Array, idx []int64) (checked int64, err error) {
	if !a.byRange || a.shards.inner.sharding() != nil {
		_, err := a.RetrieveChunk(ctx, idx, ReadOptions{})
		if err == nil {
			checked = 1
		}
		return checked, err
	}
	x, err := a.index(ctx, place{shard: linear(idx, a.grid)}, ReadOptions{}, 0)
	if err != nil {
		return 0, err
	}
	n := a.meta.codecs.size(a.shards.sub)
	var dst []byte
	for i := range int64(x.Len()) {
		off, _, ok := x.at(i)
		if !ok {
			continue
		}
		b, err := a.readSubchunk(ctx, x, i, n, dst)
		if err == nil {
			checked, dst = checked+1, b
			continue
		}
		if !damaged(err) {
			return checked, err
		}
		v.report(Damage{Item: x.key + " subchunk " + itoa(i) + " of the shard", Off: off, Text: err.Error()})
		if a.o.Tick != nil {
			if err := a.o.Tick(ctx); err != nil {
				return checked, err
			}
		}
	}
	return checked, nil
}
