package host_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// TestClosedWhileACallWaits closes what a call is about, before the call has an
// instance: it is not opened again.
func TestClosedWhileACallWaits(t *testing.T) {
	s := newSandbox(t, host.Config{})
	st := small.memory(t)
	stays, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := stays.ShardCache(host.CacheOptions{})
	release, err := s.Occupy()
	require.NoError(t, err)
	errs := make(chan error, 2)
	go func() {
		_, err := a.RetrieveRegion(t.Context(), []int64{0, 0}, []int64{1, 1}, host.ReadOptions{})
		errs <- err
	}()
	go func() {
		_, err := stays.RetrieveRegion(t.Context(), []int64{0, 0}, []int64{1, 1}, host.ReadOptions{Cache: c})
		errs <- err
	}()
	for s.Waiting() < 2 {
		runtime.Gosched()
	}
	require.NoError(t, a.Close())
	require.NoError(t, c.Close())
	release()
	for range 2 {
		require.ErrorIs(t, <-errs, fault.ErrClosed)
	}
	require.Equal(t, 1, s.Handles(), "the array that stays")
	require.EqualValues(t, 1, s.Stats().Objects)
	read(t, stays, nil, 3, 3)
}

// TestClosingInAnyOrder closes arrays, caches, containers and at last the
// sandbox while calls use them and instances die: calls succeed, or fail for
// that, and nothing is left.
func TestClosingInAnyOrder(t *testing.T) {
	s := newSandbox(t, host.Config{Instances: 3})
	dir := t.TempDir()
	counter(t, s, dir)
	fs := directory(t, dir)
	expected := func(err error) bool {
		return err == nil || errors.Is(err, fault.ErrClosed) || errors.Is(err, fault.ErrInternal)
	}
	var calls, closers sync.WaitGroup
	for k := range 4 {
		a, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
		require.NoError(t, err)
		caches := []*host.ShardCache{a.ShardCache(host.CacheOptions{}), a.ShardCache(host.CacheOptions{}), nil}
		c, err := s.OpenContainer(t.Context(), fs, "c.b2frame", host.ContainerOptions{})
		require.NoError(t, err)
		for _, cache := range caches {
			calls.Go(func() {
				for i := range int64(40) {
					b, err := a.RetrieveSubchunk(t.Context(), []int64{i % 32, i / 2}, host.ReadOptions{Cache: cache})
					if !expected(err) || err == nil && string(b) != string(small.subchunk(i%32, i/2)) {
						t.Error(err)
					}
				}
			})
		}
		calls.Go(func() {
			for range 10 {
				if _, err := c.Slice(t.Context(), nil, nil); !expected(err) {
					t.Error(err)
				}
			}
		})
		ends := []func() error{a.Close, c.Close, caches[0].Close, func() error { _ = s.Trap(); return nil }}
		rand.New(rand.NewPCG(uint64(k), 7)).Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
		closers.Go(func() {
			for _, end := range ends {
				if err := end(); !expected(err) {
					t.Error(err)
				}
				runtime.Gosched()
			}
		})
	}
	closers.Wait()
	require.NoError(t, s.Close())
	calls.Wait()
	_, stores, systems, kept := s.Lent()
	require.Zero(t, stores)
	require.Zero(t, systems)
	require.Zero(t, kept)
	require.Zero(t, s.Stats().Objects)
	_, err := s.At("/")
	require.Error(t, err)
}

// TestOneDirectoryByTwoStores closes one of two stores that name the same, with
// what was opened over it: the other goes on.
func TestOneDirectoryByTwoStores(t *testing.T) {
	s := newSandbox(t, host.Config{})
	dir := t.TempDir()
	small.each(t, func(key string, b []byte) {
		name := filepath.Join(dir, filepath.FromSlash(key))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, b, 0o644))
	})
	open := func() (*file.Store, *host.Array) {
		st, err := file.Open(dir, file.Options{})
		require.NoError(t, err)
		a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
		require.NoError(t, err)
		return st, a
	}
	first, a := open()
	second, b := open()
	require.True(t, storage.Same(first, second))
	read(t, b, nil, 1, 1)
	require.NoError(t, a.Close())
	require.NoError(t, first.Close())
	read(t, b, nil, 20, 20)
	require.NoError(t, b.Close())
	require.NoError(t, second.Close())
}

// TestCodecsAreLentOnce opens arrays again and again: that keeps nothing.
func TestCodecsAreLentOnce(t *testing.T) {
	s := newSandbox(t, host.Config{Instances: 2})
	st := small.memory(t)
	for range 8 {
		a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
		require.NoError(t, err)
		read(t, a, a.ShardCache(host.CacheOptions{}), 3, 3)
		require.NoError(t, a.Close())
		require.ErrorIs(t, s.Trap(), fault.ErrInternal)
	}
	codecs, stores, _, kept := s.Lent()
	require.Equal(t, 1, codecs)
	require.Zero(t, stores)
	require.Zero(t, kept)
}

// TestTooLargeToBeTold opens arrays whose description is more than a result may
// have: none stays open in the guest.
func TestTooLargeToBeTold(t *testing.T) {
	s := newSandbox(t, host.Config{Limits: host.Limits{Output: 100}})
	for range 3 {
		_, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
		require.ErrorIs(t, err, fault.ErrLimit)
	}
	for h := range byte(8) {
		for tag := range byte(4) {
			require.Error(t, s.Raw(t.Context(), wire.KindClose, []byte{h, 0, tag, 0}))
		}
	}
	_, stores, _, _ := s.Lent()
	require.Zero(t, stores)
}

// TestPutAgain stores a container of another instance twice, and writes to it
// between: each copy is of what there was.
func TestPutAgain(t *testing.T) {
	s := newSandbox(t, host.Config{Instances: 2})
	fs := directory(t, t.TempDir())
	leaf, err := s.CreateContainer(t.Context(), fs, "leaf.b2nd", host.ContainerSpec{Kind: "ndarray", Shape: blosc2.Shape{Shape: []int64{10}, DType: "<i4"}, Data: counted(10)})
	require.NoError(t, err)
	release, err := s.Occupy() // the instance that leaf has
	require.NoError(t, err)
	st, err := s.CreateContainer(t.Context(), fs, "store", host.ContainerSpec{Kind: "embedstore"})
	require.NoError(t, err)
	release()
	stored := func(key string) []byte {
		require.NoError(t, st.Put(t.Context(), key, leaf))
		got, err := st.Get(t.Context(), key)
		require.NoError(t, err)
		defer got.Close()
		b, err := whole(t, got)
		require.NoError(t, err)
		return b
	}
	require.Equal(t, counted(10), stored("/a"))
	require.NoError(t, leaf.AppendAlong(t.Context(), 0, make([]byte, 8)))
	require.Equal(t, append(counted(10), make([]byte, 8)...), stored("/b"))
	snapshot, err := leaf.Snapshot(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, st.Put(t.Context(), "/c", snapshot), fault.ErrUnsupported)
	require.NoError(t, snapshot.Close())
	require.NoError(t, leaf.Close())
	require.NoError(t, st.Close())
	require.Zero(t, s.Handles())
	require.Zero(t, s.Files())
	require.Zero(t, s.Stats().Objects)
}
