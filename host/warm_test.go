package host_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// TestWarmReads has reads with an index at hand go past the guest, even past a
// dead one, and everything that is not plainly right go to it.
func TestWarmReads(t *testing.T) {
	s := newSandbox(t, host.Config{})
	memory := small.memory(t)
	st := storagetest.Record(memory)
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	read(t, a, c, 3, 4)
	st.Reset()
	require.ErrorIs(t, s.Trap(), fault.ErrInternal)
	serial := s.Serial()
	for i := range int64(8) {
		read(t, a, c, 3, i)
	}
	require.Equal(t, 8, st.Requests())
	require.Equal(t, serial, s.Serial(), "no guest was started")

	// The shard is written anew: the table is of no use any more.
	other := small
	other.value = func(y, x int64) uint16 { return small.value(y, x) ^ 0x5555 }
	other.each(t, memory.Set)
	b, err := a.RetrieveSubchunk(t.Context(), []int64{3, 4}, host.ReadOptions{Cache: c})
	require.NoError(t, err)
	require.Equal(t, other.subchunk(3, 4), b)
	b, err = a.RetrieveSubchunk(t.Context(), []int64{3, 5}, host.ReadOptions{Cache: c, Dst: make([]byte, 0, 4096)})
	require.NoError(t, err)
	require.Equal(t, other.subchunk(3, 5), b)

	// Bytes that do not decode are judged by the guest.
	whole, _, err := memory.ReadRanges(t.Context(), "c/0/0", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	data := append([]byte(nil), whole[0]...)
	clear(data[:len(data)/2])
	memory.Set("c/0/0", data)
	_, err = a.RetrieveSubchunk(t.Context(), []int64{3, 4}, host.ReadOptions{Cache: c})
	require.Error(t, err)
	require.Contains(t, err.Error(), "c/0/0")

	_, err = a.RetrieveSubchunk(t.Context(), []int64{3, 99}, host.ReadOptions{Cache: c})
	require.ErrorIs(t, err, fault.ErrOutOfRange)
	require.NoError(t, a.Close())
	_, err = a.RetrieveSubchunk(t.Context(), []int64{3, 4}, host.ReadOptions{Cache: c})
	require.True(t, errors.Is(err, fault.ErrClosed))
}

// TestEmptyNoMore reads a subchunk that a kept index calls empty, before and
// after it is written.
func TestEmptyNoMore(t *testing.T) {
	s := newSandbox(t, host.Config{})
	st := small.memory(t)
	whole, _, err := st.ReadRanges(t.Context(), "c/0/0", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	holed := append([]byte(nil), whole[0]...)
	n := int(small.shard / small.sub * (small.shard / small.sub))
	index := holed[len(holed)-16*n-4 : len(holed)-4]
	for i := range 16 {
		index[i] = 0xff
	}
	binary.LittleEndian.PutUint32(holed[len(holed)-4:], crc32.Checksum(index, crc32.MakeTable(crc32.Castagnoli)))
	st.Set("c/0/0", holed)
	a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
	require.NoError(t, err)
	c := a.ShardCache(host.CacheOptions{})
	read(t, a, c, 0, 1)
	b, err := a.RetrieveSubchunk(t.Context(), []int64{0, 0}, host.ReadOptions{Cache: c})
	require.NoError(t, err)
	require.Equal(t, make([]byte, len(b)), b)
	st.Set("c/0/0", whole[0])
	read(t, a, c, 0, 0)
}
