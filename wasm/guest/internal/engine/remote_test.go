package engine

import (
	stdzip "archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
	"github.com/gridhold/gridhold/wasm/wire"
)

// archived is shards() as an archive, deflated metadata and stored shards.
func archived(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := stdzip.NewWriter(&b)
	for _, key := range []string{"zarr.json", "c/0", "c/1", "c/2"} {
		content, _, err := storage.ReadAll(t.Context(), shards(), key, 1<<20)
		require.NoError(t, err)
		method := stdzip.Store
		if key == "zarr.json" {
			method = stdzip.Deflate
		}
		f, err := w.CreateHeader(&stdzip.FileHeader{Name: "a/" + key, Method: method})
		require.NoError(t, err)
		_, err = f.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// opens opens an array by a request and makes a cache of it.
func opens(t *testing.T, f *fake, e *Engine, req string) (array, cache uint32) {
	t.Helper()
	open, _, err := f.call(e, wire.KindOpen, []byte(req))
	require.NoError(t, err)
	made, _, err := f.call(e, wire.KindCacheNew, append(u32s(open.Object, 0), make([]byte, 8)...))
	require.NoError(t, err)
	return open.Object, made.Object
}

func answered(t *testing.T, f *fake, e *Engine, kind uint32, req []byte) []byte {
	t.Helper()
	_, b, err := f.call(e, kind, req)
	require.NoError(t, err)
	return b
}

func refused(t *testing.T, f *fake, code fault.Code, e *Engine, kind uint32, req []byte) {
	t.Helper()
	_, _, err := f.call(e, kind, req)
	require.Equal(t, code, fault.CodeOf(err), "%v", err)
}

// TestZip: an archive of the host's, and one behind HTTP. The host is not told
// to read members by itself.
func TestZip(t *testing.T) {
	for name, store := range map[string]string{
		"host": `{"kind":"host","id":1,"zip":"dir/x.zip"}`, "http": `{"kind":"http","url":"` + storagetest.OriginURL + `","zip":"dir/x.zip"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			m := storage.NewMemory()
			m.Set("dir/x.zip", archived(t))
			f.stores[1], f.http = m, storagetest.NewOrigin(map[string][]byte{"dir/x.zip": archived(t)})
			e := New(f)
			array, cache := opens(t, f, e, `{"store":`+store+`,"path":"a","node":"array"}`)
			for i := range int64(16) {
				require.Equal(t, want(i), answered(t, f, e, wire.KindReadSubchunk, read(array, cache, wire.FlagLocate, i)))
			}
			for _, kind := range []uint32{wire.KindLocate, wire.KindShardTable} {
				refused(t, f, fault.CodeUnsupported, e, kind, read(array, cache, 0, 0))
			}
			refused(t, f, fault.CodeNotFound, e, wire.KindOpen, []byte(`{"store":`+store+`,"path":"b","node":"array"}`))
			refused(t, f, fault.CodeInvalid, e, wire.KindOpen, []byte(`{"store":`+strings.Replace(store, "x.zip", "y.zip", 1)+`,"path":"a","node":"array"}`))
		})
	}
}

// TestIndexPack: an array opened with a pack asks for no index, but for what
// the pack is no proof of.
func TestIndexPack(t *testing.T) {
	f := newFake(t)
	m, packs := shards(), storage.NewMemory()
	rec := storagetest.Record(m)
	f.stores[1], f.stores[2] = rec, packs
	pack, err := zarr.BuildIndexPack(t.Context(), m, "", zarr.Options{}, nil)
	require.NoError(t, err)
	packs.Set("p", pack.Bytes())
	packs.Set("bad", []byte("GHINDEX\x01 and more"))
	e := New(f)
	open := func(key string) string {
		return `{"store":{"kind":"host","id":1},"path":"","node":"array","index_pack":{"store":{"kind":"host","id":2},"key":"` + key + `"}}`
	}
	array, cache := opens(t, f, e, open("p"))
	rec.Reset()
	require.Equal(t, want(5), answered(t, f, e, wire.KindReadSubchunk, read(array, cache, 0, 5)))
	require.Equal(t, 1, rec.Requests())
	rec.Reset()
	require.NotEmpty(t, answered(t, f, e, wire.KindShardTable, read(array, cache, 0, 0)))
	require.Equal(t, 1, rec.Requests(), "the last subchunk is not stored, says the pack")
	refused(t, f, fault.CodeNotFound, e, wire.KindOpen, []byte(open("none")))
	refused(t, f, fault.CodeCorrupt, e, wire.KindOpen, []byte(open("bad")))
	refused(t, f, fault.CodeInvalid, e, wire.KindOpen, []byte(open("")))
	m.Set("zarr.json", []byte(fmt.Sprintf(metadata, `,{"name":"crc32c"}`)))
	refused(t, f, fault.CodeWrongArray, e, wire.KindOpen, []byte(open("p")))
}

// TestTrace: what reads cost, in the answer of cache_stats.
func TestTrace(t *testing.T) {
	objects := map[string][]byte{}
	for _, key := range []string{"zarr.json", "c/0", "c/1", "c/2"} {
		b, _, err := storage.ReadAll(t.Context(), shards(), key, 1<<20)
		require.NoError(t, err)
		objects[key] = b
	}
	f := newFake(t)
	server := storagetest.NewOrigin(objects)
	f.http = server
	e := New(f)
	const store = `{"store":{"kind":"http","url":"` + storagetest.OriginURL + `"},"path":"","node":"array"`
	array, kept := opens(t, f, e, store+`,"trace":true}`)
	answered(t, f, e, wire.KindReadSubchunk, read(array, kept, 0, 0))
	answered(t, f, e, wire.KindReadSubchunk, read(array, kept, 0, 1))
	var got struct {
		cache.Stats
		Cost map[string]int64
	}
	require.NoError(t, json.Unmarshal(answered(t, f, e, wire.KindCacheStats, u32s(kept)), &got))
	require.EqualValues(t, len(server.Requests()), got.Cost["requests"])
	require.EqualValues(t, 1, got.Cost["index_loads"])
	require.EqualValues(t, 2, got.Cost["reads"])
	require.EqualValues(t, 2, got.Cost["decodes"])
	require.EqualValues(t, 1, got.Loads)
	_, kept = opens(t, f, e, store+`}`)
	require.NotContains(t, string(answered(t, f, e, wire.KindCacheStats, u32s(kept))), "cost")
}

// TestHTTPOptions: how ranges become requests is the host's to say.
func TestHTTPOptions(t *testing.T) {
	objects := map[string][]byte{}
	for _, key := range []string{"zarr.json", "c/0", "c/1", "c/2"} {
		b, _, err := storage.ReadAll(t.Context(), shards(), key, 1<<20)
		require.NoError(t, err)
		objects[key] = b
	}
	f := newFake(t)
	e := New(f)
	open := func(options string) []byte {
		return []byte(`{"store":{"kind":"http","url":"` + storagetest.OriginURL + `"` + options + `},"path":"","node":"array"}`)
	}
	for options, most := range map[string]int{
		``:                                1, // what is a subchunk apart is read in one request
		`,"gap":4`:                        1,
		`,"gap":0`:                        1,
		`,"gap":-1`:                       2,
		`,"gap":1`:                        2,
		`,"gap":1000`:                     1,
		`,"max_merged":1`:                 2,
		`,"max_merged":1000,"parallel":1`: 1,
	} {
		server := storagetest.NewOrigin(objects)
		f.http = server
		array, cache := opens(t, f, e, string(open(options)))
		answered(t, f, e, wire.KindReadSubchunk, read(array, cache, 0, 0))
		before := len(server.Requests())
		answered(t, f, e, wire.KindReadSubchunks, batch(array, cache, 0, 0, 2))
		require.Equal(t, most, len(server.Requests())-before, options)
	}
	for _, options := range []string{`,"gap":-2`, `,"max_merged":-1`, `,"parallel":1025`, `,"parallel":0.5`, `,"gap":"1"`} {
		refused(t, f, fault.CodeInvalid, e, wire.KindOpen, open(options))
	}
}
