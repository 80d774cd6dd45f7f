package host_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// TestWarmAsNative reads arrays of all kinds of layouts twice with a cache: what
// the host serves is what package zarr does.
func TestWarmAsNative(t *testing.T) {
	s := newSandbox(t, host.Config{})
	for name, change := range map[string]func(text string) string{
		"as it is": func(s string) string { return s },
		"transposed outside": func(s string) string {
			return strings.Replace(s, `"codecs":[{"configuration":{"chunk_shape"`, `"codecs":[{"configuration":{"order":[1,0]},"name":"transpose"},{"configuration":{"chunk_shape"`, 1)
		},
		"transposed inside": func(s string) string {
			return strings.Replace(s, `"codecs":[{"configuration":{"endian":"little"},"name":"bytes"},{"configuration":{"checksum"`, `"codecs":[{"configuration":{"order":[1,0]},"name":"transpose"},{"configuration":{"endian":"little"},"name":"bytes"},{"configuration":{"checksum"`, 1)
		},
		"big endian": func(s string) string {
			return strings.Replace(s, `"codecs":[{"configuration":{"endian":"little"},"name":"bytes"},{"configuration":{"checksum"`, `"codecs":[{"configuration":{"endian":"big"},"name":"bytes"},{"configuration":{"checksum"`, 1)
		},
		"fill value":  func(s string) string { return strings.Replace(s, `"fill_value":0`, `"fill_value":77`, 1) },
		"a wide grid": func(s string) string { return strings.Replace(s, `[256,256]`, `[9007199254740992,256]`, 1) },
		"no elements": func(s string) string { return strings.Replace(s, `[256,256]`, `[0,256]`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			st := small.memory(t)
			before := string(small.metadata(t))
			text := change(before)
			require.Equal(t, name == "as it is", text == before)
			st.Set("zarr.json", []byte(text))
			require.NoError(t, st.Delete(t.Context(), "c/1/1", storage.Condition{}))
			native, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
			require.NoError(t, err)
			a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
			require.NoError(t, err)
			defer a.Close()
			c := a.ShardCache(host.CacheOptions{})
			for range 2 {
				for _, at := range [][]int64{{0, 0}, {3, 5}, {5, 3}, {9, 9}, {31, 2}, {1 << 40, 1}, {}, {1}, {-1, 0}} {
					want, bad := native.RetrieveSubchunk(t.Context(), at, zarr.ReadOptions{})
					got, err := a.RetrieveSubchunk(t.Context(), at, host.ReadOptions{Cache: c})
					require.Equal(t, fault.CodeOf(bad), fault.CodeOf(err), at)
					require.Equal(t, want, got, at)
				}
			}
		})
	}
}

// TestWarmDestinations has results go to where they fit, and not a byte beyond.
func TestWarmDestinations(t *testing.T) {
	s := newSandbox(t, host.Config{})
	for _, codecs := range [][]string{nil, {"zstd"}, {"crc32c"}, {"zstd", "crc32c"}, {"crc32c", "zstd"}} {
		p := small
		p.codecs = codecs
		a, err := s.OpenArray(t.Context(), p.memory(t), "", host.OpenOptions{})
		require.NoError(t, err)
		c := a.ShardCache(host.CacheOptions{})
		for range 2 {
			for _, room := range []int{0, 1, 127, 128, 129, 4096} {
				all := bytes.Repeat([]byte{0xa5}, 8192)
				got, err := a.RetrieveSubchunk(t.Context(), []int64{3, 4}, host.ReadOptions{Cache: c, Dst: all[:room]})
				require.NoError(t, err)
				require.Equal(t, p.subchunk(3, 4), got)
				require.Equal(t, bytes.Repeat([]byte{0xa5}, 8192-128), all[128:], "%v %d", codecs, room)
				require.Same(t, &all[0], &got[0])
				got, err = a.RetrieveSubchunk(t.Context(), []int64{3, 4}, host.ReadOptions{Cache: c, Dst: make([]byte, 0, room)})
				require.NoError(t, err)
				require.Equal(t, p.subchunk(3, 4), got)
			}
		}
		require.NoError(t, a.Close())
	}
}

// nameless tells no versions, so that nobody sees that an object was replaced.
type nameless struct{ inner *storage.Memory }

func (n nameless) ReadRanges(ctx context.Context, key string, rs []storage.Range, _ storage.Version) ([][]byte, storage.ObjectInfo, error) {
	bs, info, err := n.inner.ReadRanges(ctx, key, rs, "")
	info.Version = ""
	return bs, info, err
}

