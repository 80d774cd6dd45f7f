package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/wasm/wire"
)

const metadata = `{"zarr_format":3,"node_type":"array","shape":[64],"data_type":"uint8","fill_value":9,
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[16]}},"chunk_key_encoding":{"name":"default"},
"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[4],"codecs":[{"name":"bytes"}%s],
"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"end"}}]}`

// shards is an array of 4 shards of 4 subchunks of 4 bytes, whose elements
// are their own number; the last subchunk of each shard is empty and the last
// shard is missing.
func shards() *storage.Memory {
	m := storage.NewMemory()
	m.Set("zarr.json", fmt.Appendf(nil, metadata, ""))
	for s := range 3 {
		var data, index []byte
		for k := range 4 {
			if k == 3 {
				index = append(index, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"...)
				break
			}
			index = binary.LittleEndian.AppendUint64(index, uint64(len(data)))
			index = binary.LittleEndian.AppendUint64(index, 4)
			first := byte(16*s + 4*k)
			data = append(data, first, first+1, first+2, first+3)
		}
		m.Set(fmt.Sprintf("c/%d", s), append(data, index...))
	}
	return m
}

func want(i int64) []byte {
	if i%4 == 3 || i >= 12 {
		return []byte{9, 9, 9, 9}
	}
	b := byte(4 * i)
	return []byte{b, b + 1, b + 2, b + 3}
}

var le = binary.LittleEndian

func u32s(v ...uint32) (b []byte) {
	for _, x := range v {
		b = le.AppendUint32(b, x)
	}
	return b
}

func read(array, cache, flags uint32, idx ...int64) []byte {
	b := u32s(array, cache, flags, uint32(len(idx)))
	for _, i := range idx {
		b = le.AppendUint64(b, uint64(i))
	}
	return b
}

const openHost = `{"store":{"kind":"host","id":1},"path":"","node":"array"}`

// desk is an engine with shards() open.
func desk(t *testing.T) (f *fake, e *Engine, array, cache uint32) {
	f = newFake(t)
	f.stores[1] = shards()
	e = New(f)
	array, cache = openArray(f, e)
	return f, e, array, cache
}

func openArray(f *fake, e *Engine) (array, cache uint32) {
	r, _, err := f.call(e, wire.KindOpen, []byte(openHost))
	require.NoError(f.t, err)
	c, _, err := f.call(e, wire.KindCacheNew, append(u32s(r.Object, 0), make([]byte, 8)...))
	require.NoError(f.t, err)
	return r.Object, c.Object
}

func TestOperations(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprint("later ", later), func(t *testing.T) {
			f := newFake(t)
			f.later = later
			f.stores[1] = shards()
			e := New(f)
			require.EqualValues(t, wire.Major<<16|wire.Minor, e.Box.ABI)

			r, b, err := f.call(e, wire.KindOpen, []byte(openHost))
			require.NoError(t, err)
			require.EqualValues(t, wire.JSON, r.Kind)
			var d map[string]any
			require.NoError(t, json.Unmarshal(b, &d))
			require.Equal(t, "array", d["kind"])
			array := r.Object

			r, _, err = f.call(e, wire.KindCacheNew, le.AppendUint64(u32s(array, 0), 1000))
			require.NoError(t, err)
			cache := r.Object

			for i := range int64(16) {
				r, b, err = f.call(e, wire.KindReadSubchunk, read(array, cache, 0, i))
				require.NoError(t, err)
				require.EqualValues(t, wire.Bytes, r.Kind)
				require.Equal(t, want(i), b)

				r, b, err = f.call(e, wire.KindReadEncoded, read(array, cache, 0, i))
				require.NoError(t, err)
				if i%4 == 3 || i >= 12 {
					require.EqualValues(t, wire.None, r.Kind)
					continue
				}
				require.Equal(t, want(i), b)
				_, b, err = f.call(e, wire.KindDecode, append(u32s(array), b...))
				require.NoError(t, err)
				require.Equal(t, want(i), b)
			}

			region := append(read(array, cache, 0, 5), le.AppendUint64(nil, 23)...)
			_, b, err = f.call(e, wire.KindReadRegion, region)
			require.NoError(t, err)
			require.Equal(t, []byte{5, 6, 7, 8, 9, 10, 11, 9, 9, 9, 9, 16, 17, 18, 19, 20, 21, 22}, b)

			for _, kind := range []uint32{wire.KindLocate, wire.KindReadSubchunk} {
				r, b, err = f.call(e, kind, read(array, cache, wire.FlagLocate, 5))
				require.NoError(t, err)
				require.EqualValues(t, wire.Located, r.Kind)
				require.EqualValues(t, []int64{1, 4, 4}, []int64{int64(r.Object), r.Off, r.Length})
				require.EqualValues(t, 3, le.Uint32(b))
				require.Equal(t, "c/1", string(b[8:11]))
				require.Len(t, b, 11+int(le.Uint32(b[4:])))
			}
			r, _, err = f.call(e, wire.KindLocate, read(array, cache, 0, 3))
			require.NoError(t, err)
			require.EqualValues(t, wire.None, r.Kind)

			_, b, err = f.call(e, wire.KindShardTable, read(array, cache, 0, 0))
			require.NoError(t, err)
			checkTable(t, b, 4, "c/0")
			_, b, err = f.call(e, wire.KindShardTable, read(array, cache, 0, 3))
			require.NoError(t, err)
			checkTable(t, b, 0, "c/3")

			_, b, err = f.call(e, wire.KindCacheStats, u32s(cache))
			require.NoError(t, err)
			var stats map[string]int64
			require.NoError(t, json.Unmarshal(b, &stats))
			require.EqualValues(t, 3, stats["entries"])
			require.EqualValues(t, 1000, stats["budget"])

			_, _, err = f.call(e, wire.KindCacheInvalidate, append(u32s(cache, 1), make([]byte, 8)...))
			require.NoError(t, err)
			require.EqualValues(t, 2, entries(f, e, cache))
			_, _, err = f.call(e, wire.KindCacheClear, u32s(cache))
			require.NoError(t, err)
			require.EqualValues(t, 0, entries(f, e, cache))

			_, b, err = f.call(e, wire.KindVerify, []byte(`{"store":{"kind":"host","id":1},"path":""}`))
			require.NoError(t, err)
			require.JSONEq(t, `{"checked":9,"damaged":[]}`, string(b))

			_, _, err = f.call(e, wire.KindClose, u32s(array))
			require.NoError(t, err)
			for _, h := range []uint32{array, cache} {
				_, _, err = f.call(e, wire.KindClose, u32s(h))
				require.ErrorIs(t, err, fault.ErrClosed)
			}
			require.Zero(t, e.Box.Live)
			require.Zero(t, e.Box.Waiting)
			require.Zero(t, e.waiting())
			require.Zero(t, e.ops.Len())
			require.Zero(t, e.gate.pinned.Load())
			require.Zero(t, e.gate.running.Load())
		})
	}
}

