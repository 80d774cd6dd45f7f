package engine

import (
	"context"
	"encoding/binary"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zarr"
	"github.com/gridhold/gridhold/wasm/wire"
)

func (q *request) options() zarr.ReadOptions {
	o := zarr.ReadOptions{Reload: q.flags&wire.FlagReload != 0}
	if q.cache != nil {
		o.Cache = q.cache.cache
	}
	return o
}

func (e *Engine) readSubchunk(ctx context.Context, q *request) (answer, error) {
	o := q.options()
	if q.flags&wire.FlagLocate != 0 && !q.at.zipped {
		l, ok, err := q.at.array.Locate(ctx, q.index, o)
		if err != nil {
			return answer{}, err
		}
		if ok && l.Raw {
			return located(q.at, l), nil
		}
		o.Reload = false
	}
	o.Dst = q.at.buffers.get()
	b, err := q.at.array.RetrieveSubchunk(ctx, q.index, o)
	return answer{kind: wire.Bytes, bytes: b, from: q.at.buffers}, err
}

func (e *Engine) readEncoded(ctx context.Context, q *request) (answer, error) {
	b, err := q.at.array.RetrieveEncodedSubchunk(ctx, q.index, q.options())
	if err != nil || b == nil {
		return answer{}, err
	}
	return answer{kind: wire.Bytes, bytes: b}, nil
}

func (e *Engine) readRegion(ctx context.Context, q *request) (answer, error) {
	if q.weight > e.gate.limit {
		return answer{}, fault.New(fault.ErrLimit, "region", "", "larger than the memory allows")
	}
	b, err := q.at.array.RetrieveRegion(ctx, q.index, q.stop, q.options())
	return answer{kind: wire.Bytes, bytes: b}, err
}

func (e *Engine) locate(ctx context.Context, q *request) (answer, error) {
	if err := q.at.mustBeTheHosts(); err != nil {
		return answer{}, err
	}
	l, ok, err := q.at.array.Locate(ctx, q.index, q.options())
	if err != nil || !ok {
		return answer{}, err
	}
	return located(q.at, l), nil
}

// located packs where bytes lie: u32 key_len, u32 ver_len, key, version.
func located(o *object, l zarr.Location) answer {
	return locatedAt(o.host, l.Key, string(l.Version), l.Off, l.Len)
}

// locatedAt is located in an object, or a file, of the host's.
func locatedAt(host uint32, key, version string, off, length int64) answer {
	b := make([]byte, 0, 8+len(key)+len(version))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(version)))
	b = append(append(b, key...), version...)
	return answer{kind: wire.Located, bytes: b, object: host, off: off, length: length}
}

// shardTable packs an index as gh_table.
func (e *Engine) shardTable(ctx context.Context, q *request) (answer, error) {
	if err := q.at.mustBeTheHosts(); err != nil {
		return answer{}, err
	}
	x, err := q.tableOf(ctx)
	if err != nil {
		return answer{}, err
	}
	n, flags := x.Len(), uint32(0)
	if x.Missing() {
		n, flags = 0, 1
	}
	key, version := x.Key(), x.Version()
	b := make([]byte, 0, 24+len(key)+len(version)+8+16*n)
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(n))
	b = le.AppendUint32(b, flags)
	b = le.AppendUint32(b, uint32(len(key)))
	b = le.AppendUint32(b, uint32(len(version)))
	b = le.AppendUint64(b, uint64(x.Size()))
	b = append(append(b, key...), version...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	for i := range n {
		off, length, ok := x.At(i)
		if !ok {
			off, length = -1, -1
		}
		b = le.AppendUint64(le.AppendUint64(b, uint64(off)), uint64(length))
	}
	return answer{kind: wire.Bytes, bytes: b}, nil
}
