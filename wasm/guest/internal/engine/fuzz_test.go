package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// FuzzRequests makes requests of any bytes, two after the other, to a guest
// with an array, a cache, a container and a stack of images: each is refused
// or ends, none in a panic, and nothing is left that is on its way.
func FuzzRequests(f *testing.F) {
	f.Add(uint8(wire.KindOpen), []byte(openHost), uint8(wire.KindReadSubchunk), read(1, 2, 0, 3))
	f.Add(uint8(wire.KindReadRegion), append(read(1, 0, 0, 3), 9, 0, 0, 0, 0, 0, 0, 0), uint8(wire.KindReadSubchunks), append(u32s(1, 2, 0, 2, 1), make([]byte, 16)...))
	f.Add(uint8(wire.KindLocateSubchunks), append(u32s(1, 2, 0, 1, 1), make([]byte, 8)...), uint8(wire.KindShardTable), read(1, 2, 0, 0))
	f.Add(uint8(wire.KindDecode), append(u32s(1), "0123"...), uint8(wire.KindClose), u32s(1))
	f.Add(uint8(wire.KindVerify), []byte(openHost), uint8(wire.KindList), []byte(openHost))
	f.Add(uint8(wire.KindContainerOpen), []byte(`{"fs":7,"name":"c.b2frame","write":true,"locking":"on","lock_timeout_ms":1}`), uint8(wire.KindContainerDo), []byte(`{"container":3,"do":"compact"}`))
	for what := range uint32(16) {
		f.Add(uint8(wire.KindContainerRead), append(u32s(3, what, 2), make([]byte, 16)...), uint8(wire.KindContainerWrite), append(u32s(3, what, 1), "\x01\x00\x00\x00\x00\x00\x00\x0001234567"...))
	}
	for _, do := range []string{"compact", "refresh", "repair", "hold", "verify", "snapshot", "copy", "resize", "squeeze"} {
		f.Add(uint8(wire.KindContainerDo), []byte(`{"container":3,"do":"`+do+`","name":"d","fs":7,"shape":[2]}`), uint8(wire.KindContainerRead), u32s(3, 0, 0))
	}
	f.Add(uint8(wire.KindImagesRead), append(u32s(4, 0), make([]byte, 16)...), uint8(wire.KindTableRead), []byte(`{"store":{"kind":"host","id":1},"key":"t.star"}`))
	f.Add(uint8(wire.KindScratchOpen), opening(`{"fs":7,"where":"memory"}`, 0, 1, 2), uint8(wire.KindScratchRead), append(u32s(5, 0), chosen(1)...))
	f.Add(uint8(wire.KindContainerCreate), append(u32s(66), `{"kind":"ndarray","fs":7,"name":"n.b2nd","shape":[4],"dtype":"<i2"}`...), uint8(wire.KindCacheStats), u32s(2))
	f.Fuzz(func(t *testing.T, kind1 uint8, req1 []byte, kind2 uint8, req2 []byte) {
		fake, e, fs := gallery(t)
		for _, key := range []string{"zarr.json", "c/0", "c/1", "c/2"} {
			b, _, err := shards().ReadRanges(t.Context(), key, []storage.Range{storage.All}, "")
			require.NoError(t, err)
			fake.stores[1].(interface{ Set(string, []byte) }).Set(key, b[0])
		}
		array, cache := openArray(fake, e)
		require.Equal(t, [2]uint32{1, 2}, [2]uint32{array & 0xff, cache & 0xff})
		s, err := blosc2.CreateSChunk(t.Context(), fs, "c.b2frame", blosc2.Spec{ChunkSize: 8}, blosc2.Options{})
		require.NoError(t, err)
		require.NoError(t, s.Append(t.Context(), []byte("0123456789abcdef")))
		require.NoError(t, s.Close())
		for _, q := range []struct {
			kind uint32
			req  string
		}{{wire.KindContainerOpen, `{"fs":7,"name":"c.b2frame","write":true}`}, {wire.KindImagesOpen, `{"fs":7,"key":"a.mrcs"}`}} {
			_, _, err := fake.call(e, q.kind, []byte(q.req))
			require.NoError(t, err)
		}
		for _, q := range []struct {
			kind uint8
			req  []byte
		}{{kind1, req1}, {kind2, req2}} {
			_, _, err := fake.call(e, uint32(q.kind)%(wire.LastKind+2), q.req)
			t.Log(wire.KindName(uint32(q.kind)), err)
			if err != nil {
				require.NotEqual(t, fault.CodeInternal, fault.CodeOf(err), "%s: %v", wire.KindName(uint32(q.kind)), err)
				require.False(t, strings.Contains(err.Error(), "\n"), err)
			}
		}
	})
}
