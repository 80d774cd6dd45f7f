package codec

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// scale stores (value - offset) * factor, rounded. What is stored is divided
// as floats of its own type, integers as float64.
type scale struct {
	elements
	offset, factor float64
	whole          bool // offset and factor are integers in the configuration
}

func newScale(n named, configuration json.RawMessage, decoded string) (Elements, error) {
	c := rawjson.MembersOf(configuration)
	offset, factor, types := c.Number("offset"), c.Number("scale"), typesOf(c)
	if err := n.configured(c); err != nil {
		return nil, err
	}
	if offset == "" || factor == "" {
		return nil, n.invalid("offset, scale", "missing")
	}
	e, err := types.elements(n, decoded)
	if err != nil {
		return nil, err
	}
	if e.decoded.kind == 'b' || e.encoded.kind == 'b' {
		return nil, fault.New(fault.ErrUnsupported, string(n), "dtype", "booleans")
	}
	s := scale{elements: e, whole: !strings.ContainsAny(offset+factor, ".eE")}
	if s.offset, err = strconv.ParseFloat(offset, 64); err != nil {
		return nil, n.invalid("offset", err.Error())
	}
	if s.factor, err = strconv.ParseFloat(factor, 64); err != nil {
		return nil, n.invalid("scale", err.Error())
	}
	if s.whole && max(math.Abs(s.offset), math.Abs(s.factor)) > 1<<53 {
		return nil, fault.New(fault.ErrUnsupported, string(n), "offset, scale", "integers of more than 53 bits")
	}
	return s, nil
}

func (c scale) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	t := c.encoded
	factor, offset := t.round(c.factor), t.round(c.offset)
	var r run
	return c.each(dst, src, t, c.decoded, limit, func(d, s []byte) {
		v := r.floats(s, t, t)
		for i, x := range v {
			v[i] = math.Float64bits(t.round(t.round(math.Float64frombits(x)/factor) + offset))
		}
		storeFloats(d, v, c.decoded)
	})
}

func (c scale) Encode(dst, src []byte) ([]byte, error) {
	t := c.decoded
	var r run
	if t.kind != 'f' && c.whole { // integers by integers stay what they are, and wrap around
		var between [8 * runLen]byte
		factor, offset := uint64(int64(c.factor)), uint64(int64(c.offset))
		return c.each(dst, src, t, c.encoded, unlimited, func(d, s []byte) {
			v := r.integers(s, t)
			for i, x := range v {
				v[i] = (x - offset) * factor
			}
			store(between[:], v, t)
			r.convert(d, between[:len(s)], t, c.encoded)
		})
	}
	factor, offset := t.round(c.factor), t.round(c.offset)
	return c.each(dst, src, t, c.encoded, unlimited, func(d, s []byte) {
		v := r.floats(s, t, t)
		for i, x := range v {
			v[i] = math.Float64bits(math.RoundToEven(t.round(t.round(math.Float64frombits(x)-offset) * factor)))
		}
		storeFloats(d, v, c.encoded)
	})
}