func checkTable(t *testing.T, b []byte, count int, key string) {
	t.Helper()
	n, keyLen, verLen := int(le.Uint32(b)), int(le.Uint32(b[8:])), int(le.Uint32(b[12:]))
	require.Equal(t, count, n)
	require.Equal(t, n == 0, le.Uint32(b[4:]) == 1)
	require.Equal(t, key, string(b[24:24+keyLen]))
	entries := b[(24+keyLen+verLen+7)/8*8:]
	require.Len(t, entries, 16*n)
	for k := range n {
		off, length := le.Uint64(entries[16*k:]), le.Uint64(entries[16*k+8:])
		if k == 3 {
			require.Equal(t, []uint64{^uint64(0), ^uint64(0)}, []uint64{off, length})
			continue
		}
		require.Equal(t, []uint64{uint64(4 * k), 4}, []uint64{off, length})
	}
}

func entries(f *fake, e *Engine, cache uint32) int64 {
	_, b, err := f.call(e, wire.KindCacheStats, u32s(cache))
	require.NoError(f.t, err)
	var s map[string]int64
	require.NoError(f.t, json.Unmarshal(b, &s))
	return s["entries"]
}

func TestGroupsAndLists(t *testing.T) {
	f := newFake(t)
	m := storage.NewMemory()
	m.Set("g/zarr.json", []byte(`{"zarr_format":3,"node_type":"group"}`))
	m.Set("g/a/zarr.json", fmt.Appendf(nil, metadata, ""))
	f.stores[7] = m
	e := New(f)
	r, b, err := f.call(e, wire.KindOpen, []byte(`{"store":{"kind":"host","id":7},"path":"g","node":"any"}`))
	require.NoError(t, err)
	require.NotZero(t, r.Object)
	require.Contains(t, string(b), `"group"`)
	_, b, err = f.call(e, wire.KindList, []byte(`{"store":{"kind":"host","id":7},"path":"g"}`))
	require.NoError(t, err)
	require.Contains(t, string(b), `"g/a"`)
	_, _, err = f.call(e, wire.KindReadSubchunk, read(r.Object, 0, 0, 0))
	require.ErrorIs(t, err, fault.ErrClosed, "a group is no array")
	_, _, err = f.call(e, wire.KindOpen, []byte(`{"store":{"kind":"host","id":7},"path":"nothing","node":"any"}`))
	require.ErrorIs(t, err, fault.ErrNotFound)
}

