package scratch

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// What Locate says is where the pixels are, for as long as the words stand.
func TestLocate(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 10)
	g := group(t, images("a"))
	s := d.mapped(g, 4, Everything, waiting)
	_, ok, err := s.Locate(ctx, "a", 3)
	require.NoError(t, err)
	require.False(t, ok, "not there yet")
	d.prefetch(s, g)

	f, err := d.fs.Open(ctx, "scr", storage.OpenRead|storage.OpenWrite)
	require.NoError(t, err)
	defer f.Close()
	word := func(at int64) uint64 {
		b := make([]byte, 8)
		_, err := f.ReadAt(b, at)
		require.NoError(t, err)
		return binary.LittleEndian.Uint64(b)
	}
	for i := range int64(10) {
		at, ok, err := s.Locate(ctx, "a", i)
		require.NoError(t, err)
		require.True(t, ok)
		got := make([]byte, at.Len)
		_, err = f.ReadAt(got, at.Off)
		require.NoError(t, err)
		require.Equal(t, d.pixels("a", 0, i), got)
		require.Equal(t, at.RunWord, word(at.RunAt))
		require.Equal(t, at.KeyWord, word(at.KeyAt))
	}
	_, ok, err = s.Locate(ctx, "a", 10)
	require.NoError(t, err)
	require.False(t, ok)
	_, _, err = s.Locate(ctx, "x", 0)
	require.ErrorIs(t, err, fault.ErrInvalid)

	// A context that has ended ends what looks at the file.
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, ok, err = s.Locate(over, "a", 3)
	require.NoError(t, err)
	require.True(t, ok, "it was seen before")
	again := d.mapped(g, 4, Everything, waiting)
	closing(t, again)
	_, _, err = again.Locate(over, "a", 3)
	require.ErrorIs(t, err, fault.ErrCancelled)
	_, ok, err = again.Locate(ctx, "a", 3)
	require.NoError(t, err)
	require.True(t, ok)

	require.NoError(t, s.Close())
	_, _, err = s.Locate(ctx, "a", 3)
	require.ErrorIs(t, err, fault.ErrClosed)
}

// In memory, or where every read is checked, there is no place to tell of.
func TestLocateNothing(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 10)
	g := group(t, images("a"))
	host, err := CreateHostImageScratch(ctx, g, 4, Everything, d.raw, waiting)
	require.NoError(t, err)
	o := waiting
	o.Verify = VerifyAlways
	for _, s := range []*ImageScratch{host, d.mapped(g, 4, Everything, o)} {
		closing(t, s)
		d.prefetch(s, g)
		_, ok, err := s.Locate(ctx, "a", 3)
		require.NoError(t, err)
		require.False(t, ok)
	}
}
