package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// A warm read needs no guest: the guest has parsed the shard's index, checked
// it, and handed it over as a table, and the codecs are ones that the host
// lends. The host only ever serves what is plainly right. Whatever is not (an
// object of another version, bytes that do not decode, no subchunk) goes to
// the guest, which stays the only judge.

// chain decodes subchunks of one array; nil: only the guest can.
type chain struct {
	codecs []codec.Bytes // the last first
	size   int           // of a decoded subchunk, in bytes
}

// warmest is how large a subchunk is that the host decodes; more is no matter
// of the crossing.
const warmest = 16 << 20

// chainOf is the chain of an array, if all of it can be lent.
func (a *Array) chainOf() *chain {
	if !a.info.HostReadable || a.place.Store.Kind != "host" || a.place.Store.Zip != "" || a.place.Trace || a.sandbox.config.Strict {
		return nil
	}
	var named []struct {
		Name          string          `json:"name"`
		Configuration json.RawMessage `json:"configuration"`
	}
	if json.Unmarshal(a.info.SubchunkCodecs, &named) != nil || len(named) == 0 || named[0].Name != "bytes" {
		return nil
	}
	var bytes struct{ Endian string }
	if len(named[0].Configuration) > 0 && json.Unmarshal(named[0].Configuration, &bytes) != nil || bytes.Endian != "little" && a.info.ItemSize != 1 {
		return nil
	}
	size := a.info.ItemSize
	for _, n := range a.info.EffectiveSubchunkShape {
		if n > 0 && size > warmest/n {
			return nil
		}
		size *= n
	}
	c := &chain{size: int(size)}
	for _, n := range named[1:] {
		if !lendable[n.Name] && n.Name != "crc32c" {
			return nil
		}
		made, err := codec.New(n.Name, n.Configuration)
		if err != nil {
			return nil
		}
		c.codecs = append([]codec.Bytes{made}, c.codecs...)
	}
	return c
}

// buffers are those that warm reads read into.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// decode puts the elements into dst, if that is large enough; nil if they are
// not what they should be.
func (c *chain) decode(ctx context.Context, encoded, dst []byte) []byte {
	if cap(dst) < c.size {
		dst = make([]byte, 0, c.size)
	}
	dst = dst[:0:c.size] // what lies behind is not ours
	b := encoded
	for i, one := range c.codecs {
		limit, room := warmest, []byte(nil)
		if i == len(c.codecs)-1 {
			limit, room = c.size, dst[:0]
		}
		var err error
		if b, err = one.Decode(ctx, room, b, limit); err != nil {
			return nil
		}
	}
	if len(b) != c.size {
		return nil
	}
	if c.size > 0 && &b[0] != &dst[:1][0] {
		copy(dst[:c.size], b)
	}
	return dst[:c.size]
}

// table is gh_table: where the subchunks of a shard lie.
type table struct {
	key     string
	version storage.Version
	entries []uint64 // offset and length of each; both nothing: there is none
}

const nothing = ^uint64(0)

// errNoTable says that the guest is to be asked for each read.
var errNoTable = errors.New("no table")

func (t *table) bytes() int64 {
	return int64(128 + len(t.key) + len(t.version) + 8*len(t.entries))
}

// tables are those of one cache, by the shard's number.
type tables = cache.Cache[int64, *table]

// locate is the shard of a subchunk and its place in the table; false for one
// that is not in the grid.
func (a *Array) locate(idx []int64) (shard, at int64, ok bool) {
	per := a.info.ChunksPerShard
	if len(idx) != len(per) {
		return 0, 0, false
	}
	for i, x := range idx {
		if x < 0 || x >= a.info.SubchunkGridShape[i] {
			return 0, 0, false
		}
		shard = shard*a.info.ChunkGridShape[i] + x/per[i]
		at = at*per[i] + x%per[i]
	}
	return shard, at, true
}