// TestForgottenIndexes replaces shards of a store without versions: whoever
// drops an index, or uses none, reads what is there.
func TestForgottenIndexes(t *testing.T) {
	for _, instances := range []int{1, 3} {
		s := newSandbox(t, host.Config{Instances: instances})
		plain := small
		plain.codecs = nil
		m := plain.memory(t)
		a, err := s.OpenArray(t.Context(), nameless{m}, "", host.OpenOptions{})
		require.NoError(t, err)
		c := a.ShardCache(host.CacheOptions{})
		here := func(o host.ReadOptions) []byte {
			b, err := a.RetrieveSubchunk(t.Context(), []int64{3, 4}, o)
			require.NoError(t, err)
			return b
		}
		whole, _, err := m.ReadRanges(t.Context(), "c/0/0", []storage.Range{storage.All}, "")
		require.NoError(t, err)
		old := plain.subchunk(3, 4)
		fresh := shifted(t, plain)
		for i, drop := range []func(){
			func() { require.NoError(t, c.Clear(t.Context())) },
			func() { require.NoError(t, c.Invalidate(t.Context(), []int64{0, 0})) },
			func() { require.Equal(t, old, here(host.ReadOptions{Cache: c, Reload: true})) },
			func() {
				_, err := a.RetrieveSubchunks(t.Context(), [][]int64{{3, 4}}, host.ReadOptions{Cache: c, Reload: true})
				require.NoError(t, err)
			},
			func() {
				_, err := a.RetrieveRegion(t.Context(), []int64{0, 0}, []int64{1, 1}, host.ReadOptions{Cache: c, Reload: true})
				require.NoError(t, err)
			},
			func() { c = a.ShardCache(host.CacheOptions{}) },
		} {
			m.Set("c/0/0", fresh)
			require.NoError(t, c.Clear(t.Context()))
			require.Equal(t, old, here(host.ReadOptions{Cache: c}))
			require.Equal(t, old, here(host.ReadOptions{}))
			m.Set("c/0/0", whole[0])
			require.Equal(t, old, here(host.ReadOptions{}), "no cache, no index that was kept: %d", i)
			drop()
			require.Equal(t, old, here(host.ReadOptions{Cache: c}), "%d", i)
			require.Equal(t, old, here(host.ReadOptions{Cache: c}), "%d", i)
		}
	}
}

// shifted is the first shard of p, all of it two hundred bytes further on.
func shifted(t *testing.T, p plan) []byte {
	le := binary.LittleEndian
	b := p.shardOf(t, nil, 0, 0)
	per := int(p.shard / p.sub)
	n := len(b) - 16*per*per - 4
	index := bytes.Clone(b[n : len(b)-4])
	for i := range per * per {
		le.PutUint64(index[16*i:], le.Uint64(index[16*i:])+200)
	}
	out := append(append(make([]byte, 200), b[:n]...), index...)
	return le.AppendUint32(out, crc32.Checksum(index, castagnoli))
}

// TestWarmReadsEndInTime has a store hold up a warm read: it takes its time
// once.
func TestWarmReadsEndInTime(t *testing.T) {
	patiently(t, 300*time.Millisecond, warmReadsEndInTime)
}

func warmReadsEndInTime(t *testing.T, s *host.Sandbox) bool {
	gate := storagetest.Shut(small.memory(t))
	gate.Let(3) // metadata, an index, and a subchunk
	rec := storagetest.Record(gate)
	a, err := s.OpenArray(t.Context(), rec, "", host.OpenOptions{})
	if slow(t, err) {
		return false
	}
	c := a.ShardCache(host.CacheOptions{})
	if _, err = a.RetrieveSubchunk(t.Context(), []int64{3, 4}, host.ReadOptions{Cache: c}); slow(t, err) {
		return false
	}
	for _, at := range [][]int64{{3, 5}, {30, 30}} { // with an index, and without
		rec.Reset()
		_, err = a.RetrieveSubchunk(t.Context(), at, host.ReadOptions{Cache: c})
		require.ErrorIs(t, err, fault.ErrCancelled)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 1, rec.Requests(), "nobody begins anew")
	}
	gate.Open()
	got, err := a.RetrieveSubchunk(t.Context(), []int64{3, 5}, host.ReadOptions{Cache: c})
	if slow(t, err) {
		return false
	}
	require.Equal(t, small.subchunk(3, 5), got)
	return true
}

// TestCacheOfAClosedArray: a cache is closed with its array, for others of the
// same place, too.
func TestCacheOfAClosedArray(t *testing.T) {
	s := newSandbox(t, host.Config{})
	st := small.memory(t)
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	b, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	read(t, a, c, 3, 3)
	read(t, b, c, 3, 3)
	require.NoError(t, a.Close())
	_, err = b.RetrieveSubchunk(t.Context(), []int64{3, 3}, host.ReadOptions{Cache: c})
	require.ErrorIs(t, err, fault.ErrClosed)
	_, err = b.RetrieveRegion(t.Context(), []int64{3, 3}, []int64{4, 4}, host.ReadOptions{Cache: c})
	require.ErrorIs(t, err, fault.ErrClosed)
	read(t, b, nil, 3, 3)
	require.True(t, json.Valid(b.Describe()))
}
