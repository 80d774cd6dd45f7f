package interop

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// withoutQuirks looks at the headers of the chunks of a frame for what
// python-blosc2 writes and cannot read.
func (f *frame) withoutQuirks(t *testing.T, fs storage.FS) {
	t.Helper()
	c, err := blosc2.Open(t.Context(), fs, f.Name, blosc2.Options{})
	require.NoError(t, err)
	defer c.Close()
	s := c.(*blosc2.SChunk)
	for i := range s.NumChunks() {
		b, err := s.EncodedChunk(t.Context(), i)
		require.NoError(t, err)
		typeSize, size, blockSize := uint32(b[3]), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
		stored, dictionary, special := b[2]&2 != 0, b[31]&1 != 0, b[31]>>4&7
		require.True(t, blockSize <= max(typeSize, 1) || blockSize%typeSize == 0, "%s: chunk %d, blocks of %d bytes", f.label, i, blockSize)
		require.LessOrEqual(t, blockSize, max(size, typeSize), f.label)
		require.False(t, stored && dictionary, "%s: chunk %d", f.label, i)
		require.Contains(t, []byte{0, byte(blosc.Zeros), byte(blosc.Repeated)}, special, "%s: chunk %d", f.label, i)
		require.True(t, special != byte(blosc.Zeros) || f.want().ChunkSize > 0 || s.NumChunks() == 1, "%s: chunk %d", f.label, i)
		for _, meta := range b[24:30] {
			require.Less(t, meta, byte(128), f.label)
		}
	}
}

// Parameters of filters below zero, which python-blosc2 takes for too large
// when it opens a frame, are written as others that mean the same; and where
// there are none, refused. Nor is the parameter 0 of bytedelta left for it to
// replace by the size of items where that is too large.
func TestBlosc2FilterParameters(t *testing.T) {
	p := pythonBlosc2(t)
	dir, fs := folderFS(t)
	drop := func(n int8) byte { return byte(-n) }
	var frames []frame
	for _, c := range []struct {
		filter       blosc.FilterID
		size         int
		given, keeps byte
	}{
		{blosc.TruncPrec, 4, drop(13), 10}, {blosc.TruncPrec, 8, drop(42), 10}, {blosc.IntTrunc, 2, drop(5), 11}, {blosc.IntTrunc, 8, drop(60), 4},
		{blosc.ByteDelta, 127, 0, 0}, {blosc.ByteDelta, 128, 0, 64}, {blosc.ByteDelta, 131, 0, 1}, {blosc.ByteDelta, 300, 0, 100},
	} {
		f := frame{
			settings:  blosc.Params{Codec: blosc.Zstd, Level: 3, TypeSize: c.size, Filters: []blosc.Filter{{ID: c.filter, Meta: c.given}, {ID: blosc.Shuffle}}},
			ChunkSize: 1000 * c.size, Name: folder(len(frames)), label: fmt.Sprint(c.filter, " of ", c.size),
		}
		for i := range 2 {
			chunk := make([]byte, f.ChunkSize)
			for k := range chunk {
				chunk[k] = byte(k * k / 50 * (i + 1))
			}
			f.Ops = append(f.Ops, op{Do: "append", Data: chunk})
		}
		require.NoError(t, f.make(t.Context(), fs))
		f.settings.Filters = []blosc.Filter{{ID: c.filter, Meta: c.keeps}, {ID: blosc.Shuffle}}
		f.params = asParams(f.settings)
		f.withoutQuirks(t, fs)
		frames = append(frames, f)
	}
	for i, got := range p.jobs(t, "read", dir, named(len(frames))) {
		same(t, frames[i].want(), got, "ours, read there: "+frames[i].label)
		same(t, frames[i].want(), look(t, fs, frames[i].Name), "ours, read here: "+frames[i].label)
	}
	for _, filter := range []blosc.FilterID{blosc.Shuffle, blosc.ByteDelta} {
		params := blosc.Params{Codec: blosc.LZ4, Level: 5, TypeSize: 200, Filters: []blosc.Filter{{ID: filter, Meta: 200}}}
		_, err := blosc2.CreateSChunk(t.Context(), fs, "wide", blosc2.Spec{Params: params}, writing)
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
}
