package codec

import (
	"context"
	"encoding/json"
)

// asType stores elements as another type: what C does with a cast, either way.
type asType struct{ elements }

func newAsType(n named, configuration json.RawMessage, decoded string) (Elements, error) {
	var c struct {
		Encode *string `json:"encode_dtype"`
		Decode *string `json:"decode_dtype"`
	}
	if err := n.configure(configuration, &c); err != nil {
		return nil, err
	}
	if c.Encode == nil {
		return nil, n.invalid("encode_dtype", "missing")
	}
	e, err := typed{DType: c.Decode, AsType: c.Encode}.elements(n, decoded)
	if err != nil {
		return nil, err
	}
	return asType{e}, nil
}

func (c asType) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	var r run
	return c.each(dst, src, c.encoded, c.decoded, limit, func(d, s []byte) { r.convert(d, s, c.encoded, c.decoded) })
}

func (c asType) Encode(dst, src []byte) ([]byte, error) {
	var r run
	return c.each(dst, src, c.decoded, c.encoded, unlimited, func(d, s []byte) { r.convert(d, s, c.decoded, c.encoded) })
}
