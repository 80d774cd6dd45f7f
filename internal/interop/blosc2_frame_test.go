package interop

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/storage"
)

// frame is a frame to make, here or by the peer: a sequence of items, or,
// with a data type, an array.
type frame struct {
	label string // in messages
	Name  string `json:"name"`
	params
	settings  blosc.Params
	Sparse    bool `json:"sparse"`
	checksums bool
	ChunkSize int    `json:"chunk_size"`
	Meta      []meta `json:"meta"`
	Ops       []op   `json:"ops"`

	Shape      []int64 `json:"shape,omitempty"`
	ChunkShape []int64 `json:"chunk_shape,omitempty"`
	BlockShape []int64 `json:"block_shape,omitempty"`
	DType      string  `json:"dtype,omitempty"`
	Data       []byte  `json:"data,omitempty"`
	Full       bool    `json:"full"` // of the first item
}

type meta struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}

// op is a change of a frame; which fields count depends on Do.
type op struct {
	Do      string        `json:"do"`
	Chunk   int           `json:"chunk"`
	Start   int           `json:"start"`
	Count   int           `json:"count"`
	Special blosc.Special `json:"special"`
	Name    string        `json:"name"`
	Data    []byte        `json:"data"`
	Spans   [][3]int64    `json:"spans,omitempty"`
	Shape   []int64       `json:"shape,omitempty"`
}

// changes are ops on a frame that is there.
type changes struct {
	Name string `json:"name"`
	Ops  []op   `json:"ops"`
}

func appends(chunks ...[]byte) []op {
	var ops []op
	for _, c := range chunks {
		ops = append(ops, op{Do: "append", Data: c})
	}
	return ops
}

// make makes the frame here.
func (f *frame) make(ctx context.Context, fs storage.FS) error {
	spec := blosc2.Spec{Params: f.settings, Sparse: f.Sparse, ChunkSize: f.ChunkSize, Checksums: f.checksums}
	for _, m := range f.Meta {
		spec.Meta = append(spec.Meta, blosc2.Metalayer{Name: m.Name, Value: m.Value})
	}
	var c blosc2.Container
	var err error
	if f.DType != "" {
		spec.ChunkSize, spec.Params.TypeSize, spec.Params.BlockSize = 0, 0, 0
		shape := blosc2.Shape{Shape: f.Shape, Chunks: f.ChunkShape, Blocks: f.BlockShape, DType: f.DType}
		c, err = f.makeArray(ctx, fs, shape, spec)
	} else {
		c, err = blosc2.CreateSChunk(ctx, fs, f.Name, spec, writing)
	}
	if err != nil {
		return err
	}
	for _, o := range f.Ops {
		if err := o.apply(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", o.Do, err)
		}
	}
	return c.Close()
}

func (f *frame) makeArray(ctx context.Context, fs storage.FS, shape blosc2.Shape, spec blosc2.Spec) (*blosc2.NDArray, error) {
	if f.Full {
		return blosc2.CreateFull(ctx, fs, f.Name, shape, f.Data[:f.settings.TypeSize], spec, writing)
	}
	return blosc2.CreateFrom(ctx, fs, f.Name, shape, f.Data, spec, writing)
}

// apply does the change to a container that is open for writing.
func (o *op) apply(ctx context.Context, c blosc2.Container) error {
	s, ok := c.(*blosc2.SChunk)
	a, isArray := c.(*blosc2.NDArray)
	if isArray {
		s = a.SChunk()
	}
	if !ok && !isArray {
		return fmt.Errorf("a %s", c.Kind())
	}
	switch o.Do {
	case "append":
		return s.AppendChunk(ctx, o.Data)
	case "insert":
		return s.InsertChunk(ctx, int64(o.Chunk), o.Data)
	case "update":
		return s.UpdateChunk(ctx, int64(o.Chunk), o.Data)
	case "delete":
		return s.DeleteChunk(ctx, int64(o.Chunk))
	case "items":
		return s.SetSlice(ctx, int64(o.Start), o.Data)
	case "append items":
		return s.Append(ctx, o.Data)
	case "fill":
		return s.AppendSpecial(ctx, o.Special, int64(o.Count), o.Data)
	case "compact":
		return s.Compact(ctx)
	case "set vlmeta":
		return s.SetVLValue(ctx, o.Name, o.Data)
	case "delete vlmeta":
		return s.DeleteVL(ctx, o.Name)
	case "slice":
		spans := []blosc2.Span{}
		for _, s := range o.Spans {
			spans = append(spans, blosc2.Span{Start: s[0], Stop: s[1], Step: s[2]})
		}
		return a.SetSlice(ctx, spans, o.Data)
	case "resize":
		return a.Resize(ctx, o.Shape)
	case "extend":
		return a.Append(ctx, o.Chunk, o.Data)
	}
	return fmt.Errorf("nothing here does %q", o.Do)
}

// change does ops to a frame here.
func (ch *changes) change(ctx context.Context, fs storage.FS) error {
	c, err := blosc2.Open(ctx, fs, ch.Name, writing)
	if err != nil {
		return err
	}
	for _, o := range ch.Ops {
		if err := o.apply(ctx, c); err != nil {
			c.Close()
			return fmt.Errorf("%s: %w", o.Do, err)
		}
	}
	return c.Close()
}

