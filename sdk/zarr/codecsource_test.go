package zarr_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// mirror is a codec of a caller's: the bytes from last to first.
type mirror struct{ name string }

func (m mirror) BytesCodec(name string, _ json.RawMessage) (codec.Bytes, error) {
	if name != m.name {
		return nil, fault.New(fault.ErrUnsupported, "codec", name, "")
	}
	return m, nil
}

func (m mirror) Name() string                           { return m.name }
func (mirror) EncodedSize(n int64) (int64, bool)        { return n, true }
func (m mirror) Encode(dst, src []byte) ([]byte, error) { return m.Decode(nil, dst, src, len(src)) }

func (mirror) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	if len(src) > limit {
		return nil, fault.New(fault.ErrLimit, "mirror", "", "")
	}
	for i := range src {
		dst = append(dst, src[len(src)-1-i])
	}
	return dst, nil
}

func TestCodecsOfCallers(t *testing.T) {
	st := storage.NewMemory()
	spec := zarr.ArraySpec{Shape: at(3), ChunkShape: at(3), DataType: "uint16", Codecs: []zarr.Codec{bytesLE, {Name: "example.mirror"}}}
	_, err := zarr.CreateArray(t.Context(), st, "", spec, zarr.Options{})
	require.ErrorIs(t, err, fault.ErrInvalid)
	a, err := zarr.CreateArray(t.Context(), st, "", spec, zarr.Options{Codecs: mirror{"example.mirror"}})
	require.NoError(t, err, "known to this array")
	require.NoError(t, a.StoreChunk(t.Context(), at(0), u16(1, 2, 3)))
	_, err = zarr.OpenArray(t.Context(), st, "", zarr.Options{})
	require.ErrorIs(t, err, fault.ErrUnsupported)
	require.Contains(t, err.Error(), "example.mirror")

	zarr.UseCodecs(mirror{"example.mirror"})
	defer zarr.UseCodecs(nil)
	got, err := open(t, st).RetrieveChunk(t.Context(), at(0), zarr.ReadOptions{})
	require.NoError(t, err, "known to the process")
	require.Equal(t, u16(1, 2, 3), got)
}

// bomb is a codec of a caller's that panics when it decodes.
type bomb struct{ mirror }

func (b bomb) BytesCodec(name string, c json.RawMessage) (codec.Bytes, error) {
	if _, err := b.mirror.BytesCodec(name, c); err != nil {
		return nil, err
	}
	return b, nil
}

func (bomb) Decode(context.Context, []byte, []byte, int) ([]byte, error) { panic("boom") }

// TestCodecThatPanics: of chunks that are read side by side, whoever has the
// one that panics, the caller too, the read fails and the program lives.
func TestCodecThatPanics(t *testing.T) {
	st := storage.NewMemory()
	spec := zarr.ArraySpec{Shape: at(24), ChunkShape: at(3), DataType: "uint16", Codecs: []zarr.Codec{bytesLE, {Name: "example.mirror"}}}
	a, err := zarr.CreateArray(t.Context(), st, "", spec, zarr.Options{Codecs: mirror{"example.mirror"}})
	require.NoError(t, err)
	for i := range int64(8) {
		require.NoError(t, a.StoreChunk(t.Context(), at(i), u16(1, 2, 3)))
	}
	a, err = zarr.OpenArray(t.Context(), st, "", zarr.Options{Codecs: bomb{mirror{"example.mirror"}}})
	require.NoError(t, err)
	_, err = a.RetrieveRegion(t.Context(), at(0), at(24), zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrInternal)
	require.ErrorContains(t, err, "boom")
}
