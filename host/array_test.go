package host_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

var farPast = time.Unix(0, 0)

// TestIndexLoads counts: one load a shard however many read, none when warm.
func TestIndexLoads(t *testing.T) {
	s := newSandbox(t, host.Config{})
	st := storagetest.Record(small.memory(t))
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	for round := range 2 {
		st.Reset()
		var wg sync.WaitGroup
		for i := range int64(32) {
			wg.Go(func() {
				b, err := a.RetrieveSubchunk(t.Context(), []int64{i, 31 - i}, host.ReadOptions{Cache: c})
				if err != nil || string(b) != string(small.subchunk(i, 31-i)) {
					t.Errorf("subchunk %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, 32+4*(1-round), st.Requests(), "round %d", round)
	}
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, stats.Loads)
	require.EqualValues(t, 4, stats.Entries)

	require.NoError(t, c.Invalidate(t.Context(), []int64{0, 3}))
	n, err := c.Len(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.NoError(t, c.Clear(t.Context()))
	n, err = c.Len(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	_, err = c.Stats(t.Context())
	require.ErrorIs(t, err, fault.ErrClosed)
	_, err = a.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{Cache: c})
	require.ErrorIs(t, err, fault.ErrClosed)
}

func TestCacheOfAnotherArray(t *testing.T) {
	s, other := newSandbox(t, host.Config{}), newSandbox(t, host.Config{})
	st := small.memory(t)
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	same, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	b, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
	require.NoError(t, err)
	far, err := other.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	read(t, same, c, 1, 1)
	for _, x := range []*host.Array{b, far} {
		_, err = x.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{Cache: c})
		require.ErrorIs(t, err, fault.ErrWrongArray)
	}
}

func TestCloseFreesHandles(t *testing.T) {
	s := newSandbox(t, host.Config{})
	st := small.memory(t)
	for range 3 {
		a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
		require.NoError(t, err)
		read(t, a, a.ShardCache(host.CacheOptions{}), 0, 0)
		require.NoError(t, a.Close())
		require.NoError(t, a.Close())
		require.Zero(t, s.Handles())
	}
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, a.Close())
	_, err = a.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrClosed)
	_, err = s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrClosed)
}

// TestResultsSurviveGrowth keeps a result while the guest's memory grows and
// is used again.
func TestResultsSurviveGrowth(t *testing.T) {
	s := newSandbox(t, host.Config{})
	p := plan{shape: 4096, shard: 4096, sub: 4096, value: func(y, x int64) uint16 { return uint16(x ^ y) }} // 32 MiB
	st := small.memory(t)
	p.each(t, func(key string, b []byte) { st.Set("large/"+key, b) })
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	large, err := s.OpenArray(t.Context(), st, "large", host.OpenOptions{})
	require.NoError(t, err)
	first, err := a.RetrieveSubchunk(t.Context(), []int64{3, 3}, host.ReadOptions{})
	require.NoError(t, err)
	before := s.MemorySize()
	b, err := large.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, sum(p.subchunk(0, 0)), sum(b))
	require.Greater(t, s.MemorySize(), before)
	read(t, a, nil, 9, 9)
	require.Equal(t, small.subchunk(3, 3), first)
	grown := append(first, 1, 2, 3)
	read(t, a, nil, 3, 3)
	require.Equal(t, []byte{1, 2, 3}, grown[len(first):])
}

func TestMemoryStaysFlat(t *testing.T) {
	s := newSandbox(t, host.Config{})
	a, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	dst := make([]byte, 0, 128)
	reads := func(n int64) uint32 {
		for i := range n {
			b, err := a.RetrieveSubchunk(t.Context(), []int64{i % 32, i / 32 % 32}, host.ReadOptions{Cache: c, Dst: dst})
			require.NoError(t, err)
			require.Len(t, b, 128)
		}
		return s.MemorySize()
	}
	early := reads(50_000) // some collections long
	require.LessOrEqual(t, reads(20_000), early+1<<20)
}

