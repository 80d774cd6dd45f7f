package host

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	s, err := New(ctx, Config{})
	require.NoError(t, err)
	defer s.Close()
	st := storage.NewMemory()
	st.Set("zarr.json", []byte(`{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"fill_value":7,"codecs":[{"name":"bytes"}]}`))
	st.Set("c/1", []byte{1, 2})
	n, err := zarr.OpenArray(ctx, st, "", zarr.Options{})
	require.NoError(t, err)
	_ = n
	a, err := s.OpenArray(ctx, st, "")
	require.NoError(t, err)
	b, err := a.RetrieveSubchunk(ctx, []int64{1}, ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2}, b)
	b, err = a.RetrieveSubchunk(ctx, []int64{0}, ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, []byte{7, 7}, b)
	_, err = a.RetrieveSubchunk(ctx, []int64{2}, ReadOptions{})
	t.Log(err)
	require.Error(t, err)
}
