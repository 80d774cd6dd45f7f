package interop

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/storage"
)

// changing is a frame that is changed by turns, and what it must hold.
type changing struct {
	frame
	r       *rand.Rand
	varying bool // its chunks are of any sizes
	want    state
	chunks  [][]byte
	log     []string
}

const changingChunk = 4000 // bytes

func newChanging(seed uint64) *changing {
	c := &changing{r: rand.New(rand.NewPCG(seed, 7)), varying: seed%3 == 2}
	pipe := pipelines[seed%9]
	c.settings = blosc.Params{
		Codec: blosc2Codecs[seed%5], Level: 1 + int(seed%9), TypeSize: 4, BlockSize: []int{0, 800}[seed%2],
		Filters: pipe.filters, Split: splits[seed%4], Dictionary: seed%5 == 4 && seed%2 == 0,
	}
	c.params = asParams(c.settings)
	c.Name, c.Sparse, c.checksums, c.ChunkSize = folder(int(seed)), seed%4 > 1, seed%7 > 3, changingChunk
	c.Meta = []meta{{"m", []byte("\x82\xa1a\x01\xa1b\xa3xyz")}}
	c.want = state{Kind: "schunk", TypeSize: 4, VLMeta: map[string][]byte{}}
	if seed%2 == 0 {
		c.settings.TypeSize, c.TypeSize, c.want.TypeSize = 8, 8, 8
	}
	if c.varying {
		c.chunks = [][]byte{c.content(changingChunk), c.content(1200), c.content(4800)}
		c.Ops = appends(c.chunks...)
	}
	return c
}

// content stays clear of lostSizes and noStreams: where sizes vary it is not
// all zeros, and what has a dictionary gets smaller.
func (c *changing) content(n int) []byte {
	kind := c.r.IntN(6)
	if c.settings.Dictionary {
		kind = 3
	}
	b := items(c.r, kind, c.TypeSize, n)
	if c.varying {
		b[0] |= 1
	}
	return b
}

// size of a chunk to be, whole items.
func (c *changing) size() int {
	if c.varying && c.r.IntN(2) == 0 {
		return c.TypeSize * (1 + c.r.IntN(2*changingChunk/c.TypeSize))
	}
	return changingChunk
}

// next is a change that the peer, or we, can do. The model did it.
func (c *changing) next(theirs bool) op {
	n := len(c.chunks)
	at := 0
	if n > 0 {
		at = c.r.IntN(n)
	}
	for {
		switch k := c.r.IntN(13); {
		case k < 2 || n == 0:
			o := op{Do: "append", Data: c.content(c.size())}
			c.chunks = append(c.chunks, o.Data)
			return o
		case k == 2:
			o := op{Do: "insert", Chunk: at, Data: c.content(c.size())}
			c.chunks = slices.Insert(c.chunks, at, o.Data)
			return o
		case k == 3:
			size := len(c.chunks[at])
			if c.varying {
				size = c.size()
			}
			o := op{Do: "update", Chunk: at, Data: c.content(size)}
			c.chunks[at] = o.Data
			return o
		case k == 4 && n > 2:
			c.chunks = slices.Delete(c.chunks, at, at+1)
			return op{Do: "delete", Chunk: at}
		case k < 7 && !c.varying:
			all := slices.Concat(c.chunks...)
			from := c.r.IntN(len(all) / c.TypeSize)
			o := op{Do: "items", Start: from, Data: c.content(c.TypeSize * (1 + c.r.IntN(len(all)/c.TypeSize-from)))}
			copy(all[from*c.TypeSize:], o.Data)
			for i, chunk := range c.chunks {
				c.chunks[i], all = all[:len(chunk):len(chunk)], all[len(chunk):]
			}
			return o
		case k < 9:
			o := op{Do: "set vlmeta", Name: strings.Repeat("v", 1+c.r.IntN(31)), Data: c.object()}
			c.want.VLMeta[o.Name] = o.Data
			return o
		case k == 9 && len(c.want.VLMeta) > 0:
			names := []string{}
			for name := range c.want.VLMeta {
				names = append(names, name)
			}
			slices.Sort(names)
			o := op{Do: "delete vlmeta", Name: names[c.r.IntN(len(names))]}
			delete(c.want.VLMeta, o.Name)
			return o
		case k == 10 && theirs && n > 1 && !c.varying:
			slices.Reverse(c.chunks)
			return op{Do: "reverse"}
		case k == 10 && !theirs:
			return op{Do: "compact"}
		case k == 11 && !c.varying:
			return c.special(theirs, at)
		case k == 12 && !theirs && !c.varying:
			o := op{Do: "append items", Data: c.content(changingChunk * (1 + c.r.IntN(3)))}
			for b := range slices.Chunk(o.Data, changingChunk) {
				c.chunks = append(c.chunks, b)
			}
			return o
		}
	}
}

