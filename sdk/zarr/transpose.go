package zarr

import (
	"encoding/json"
	"strconv"
)

// parseTranspose reads a transposition: encoded axis i is axis order[i].
// Older metadata says "C" (nothing) or "F" (all axes reversed).
//
// Zarr v3 codec "transpose": https://zarr-specs.readthedocs.io/en/latest/v3/codecs/transpose/
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
		return nil, malformed(field, "has "+strconv.Itoa(len(l))+" axes, want "+strconv.Itoa(axes))
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
	for i := range order {
		switch string(raw) {
		case `"C"`:
			order[i] = i
		case `"F"`:
			order[i] = len(order) - 1 - i
		}
	}
	if s := string(raw); s != `"C"` && s != `"F"` {
		return malformed(field, s+" is no order")
	}
	return nil
}
