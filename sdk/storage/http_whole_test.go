package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// A server that ignores ranges is asked for a whole object once in a batch, not
// once a range: the first batch already, which does not know the server.
func TestHTTPWholeOnce(t *testing.T) {
	server, s := origin(storagetest.Quirks{IgnoreRange: true}, storage.HTTPOptions{Gap: -1})
	rs := make([]storage.Range, 40)
	for i := range rs {
		rs[i] = storage.Range{Off: int64(i) * 20, Len: 10}
	}
	for range 2 {
		server.Reset()
		bs, _, err := s.ReadRanges(ctx, "k", rs, "")
		require.NoError(t, err)
		for i, r := range rs {
			require.Equal(t, data[r.Off:r.Off+r.Len], bs[i])
		}
		whole := 0
		for _, limit := range server.Limits() {
			if limit >= int64(len(data)) {
				whole++
			}
		}
		require.Equal(t, 1, whole)
	}
	require.Len(t, server.Requests(), 1, "now it is known")
}
