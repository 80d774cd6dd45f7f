package host_test

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

var locking = host.ContainerOptions{Write: true, Locking: blosc2.Locked}

// counter is a sequence of one number.
func counter(t *testing.T, s *host.Sandbox, dir string) {
	spec := host.ContainerSpec{Kind: "schunk", Data: make([]byte, 8), Options: locking}
	spec.Spec = blosc2.Spec{Params: blosc.Params{Codec: blosc.LZ4, Level: 1, TypeSize: 8}, ChunkSize: 8}
	c, err := s.CreateContainer(t.Context(), directory(t, dir), "c.b2frame", spec)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// increment adds one while it holds the lock.
func increment(ctx context.Context, c *host.Container) error {
	return c.HoldingLock(ctx, func(ctx context.Context, held *host.Container) error {
		var b [8]byte
		if err := held.ReadBytes(ctx, 0, b[:]); err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(b[:], binary.LittleEndian.Uint64(b[:])+1)
		return held.SetSlice(ctx, []blosc2.Span{{Start: 0, Stop: 1}}, b[:])
	})
}

// TestLockedIncrements lets two sandboxes, two handles of one of them and the
// machine count together: none is lost.
func TestLockedIncrements(t *testing.T) {
	dir := t.TempDir()
	one, two := newSandbox(t, host.Config{}), newSandbox(t, host.Config{})
	counter(t, one, dir)
	const each = 25
	var wg sync.WaitGroup
	for _, s := range []*host.Sandbox{one, one, two} {
		c, err := s.OpenContainer(t.Context(), directory(t, dir), "c.b2frame", locking)
		require.NoError(t, err)
		wg.Go(func() {
			for range each {
				if err := increment(t.Context(), c); err != nil {
					t.Error(err)
					return
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	native, err := blosc2.Open(t.Context(), directory(t, dir), "c.b2frame", blosc2.Options{Write: true, Locking: blosc2.Locked})
	require.NoError(t, err)
	for range each {
		require.NoError(t, native.(*blosc2.SChunk).HoldingLock(t.Context(), func(ctx context.Context, held *blosc2.SChunk) error {
			b, err := held.Slice(ctx, 0, 1, nil)
			if err != nil {
				return err
			}
			binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+1)
			return held.SetSlice(ctx, 0, b)
		}))
	}
	wg.Wait()
	b, err := native.(*blosc2.SChunk).Slice(t.Context(), 0, 1, nil)
	require.NoError(t, err)
	require.EqualValues(t, 4*each, binary.LittleEndian.Uint64(b))
	require.NoError(t, native.Close())
	require.Zero(t, one.Files())
}

// TestLockWaits wants a lock that another handle of the same instance holds:
// in vain, or until it is given back.
func TestLockWaits(t *testing.T) {
	dir := t.TempDir()
	s := newSandbox(t, host.Config{})
	counter(t, s, dir)
	fs := directory(t, dir)
	o := locking
	o.LockTimeout = 20 * time.Millisecond
	var c *host.Container
	err := fault.ErrLockTimeout
	for errors.Is(err, fault.ErrLockTimeout) { // 20 ms may pass before it looks
		c, err = s.OpenContainer(t.Context(), fs, "c.b2frame", o)
	}
	require.NoError(t, err)
	other, err := s.OpenContainer(t.Context(), fs, "c.b2frame", locking)
	require.NoError(t, err)
	var left *host.Container
	done := make(chan error, 1)
	require.NoError(t, other.HoldingLock(t.Context(), func(ctx context.Context, held *host.Container) error {
		left = held
		require.ErrorIs(t, increment(t.Context(), c), fault.ErrLockTimeout)
		_, err := c.Slice(t.Context(), nil, nil)
		require.ErrorIs(t, err, fault.ErrLockTimeout)
		short, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, increment(short, other), fault.ErrCancelled)
		go func() { done <- increment(t.Context(), other) }()
		return held.SetSlice(ctx, []blosc2.Span{{Start: 0, Stop: 1}}, []byte{41, 0, 0, 0, 0, 0, 0, 0})
	}))
	require.NoError(t, <-done)
	b, err := other.Slice(t.Context(), nil, nil)
	require.NoError(t, err)
	require.EqualValues(t, 42, b[0])
	_, err = left.Slice(t.Context(), nil, nil)
	require.ErrorIs(t, err, fault.ErrClosed)

	// A hold ends with the instance that has it.
	require.ErrorIs(t, other.HoldingSharedLock(t.Context(), func(ctx context.Context, held *host.Container) error {
		require.ErrorIs(t, held.Append(ctx, make([]byte, 8)), fault.ErrLocked)
		require.ErrorIs(t, s.Trap(), fault.ErrInternal)
		_, err := held.Slice(ctx, nil, nil)
		return err
	}), fault.ErrClosed)
	require.NoError(t, increment(t.Context(), other))
	for err = fault.ErrLockTimeout; errors.Is(err, fault.ErrLockTimeout); { // 20 ms may pass before it looks
		err = increment(t.Context(), c)
	}
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, other.Close())
}