// warm reads a subchunk without the guest. No error, and false: the guest is to
// be asked, and with reload to look at the index anew.
func (a *Array) warm(ctx context.Context, idx []int64, o ReadOptions) (b []byte, ok, reload bool, err error) {
	shard, at, ok := a.locate(idx)
	if !ok || a.closed.Load() || o.Cache.closed.Load() || o.Cache.array.closed.Load() || !o.Cache.array.node.is(a.node) {
		return nil, false, false, nil
	}
	t, found := o.Cache.tables.Peek(shard)
	if !found {
		t, err = o.Cache.tables.Get(ctx, shard, func(ctx context.Context) (*table, error) { return a.load(ctx, o.Cache, shard) })
		if ended := storage.Ended(ctx, ""); ended != nil {
			return nil, false, false, ended
		}
		if errors.Is(err, fault.ErrCancelled) { // it had its time
			return nil, false, false, err
		}
		if err != nil {
			return nil, false, false, nil
		}
	}
	if int(2*at+1) >= len(t.entries) {
		return nil, false, false, nil
	}
	off, n := t.entries[2*at], t.entries[2*at+1]
	if n == nothing {
		// It may have been written since.
		checker, can := a.store.(storage.Checker)
		reload = can && t.version != "" && checker.Check(ctx, t.key, t.version) != nil
		if reload {
			o.Cache.drop(shard)
		}
		return nil, false, reload, nil
	}
	limits := &a.sandbox.config.Limits
	if n > warmest || off > math.MaxInt64 || limits.Read >= 0 && int64(n) > limits.Read || limits.Output >= 0 && int64(a.chain.size) > limits.Output {
		return nil, false, false, nil
	}
	b, err = a.fetch(ctx, t, int64(off), int(n), o.Dst)
	switch {
	case errors.Is(err, fault.ErrStale), errors.Is(err, fault.ErrNotFound):
		o.Cache.drop(shard)
		return nil, false, true, nil
	case errors.Is(err, fault.ErrCancelled):
		return nil, false, false, err
	}
	return b, b != nil && err == nil, false, nil
}

// fetch reads and decodes a subchunk of n bytes; nil if only the guest can tell
// what is wrong with it. Closing the sandbox waits for it.
func (a *Array) fetch(ctx context.Context, t *table, off int64, n int, dst []byte) (b []byte, err error) {
	s := a.sandbox
	s.warming.RLock()
	defer s.warming.RUnlock()
	if s.closing.Load() {
		return nil, nil
	}
	call := Call{Read: int64(n), Output: int64(a.chain.size)}
	began := time.Now()
	if limit := s.config.Limits.Deadline; limit > 0 {
		term := until(ctx, began.Add(limit))
		defer term.end()
		ctx = term
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	m, _, err := storage.ReadInto(ctx, a.store, t.key, off, (*buf)[:n], t.version)
	if ended := storage.Ended(ctx, t.key); ended != nil {
		call.Took, call.Output, call.Err = time.Since(began), 0, ended
		s.observe(wire.KindReadSubchunk, call)
		return nil, ended
	}
	if err != nil || m != n {
		return nil, err
	}
	if b = a.chain.decode(ctx, (*buf)[:n], dst); b == nil {
		return nil, nil
	}
	call.Took = time.Since(began)
	s.observe(wire.KindReadSubchunk, call)
	return b, nil
}

// is says whether two nodes are one array in one sandbox.
func (n *node) is(m *node) bool {
	return n == m || n.sandbox == m.sandbox && n.place.Path == m.place.Path && storage.Same(n.store, m.store) && string(n.description) == string(m.description)
}

// load asks the guest for a table. The guest keeps the index, too, for what it
// reads by itself.
func (a *Array) load(ctx context.Context, c *ShardCache, shard int64) (*table, error) {
	grid := a.info.ChunkGridShape
	at := make([]int64, len(grid))
	for i := len(grid) - 1; i >= 0; i-- {
		at[i] = shard % grid[i]
		shard /= grid[i]
	}
	r, err := a.read(ctx, wire.KindShardTable, at, nil, ReadOptions{Cache: c})
	if err != nil {
		return nil, err
	}
	t, err := parseTable(r.bytes)
	if err == nil && len(t.entries) == 0 {
		err = errNoTable
	}
	return t, err
}

func parseTable(b []byte) (*table, error) {
	const head = 24
	if len(b) < head {
		return nil, internal("answers a table that is cut")
	}
	count, key, version := uint64(u32(b, 0)), uint64(u32(b, 8)), uint64(u32(b, 12))
	begin := (head + key + version + 7) &^ 7
	if begin > uint64(len(b)) || uint64(len(b))-begin != 16*count {
		return nil, internal("answers a table that is cut")
	}
	t := &table{key: string(b[head:][:key]), version: storage.Version(b[head+key:][:version]), entries: make([]uint64, 2*count)}
	for i := range t.entries {
		t.entries[i] = binary.LittleEndian.Uint64(b[begin+8*uint64(i):])
	}
	return t, nil
}

// drop forgets a shard's table, also one that is on its way.
func (c *ShardCache) drop(shard int64) { c.tables.Remove(func(k int64) bool { return k == shard }) }

// outdate forgets the tables of what is read anew.
func (c *ShardCache) outdate(a *Array, start, stop []int64) {
	if shard, _, ok := a.locate(start); ok && stop == nil && a.chain != nil {
		c.drop(shard)
		return
	}
	c.tables.Clear()
}
