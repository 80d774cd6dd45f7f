package host_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/web"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// largeShard is an object of 5 GiB that nobody stores: its bytes follow from
// their offsets, but for the index at its end.
type largeShard struct {
	index []byte
}

const (
	largeSize = 5 << 30
	largeSub  = 1 << 10 // bytes of a subchunk
)

// largeOffsets are where the subchunks lie: on both sides of 2^31 and of 2^32,
// across them, and at the end.
var largeOffsets = []int64{0, 1<<31 - largeSub, 1<<31 - 7, 1 << 31, 1<<32 - largeSub, 1<<32 - 7, 1 << 32, largeSize - largeSub - 16*8 - 4}

func largeByte(off int64) byte { return byte(uint64(off) * 0x9e3779b97f4a7c15 >> 56) }

func largeBytes(off int64) []byte {
	b := make([]byte, largeSub)
	for i := range b {
		b[i] = largeByte(off + int64(i))
	}
	return b
}

// ReadAt is io.ReaderAt's.
func (l largeShard) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		switch o := off + int64(i); {
		case o >= largeSize:
			return i, io.EOF
		case o >= largeSize-int64(len(l.index)):
			p[i] = l.index[o-(largeSize-int64(len(l.index)))]
		default:
			p[i] = largeByte(o)
		}
	}
	return len(p), nil
}

// TestLargeObject reads subchunks from a 5 GiB shard over HTTP: natively, in
// the sandbox by the host's store, and in the sandbox by its own HTTP.
func TestLargeObject(t *testing.T) {
	var index []byte
	for _, off := range largeOffsets {
		index = binary.LittleEndian.AppendUint64(index, uint64(off))
		index = binary.LittleEndian.AppendUint64(index, largeSub)
	}
	index = binary.LittleEndian.AppendUint32(index, crc32.Checksum(index, crc32.MakeTable(crc32.Castagnoli)))
	shard := largeShard{index: index}
	n := len(largeOffsets)
	meta := fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":[%d],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[%d]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[%d],
		"codecs":[{"name":"bytes"}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],"index_location":"end"}}]}`, n*largeSub, n*largeSub, largeSub)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"large"`)
		switch r.URL.Path {
		case "/zarr.json":
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(meta))
		case "/c/0":
			http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(shard, 0, largeSize))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	f := web.New(web.Options{})
	t.Cleanup(func() { f.Close() })
	plain := storage.NewHTTP(f, server.URL, storage.HTTPOptions{})
	sandbox := newSandbox(t, host.Config{Fetcher: f})

	native, err := zarr.OpenArray(t.Context(), plain, "", zarr.Options{})
	require.NoError(t, err)
	inside, err := sandbox.OpenArray(t.Context(), plain, "", host.OpenOptions{})
	require.NoError(t, err)
	itself, err := sandbox.OpenArray(t.Context(), sandbox.HTTP(server.URL, host.HTTPOptions{}), "", host.OpenOptions{})
	require.NoError(t, err)
	for k, off := range largeOffsets {
		idx := []int64{int64(k)}
		got, err := native.RetrieveSubchunk(t.Context(), idx, zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, largeBytes(off), got, "native, at %d", off)
		for _, a := range []*host.Array{inside, itself} {
			got, err := a.RetrieveSubchunk(t.Context(), idx, host.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, largeBytes(off), got, "in the sandbox, at %d", off)
		}
	}
	start, stop := []int64{1*largeSub + 5}, []int64{7*largeSub - 5}
	want, err := native.RetrieveRegion(t.Context(), start, stop, zarr.ReadOptions{})
	require.NoError(t, err)
	for _, a := range []*host.Array{inside, itself} {
		got, err := a.RetrieveRegion(t.Context(), start, stop, host.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}

	// An entry that passes the end is refused, whichever way its sum wraps.
	for _, off := range []uint64{largeSize - 10, 1<<63 - 1, 1<<64 - largeSub} {
		binary.LittleEndian.PutUint64(index, off)
		binary.LittleEndian.PutUint32(index[len(index)-4:], crc32.Checksum(index[:len(index)-4], crc32.MakeTable(crc32.Castagnoli)))
		_, err := native.RetrieveSubchunk(t.Context(), []int64{0}, zarr.ReadOptions{})
		require.ErrorIs(t, err, fault.ErrCorrupt)
		_, err = itself.RetrieveSubchunk(t.Context(), []int64{0}, host.ReadOptions{})
		require.ErrorIs(t, err, fault.ErrCorrupt)
	}
}
