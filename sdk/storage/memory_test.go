package storage_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

func memoryOf(_ *testing.T, objects map[string][]byte) storage.Store {
	m := storage.NewMemory()
	for key, data := range objects {
		m.Set(key, data)
	}
	return m
}

func TestMemory(t *testing.T) { storagetest.Store(t, memoryOf) }

func TestMemoryVersions(t *testing.T) {
	ctx := context.Background()
	m := storage.NewMemory()
	data := []byte("one")
	m.Set("k", data)
	data[0] = 'X'
	bs, one, err := m.ReadRanges(ctx, "k", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	require.Equal(t, "one", string(bs[0]))

	m.Set("k", []byte("one"))
	_, two, err := m.ReadRanges(ctx, "k", []storage.Range{storage.All}, one.Version)
	require.ErrorIs(t, err, fault.ErrStale)
	require.NotEqual(t, one.Version, two.Version)

	m.Remove("k")
	m.Remove("k")
	_, _, err = m.ReadRanges(ctx, "k", []storage.Range{storage.All}, two.Version)
	require.ErrorIs(t, err, fault.ErrNotFound)
	require.Panics(t, func() { m.Set("../k", nil) })
}
