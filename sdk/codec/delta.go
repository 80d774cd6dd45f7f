package codec

import (
	"context"
	"encoding/json"
	"math"

	"github.com/gridhold/gridhold/sdk/fault"
)

// delta stores each element as the difference to the one before it. Integers
// wrap around; floats are rounded at each sum, in order.
type delta struct{ elements }

func newDelta(n named, configuration json.RawMessage, decoded string) (Elements, error) {
	e, err := n.typed(configuration, decoded)
	if err != nil {
		return nil, err
	}
	if e.decoded.kind == 'b' || e.encoded.kind == 'b' || e.encoded.kind == 'f' && e.decoded.kind != 'f' {
		return nil, fault.New(fault.ErrUnsupported, string(n), "astype", e.decoded.String()+" as differences of "+e.encoded.String())
	}
	return delta{e}, nil
}

func (c delta) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	var r run
	if c.decoded.kind != 'f' {
		var sum uint64
		return c.each(dst, src, c.encoded, c.decoded, limit, func(d, s []byte) {
			v := r.integers(s, c.encoded)
			for i, x := range v {
				sum += x
				v[i] = sum
			}
			store(d, v, c.decoded)
		})
	}
	sum := math.Copysign(0, -1) // the only number that changes none, -0 included
	return c.each(dst, src, c.encoded, c.decoded, limit, func(d, s []byte) {
		v := r.floats(s, c.encoded, c.decoded)
		for i, x := range v {
			sum = c.decoded.round(sum + math.Float64frombits(x))
			v[i] = math.Float64bits(sum)
		}
		storeFloats(d, v, c.decoded)
	})
}

func (c delta) Encode(dst, src []byte) ([]byte, error) {
	var r run
	if c.decoded.kind != 'f' {
		var before uint64
		return c.each(dst, src, c.decoded, c.encoded, unlimited, func(d, s []byte) {
			v := r.integers(s, c.decoded)
			for i, x := range v {
				v[i], before = x-before, x
			}
			if c.decoded.kind == 'i' { // a wider type gets the difference as the decoded one holds it
				extend(v, c.decoded.size)
			}
			store(d, v, c.encoded)
		})
	}
	before := 0.0 // the first element less this is itself, -0 included
	return c.each(dst, src, c.decoded, c.encoded, unlimited, func(d, s []byte) {
		v := r.floats(s, c.decoded, c.decoded)
		for i, x := range v {
			f := math.Float64frombits(x)
			v[i], before = math.Float64bits(c.decoded.round(f-before)), f
		}
		storeFloats(d, v, c.encoded)
	})
}
