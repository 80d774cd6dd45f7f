package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

func TestReadAll(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		size, limit int64
		reads       int
		fails       bool
	}{
		{0, 10, 1, false}, {10, 10, 1, false}, {11, 10, 1, true}, {10, 8 * mib, 1, false},
		{mib - 1, 8 * mib, 1, false}, {mib, 8 * mib, 1, false}, {mib + 1, 8 * mib, 2, false},
		{8 * mib, 8 * mib, 2, false}, {8*mib + 1, 8 * mib, 1, true}, {mib, mib, 1, false}, {mib + 1, mib, 1, true},
	} {
		m := storage.NewMemory()
		data := storagetest.Pattern(int(tc.size), 1)
		m.Set("k", data)
		r := storagetest.Record(m)
		got, _, err := storage.ReadAll(ctx, r, "k", tc.limit)
		if tc.fails {
			require.ErrorIs(t, err, fault.ErrLimit)
		} else {
			require.NoError(t, err)
			require.Equal(t, data, got)
		}
		require.Equal(t, tc.reads, r.Requests(), "%v", tc)
	}
}

func TestCheckRange(t *testing.T) {
	for _, r := range []storage.Range{{Off: -1, Len: -1}, {Off: 1, Len: 1<<63 - 1}} {
		require.ErrorIs(t, storage.CheckRange("k", r), fault.ErrInvalid)
	}
	for _, r := range []storage.Range{{Off: 0, Len: 1<<63 - 1}, {Off: 1<<63 - 1, Len: -1}, {Off: -5, Len: 0}, storage.All} {
		require.NoError(t, storage.CheckRange("k", r))
	}
}