// special makes chunks whose items are all alike: of one that is there by the
// peer, new ones by us.
func (c *changing) special(theirs bool, at int) op {
	o := op{Special: []blosc.Special{blosc.Zeros, blosc.NaNs, blosc.Repeated}[c.r.IntN(3)]}
	item := make([]byte, c.TypeSize)
	switch o.Special {
	case blosc.NaNs:
		item = []byte{0, 0, 0xc0, 0x7f}
		if c.TypeSize == 8 {
			item = []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
		}
	case blosc.Repeated:
		binary.LittleEndian.PutUint32(item, c.r.Uint32())
		o.Data = item
	}
	chunk := slices.Repeat(item, changingChunk/c.TypeSize)
	if theirs {
		o.Do, o.Chunk = "special update", at
		c.chunks[at] = chunk
		return o
	}
	o.Do, o.Count = "fill", 2*changingChunk/c.TypeSize
	c.chunks = append(c.chunks, chunk, chunk)
	return o
}

// object is any that MessagePack has, of any length.
func (c *changing) object() []byte {
	b, err := msgpack.Append(nil, msgpack.Map{
		{Key: "text", Value: strings.Repeat("añ🐉", c.r.IntN(100))},
		{Key: "list", Value: []any{int64(c.r.IntN(1 << 20)), -1.5, nil, true, []byte{1, 255}, []any{}}},
	})
	if err != nil {
		panic(err)
	}
	return b
}

// turn is some changes by one side.
func (c *changing) turn(theirs bool) changes {
	side := "ours"
	if theirs {
		side = "theirs"
	}
	ch := changes{Name: c.Name}
	for range 1 + c.r.IntN(5) {
		o := c.next(theirs)
		ch.Ops = append(ch.Ops, o)
		c.log = append(c.log, fmt.Sprintf("%s %s %d", side, o.Do, o.Chunk))
	}
	return ch
}

// holds is what the frame holds by now.
func (c *changing) holds() state {
	s := c.want
	s.Chunks, s.Sizes = []string{}, []int{}
	for _, chunk := range c.chunks {
		s.Chunks, s.Sizes = append(s.Chunks, digest(chunk)), append(s.Sizes, len(chunk))
	}
	return s
}

// check reads the frames, here and there.
func check(t *testing.T, p *peer, dir string, fs storage.FS, frames []*changing) {
	t.Helper()
	for i, theirs := range p.jobs(t, "read", dir, named(len(frames))) {
		c := frames[i]
		label := fmt.Sprintf("frame %d, varying %v, sparse %v, %v: %v", i, c.varying, c.Sparse, c.settings, c.log)
		ours := look(t, fs, c.Name)
		theirs.ChunkSize, ours.ChunkSize = 0, 0
		const checksums = "gridhold_crc32c" // they are ours alone; Verify held them to the chunks
		require.Equal(t, theirs.VLMeta[checksums], ours.VLMeta[checksums], label)
		delete(theirs.VLMeta, checksums)
		delete(ours.VLMeta, checksums)
		same(t, c.holds(), theirs, "read there: "+label)
		same(t, c.holds(), ours, "read here: "+label)
	}
}

// Frames are made by one side, then changed by both in turn: after each turn
// both read what was written.
func TestBlosc2ChangesByTurns(t *testing.T) {
	p := pythonBlosc2(t)
	for _, theirs := range []bool{false, true} {
		dir, fs := folderFS(t)
		var frames []*changing
		var jobs []frame
		for seed := range uint64(48) {
			c := newChanging(seed)
			c.Ops = append(c.Ops, c.turn(theirs).Ops...)
			frames, jobs = append(frames, c), append(jobs, c.frame)
		}
		side := theirs
		if theirs {
			for i, said := range p.jobs(t, "write", dir, jobs) {
				require.Empty(t, said.Refused, "%d: %v", i, frames[i].log)
			}
		} else {
			for i := range jobs {
				require.NoError(t, jobs[i].make(t.Context(), fs), frames[i].log)
			}
		}
		check(t, p, dir, fs, frames)
		for range 4 {
			side = !side
			var turns []changes
			for _, c := range frames {
				turns = append(turns, c.turn(side))
			}
			if side {
				for i, said := range p.jobs(t, "change", dir, turns) {
					require.Empty(t, said.Refused, "%d: %v", i, frames[i].log)
				}
			} else {
				for i := range turns {
					require.NoError(t, turns[i].change(t.Context(), fs), "%d: %v", i, frames[i].log)
				}
			}
			check(t, p, dir, fs, frames)
		}
		// At last the last chunk is a part of one, then filled up.
		for range 2 {
			for i, c := range frames {
				if c.varying {
					continue
				}
				data := c.content(c.TypeSize * (1 + c.r.IntN(changingChunk/c.TypeSize)))
				ch := changes{Name: c.Name, Ops: []op{{Do: "append items", Data: data}}}
				require.NoError(t, ch.change(t.Context(), fs), "%d: %v", i, c.log)
				if last := len(c.chunks) - 1; len(c.chunks[last]) < changingChunk {
					data = append(slices.Clone(c.chunks[last]), data...)
					c.chunks = c.chunks[:last]
				}
				c.chunks = slices.AppendSeq(c.chunks, slices.Chunk(data, changingChunk))
				c.log = append(c.log, "ours append items")
			}
			check(t, p, dir, fs, frames)
		}
	}
}
