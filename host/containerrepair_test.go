package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
)

// A frame that does not open, because a header of before was written over that
// of a later state, is put back when it is opened with Repair, and only then. What
// is whole stays as it is.
func TestContainerRepairedWhenOpened(t *testing.T) {
	ctx := t.Context()
	s := newSandbox(t, host.Config{Strict: true})
	dir := t.TempDir()
	fs, path := directory(t, dir), filepath.Join(dir, "c.b2frame")
	var spec host.ContainerSpec
	spec.Kind, spec.Spec.Params.TypeSize = "schunk", 4
	c, err := s.CreateContainer(ctx, fs, "c.b2frame", spec)
	require.NoError(t, err)
	const head = 87
	var heads [][]byte
	for range 3 {
		require.NoError(t, c.AppendChunk(ctx, numbered(100)))
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		heads = append(heads, b[:head])
	}
	require.NoError(t, c.Close())

	b, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(b, heads[1])
	b[23]++ // and the length of the frame is that of none
	require.NoError(t, os.WriteFile(path, b, 0o666))
	_, err = s.OpenContainer(ctx, fs, "c.b2frame", host.ContainerOptions{Write: true})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, b, got)

	var o host.ContainerOptions
	o.Write, o.Repair, o.Locking = true, true, blosc2.Locked
	c, err = s.OpenContainer(ctx, fs, "c.b2frame", o)
	require.NoError(t, err)
	st, err := c.State(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, st.NumChunks)
	for i := range st.NumChunks {
		chunk, err := c.Chunk(ctx, i, nil)
		require.NoError(t, err)
		require.Equal(t, numbered(100), chunk)
	}
	require.NoError(t, c.AppendChunk(ctx, numbered(100)))
	require.NoError(t, c.Close())

	// What is whole stays as it is.
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	c, err = s.OpenContainer(ctx, fs, "c.b2frame", host.ContainerOptions{Repair: true, Write: true})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
}
