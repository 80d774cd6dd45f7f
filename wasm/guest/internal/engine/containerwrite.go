package engine

import (
	"context"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// containerWrite answers the state after the commit.
func (e *Engine) containerWrite(ctx context.Context, q *request) (answer, error) {
	if err := q.write(ctx); err != nil {
		return answer{}, err
	}
	return inJSON(stateOf(q.at.container), nil)
}

// numbers is how many each write takes; -1: any.
var numbers = [...]int{
	wire.WriteSlice: -1, wire.WriteAppend: -1, wire.WriteAddChunk: 0, wire.WriteInsert: 1, wire.WriteUpdate: 1, wire.WriteDelete: 1,
	wire.WriteResize: -1, wire.WriteSpecial: 2, wire.WriteVLMeta: 1, wire.WriteMetalayer: 1, wire.WriteDropMeta: 0,
}

func (q *request) write(ctx context.Context) error {
	if q.flags >= uint32(len(numbers)) || numbers[q.flags] >= 0 && len(q.index) != numbers[q.flags] {
		return fault.New(fault.ErrInvalid, "container", "", "no such write, or of other numbers")
	}
	switch q.flags {
	case wire.WriteVLMeta, wire.WriteMetalayer, wire.WriteDropMeta:
		return q.writeMeta(ctx)
	}
	f, err := dataOf(q.at.container)
	if err != nil {
		return err
	}
	a, isArray := q.at.container.(*blosc2.NDArray)
	switch q.flags {
	case wire.WriteSlice:
		if isArray && len(q.index)%3 == 0 {
			return a.SetSlice(ctx, q.spans(), q.data)
		}
		if isArray || len(q.index) != 1 {
			return fault.New(fault.ErrInvalid, "container", "", "want three numbers an axis, or the first item of a sequence")
		}
		return f.SetSlice(ctx, q.index[0], q.data)
	case wire.WriteAppend:
		if isArray && len(q.index) == 1 {
			return a.Append(ctx, int(q.index[0]), q.data)
		}
		return f.Append(ctx, q.data)
	case wire.WriteAddChunk:
		return f.AppendChunk(ctx, q.data)
	case wire.WriteInsert:
		return f.InsertChunk(ctx, q.index[0], q.data)
	case wire.WriteUpdate:
		return f.UpdateChunk(ctx, q.index[0], q.data)
	case wire.WriteDelete:
		return f.DeleteChunk(ctx, q.index[0])
	case wire.WriteSpecial:
		return f.AppendSpecial(ctx, blosc.Special(q.index[0]), q.index[1], q.data)
	}
	if !isArray {
		return wrongKind(q.at.container, "shape")
	}
	return a.Resize(ctx, q.index)
}

// writeMeta sets or drops a metalayer. The number is the length of the name,
// with which the data begins.
func (q *request) writeMeta(ctx context.Context) error {
	f := frameOf(q.at.container)
	if q.flags == wire.WriteDropMeta {
		return f.DeleteVL(ctx, string(q.data))
	}
	n := q.index[0]
	if n < 0 || n > int64(len(q.data)) {
		return fault.New(fault.ErrInvalid, "container", "", "a name longer than the request")
	}
	name, value := string(q.data[:n]), q.data[n:]
	if q.flags == wire.WriteVLMeta {
		return f.SetVLValue(ctx, name, value)
	}
	return f.SetMetalayer(ctx, name, value)
}