func TestNodesAndLists(t *testing.T) {
	s := newSandbox(t, host.Config{})
	st := storage.NewMemory()
	st.Set("g/zarr.json", []byte(`{"zarr_format":3,"node_type":"group","attributes":{"a":1}}`))
	small.each(t, func(key string, b []byte) { st.Set("g/x/"+key, b) })
	n, err := s.Open(t.Context(), st, "g", host.OpenOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"group", "g"}, []string{n.Kind(), n.Path()})
	require.Contains(t, string(n.Describe()), `"a":1`)
	require.NoError(t, n.Close())
	n, err = s.Open(t.Context(), st, "g/x", host.OpenOptions{})
	require.NoError(t, err)
	require.IsType(t, &host.Array{}, n)

	entries, err := s.List(t.Context(), st, "g")
	require.NoError(t, err)
	want, err := zarr.List(t.Context(), st, "g", zarr.Options{})
	require.NoError(t, err)
	require.Equal(t, want, entries)

	checked, err := s.Verify(t.Context(), st, "g", func(d zarr.Damage) { t.Errorf("damaged: %v", d) })
	require.NoError(t, err)
	require.EqualValues(t, 1024, checked)
	st.Set("g/x/c/1/1", []byte("no shard"))
	var found []zarr.Damage
	_, err = s.Verify(t.Context(), st, "g", func(d zarr.Damage) { found = append(found, d) })
	require.NoError(t, err)
	var expected []zarr.Damage
	_, err = zarr.Verify(t.Context(), st, "g", zarr.Options{}, func(d zarr.Damage) { expected = append(expected, d) })
	require.NoError(t, err)
	require.NotEmpty(t, found)
	require.Equal(t, expected, found)

	_, err = s.OpenGroup(t.Context(), st, "g/x", host.OpenOptions{})
	require.Error(t, err)
	_, err = s.OpenArray(t.Context(), st, "g", host.OpenOptions{})
	require.Error(t, err)
	_, err = s.Open(t.Context(), st, "nothing", host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrNotFound)
	_, err = s.Open(t.Context(), nil, "", host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// TestHTTP has the guest speak HTTP through the sandbox's Fetcher.
func TestHTTP(t *testing.T) {
	objects := map[string][]byte{}
	small.each(t, func(key string, b []byte) { objects[key] = b })
	origin := storagetest.NewOrigin(objects)
	s := newSandbox(t, host.Config{Fetcher: origin})
	st := s.HTTP(storagetest.OriginURL, host.HTTPOptions{})
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	read(t, a, c, 1, 2)
	origin.Reset()
	read(t, a, c, 3, 4)
	require.Len(t, origin.Requests(), 1, "a warm read is one request")
	require.True(t, strings.HasPrefix(origin.Requests()[0], "GET c/0/0 bytes="))

	_, err = s.OpenArray(t.Context(), s.HTTP(storagetest.OriginURL+"/nothing", host.HTTPOptions{}), "", host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrNotFound)
	none := newSandbox(t, host.Config{})
	_, err = none.OpenArray(t.Context(), none.HTTP(storagetest.OriginURL, host.HTTPOptions{}), "", host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrUnsupported)
}

// TestCorrupt reads what the peers' tests damaged: the sandbox refuses what
// the native core refuses, for the same reason.
func TestCorrupt(t *testing.T) {
	dir, err := golden.Zarr()
	require.NoError(t, err)
	cases, err := golden.LoadCorrupt(dir)
	require.NoError(t, err)
	s := newSandbox(t, host.Config{})
	strict := newSandbox(t, host.Config{Strict: true})
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			st := loadDir(t, filepath.Join(dir, c.Path))
			native := func() error {
				a, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
				if err != nil {
					return err
				}
				_, err = a.RetrieveRegion(t.Context(), make([]int64, len(a.Shape())), a.Shape(), zarr.ReadOptions{})
				return err
			}()
			for _, s := range []*host.Sandbox{s, strict} {
				guest := func() error {
					a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
					if err != nil {
						return err
					}
					defer a.Close()
					_, err = a.RetrieveRegion(t.Context(), make([]int64, len(a.Shape())), a.Shape(), host.ReadOptions{})
					return err
				}()
				require.Equal(t, fault.CodeOf(native), fault.CodeOf(guest), "native: %v, guest: %v", native, guest)
			}
		})
	}
	require.EqualValues(t, 1, s.Serial(), "no guest died of it")
}
