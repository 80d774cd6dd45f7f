package host

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
	"github.com/gridhold/gridhold/wasm/wire"
)

// Array is an array that was opened in a sandbox. Its methods have the names
// and meanings of [zarr.Array], and may be called concurrently. Close it.
type Array struct {
	*node
	info    zarr.ArrayDescription
	fill    []byte
	counter *ShardCache // by which Cost asks; it keeps no index
	chain   *chain      // nil: only the guest decodes
}

func arrayOf(n *node) (*Array, error) {
	a := &Array{node: n}
	a.counter = a.ShardCache(CacheOptions{Budget: 1})
	err := json.Unmarshal(n.description, &a.info)
	if err == nil {
		a.fill, err = hex.DecodeString(a.info.FillHex)
	}
	if err != nil {
		_ = n.Close()
		return nil, internal("describes an array with what is not its JSON")
	}
	a.chain = a.chainOf()
	return a, nil
}

// Kind is "array".
func (*Array) Kind() string { return "array" }

// Info is the description that Describe returns as JSON.
func (a *Array) Info() zarr.ArrayDescription { return a.info }

// Shape is the array's, in elements.
func (a *Array) Shape() []int64 { return a.info.Shape }

// ChunkShape is that of a chunk, or of a shard.
func (a *Array) ChunkShape() []int64 { return a.info.ChunkShape }

// ChunkGridShape is how many chunks there are along each axis.
func (a *Array) ChunkGridShape() []int64 { return a.info.ChunkGridShape }

// SubchunkShape is that of what a shard is made of; nil if not sharded.
func (a *Array) SubchunkShape() []int64 { return a.info.SubchunkShape }

// EffectiveSubchunkShape is the shape of what RetrieveSubchunk returns.
func (a *Array) EffectiveSubchunkShape() []int64 { return a.info.EffectiveSubchunkShape }

// SubchunkGridShape is how many subchunks there are along each axis.
func (a *Array) SubchunkGridShape() []int64 { return a.info.SubchunkGridShape }

// IsSharded says whether chunks are shards.
func (a *Array) IsSharded() bool { return a.info.IsSharded }

// IsExclusivelySharded says whether a shard is stored as it is, so that its
// subchunks can be read by themselves.
func (a *Array) IsExclusivelySharded() bool { return a.info.ExclusivelySharded }

// DataType is the name of the type of the elements.
func (a *Array) DataType() string { return a.info.DataType }

// ItemSize is the number of bytes of an element.
func (a *Array) ItemSize() int64 { return a.info.ItemSize }

// FillValue is the bytes of one element that was never written.
func (a *Array) FillValue() []byte { return a.fill }

// Attributes is the JSON of the array's attributes.
func (a *Array) Attributes() json.RawMessage { return a.info.Attributes }

// DimensionNames are the names of the axes, "" for one without; nil if none
// is named.
func (a *Array) DimensionNames() []string {
	if a.info.DimensionNames == nil {
		return nil
	}
	names := make([]string, len(a.info.DimensionNames))
	for i, n := range a.info.DimensionNames {
		if n != nil {
			names[i] = *n
		}
	}
	return names
}

// ReadOptions are those of one read.
type ReadOptions struct {
	Cache  *ShardCache // nil: the index is loaded for this read alone
	Dst    []byte      // where the result goes if it is large enough
	Reload bool        // drop the shard's index first; see ShardCache.Invalidate for all instances
}

// RetrieveSubchunk is [zarr.Array.RetrieveSubchunk].
func (a *Array) RetrieveSubchunk(ctx context.Context, idx []int64, o ReadOptions) ([]byte, error) {
	if a.chain != nil && o.Cache != nil && !o.Reload && ctx.Err() == nil {
		b, ok, reload, err := a.warm(ctx, idx, o)
		if ok || err != nil {
			return b, err
		}
		o.Reload = reload
	}
	r, err := a.read(ctx, wire.KindReadSubchunk, idx, nil, o)
	return r.bytes, err
}

