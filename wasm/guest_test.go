package wasm_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mrand "math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm"
	"github.com/gridhold/gridhold/wasm/wire"
)

// guest is an instance under a host that answers every read later.
type guest struct {
	t      *testing.T
	mod    api.Module
	box    uint32
	store  *storage.Memory
	queue  []pending
	random *mrand.Rand
	busy   bool
	index  int // reads of an index
	reads  int
	most   int // reads in flight at once
}

type pending struct {
	token uint32
	do    func() int32
}

// compiled lets the tests share the work of compiling.
var compiled = wazero.NewCompilationCache()

func newGuest(t *testing.T, store *storage.Memory) *guest {
	ctx := context.Background()
	g := &guest{t: t, store: store, random: mrand.New(mrand.NewPCG(1, 2))}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compiled))
	t.Cleanup(func() { _ = r.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	b := r.NewHostModuleBuilder("gridhold")
	i32 := func(n int) (v []api.ValueType) {
		for range n {
			v = append(v, api.ValueTypeI32)
		}
		return v
	}
	add := func(name string, params int, f func(a []uint64) int32) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
			g.mod = m
			stack[0] = api.EncodeI32(f(stack))
		}), i32(params), i32(1)).Export(name)
	}
	unsupported := func([]uint64) int32 { return -3 }
	add("read_ranges", 3, g.readRanges)
	add("list", 3, unsupported)
	add("fetch", 3, unsupported)
	add("sleep", 2, unsupported)
	add("codec_open", 4, unsupported)
	add("codec", 7, unsupported)
	add("cancel", 1, g.cancel)
	add("tick", 1, func([]uint64) int32 { return 0 })
	add("error_detail", 3, func([]uint64) int32 { return 0 })
	for params, names := range map[int][]string{
		2: {"rename", "remove", "mkdir", "sync_dir", "sync", "close", "unlock"}, 3: {"lock", "open", "stat", "list_dir", "statfs", "stat_file", "copy"},
		4: {"truncate"}, 5: {"lock_range"}, 6: {"read_at", "write_at", "allocate", "punch"},
	} {
		for _, name := range names {
			add(name, params, unsupported)
		}
	}
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(context.Context, api.Module, []uint64) {}), i32(3), nil).Export("log")
	_, err := b.Instantiate(ctx)
	require.NoError(t, err)
	m, err := r.InstantiateWithConfig(ctx, wasm.Module, wazero.NewModuleConfig().WithStartFunctions("_initialize").
		WithSysNanotime().WithSysWalltime().WithRandSource(rand.Reader))
	require.NoError(t, err)
	g.mod = m
	require.EqualValues(t, wire.Major<<16|wire.Minor, g.call("gh_abi"))
	g.box = g.call("gh_mailbox")
	require.EqualValues(t, 60, g.field(4))
	return g
}

func (g *guest) call(name string, args ...uint64) uint32 {
	g.t.Helper()
	out, err := g.mod.ExportedFunction(name).Call(context.Background(), args...)
	require.NoError(g.t, err, name)
	if len(out) == 0 {
		return 0
	}
	return uint32(out[0])
}

func (g *guest) u32(at uint32) uint32 {
	g.t.Helper()
	v, ok := g.mod.Memory().ReadUint32Le(at)
	require.True(g.t, ok)
	return v
}

func (g *guest) field(off uint32) uint32 { g.t.Helper(); return g.u32(g.box + off) }

func (g *guest) bytes(at, n uint32) []byte {
	b, ok := g.mod.Memory().Read(at, n)
	require.True(g.t, ok)
	return b
}

// readRanges queues a read: what it names is looked at only when it is
// carried out, since the token owns it until then.
func (g *guest) readRanges(a []uint64) int32 {
	token, req, info := uint32(a[0]), uint32(a[1]), uint32(a[2])
	g.queue = append(g.queue, pending{token, func() int32 {
		le := binary.LittleEndian
		key := string(g.bytes(g.u32(req+8), g.u32(req+12)))
		want := storage.Version(g.bytes(g.u32(req+16), g.u32(req+20)))
		at := g.u32(req + 24)
		require.EqualValues(g.t, 1, g.u32(req+28))
		r := g.bytes(at, 32)
		off, n := int64(le.Uint64(r)), int64(le.Uint64(r[8:]))
		room := g.u32(at + 20)
		bs, oi, err := g.store.ReadRanges(context.Background(), key, []storage.Range{{Off: off, Len: n}}, want)
		if err != nil {
			return -1
		}
		if g.u32(req+4)&wire.ReadKeep != 0 && key != "zarr.json" {
			g.index++
		}
		g.reads++
		if len(bs[0]) > int(room) {
			le.PutUint64(g.bytes(info+32, 8), uint64(len(bs[0])))
			return -17
		}
		copy(g.bytes(g.u32(at+16), room), bs[0])
		le.PutUint32(r[24:], uint32(len(bs[0])))
		le.PutUint64(g.bytes(info, 8), uint64(oi.Size))
		le.PutUint32(g.bytes(info+44, 4), uint32(copy(g.bytes(info+48, 128), oi.Version)))
		return 1
	}})
	g.most = max(g.most, len(g.queue))
	return wire.Pending
}

