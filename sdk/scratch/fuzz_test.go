package scratch

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// FuzzHeader: whatever a file has in front, reading it does not panic, takes
// no more memory than the file has bytes, and leads nowhere outside it.
// Checksums are put right, so that what they guard is reached.
func FuzzHeader(f *testing.F) {
	l := &layout{runLength: 3}
	is := image.Description{Type: image.Int16, Shape: []int64{9, 5, 4}, CoreRank: 2, Count: 9, ImageShape: []int64{5, 4}}
	for _, k := range []*key{
		{name: "a", is: is, held: 9, isWhole: true},
		{name: "b", is: is, held: 4, indices: []int64{1, 4, 5, 8}},
		{name: "c", is: is, held: 2},
	} {
		require.NoError(f, l.add(k, page))
	}
	good := newHeader(l, [16]byte{1}, 5).encode(make([]stamp, 3))
	patch := func(at int, v uint64) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint16(nil, uint16(at)), v)
	}
	f.Add([]byte{}, uint16(0), true)
	for at := 0; at < 200; at += 8 {
		f.Add(patch(at, ^uint64(0)), uint16(0), true)
		f.Add(patch(2*page+at, 3), uint16(at), true)
	}
	f.Add([]byte{}, uint16(len(good)-page-5), false)
	f.Fuzz(func(t *testing.T, patches []byte, cut uint16, mend bool) {
		b := append([]byte{}, good[:max(len(good)-int(cut), 0)]...)
		le := binary.LittleEndian
		for ; len(patches) >= 10; patches = patches[10:] {
			if at := int(le.Uint16(patches)); at+8 <= len(b) {
				copy(b[at:], patches[2:10])
			}
		}
		if mend && len(b) >= page {
			for i := range int(sectionStamps) {
				off, n := le.Uint64(b[atSections+16*i:]), le.Uint64(b[atSections+16*i+8:])
				if off < uint64(len(b)) && n <= uint64(len(b))-off {
					le.PutUint32(b[atKeysCRC+4*i:], storage.UpdateCRC(0, b[off:off+n]))
				}
			}
			le.PutUint32(b[atCRC:], storage.UpdateCRC(0, b[:atCRC]))
		}
		fs := storage.NewMemoryFS(0)
		file, err := fs.Open(ctx, "f", readWrite|storage.OpenCreate)
		require.NoError(t, err)
		_, err = file.WriteAt(b, 0)
		require.NoError(t, err)
		h, err := readHeader(file, "f")
		if err != nil {
			k := fault.CodeOf(err)
			require.True(t, k == fault.CodeCorrupt || k == fault.CodeUnsupported || k == fault.CodeLimit, "%v", err)
			return
		}
		require.LessOrEqual(t, h.overhead(), int64(len(b)))
		again := h.encode(make([]stamp, len(h.keys)))
		copy(again[atMajor+2:atPage], b[atMajor+2:]) // nothing is there, or of later versions
		copy(again[atSalt+8:atKeys], b[atSalt+8:])
		require.True(t, bytes.Equal(b[:atKeysCRC], again[:atKeysCRC]), "all of it is understood")
		last := int64(0)
		for n := range min(h.runs, 1000) {
			r := h.number(n)
			require.Equal(t, n, r.n)
			require.GreaterOrEqual(t, r.off, last)
			last = r.end()
			require.LessOrEqual(t, last, h.bytes)
		}
		_, _, err = h.readStamps(file)
		require.NoError(t, err)
	})
}
