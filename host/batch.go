package host

import (
	"context"
	"encoding/binary"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// RetrieveSubchunks is [zarr.Array.RetrieveSubchunks]. The slices share
// memory, o.Dst if that is large enough for all of them.
func (a *Array) RetrieveSubchunks(ctx context.Context, idxs [][]int64, o ReadOptions) ([][]byte, error) {
	for _, idx := range idxs {
		if len(idx) != len(a.info.Shape) {
			return nil, fault.New(fault.ErrInvalid, "subchunk", "", "has not as many indices as the array has axes")
		}
	}
	if o.Reload && o.Cache != nil {
		o.Cache.tables.Clear()
	}
	in, h, err := a.enter(ctx, o.Cache)
	if err != nil {
		return nil, err
	}
	defer a.sandbox.put(in)
	var c, flags uint32
	if o.Cache != nil {
		if c, err = in.handle(ctx, o.Cache); err != nil {
			return nil, err
		}
	}
	if o.Reload {
		flags = wire.FlagReload
	}
	in.cache = o.Cache
	le := binary.LittleEndian
	req := in.scratch[:0]
	for _, word := range []uint32{h, c, flags, uint32(len(a.info.Shape)), uint32(len(idxs))} {
		req = le.AppendUint32(req, word)
	}
	for _, idx := range idxs {
		req = appendDims(req, idx)
	}
	if cap(req) <= keptScratch {
		in.scratch = req
	}
	r, err := in.do(ctx, wire.KindReadSubchunks, req, o.Dst)
	if err != nil {
		return nil, err
	}
	return batched(r.bytes, len(idxs))
}

// batched takes a gh_batch apart.
func batched(b []byte, count int) ([][]byte, error) {
	if count > len(b)/8 {
		return nil, internal("answers a batch that is cut")
	}
	out := make([][]byte, count)
	begin := uint64(8 * count)
	for i := range out {
		end := binary.LittleEndian.Uint64(b[8*i:])
		if end < begin || end > uint64(len(b)) {
			return nil, internal("answers a batch whose parts lie outside it")
		}
		out[i] = b[begin:end:end]
		begin = end
	}
	return out, nil
}