func (g *guest) cancel(a []uint64) int32 {
	if g.busy {
		return wire.Busy
	}
	for i, p := range g.queue {
		if p.token == uint32(a[0]) {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			return wire.Released
		}
	}
	g.t.Errorf("cancel of token %d, which is not out", uint32(a[0]))
	return wire.Released
}

func (g *guest) start(kind uint32, req []byte) uint32 {
	g.t.Helper()
	at := g.field(44)
	require.True(g.t, g.mod.Memory().Write(at, req))
	op := int32(g.call("gh_start", uint64(kind), uint64(at), uint64(len(req))))
	require.Positive(g.t, op)
	return uint32(op)
}

// run carries out up to n reads, hands in their completions and runs the
// guest until it is idle. It returns the operations that ended.
func (g *guest) run(n int) (ended []uint32) {
	g.t.Helper()
	g.random.Shuffle(len(g.queue), func(i, j int) { g.queue[i], g.queue[j] = g.queue[j], g.queue[i] })
	n = min(n, len(g.queue))
	for i, p := range g.queue[:n] {
		at := g.field(28) + 8*uint32(i)
		require.True(g.t, g.mod.Memory().WriteUint32Le(at, p.token))
		require.True(g.t, g.mod.Memory().WriteUint32Le(at+4, uint32(p.do())))
	}
	g.queue = append([]pending(nil), g.queue[n:]...)
	k := uint64(n)
	for {
		status := g.call("gh_run", k, 0)
		for i := range g.field(16) {
			ended = append(ended, g.u32(g.field(20)+4*i))
		}
		if status == wire.Idle {
			return ended
		}
		require.EqualValues(g.t, wire.More, status)
		k = 0
	}
}

// finish runs until the operations have ended, with up to n completions a
// turn.
func (g *guest) finish(n int, ops ...uint32) {
	g.t.Helper()
	left := map[uint32]bool{}
	for _, op := range ops {
		left[op] = true
	}
	for turns := 0; ; turns++ {
		require.Less(g.t, turns, 10_000)
		for _, op := range g.run(n) {
			require.True(g.t, left[op], "an operation that is not known, or listed twice")
			delete(left, op)
		}
		if len(left) == 0 {
			return
		}
	}
}

// take returns a result and drops it.
func (g *guest) take(op uint32) (code int32, object uint32, b []byte) {
	g.t.Helper()
	at := g.call("gh_result", uint64(op))
	require.NotZero(g.t, at)
	if g.u32(at) == wire.OK {
		b = append(b, g.bytes(g.u32(at+12), g.u32(at+16))...)
	}
	code, object = int32(g.u32(at+4)), g.u32(at+28)
	g.call("gh_drop", uint64(op))
	require.Zero(g.t, g.call("gh_result", uint64(op)), "dropped")
	return code, object, b
}

func (g *guest) do(kind uint32, req []byte) (code int32, object uint32, b []byte) {
	g.t.Helper()
	op := g.start(kind, req)
	g.finish(1, op)
	return g.take(op)
}

var le = binary.LittleEndian

func readRequest(array, cache uint32, idx int64) []byte {
	b := le.AppendUint32(le.AppendUint32(nil, array), cache)
	b = le.AppendUint32(le.AppendUint32(b, 0), 1)
	return le.AppendUint64(b, uint64(idx))
}

// eight has eight shards of eight subchunks of two bytes, which are the
// subchunk's number twice.
func eight() *storage.Memory {
	m := storage.NewMemory()
	m.Set("zarr.json", []byte(`{"zarr_format":3,"node_type":"array","shape":[128],"data_type":"uint8","fill_value":0,
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[16]}},"chunk_key_encoding":{"name":"default"},
"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"bytes"}],
"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"end"}}]}`))
	for s := range 8 {
		var data, index []byte
		for k := range 8 {
			index = le.AppendUint64(index, uint64(len(data)))
			index = le.AppendUint64(index, 2)
			data = append(data, byte(8*s+k), byte(8*s+k))
		}
		m.Set(fmt.Sprintf("c/%d", s), append(data, index...))
	}
	return m
}