func TestBadRequests(t *testing.T) {
	f, e, array, cache := desk(t)
	good := read(array, cache, 0, 1)
	for n := range good {
		require.EqualValues(t, fault.CodeInvalid, e.Start(wire.KindReadSubchunk, good[:n]), "cut at %d", n)
	}
	for name, c := range map[string]struct {
		kind uint32
		req  []byte
		code fault.Code
	}{
		"a batch cut short":    {wire.KindReadSubchunks, u32s(array, 0, 0, 1, 1<<20, 0, 0), fault.CodeInvalid},
		"too large a batch":    {wire.KindLocateSubchunks, u32s(array, 0, 0, 0, 1<<20+1), fault.CodeLimit},
		"a batch of no array":  {wire.KindReadSubchunks, u32s(0, 0, 0, 1, 0), fault.CodeClosed},
		"a byte too many":      {wire.KindReadSubchunk, append(good[:len(good):len(good)], 0), fault.CodeInvalid},
		"absurd dimensions":    {wire.KindReadSubchunk, u32s(array, 0, 0, 1<<31), fault.CodeInvalid},
		"no such handle":       {wire.KindReadSubchunk, read(array+1, 0, 0, 1), fault.CodeClosed},
		"an older turn":        {wire.KindReadSubchunk, read(array+1<<16, 0, 0, 1), fault.CodeClosed},
		"a cache as an array":  {wire.KindReadSubchunk, read(cache, 0, 0, 1), fault.CodeClosed},
		"an array as a cache":  {wire.KindReadSubchunk, read(array, array, 0, 1), fault.CodeClosed},
		"stats of an array":    {wire.KindCacheStats, u32s(array), fault.CodeClosed},
		"negative budget":      {wire.KindCacheNew, le.AppendUint64(u32s(array, 0), 1<<63), fault.CodeInvalid},
		"unknown kind":         {999, nil, fault.CodeUnsupported},
		"kind 0":               {0, nil, fault.CodeUnsupported},
		"not JSON":             {wire.KindOpen, []byte(`{`), fault.CodeInvalid},
		"no node":              {wire.KindOpen, []byte(`{"store":{"kind":"host","id":1},"path":""}`), fault.CodeInvalid},
		"unknown store":        {wire.KindOpen, []byte(`{"store":{"kind":"tape"},"path":"","node":"any"}`), fault.CodeInvalid},
		"http without a url":   {wire.KindList, []byte(`{"store":{"kind":"http"},"path":""}`), fault.CodeInvalid},
		"close what is closed": {wire.KindClose, u32s(0), fault.CodeClosed},
	} {
		require.EqualValues(t, c.code, e.Start(c.kind, c.req), name)
	}
	require.Zero(t, e.live.Load())

	for name, c := range map[string]struct {
		req  []byte
		kind error
	}{
		"too few axes":     {read(array, 0, 0), fault.ErrInvalid},
		"outside the grid": {read(array, 0, 0, 16), fault.ErrOutOfRange},
		"negative":         {read(array, 0, 0, -1), fault.ErrOutOfRange},
	} {
		_, _, err := f.call(e, wire.KindReadSubchunk, c.req)
		require.ErrorIs(t, err, c.kind, name)
	}
	require.EqualValues(t, fault.CodeInvalid, e.Configure([]byte("?")))
	require.EqualValues(t, fault.CodeInvalid, e.Configure([]byte(`{"memory":-1}`)))
	require.Zero(t, e.Configure([]byte(`{"memory":1048576}`)))
	require.EqualValues(t, fault.CodeInvalid, e.Cancel(12345))
	e.Drop(12345)
	e.Free(12345)
}

