package host_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

func numbered(n int) (b []byte) {
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

// TestContainerCopies makes copies in other chunks, takes axes out and puts
// them in, and reads a snapshot while its container changes.
func TestContainerCopies(t *testing.T) {
	ctx := t.Context()
	s := newSandbox(t, host.Config{Strict: true})
	fs := directory(t, t.TempDir())
	data := numbered(40 * 30)
	a, err := s.CreateContainer(ctx, fs, "a.b2nd", host.ContainerSpec{
		Kind: "ndarray", Shape: blosc2.Shape{Shape: []int64{40, 30}, Chunks: []int64{16, 16}, Blocks: []int64{8, 8}, DType: "<i4"}, Data: data,
	})
	require.NoError(t, err)
	require.NoError(t, a.SetVLValue(ctx, "who", []byte{1}))

	var spec host.ContainerSpec
	spec.Shape.Chunks, spec.Shape.Blocks = []int64{20, 30}, []int64{10, 10}
	spec.Spec.Params = blosc.Params{Codec: blosc.LZ4, Level: 3, Filters: []blosc.Filter{5: {ID: blosc.BitShuffle}}}
	spec.Spec.Checksums = true
	c, err := a.Copy(ctx, fs, "c.b2nd", spec)
	require.NoError(t, err)
	_, err = a.Copy(ctx, fs, "c.b2nd", spec)
	require.ErrorIs(t, err, fault.ErrExists)
	require.NoError(t, a.KeepChecksums(ctx, true))

	old, err := a.Snapshot(ctx)
	require.NoError(t, err)
	require.NoError(t, a.Resize(ctx, []int64{40, 1}))
	require.ErrorIs(t, a.Squeeze(ctx), fault.ErrInvalid, "chunks are longer")
	got, err := old.Slice(ctx, nil, nil)
	require.NoError(t, err)
	require.Equal(t, data, got)
	require.ErrorIs(t, old.SetVLValue(ctx, "who", nil), fault.ErrReadOnly)
	require.NoError(t, old.Close())
	require.ErrorIs(t, a.Repair(ctx), fault.ErrNotFound)
	require.NoError(t, a.Close())

	st, err := c.State(ctx) // it outlives what it was made of
	require.NoError(t, err)
	require.Equal(t, []int64{20, 30}, st.Chunks)
	require.Equal(t, []int64{10, 10}, st.Blocks)
	require.Equal(t, "lz4", st.Codec)
	require.Contains(t, st.VLMeta, "who")
	require.Contains(t, st.VLMeta, blosc2.ChecksumLayer)
	require.NoError(t, c.ExpandAxes(ctx, 0, 2))
	st, err = c.State(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 40, 1, 30}, st.Shape)
	require.NoError(t, c.Squeeze(ctx, 2))
	require.NoError(t, c.Squeeze(ctx))
	got, err = c.Slice(ctx, nil, nil)
	require.NoError(t, err)
	require.Equal(t, data, got)
	n := 0
	for chunk, err := range c.Chunks(ctx) {
		require.NoError(t, err)
		n += len(chunk)
	}
	require.Equal(t, len(data), n)
	require.NoError(t, c.Close())
	require.Zero(t, s.Files())
}

// TestContainerWatch follows a container that another handle appends to.
func TestContainerWatch(t *testing.T) {
	s := newSandbox(t, host.Config{Strict: true})
	fs := directory(t, t.TempDir())
	w, err := s.CreateContainer(t.Context(), fs, "a.b2frame", host.ContainerSpec{Kind: "schunk", Spec: blosc2.Spec{ChunkSize: 64}})
	require.NoError(t, err)
	defer w.Close()
	r, err := s.OpenContainer(t.Context(), fs, "a.b2frame", host.ContainerOptions{})
	require.NoError(t, err)
	defer r.Close()
	ctx, stop := context.WithCancel(t.Context())
	seen := int64(0)
	for st, err := range r.Watch(ctx) {
		if errors.Is(err, fault.ErrCancelled) {
			break
		}
		require.NoError(t, err)
		require.GreaterOrEqual(t, st.NumChunks, seen)
		if seen = st.NumChunks; seen == 5 {
			stop()
			continue
		}
		require.NoError(t, w.AppendChunk(t.Context(), make([]byte, 64)))
	}
	require.EqualValues(t, 5, seen)
	stop()
}