// want is what the frame, of chunks that are appended alone, holds.
func (f *frame) want() state {
	s := state{Kind: "schunk", TypeSize: f.TypeSize, VLMeta: map[string][]byte{}, ChunkSize: f.ChunkSize, Chunks: []string{}, Sizes: []int{}}
	if f.DType != "" {
		return state{
			Kind: "ndarray", TypeSize: f.TypeSize, VLMeta: map[string][]byte{},
			Shape: f.Shape, ChunkShape: f.ChunkShape, BlockShape: f.BlockShape, DType: f.DType, Data: digest(f.Data),
		}
	}
	for i, o := range f.Ops {
		b := f.kept(o.Data)
		s.Chunks, s.Sizes = append(s.Chunks, digest(b)), append(s.Sizes, len(b))
		if len(b) > f.ChunkSize || len(b) < f.ChunkSize && i < len(f.Ops)-1 {
			s.ChunkSize = 0 // they vary; or it was left open
		}
	}
	return s
}

// kept is what the filters leave of data.
func (f *frame) kept(data []byte) []byte {
	out := slices.Clone(data)
	for _, g := range f.settings.Filters {
		drop := 0
		switch g.ID {
		case blosc.TruncPrec:
			drop = 23 - int(g.Meta)
			if f.TypeSize == 8 {
				drop = 52 - int(g.Meta)
			}
		case blosc.IntTrunc:
			drop = 8*f.TypeSize - int(g.Meta)
		}
		for at := range len(out) / f.TypeSize * f.TypeSize {
			if low := drop - at%f.TypeSize*8; low > 0 { // bits of this byte that go
				out[at] &^= byte(1<<min(low, 8) - 1)
			}
		}
	}
	return out
}

// bothWays makes the frames here and there, and reads all of them there and
// here: they hold what they should. What the peer cannot read of its own is
// read here if there is a way; it counts those frames by what is the matter.
func bothWays(t *testing.T, frames []frame) (met map[string]int) {
	t.Helper()
	p := pythonBlosc2(t)
	for i := range frames {
		frames[i].Name, frames[i].params = folder(i), asParams(frames[i].settings)
	}
	dir, fs := folderFS(t)
	for i := range frames {
		require.NoError(t, frames[i].make(t.Context(), fs), frames[i].label)
	}
	for i, got := range p.jobs(t, "read", dir, named(len(frames))) {
		same(t, frames[i].want(), got, "ours, read there: "+frames[i].label)
		same(t, frames[i].want(), look(t, fs, frames[i].Name), "ours, read here: "+frames[i].label)
		if frames[i].DType == "" {
			frames[i].withoutQuirks(t, fs)
		}
	}
	dir, fs = folderFS(t)
	met = map[string]int{}
	written := p.jobs(t, "write", dir, frames)
	for i, theirs := range p.jobs(t, "read", dir, named(len(frames))) {
		f := &frames[i]
		got, quirk := look(t, fs, f.Name), f.quirk()
		switch {
		case written[i].Refused != "": // halfway
			assert.Equal(t, lostSizes, quirk, "theirs: %s: %s", f.label, written[i].Refused)
		case theirs.Refused == "" && slices.Equal(theirs.Chunks, f.want().Chunks) && theirs.Data == f.want().Data:
			same(t, f.want(), got, "theirs, read here: "+f.label)
			continue
		case quirk == lostSizes:
			assert.Contains(t, got.Refused, "a chunk without bytes where sizes vary", f.label)
		case quirk == lostTails:
			f.sameButTails(t, fs)
		default:
			assert.Contains(t, []string{wrongBlocks, noStreams}, quirk, "theirs, read there: %s: %s", f.label, theirs.Refused)
			same(t, f.want(), got, "theirs, read here though not there: "+f.label)
		}
		met[quirk]++
	}
	return met
}

// What is the matter with frames that python-blosc2 4.14.1 writes and cannot
// read itself.
const (
	lostSizes   = "how long a chunk of zeros is, where lengths vary"
	lostTails   = "the part of an item at the end of a chunk, by the filter delta"
	wrongBlocks = "another size of blocks than that of the blocks"
	noStreams   = "a dictionary that is announced, in a chunk that is stored"
)

// quirk is what the peer may lose of a frame.
func (f *frame) quirk() string {
	varying := f.want().ChunkSize == 0 && len(f.Ops) > 1
	delta := slices.ContainsFunc(f.settings.Filters, func(f blosc.Filter) bool { return f.ID == blosc.Delta })
	found := ""
	if f.settings.Dictionary {
		found = noStreams
	}
	for _, o := range f.Ops {
		switch {
		case varying && !slices.ContainsFunc(o.Data, func(b byte) bool { return b != 0 }):
			return lostSizes
		case delta && len(o.Data)%f.TypeSize > 0:
			found = lostTails
		case len(o.Data)%f.TypeSize > 0:
			found = wrongBlocks
		}
	}
	return found
}

// sameButTails compares whole items.
func (f *frame) sameButTails(t *testing.T, fs storage.FS) {
	t.Helper()
	c, err := blosc2.Open(t.Context(), fs, f.Name, blosc2.Options{})
	require.NoError(t, err, f.label)
	defer c.Close()
	for i, o := range f.Ops {
		got, err := c.(*blosc2.SChunk).Chunk(t.Context(), int64(i), nil)
		require.NoError(t, err, f.label)
		require.Len(t, got, len(o.Data), f.label)
		n := len(got) - len(got)%f.TypeSize
		require.Equal(t, o.Data[:n], got[:n], f.label)
	}
}

// same compares what a container holds with what it should.
func same(t *testing.T, want state, got outcome, label string) {
	t.Helper()
	if got.Refused != "" {
		t.Errorf("%s: %s", label, got.Refused)
		return
	}
	if len(want.Values) == 0 {
		want.Values, got.Values = nil, nil
	}
	if want.ChunkSize == 0 && len(want.Chunks) <= 1 {
		got.ChunkSize = 0 // the writer's own
	}
	assert.Equal(t, want, got.state, label)
}