// RetrieveEncodedSubchunk is [zarr.Array.RetrieveEncodedSubchunk].
func (a *Array) RetrieveEncodedSubchunk(ctx context.Context, idx []int64, o ReadOptions) ([]byte, error) {
	r, err := a.read(ctx, wire.KindReadEncoded, idx, nil, o)
	if err != nil || r.kind == wire.None {
		return nil, err
	}
	return r.bytes, nil
}

// RetrieveRegion is [zarr.Array.RetrieveRegion].
func (a *Array) RetrieveRegion(ctx context.Context, start, stop []int64, o ReadOptions) ([]byte, error) {
	if len(start) != len(stop) {
		return nil, fault.New(fault.ErrInvalid, "region", "", "start and stop are not of one length")
	}
	r, err := a.read(ctx, wire.KindReadRegion, start, stop, o)
	return r.bytes, err
}

// Locate is [zarr.Array.Locate]. Raw is not told and stays false.
func (a *Array) Locate(ctx context.Context, idx []int64, o ReadOptions) (zarr.Location, bool, error) {
	r, err := a.read(ctx, wire.KindLocate, idx, nil, ReadOptions{Cache: o.Cache, Reload: o.Reload})
	if err != nil || r.kind == wire.None {
		return zarr.Location{}, false, err
	}
	if len(r.bytes) >= 8 {
		k, v := uint64(u32(r.bytes, 0)), uint64(u32(r.bytes, 4))
		if names := r.bytes[8:]; k+v == uint64(len(names)) {
			return zarr.Location{Key: string(names[:k]), Version: storage.Version(names[k:]), Off: r.off, Len: r.length}, true, nil
		}
	}
	return zarr.Location{}, false, internal("answers a place that is cut")
}

// DecodeSubchunk is [zarr.Array.DecodeSubchunk]; the result never shares
// memory with encoded.
func (a *Array) DecodeSubchunk(ctx context.Context, encoded, dst []byte) ([]byte, error) {
	in, h, err := a.enter(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer a.sandbox.put(in)
	r, err := in.do(ctx, wire.KindDecode, append(binary.LittleEndian.AppendUint32(nil, h), encoded...), dst)
	return r.bytes, err
}

// read carries out one of the requests that name a place in the array.
func (a *Array) read(ctx context.Context, kind uint32, start, stop []int64, o ReadOptions) (reply, error) {
	if o.Reload && o.Cache != nil {
		o.Cache.outdate(a, start, stop)
	}
	in, h, err := a.enter(ctx, o.Cache)
	if err != nil {
		return reply{}, err
	}
	defer a.sandbox.put(in)
	var c, flags uint32
	if o.Cache != nil {
		if c, err = in.handle(ctx, o.Cache); err != nil {
			return reply{}, err
		}
	}
	if o.Reload {
		flags = wire.FlagReload
	}
	in.cache = o.Cache
	le := binary.LittleEndian
	req := in.scratch[:0]
	req = le.AppendUint32(le.AppendUint32(req, h), c)
	req = le.AppendUint32(le.AppendUint32(req, flags), uint32(len(start)))
	req = appendDims(appendDims(req, start), stop)
	in.scratch = req
	return in.do(ctx, kind, req, o.Dst)
}

// enter takes the instance and the array's handle on it. The caller puts the
// instance back unless there is an error.
func (a *Array) enter(ctx context.Context, c *ShardCache) (*instance, uint32, error) {
	if a.closed.Load() || c != nil && (c.closed.Load() || c.array.closed.Load()) {
		return nil, 0, errClosed("array")
	}
	if c != nil && c.array.sandbox != a.sandbox {
		return nil, 0, fault.New(fault.ErrWrongArray, "zarr", "/"+a.place.Path, "the shard cache is of another sandbox")
	}
	in, err := a.sandbox.take(ctx)
	if err != nil {
		return nil, 0, err
	}
	h, err := in.handle(ctx, a.node)
	if err != nil {
		a.sandbox.put(in)
		return nil, 0, err
	}
	return in, h, nil
}

func appendDims(b []byte, dims []int64) []byte {
	b = slices.Grow(b, 8*len(dims))
	for _, d := range dims {
		b = binary.LittleEndian.AppendUint64(b, uint64(d))
	}
	return b
}
