package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// read wants the right bytes of a subchunk of small.
func read(t *testing.T, a *host.Array, c *host.ShardCache, y, x int64) {
	t.Helper()
	b, err := a.RetrieveSubchunk(t.Context(), []int64{y, x}, host.ReadOptions{Cache: c})
	require.NoError(t, err)
	require.Equal(t, small.subchunk(y, x), b)
}

// TestOutOfMemory lets a guest die for want of memory: its metadata alone
// take more than there is. The call fails, and the next one is right.
func TestOutOfMemory(t *testing.T) {
	s := newSandbox(t, host.Config{Memory: 16 << 20})
	st := small.memory(t)
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	read(t, a, c, 3, 4)

	var meta map[string]any
	require.NoError(t, json.Unmarshal(small.metadata(t), &meta))
	many := make([]any, 200_000)
	for i := range many {
		many[i] = map[string]any{fmt.Sprint(i): i}
	}
	meta["attributes"] = map[string]any{"many": many}
	huge, err := json.Marshal(meta)
	require.NoError(t, err)
	st.Set("huge/zarr.json", huge)
	before := s.Serial()
	_, err = s.OpenArray(t.Context(), st, "huge", host.OpenOptions{})
	require.Error(t, err)
	t.Log(err)
	if errors.Is(err, fault.ErrInternal) {
		require.Contains(t, err.Error(), "died")
	} else {
		require.ErrorIs(t, err, fault.ErrLimit)
	}

	read(t, a, c, 5, 6)
	t.Log("instances:", before, s.Serial())
	require.NoError(t, a.Close())
}

// TestTrap kills the guest outright.
func TestTrap(t *testing.T) {
	s := newSandbox(t, host.Config{Strict: true})
	st := storagetest.Record(small.memory(t))
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	g, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	read(t, a, c, 3, 4)
	before := s.Serial()
	err = s.Trap()
	require.ErrorIs(t, err, fault.ErrInternal)

	read(t, a, c, 5, 6)
	require.Equal(t, before+1, s.Serial(), "a fresh instance")
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Loads, "whose cache was empty")
	read(t, g, c, 7, 7)

	// What was opened and is another thing now is not opened again.
	require.ErrorIs(t, s.Trap(), fault.ErrInternal)
	other := small
	other.sub = 16
	memory := small.memory(t)
	memory.Set("zarr.json", other.metadata(t))
	require.NoError(t, a.Close())
	_, err = a.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrClosed)
}

func TestReopenedAsAnother(t *testing.T) {
	s := newSandbox(t, host.Config{})
	st := small.memory(t)
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	other := small
	other.sub = 16
	st.Set("zarr.json", other.metadata(t))
	require.ErrorIs(t, s.Trap(), fault.ErrInternal)
	_, err = a.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrStale)
	st.Set("zarr.json", small.metadata(t))
	read(t, a, nil, 0, 0)
}

func TestStoreFails(t *testing.T) {
	s := newSandbox(t, host.Config{Strict: true})
	inner := small.memory(t)
	a, err := s.OpenArray(t.Context(), inner, "", host.OpenOptions{})
	require.NoError(t, err)
	_ = a
	boom := fault.New(fault.ErrIO, "disk", "c/0/0", "on fire")
	// Reads: 0 metadata, 1 index, 2 data, 3 data.
	st := storagetest.Break(inner, map[int]storagetest.Fault{2: {Err: boom}, 3: {Err: errors.New("bare")}})
	a, err = s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	for _, text := range []string{"on fire", "bare"} {
		_, err = a.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{Cache: c})
		require.ErrorIs(t, err, fault.ErrIO)
		require.ErrorContains(t, err, text)
	}
	read(t, a, c, 0, 0)
	require.EqualValues(t, 1, s.Serial(), "the guest lives on")
}

// panicking is a store that panics when told to.
type panicking struct {
	storage.Store
	now bool
}

func (p *panicking) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	if p.now {
		panic("a fault of the host's")
	}
	return p.Store.ReadRanges(ctx, key, rs, want)
}

func TestStorePanics(t *testing.T) {
	s := newSandbox(t, host.Config{})
	st := &panicking{Store: small.memory(t)}
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	st.now = true
	_, err = a.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrInternal)
	require.ErrorContains(t, err, "a fault of the host's")
	st.now = false
	read(t, a, nil, 0, 0)
	require.EqualValues(t, 1, s.Serial(), "nothing was thrown through the guest")
}

