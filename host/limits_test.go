package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// TestDeadline ends a call whose store never answers, and one that computes.
func TestDeadline(t *testing.T) {
	patiently(t, 500*time.Millisecond, endsByDeadline)
}

// patiently tries with twice the deadline for as long as something is too slow
// for it that has to succeed: a machine may do other things, too.
func patiently(t *testing.T, deadline time.Duration, try func(*testing.T, *host.Sandbox) bool) {
	t.Helper()
	for !try(t, newSandbox(t, host.Config{Limits: host.Limits{Deadline: deadline}})) {
		deadline *= 2
		require.Less(t, deadline, time.Minute)
	}
}

// slow reports whether that error is of a deadline; there may be no other.
func slow(t *testing.T, err error) bool {
	t.Helper()
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	require.NoError(t, err)
	return false
}

func endsByDeadline(t *testing.T, s *host.Sandbox) bool {
	gate := storagetest.Shut(small.memory(t))
	gate.Let(1)
	a, err := s.OpenArray(t.Context(), gate, "", host.OpenOptions{})
	if slow(t, err) {
		return false
	}
	_, err = a.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrCancelled)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	// A store that knows no context answers too late: what comes after is not done.
	late := &late{Memory: small.memory(t), after: 3}
	b, err := s.OpenArray(t.Context(), late, "", host.OpenOptions{})
	if slow(t, err) {
		return false
	}
	_, err = b.RetrieveRegion(t.Context(), []int64{0, 0}, []int64{256, 256}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrCancelled)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, late.reads, 16)
	require.Zero(t, s.Stats().Died, "it ended by itself")
	got, err := b.RetrieveSubchunk(t.Context(), []int64{5, 5}, host.ReadOptions{})
	if slow(t, err) {
		return false
	}
	require.Equal(t, small.subchunk(5, 5), got)
	return true
}

// late answers one of its reads after the context has ended.
type late struct {
	*storage.Memory
	after, reads int
}

func (l *late) wait(ctx context.Context) {
	if l.reads++; l.reads == l.after {
		<-ctx.Done()
	}
}

func (l *late) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	l.wait(ctx)
	return l.Memory.ReadRanges(context.Background(), key, rs, want)
}

func (l *late) ReadInto(ctx context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	l.wait(ctx)
	return l.Memory.ReadInto(context.Background(), key, off, dst, want)
}

func TestLimits(t *testing.T) {
	metered := func(l host.Limits) (*host.Sandbox, *host.Array) {
		s := newSandbox(t, host.Config{Limits: l})
		a, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
		require.NoError(t, err)
		return s, a
	}
	_, a := metered(host.Limits{Read: 8 << 10})
	_, err := a.RetrieveRegion(t.Context(), []int64{0, 0}, []int64{256, 256}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrLimit)
	require.ErrorContains(t, err, "Limits.Read")
	read(t, a, nil, 4, 4)

	_, a = metered(host.Limits{Output: 1000})
	_, err = a.RetrieveRegion(t.Context(), []int64{0, 0}, []int64{32, 32}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrLimit)
	require.ErrorContains(t, err, "Limits.Output")
	read(t, a, nil, 4, 4)

	s, a := metered(host.Limits{Objects: 2})
	st := small.memory(t)
	g, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	_, err = s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrLimit)
	require.ErrorContains(t, err, "Limits.Objects")
	require.NoError(t, g.Close())
	_, err = s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	read(t, a, nil, 4, 4)

	_, err = host.New(t.Context(), host.Config{Instances: -1})
	require.ErrorIs(t, err, fault.ErrInvalid)
	_, err = host.New(t.Context(), host.Config{Memory: 1})
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// TestDefaults holds the limits of a sandbox of which nothing is said to what
// the constants promise.
func TestDefaults(t *testing.T) {
	s := newSandbox(t, host.Config{})
	require.Equal(t, host.Limits{
		Deadline: host.DefaultDeadline, Read: host.DefaultRead, Output: host.DefaultOutput, Objects: host.DefaultObjects,
	}, s.Limits())
	require.EqualValues(t, host.DefaultMemory, s.Memory())
	none := host.Limits{Deadline: host.Unlimited, Read: host.Unlimited, Output: host.Unlimited, Objects: host.Unlimited}
	s = newSandbox(t, host.Config{Limits: none})
	require.Equal(t, none, s.Limits())
	a, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
	require.NoError(t, err)
	read(t, a, nil, 4, 4)
}

func TestObserve(t *testing.T) {
	var mu sync.Mutex
	calls := map[string][]host.Call{}
	s := newSandbox(t, host.Config{Observe: func(c host.Call) {
		mu.Lock()
		defer mu.Unlock()
		calls[c.Op] = append(calls[c.Op], c)
	}})
	a, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
	require.NoError(t, err)
	read(t, a, nil, 4, 4)
	_, err = a.RetrieveSubchunk(t.Context(), []int64{99, 0}, host.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrOutOfRange)
	require.NoError(t, a.Close())

	require.Len(t, calls["open"], 1)
	require.Len(t, calls["read_subchunk"], 2)
	require.Len(t, calls["close"], 1)
	good, bad := calls["read_subchunk"][0], calls["read_subchunk"][1]
	require.NoError(t, good.Err)
	require.Positive(t, good.Took)
	require.EqualValues(t, len(small.subchunk(0, 0)), good.Output)
	require.Greater(t, good.Read, good.Output/4)
	require.GreaterOrEqual(t, good.Imports, int64(2), "index and data")
	require.ErrorIs(t, bad.Err, fault.ErrOutOfRange)
	require.Zero(t, bad.Read)

	all := s.Stats()
	require.EqualValues(t, 4, all.Calls)
	require.EqualValues(t, 1, all.Failures)
	require.EqualValues(t, 1, all.Started)
	require.Equal(t, calls["open"][0].Read+good.Read, all.Read)
}
