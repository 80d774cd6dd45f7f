package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

func batch(array, cache, flags uint32, idx ...int64) []byte {
	b := u32s(array, cache, flags, 1, uint32(len(idx)))
	for _, i := range idx {
		b = le.AppendUint64(b, uint64(i))
	}
	return b
}

func TestBatches(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprint("later ", later), func(t *testing.T) {
			f, e, array, cache := desk(t)
			f.later = later
			asked := []int64{5, 3, 15, 0, 5, 9}
			_, b, err := f.call(e, wire.KindReadSubchunks, batch(array, cache, 0, asked...))
			require.NoError(t, err)
			at := uint64(8 * len(asked))
			for i, x := range asked {
				end := le.Uint64(b[8*i:])
				require.Equal(t, want(x), b[at:end], "subchunk %d", x)
				at = end
			}
			require.Len(t, b, int(at))

			r, b, err := f.call(e, wire.KindLocateSubchunks, batch(array, cache, 0, asked...))
			require.NoError(t, err)
			require.EqualValues(t, 1, r.Object)
			require.Equal(t, u32s(6, 3), b[:8])
			var got [][3]int64
			for p := b[8 : 8+24*len(asked)]; len(p) > 0; p = p[24:] {
				got = append(got, [3]int64{int64(le.Uint64(p)), int64(le.Uint64(p[8:])), int64(le.Uint64(p[16:]))})
			}
			raw := int64(wire.PlaceRaw) << 32
			none := [3]int64{-1, -1, 0}
			require.Equal(t, []int64{4, 4, raw}, got[0][:])
			require.Equal(t, none, got[1])
			require.Equal(t, none, got[2])
			require.Equal(t, []int64{0, 4, 1 | raw}, got[3][:])
			require.Equal(t, got[0], got[4])
			require.Equal(t, []int64{4, 4, 2 | raw}, got[5][:])
			objects := b[8+24*len(asked):]
			for _, key := range []string{"c/1", "c/0", "c/2"} {
				n, v := le.Uint32(objects), le.Uint32(objects[4:])
				require.Equal(t, key, string(objects[8:8+n]))
				objects = objects[8+n+v:]
			}
			require.Empty(t, objects)

			_, b, err = f.call(e, wire.KindReadSubchunks, batch(array, cache, 0))
			require.NoError(t, err)
			require.Empty(t, b)
			for _, kind := range []uint32{wire.KindReadSubchunks, wire.KindLocateSubchunks} {
				_, _, err = f.call(e, kind, batch(array, cache, 0, 1, 16))
				require.ErrorIs(t, err, fault.ErrOutOfRange)
			}
			require.Zero(t, e.gate.pinned.Load())
			require.Zero(t, e.gate.running.Load())
		})
	}
}

// TestReloadOnce: a batch that reloads loads the index of each shard once.
func TestReloadOnce(t *testing.T) {
	f, e, array, cache := desk(t)
	before := f.calls["read_ranges"]
	_, _, err := f.call(e, wire.KindLocateSubchunks, batch(array, cache, wire.FlagReload, 0, 1, 2, 4, 5, 0))
	require.NoError(t, err)
	require.Equal(t, 2, f.calls["read_ranges"]-before)
}

// TestConsolidated opens and lists by the metadata of the root alone.
func TestConsolidated(t *testing.T) {
	f := newFake(t)
	m := shards()
	array, _, err := storage.ReadAll(t.Context(), m, "zarr.json", 1<<20)
	require.NoError(t, err)
	hidden := storage.NewMemory()
	hidden.Set("zarr.json", []byte(`{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","must_understand":false,`+
		`"metadata":{"g":{"zarr_format":3,"node_type":"group"},"g/a":`+string(array)+`}}}`))
	f.stores[1] = hidden
	e := New(f)
	place := func(path, rest string) []byte {
		return []byte(`{"store":{"kind":"host","id":1},"path":"` + path + `"` + rest + `}`)
	}
	_, _, err = f.call(e, wire.KindOpen, place("g/a", `,"node":"array"`))
	require.ErrorIs(t, err, fault.ErrNotFound, "only used when asked for")
	_, b, err := f.call(e, wire.KindOpen, place("g/a", `,"node":"array","consolidated":true`))
	require.NoError(t, err)
	require.Contains(t, string(b), `"path":"g/a"`)
	_, _, err = f.call(e, wire.KindOpen, place("g/a", `,"node":"group","consolidated":true`))
	require.ErrorIs(t, err, fault.ErrInvalid)
	_, _, err = f.call(e, wire.KindOpen, place("none", `,"node":"any","consolidated":true`))
	require.ErrorIs(t, err, fault.ErrNotFound)

	_, b, err = f.call(e, wire.KindList, place("", `,"consolidated":true`))
	require.NoError(t, err)
	require.Contains(t, string(b), `"path":"g/a"`)
}