func TestCacheOfAnotherArray(t *testing.T) {
	f, e, array, cache := desk(t)
	f.stores[2] = shards()
	r, _, err := f.call(e, wire.KindOpen, []byte(`{"store":{"kind":"host","id":2},"path":"","node":"array"}`))
	require.NoError(t, err)
	_, _, err = f.call(e, wire.KindReadSubchunk, read(r.Object, cache, 0, 0))
	require.ErrorIs(t, err, fault.ErrWrongArray)
	again, _ := openArray(f, e)
	require.NotEqual(t, array, again)
	_, b, err := f.call(e, wire.KindReadSubchunk, read(again, cache, 0, 1))
	require.NoError(t, err, "the same array opened twice shares a cache")
	require.Equal(t, want(1), b)
}

func TestHostBreaksTheContract(t *testing.T) {
	for name, damage := range map[string]func(*ReadCall, int32) int32{
		"more bytes than room": func(c *ReadCall, n int32) int32 { c.Ranges[0].N = int32(len(c.Bufs[0])) + 1; return n },
		"negative count":       func(c *ReadCall, n int32) int32 { c.Ranges[0].N = -1; return n },
		"more ranges":          func(_ *ReadCall, n int32) int32 { return n + 1 },
		"endless version":      func(c *ReadCall, n int32) int32 { c.Info.VerLen = 129; return n },
		"ever more room":       func(c *ReadCall, _ int32) int32 { c.Info.Need = 1; return int32(fault.CodeTooSmall) },
		"absurd need":          func(c *ReadCall, _ int32) int32 { c.Info.Need = 1 << 60; return int32(fault.CodeTooSmall) },
		"unknown code":         func(*ReadCall, int32) int32 { return -1000 },
	} {
		f, e, array, _ := desk(t)
		f.damage = damage
		_, _, err := f.call(e, wire.KindReadSubchunk, read(array, 0, 0, 0))
		require.Error(t, err, name)
		f.damage = nil
		_, b, err := f.call(e, wire.KindReadSubchunk, read(array, 0, 0, 0))
		require.NoError(t, err, name)
		require.Equal(t, want(0), b)
	}
}

