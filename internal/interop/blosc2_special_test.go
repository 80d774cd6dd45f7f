package interop

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
)

// Items that are all alike, and are not stored: of every kind, in whole chunks
// and not, sparse or not; the last chunk filled up, and others after it.
func TestBlosc2Special(t *testing.T) {
	p := pythonBlosc2(t)
	var frames []frame
	var wants [][]byte
	for _, size := range []int{1, 2, 4, 8, 24, 255, 300} {
		for _, kind := range []blosc.Special{blosc.Zeros, blosc.NaNs, blosc.Repeated, blosc.Uninit} {
			if kind == blosc.NaNs && size != 4 && size != 8 {
				continue
			}
			const items = 50 // of a chunk
			for _, count := range []int{1, items - 1, items, items + 1, 3 * items, 3*items + 7} {
				f := frame{settings: blosc.Params{Codec: blosc.LZ4, Level: 5, TypeSize: size, Filters: pipelines[1].filters}}
				f.ChunkSize, f.Sparse = items*size, count%2 > 0
				item := make([]byte, size)
				o := op{Do: "fill", Special: kind, Count: count}
				switch {
				case kind == blosc.Repeated:
					for i := range item {
						item[i] = byte(3*i + 1)
					}
					o.Data = item
				case kind == blosc.NaNs && size == 4:
					item = []byte{0, 0, 0xc0, 0x7f}
				case kind == blosc.NaNs:
					item = []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
				}
				f.Ops, f.params, f.Name = []op{o}, asParams(f.settings), folder(len(frames))
				f.label = fmt.Sprintf("%d items of %d bytes, kind %d, sparse %v", count, size, kind, f.Sparse)
				frames, wants = append(frames, f), append(wants, bytes.Repeat(item, count))
			}
		}
	}
	want := func(i int) state {
		s := state{Kind: "schunk", TypeSize: frames[i].TypeSize, VLMeta: map[string][]byte{}, ChunkSize: frames[i].ChunkSize}
		for c := range slices.Chunk(wants[i], frames[i].ChunkSize) {
			s.Chunks, s.Sizes = append(s.Chunks, digest(c)), append(s.Sizes, len(c))
		}
		return s
	}
	anything := func(i int) bool { return frames[i].Ops[0].Special == blosc.Uninit }

	dir, fs := folderFS(t)
	for i, said := range p.jobs(t, "write", dir, frames) {
		require.Empty(t, said.Refused, frames[i].label)
		same(t, want(i), look(t, fs, frames[i].Name), "theirs, read here: "+frames[i].label)
	}
	read := func(dir, what string) {
		for i, got := range p.jobs(t, "read", dir, named(len(frames))) {
			if w := want(i); anything(i) && slices.Equal(w.Sizes, got.Sizes) {
				got.Chunks = w.Chunks
			}
			same(t, want(i), got, what+", read there: "+frames[i].label)
		}
	}
	dir, fs = folderFS(t)
	for i := range frames {
		require.NoError(t, frames[i].make(t.Context(), fs), frames[i].label)
		same(t, want(i), look(t, fs, frames[i].Name), "ours, read here: "+frames[i].label)
	}
	read(dir, "ours")
	// More items: the last chunk is filled up with others, or becomes one of
	// several that are not alike.
	for i := range frames {
		more := make([]byte, 60*frames[i].TypeSize)
		for k := range more {
			more[k] = byte(k)
		}
		ch := changes{Name: frames[i].Name, Ops: []op{{Do: "append items", Data: more}}}
		require.NoError(t, ch.change(t.Context(), fs), frames[i].label)
		wants[i] = append(wants[i], more...)
		same(t, want(i), look(t, fs, frames[i].Name), "ours, filled up, read here: "+frames[i].label)
	}
	read(dir, "ours, filled up")
}
