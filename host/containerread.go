package host

import (
	"context"
	"encoding/binary"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// packed is a request of container_read or container_write.
func packed(in *instance, h, what uint32, numbers []int64, rest ...[]byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(in.scratch[:0], h)
	b = le.AppendUint32(le.AppendUint32(b, what), uint32(len(numbers)))
	b = appendDims(b, numbers)
	for _, r := range rest {
		b = append(b, r...)
	}
	if cap(b) <= keptScratch {
		in.scratch = b
	}
	return b
}

// keptScratch is how large a request may be whose memory is kept.
const keptScratch = 1 << 16

func (c *Container) read(ctx context.Context, what uint32, numbers []int64, name string, dst []byte) ([]byte, error) {
	r, err := c.do(ctx, wire.KindContainerRead, dst, func(in *instance, h uint32) ([]byte, error) {
		return packed(in, h, what, numbers, []byte(name)), nil
	})
	return r.bytes, err
}

func triples(spans []blosc2.Span) []int64 {
	numbers := make([]int64, 0, 3*len(spans))
	for _, s := range spans {
		if s.Step == 0 {
			s.Step = 1
		}
		numbers = append(numbers, s.Start, s.Stop, s.Step)
	}
	return numbers
}

// Slice returns the items that the spans select, one span an axis: of an
// array as [blosc2.NDArray.Slice], of a sequence the one axis of its items.
// No spans are all items. dst is used if it is large enough. ErrLimit for
// more than the guest's memory takes.
func (c *Container) Slice(ctx context.Context, spans []blosc2.Span, dst []byte) ([]byte, error) {
	return c.read(ctx, wire.ReadSlice, triples(spans), "", dst)
}

// LittleSlice is Slice with numbers that are stored big endian turned around.
func (c *Container) LittleSlice(ctx context.Context, spans []blosc2.Span, dst []byte) ([]byte, error) {
	return c.read(ctx, wire.ReadSlice|wire.ReadLittle, triples(spans), "", dst)
}

// ReadBytes fills dst with the decoded bytes of a frame from off on.
func (c *Container) ReadBytes(ctx context.Context, off int64, dst []byte) error {
	b, err := c.read(ctx, wire.ReadBytes, []int64{off, int64(len(dst))}, "", dst)
	if err == nil && len(b) != len(dst) {
		err = internal("answers another number of bytes")
	}
	return err
}

// Chunk is [blosc2.SChunk.Chunk].
func (c *Container) Chunk(ctx context.Context, i int64, dst []byte) ([]byte, error) {
	return c.read(ctx, wire.ReadChunk, []int64{i}, "", dst)
}

// EncodedChunk is [blosc2.SChunk.EncodedChunk].
func (c *Container) EncodedChunk(ctx context.Context, i int64) ([]byte, error) {
	return c.read(ctx, wire.ReadEncoded, []int64{i}, "", nil)
}

// Bytes is [blosc2.Bytes].
func (c *Container) Bytes(ctx context.Context) ([]byte, error) {
	return c.read(ctx, wire.ReadFrame, nil, "", nil)
}

// VLValue is [blosc2.SChunk.VLValue]; State has the names.
func (c *Container) VLValue(ctx context.Context, name string) ([]byte, error) {
	return c.read(ctx, wire.ReadVLMeta, nil, name, nil)
}

// Metalayer is [blosc2.SChunk.Metalayer].
func (c *Container) Metalayer(ctx context.Context, name string) ([]byte, error) {
	return c.read(ctx, wire.ReadMetalayer, nil, name, nil)
}

// deed is a request of container_do.
type deed struct {
	Container uint32 `json:"container"`
	Do        string `json:"do"`
	Key       string `json:"key,omitempty"`
	Name      string `json:"name,omitempty"`
	FS        uint32 `json:"fs,omitempty"`
	From      uint32 `json:"from,omitempty"`
	Overwrite bool   `json:"overwrite,omitempty"`
	Shared    bool   `json:"shared,omitempty"`
	Keep      bool   `json:"keep,omitempty"`
	Axes      []int  `json:"axes,omitempty"`
}

// ask carries out a deed and reads its answer into result, if there is one.
func (c *Container) ask(ctx context.Context, d deed, result any) error {
	return c.askWith(ctx, func(*instance) (deed, error) { return d, nil }, result)
}

func (c *Container) askWith(ctx context.Context, deedOn func(in *instance) (deed, error), result any) error {
	r, err := c.do(ctx, wire.KindContainerDo, nil, func(in *instance, h uint32) ([]byte, error) {
		d, err := deedOn(in)
		if err != nil {
			return nil, err
		}
		d.Container = h
		b, err := json.Marshal(d)
		if err != nil {
			err = fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
		}
		return b, err
	})
	if err == nil && result != nil && json.Unmarshal(r.bytes, result) != nil {
		err = internal("answers what is not JSON")
	}
	return err
}

// State returns what the container is, without a look at the file.
func (c *Container) State(ctx context.Context) (st ContainerState, err error) {
	return st, c.ask(ctx, deed{Do: "state"}, &st)
}

// Describe returns the description JSON, as "gridhold info --json" prints it.
func (c *Container) Describe(ctx context.Context) (d json.RawMessage, err error) {
	return d, c.ask(ctx, deed{Do: "describe"}, &d)
}

// Keys returns the keys of a store, sorted.
func (c *Container) Keys(ctx context.Context) (keys []string, err error) {
	return keys, c.ask(ctx, deed{Do: "keys"}, &keys)
}

// Children is [blosc2.TreeStore.Children].
func (c *Container) Children(ctx context.Context, node string) (names []string, err error) {
	return names, c.ask(ctx, deed{Do: "children", Key: node}, &names)
}

// Refresh is [blosc2.SChunk.Refresh].
func (c *Container) Refresh(ctx context.Context) (changed bool, err error) {
	before, err := c.State(ctx)
	if err != nil {
		return false, err
	}
	var st ContainerState
	err = c.ask(ctx, deed{Do: "refresh"}, &st)
	return st.Tick != before.Tick, err
}

// Verify is [blosc2.Verify]; what it found is reported after all was read.
func (c *Container) Verify(ctx context.Context, report func(blosc2.Damage)) (checked int64, err error) {
	var found struct {
		Checked int64
		Damaged []blosc2.Damage
	}
	err = c.ask(ctx, deed{Do: "verify"}, &found)
	for _, d := range found.Damaged {
		report(d)
	}
	return found.Checked, err
}
