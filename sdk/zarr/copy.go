package zarr

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Copied is the progress of a copy.
type Copied struct {
	Chunks, Total int64 // chunks (shards) of the target
	Bytes         int64 // of elements
}

// Copy writes all elements of src into dst, an array of the same shape and
// data type that may be cut and encoded otherwise. It goes chunk by chunk of
// dst (shard by shard), so that about one of them is in memory at a time, and
// calls progress (nil: none) after each. ErrInvalid if the arrays do not
// match; otherwise the errors of reading and of writing. What was written
// before an error stays.
func Copy(ctx context.Context, dst, src *Array, progress func(Copied)) error {
	if from, to := typeText(src.meta.dtype), typeText(dst.meta.dtype); from != to {
		return fault.New(fault.ErrInvalid, "zarr", "copy", "from "+from+" to "+to)
	}
	if len(dst.Shape()) != len(src.Shape()) || !equal(dst.Shape(), src.Shape()) {
		return fault.New(fault.ErrInvalid, "zarr", "copy", "from shape "+tuple(src.Shape())+" to "+tuple(dst.Shape()))
	}
	chunks, _ := product(dst.grid...)
	done := Copied{Total: chunks}
	cache := src.ShardCache(CacheOptions{})
	idx := make([]int64, len(dst.grid))
	var buf []byte
	for k := range chunks {
		unravel(k, dst.grid, idx)
		start, stop := dst.chunkBounds(idx)
		for i := range stop {
			stop[i] = min(stop[i], dst.Shape()[i])
		}
		var err error
		if buf, err = src.RetrieveRegion(ctx, start, stop, ReadOptions{Cache: cache, Dst: buf}); err != nil {
			return err
		}
		if err := dst.StoreRegion(ctx, start, stop, buf); err != nil {
			return err
		}
		done.Chunks, done.Bytes = k+1, done.Bytes+int64(len(buf))
		if progress != nil {
			progress(done)
		}
		if dst.o.Tick != nil {
			if err := dst.o.Tick(ctx); err != nil {
				return err
			}
		}
	}
	return nil
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
		Shape: a.Shape(), ChunkShape: a.ChunkShape(), DataType: typeText(a.meta.dtype),
		FillValue: a.meta.fillText, Attributes: a.meta.attributes, DimensionNames: a.meta.names,
	}
	if a.meta.format == 2 {
		s.FillValue = v2Fill(a.meta.dtype, a.meta.fillText)
	}
	if a.shards != nil {
		s.SubchunkShape = a.subEdge
		s.IndexAtStart = a.shards.atStart
	}
	return s, nil
}

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
			name, _ := json.Marshal(f.name) // a string: it cannot fail
			config += `{"name":` + string(name) + `,"data_type":` + string(typeJSON(f.dtype)) + `}`
		}
		return `{"name":"struct","configuration":` + config + `]}}`
	default:
		return t.Name()
	}
	return `{"name":` + strconv.Quote(t.Name()) + `,"configuration":` + config + `}`
}
