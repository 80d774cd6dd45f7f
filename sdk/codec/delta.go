package codec

import (
	"context"
	"encoding/json"

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
	if c.decoded.kind == 'f' {
		// The first element is itself: 0 + -0 would be another one.
		var one [8]byte
		var sum float64
		first := true
		return c.each(dst, src, c.encoded, c.decoded, limit, func(d, s []byte) {
			c.decoded.convert(one[:], s, c.encoded)
			if v := c.decoded.float(one[:]); first {
				sum, first = v, false
			} else {
				sum = c.decoded.round(sum + v)
			}
			c.decoded.putFloat(d, sum)
		})
	}
	var sum uint64
	return c.each(dst, src, c.encoded, c.decoded, limit, func(d, s []byte) {
		sum += c.encoded.integer(s)
		c.decoded.put(d, sum)
	})
}

func (c delta) Encode(dst, src []byte) ([]byte, error) {
	if c.decoded.kind == 'f' {
		var before float64
		first := true
		return c.each(dst, src, c.decoded, c.encoded, unlimited, func(d, s []byte) {
			v := c.decoded.float(s)
			difference := c.decoded.round(v - before)
			if first {
				difference, first = v, false
			}
			before = v
			c.encoded.putFloat(d, difference)
		})
	}
	var before uint64
	return c.each(dst, src, c.decoded, c.encoded, unlimited, func(d, s []byte) {
		v := c.decoded.integer(s)
		c.encoded.put(d, c.wrap(v-before))
		before = v
	})
}

// wrap is a difference as the decoded type holds it, with its sign extended.
func (c delta) wrap(v uint64) uint64 {
	var one [8]byte
	c.decoded.put(one[:], v)
	return c.decoded.integer(one[:])
}