func (g *guest) open() (array, cache uint32) {
	g.t.Helper()
	code, array, _ := g.do(wire.KindOpen, []byte(`{"store":{"kind":"host","id":1},"path":"","node":"array"}`))
	require.Zero(g.t, code)
	code, cache, _ = g.do(wire.KindCacheNew, append(le.AppendUint32(le.AppendUint32(nil, array), 0), make([]byte, 8)...))
	require.Zero(g.t, code)
	return array, cache
}

// TestPending has 32 operations in flight in one instance, their reads
// answered later, in random order and numbers: one load of an index a shard
// when the cache is cold, none when it is warm.
func TestPending(t *testing.T) {
	g := newGuest(t, eight())
	array, cache := g.open()
	for round, loads := range []int{8, 0, 0} {
		g.index, g.reads, g.most = 0, 0, 0
		var ops []uint32
		for i := range int64(32) {
			ops = append(ops, g.start(wire.KindReadSubchunk, readRequest(array, cache, 2*i)))
		}
		g.finish(1+3*round, ops...)
		require.Equal(t, loads, g.index, "round %d", round)
		require.Equal(t, 32+loads, g.reads)
		if loads == 0 {
			require.Equal(t, 32, g.most, "all in flight at once")
		}
		for i, op := range ops {
			code, _, b := g.take(op)
			require.Zero(t, code)
			require.Equal(t, []byte{byte(2 * i), byte(2 * i)}, b)
		}
		require.Zero(t, g.field(12), "live")
		require.Zero(t, g.field(8), "waiting")
	}
}

func TestCancel(t *testing.T) {
	g := newGuest(t, eight())
	array, cache := g.open()
	for _, busy := range []bool{false, true} {
		g.busy = busy
		op := g.start(wire.KindReadSubchunk, readRequest(array, cache, 0))
		require.Empty(t, g.run(0))
		require.EqualValues(t, 1, g.field(8))
		require.Zero(t, g.call("gh_cancel", uint64(op)))
		require.Equal(t, []uint32{op}, g.run(0), "it leaves at once")
		code, _, _ := g.take(op)
		require.EqualValues(t, -14, code)
		orphans := uint32(0)
		if busy {
			orphans = 1
		}
		require.Equal(t, orphans, g.field(8), "tokens out")
		require.Equal(t, orphans, g.field(40), "orphans")
		require.Len(t, g.queue, int(orphans))
		require.Empty(t, g.run(1))
		require.Zero(t, g.field(8))
		require.Zero(t, g.field(40))
	}
	g.busy = false
	code, _, b := g.do(wire.KindReadSubchunk, readRequest(array, cache, 5))
	require.Zero(t, code)
	require.Equal(t, []byte{5, 5}, b)
}

func TestPointers(t *testing.T) {
	g := newGuest(t, eight())
	size := uint64(g.mod.Memory().Size())
	for _, p := range [][2]uint64{{0, 4}, {size - 1, 2}, {size, 1}, {0xffffffff, 2}, {0xfffffff0, 0xffffffff}, {16, 0xffffffff}} {
		for _, name := range []string{"gh_start", "gh_call"} {
			require.EqualValues(t, -13, int32(g.call(name, wire.KindOpen, p[0], p[1])), "%s %x", name, p)
		}
		require.EqualValues(t, -13, int32(g.call("gh_configure", p[0], p[1])), "%x", p)
	}
	require.Zero(t, g.call("gh_alloc", 0))
	require.Zero(t, g.call("gh_alloc", 0xffffffff))
	at := g.call("gh_alloc", 1<<20)
	require.NotZero(t, at)
	g.bytes(at, 1<<20)
	g.call("gh_free", uint64(at))
	g.call("gh_free", uint64(at))
	g.call("gh_free", 12345)
	require.Zero(t, g.call("gh_result", 12345))
	g.call("gh_drop", 12345)
	require.EqualValues(t, -13, int32(g.call("gh_cancel", 12345)))
	require.EqualValues(t, -3, int32(g.call("gh_start", 999, 0, 0)))
	g.call("gh_gc")
	array, cache := g.open()
	code, _, b := g.do(wire.KindReadSubchunk, readRequest(array, cache, 63))
	require.Zero(t, code)
	require.Equal(t, []byte{63, 63}, b)
}
