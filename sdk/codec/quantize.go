package codec

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// quantize keeps so many decimal digits of floats after the point, in steps
// of a power of two. Decoding only converts the type back.
type quantize struct {
	elements
	digits int
}

func newQuantize(n named, configuration json.RawMessage, decoded string) (Elements, error) {
	const most = 300
	c := rawjson.MembersOf(configuration)
	digits, types := int(c.Int("digits", -most, most, most+1)), typesOf(c)
	if err := n.configured(c); err != nil {
		return nil, err
	}
	if digits > most {
		return nil, n.invalid("digits", "missing")
	}
	e, err := types.elements(n, decoded)
	if err != nil {
		return nil, err
	}
	if e.decoded.kind != 'f' || e.encoded.kind != 'f' {
		return nil, fault.New(fault.ErrInvalid, string(n), "dtype", "only floats are quantized")
	}
	return quantize{e, digits}, nil
}

func (c quantize) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	var r run
	return c.each(dst, src, c.encoded, c.decoded, limit, func(d, s []byte) { r.convert(d, s, c.encoded, c.decoded) })
}

func (c quantize) Encode(dst, src []byte) ([]byte, error) {
	t := c.decoded
	bits := math.Ceil(float64(c.digits) * math.Log2(10))
	step := t.round(math.Exp2(bits))
	if step == 0 || math.IsInf(step, 0) {
		return nil, c.invalid("digits", strconv.Itoa(c.digits)+" are more than "+t.String()+" has")
	}
	var r run
	return c.each(dst, src, t, c.encoded, unlimited, func(d, s []byte) {
		v := r.floats(s, t, t)
		for i, x := range v {
			v[i] = math.Float64bits(t.round(math.RoundToEven(t.round(step*math.Float64frombits(x))) / step))
		}
		storeFloats(d, v, c.encoded)
	})
}