func TestHostErrors(t *testing.T) {
	f, e, array, cache := desk(t)
	boom := fault.New(fault.ErrNotAllowed, "disk", "c/0", "on fire")
	f.stores[1] = storagetest.Break(shards(), map[int]storagetest.Fault{0: {Err: boom}, 1: {Err: errors.New("bare")}})
	_, _, err := f.call(e, wire.KindReadSubchunk, read(array, cache, 0, 0))
	require.ErrorIs(t, err, fault.ErrNotAllowed)
	require.ErrorContains(t, err, "on fire", "the host's detail crosses")
	_, _, err = f.call(e, wire.KindReadSubchunk, read(array, cache, 0, 0))
	require.ErrorIs(t, err, fault.ErrIO)
	require.Zero(t, entries(f, e, cache), "a failed load is not kept")
	_, b, err := f.call(e, wire.KindReadSubchunk, read(array, cache, 0, 0))
	require.NoError(t, err)
	require.Equal(t, want(0), b)
}

func TestPanic(t *testing.T) {
	f, e, array, _ := desk(t)
	f.damage = func(*ReadCall, int32) int32 { panic("a fault of the guest's") }
	r, _, err := f.call(e, wire.KindReadSubchunk, read(array, 0, 0, 0))
	require.ErrorIs(t, err, fault.ErrInternal)
	require.EqualValues(t, wire.Panicked, r.State)
	require.EqualValues(t, 1, e.Box.Panics)
	f.damage = nil
	_, b, err := f.call(e, wire.KindReadSubchunk, read(array, 0, 0, 0))
	require.NoError(t, err, "the worker lives")
	require.Equal(t, want(0), b)
}

func TestCall(t *testing.T) {
	_, e, array, _ := desk(t)
	op, r := e.Call(wire.KindReadSubchunk, read(array, 0, 0, 2))
	require.Positive(t, op)
	for e.Box.Status != wire.Idle || r == nil { // natively a worker may still run on another thread
		e.Box.Status = e.Run(0, 0)
		r = e.Ended(uint32(op))
	}
	require.EqualValues(t, wire.OK, r.State)
	op, r = e.Call(wire.KindReadSubchunk, nil)
	require.EqualValues(t, fault.CodeInvalid, op)
	require.Nil(t, r)
}

// TestAtOnce runs operations in place, as for a host that says at_once.
func TestAtOnce(t *testing.T) {
	f, e, array, cache := desk(t)
	require.Zero(t, e.Configure([]byte(`{"memory":0,"at_once":true}`)))
	for i := range int64(16) {
		op, r := e.Call(wire.KindReadSubchunk, read(array, cache, 0, i))
		require.Positive(t, op)
		require.EqualValues(t, wire.OK, r.State)
		require.EqualValues(t, []uint32{1, uint32(op)}, []uint32{e.Box.Done, e.Done[0]})
		require.Zero(t, e.Box.Live)
		require.EqualValues(t, wire.Idle, e.Box.Status)
		_, b, err := f.take(e, op)
		require.NoError(t, err)
		require.Equal(t, want(i), b)
	}
	f.damage = func(*ReadCall, int32) int32 { panic("a fault of the guest's") }
	op, r := e.Call(wire.KindReadSubchunk, read(array, cache, 0, 0))
	require.EqualValues(t, wire.Panicked, r.State)
	require.EqualValues(t, 1, e.Box.Panics)
	e.Drop(uint32(op))
	f.damage = nil
	f.later = true
	op, r = e.Call(wire.KindReadSubchunk, read(array, cache, 0, 0))
	require.EqualValues(t, wire.Failed, r.State, "a host that breaks its word")
	require.EqualValues(t, fault.CodeInvalid, r.Code)
	e.Drop(uint32(op))
	require.Zero(t, e.ops.Len())
	require.Zero(t, e.gate.running.Load())
	require.Zero(t, e.gate.pinned.Load())
	require.Zero(t, e.Run(0, 0))
	require.Zero(t, e.Box.Done, "listed once")
}

func TestAlloc(t *testing.T) {
	f := newFake(t)
	e := New(f)
	require.Nil(t, e.Alloc(0))
	require.Len(t, e.Alloc(100), 100)
	require.Nil(t, e.Alloc(1<<31), "over the limit")
	e.Free(1)
	require.Zero(t, e.blockSum)
	e.Free(1)
	require.Zero(t, e.blockSum)
}
