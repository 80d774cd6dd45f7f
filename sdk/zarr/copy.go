package zarr

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// Copied is the progress of a copy.
type Copied struct {
	Chunks, Total int64 // chunks (shards) of the target
	Bytes         int64 // of elements
}

// Copy writes all elements of src into dst, an array of the same shape and
// data type that may be cut and encoded otherwise. ErrInvalid if the arrays do
// not match; otherwise as Fill.
func Copy(ctx context.Context, dst, src *Array, progress func(Copied)) error {
	if from, to := typeText(src.meta.dtype), typeText(dst.meta.dtype); from != to {
		return fault.New(fault.ErrInvalid, "zarr", "copy", "from "+from+" to "+to)
	}
	if !slices.Equal(dst.Shape(), src.Shape()) {
		return fault.New(fault.ErrInvalid, "zarr", "copy", "from shape "+tuple(src.Shape())+" to "+tuple(dst.Shape()))
	}
	cache := src.ShardCache(CacheOptions{})
	return dst.Fill(ctx, func(ctx context.Context, start, stop []int64) ([]byte, error) {
		return src.RetrieveRegion(ctx, start, stop, ReadOptions{Cache: cache})
	}, progress)
}

// Fill writes all elements of the array. read gives those of a region, as
// RetrieveRegion does; it is called from several goroutines. The array is
// filled chunk by chunk (shard by shard), as many at a time as there are
// processors, so that no more of them are in memory. progress (nil: none) is
// called after each, one call at a time. Errors are those of read and of
// StoreRegion; what was written before stays.
func (a *Array) Fill(ctx context.Context, read func(ctx context.Context, start, stop []int64) ([]byte, error), progress func(Copied)) error {
	chunks, _ := product(a.grid...)
	done := Copied{Total: chunks}
	var mu sync.Mutex
	return parallel(int(chunks), runtime.GOMAXPROCS(0), func(k int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		idx := make([]int64, len(a.grid))
		unravel(int64(k), a.grid, idx)
		start, stop := a.chunkBounds(idx)
		for i := range stop {
			stop[i] = min(stop[i], a.meta.shape[i])
		}
		data, err := read(ctx, start, stop)
		if err != nil {
			return err
		}
		if err := a.StoreRegion(ctx, start, stop, data); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		done.Chunks, done.Bytes = done.Chunks+1, done.Bytes+int64(len(data))
		if progress != nil {
			progress(done)
		}
		return nil
	})
}

// Like describes an array as it is, to be changed and created elsewhere: for
// a copy that is cut or encoded otherwise. The codecs are those of a
// subchunk; filters and what lies around shards are left out, so is the
// encoding of Zarr v2. ErrUnsupported for chunks of many shapes.
func (a *Array) Like() (ArraySpec, error) {
	if a.ChunkShape() == nil && len(a.Shape()) > 0 {
		return ArraySpec{}, fault.New(fault.ErrUnsupported, "zarr", "/"+a.path, "chunks of many shapes; say which shape they are to have")
	}
	s := ArraySpec{
		Shape: a.Shape(), ChunkShape: a.ChunkShape(), DataType: a.TypeText(),
		FillValue: a.FillText(), Attributes: a.meta.attributes, DimensionNames: a.meta.names,
	}
	if a.shards != nil {
		s.SubchunkShape = a.subEdge
		s.IndexAtStart = a.shards.atStart
	}
	return s, nil
}

// TypeText is the data type as ArraySpec has it, also of an array of Zarr v2.
func (a *Array) TypeText() string { return typeText(a.meta.dtype) }

// FillText is the fill value as ArraySpec has it, also of an array of Zarr v2.
func (a *Array) FillText() json.RawMessage {
	if a.meta.format == 2 {
		return v2Fill(a.meta.dtype, a.meta.fillText)
	}
	return a.meta.fillText
}

// Serializer is the codec that turns elements of the array's type into bytes
// where nothing else is wanted: "bytes", little endian, or the one that the
// type needs.
func (a *Array) Serializer() Codec { return serializerFor(a.meta.dtype) }

// typeJSON is a data type as metadata has it: a string or an object.
func typeJSON(t DataType) json.RawMessage {
	s := typeText(t)
	if s[0] != '{' {
		s = strconv.Quote(s)
	}
	return json.RawMessage(s)
}

// typeText spells a data type as ArraySpec does: a name, or an object.
func typeText(t DataType) string {
	config := ""
	switch t := t.(type) {
	case bytesType:
		if t.name != "raw_bytes" && t.name != "null_terminated_bytes" {
			return t.name
		}
		config = `{"length_bytes":` + itoa(t.size) + `}`
	case utf32Type:
		config = `{"length_bytes":` + itoa(t.size) + `}`
	case timeType:
		config = `{"unit":` + strconv.Quote(t.Unit) + `,"scale_factor":` + itoa(t.Scale) + `}`
	case structType:
		config = `{"fields":[`
		for i, f := range t.fields {
			if i > 0 {
				config += ","
			}
			config += `{"name":` + string(rawjson.AppendString(nil, f.name)) + `,"data_type":` + string(typeJSON(f.dtype)) + `}`
		}
		return `{"name":"struct","configuration":` + config + `]}}`
	default:
		return t.Name()
	}
	return `{"name":` + strconv.Quote(t.Name()) + `,"configuration":` + config + `}`
}
