package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/fault"
)

// TestLimitsToTheByte allows exactly what a call needs, then one byte less.
func TestLimitsToTheByte(t *testing.T) {
	region := func(l host.Limits) (int64, error) {
		s := newSandbox(t, host.Config{Limits: l})
		a, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
		require.NoError(t, err)
		before := s.Stats().Read
		_, err = a.RetrieveRegion(t.Context(), []int64{0, 0}, []int64{64, 64}, host.ReadOptions{})
		return s.Stats().Read - before, err
	}
	read, err := region(host.Limits{})
	require.NoError(t, err)
	for name, limits := range map[string][2]host.Limits{
		"Limits.Read":   {{Read: read}, {Read: read - 1}},
		"Limits.Output": {{Output: 64 * 64 * 2}, {Output: 64*64*2 - 1}},
	} {
		_, err := region(limits[0])
		require.NoError(t, err, name)
		_, err = region(limits[1])
		require.ErrorIs(t, err, fault.ErrLimit)
		require.ErrorContains(t, err, name)
	}
}

// TestNoTimeAtAll gives calls a nanosecond: none succeeds, nothing stays open.
func TestNoTimeAtAll(t *testing.T) {
	s := newSandbox(t, host.Config{Limits: host.Limits{Deadline: 1}})
	for range 3 {
		_, err := s.OpenArray(t.Context(), small.memory(t), "", host.OpenOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.Zero(t, s.Handles())
	require.Zero(t, s.Stats().Objects)
	require.Zero(t, s.Stats().Died)
}