func TestCancelled(t *testing.T) {
	s := newSandbox(t, host.Config{})
	gate := storagetest.Shut(small.memory(t))
	gate.Let(1)
	a, err := s.OpenArray(t.Context(), gate, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})

	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := a.RetrieveSubchunk(ctx, []int64{0, 0}, host.ReadOptions{Cache: c})
		failed <- err
	}()
	require.NoError(t, gate.Await(t.Context(), 1))
	waits, give := context.WithCancel(t.Context())
	queued := make(chan error)
	go func() {
		_, err := a.RetrieveSubchunk(waits, []int64{0, 0}, host.ReadOptions{Cache: c})
		queued <- err
	}()
	give()
	err = <-queued
	require.ErrorIs(t, err, fault.ErrCancelled, "while it waits for its turn")
	cancel()
	err = <-failed
	require.ErrorIs(t, err, fault.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)

	gate.Open()
	read(t, a, c, 0, 0)
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Entries)
	require.EqualValues(t, 1, s.Serial())

	past, stop := context.WithDeadline(t.Context(), farPast)
	defer stop()
	_, err = a.RetrieveSubchunk(past, []int64{0, 0}, host.ReadOptions{Cache: c})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	read(t, a, c, 1, 1)
}

// TestComputingIsCancelled stops a guest that computes and reads nothing
// meanwhile: the region is one that its store cancels in the middle of.
func TestComputingIsCancelled(t *testing.T) {
	s := newSandbox(t, host.Config{Strict: true})
	ctx, cancel := context.WithCancel(t.Context())
	st := &cancelling{Memory: small.memory(t), cancel: cancel, after: 3}
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	_, err = a.RetrieveRegion(ctx, []int64{0, 0}, []int64{256, 256}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrCancelled)
	require.Less(t, st.reads, 16, "the region was not read to its end")
	read(t, a, nil, 2, 2)
}

// cancelling cancels a context after some reads, which it carries out.
type cancelling struct {
	*storage.Memory
	cancel context.CancelFunc
	after  int
	reads  int
}

func (c *cancelling) note() {
	if c.reads++; c.reads == c.after {
		c.cancel()
	}
}

func (c *cancelling) ReadRanges(_ context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	c.note()
	return c.Memory.ReadRanges(context.Background(), key, rs, want)
}

func (c *cancelling) ReadInto(_ context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	c.note()
	return c.Memory.ReadInto(context.Background(), key, off, dst, want)
}

func TestBadRequests(t *testing.T) {
	s := newSandbox(t, host.Config{})
	a, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
	require.NoError(t, err)
	ctx := t.Context()
	require.ErrorIs(t, s.Raw(ctx, 999, nil), fault.ErrUnsupported)
	require.ErrorIs(t, s.Raw(ctx, 7, nil), fault.ErrInvalid)
	require.ErrorIs(t, s.Raw(ctx, 7, bytes.Repeat([]byte{255}, 100)), fault.ErrInvalid)
	require.ErrorIs(t, s.Raw(ctx, 2, []byte{9, 0, 9, 0}), fault.ErrClosed)
	require.ErrorIs(t, s.Raw(ctx, 1, bytes.Repeat([]byte{' '}, 1<<20)), fault.ErrInvalid, "larger than the mailbox has room for")
	require.ErrorIs(t, s.Raw(ctx, 1, bytes.Repeat([]byte{' '}, 300<<20)), fault.ErrLimit, "larger than the guest gives memory for")
	for _, p := range [][2]uint32{{0, 10}, {^uint32(0), 2}, {^uint32(0) - 10, ^uint32(0)}, {s.MemorySize() - 1, 2}, {8, ^uint32(0)}} {
		code, err := s.RawStart(7, p[0], p[1])
		require.NoError(t, err, "%#x", p)
		require.EqualValues(t, fault.CodeInvalid, code, "%#x", p)
	}
	for name, idx := range map[string][]int64{"none": nil, "too many": {1, 2, 3}} {
		_, err = a.RetrieveSubchunk(ctx, idx, host.ReadOptions{})
		require.ErrorIs(t, err, fault.ErrInvalid, name)
	}
	_, err = a.RetrieveSubchunk(ctx, []int64{32, 0}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrOutOfRange)
	_, err = a.RetrieveSubchunk(ctx, []int64{-1, 0}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrOutOfRange)
	read(t, a, nil, 31, 31)
	require.EqualValues(t, 1, s.Serial())
}
