package blosc2_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/fault"
)

func TestObjects(t *testing.T) {
	ctx, fs := t.Context(), openTestdata(t)
	open := func(name string) *blosc2.SChunk {
		c, err := blosc2.Open(ctx, fs, name, blosc2.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c.(*blosc2.SChunk)
	}
	s := open("vlblocks/object.b2frame")
	var all []any
	for i := range s.NumChunks() {
		objects, err := s.Objects(ctx, i)
		require.NoError(t, err)
		all = append(all, objects...)
	}
	require.Equal(t, []any{int64(1), "two", []any{int64(3), int64(4)}, msgpack.Map{{Key: "five", Value: int64(6)}}, nil}, all[:5])
	require.Len(t, all, 6)

	s = open("vlblocks/batch.b2b")
	for i := range s.NumChunks() {
		objects, err := s.Objects(ctx, i)
		require.NoError(t, err)
		require.Len(t, objects, 25)
		for k, o := range objects {
			n := 10*int(i) + k
			want := msgpack.Map{{Key: "i", Value: int64(n)}, {Key: "s", Value: strings.Repeat("x", n%7)}}
			require.Equal(t, want, o, "batch %d, item %d", i, k)
		}
	}
	_, err := s.Objects(ctx, 3)
	require.ErrorIs(t, err, fault.ErrOutOfRange)
	_, err = open("schunk/one.b2frame").Objects(ctx, 0)
	require.ErrorIs(t, err, fault.ErrInvalid)
}
