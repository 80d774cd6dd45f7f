package zarr

import (
	"context"
	"encoding/json"
)

// transposition moves axes: encoded axis i is axis order[i].
//
// Zarr v3 codec "transpose": https://zarr-specs.readthedocs.io/en/latest/v3/codecs/transpose/
type transposition struct {
	order []int
	elem  element
}

func (t transposition) decode(_ context.Context, dst, src []byte, shape []int64) ([]byte, error) {
	item := t.elem.size
	out := buffer(dst, sizeOf(shape, item))
	// Seen through the inverse, the encoded block has the axes of the decoded.
	encoded := cOrder(src, t.encodedShape(shape), item).permute(invert(t.order))
	copyBox(cOrder(out, shape, item), encoded, shape, item)
	return out, nil
}

func (t transposition) encode(src []byte, shape []int64) ([]byte, error) {
	item, stored := t.elem.size, t.encodedShape(shape)
	out := make([]byte, len(src))
	copyBox(cOrder(out, stored, item), cOrder(src, shape, item).permute(t.order), stored, item)
	return out, nil
}

func (t transposition) encodedShape(shape []int64) []int64 { return permute(shape, t.order) }
func (t transposition) encodedElement() element            { return t.elem }

// compose returns the transposition that is first a, then b.
func compose(a, b []int) []int {
	if a == nil {
		return b
	}
	out := make([]int, len(b))
	for i, o := range b {
		out[i] = a[o]
	}
	return out
}

// parseTranspose reads an order of axes. Older metadata says "C" (nothing) or
// "F" (all axes reversed).
func parseTranspose(field string, e extension, axes int) ([]int, error) {
	field += ".order"
	if err := e.only(field, "order"); err != nil {
		return nil, err
	}
	raw := e.config["order"]
	order := make([]int, axes)
	if isText(raw) {
		return order, letterOrder(field, raw, order)
	}
	l, err := sizes(field, raw, 0)
	if err != nil {
		return nil, err
	}
	if len(l) != axes {
		return nil, malformed(field, "has "+itoa(int64(len(l)))+" axes, want "+itoa(int64(axes)))
	}
	seen := make([]bool, axes)
	for i, o := range l {
		if o >= int64(axes) || seen[o] {
			return nil, malformed(field, tuple(l)+" is not a permutation")
		}
		seen[o] = true
		order[i] = int(o)
	}
	return order, nil
}

func letterOrder(field string, raw json.RawMessage, order []int) error {
	if s := string(raw); s != `"C"` && s != `"F"` {
		return malformed(field, s+" is no order")
	}
	for i := range order {
		order[i] = i
		if string(raw) == `"F"` {
			order[i] = len(order) - 1 - i
		}
	}
	return nil
}
