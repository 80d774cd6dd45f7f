package codec

import (
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// asType stores elements as another type: what C does with a cast, either way.
type asType struct{ elements }

func newAsType(n named, configuration json.RawMessage, decoded string) (Elements, error) {
	c := rawjson.MembersOf(configuration)
	types := types{decoded: c.String("decode_dtype", ""), encoded: c.String("encode_dtype", "")}
	if err := n.configured(c); err != nil {
		return nil, err
	}
	if types.encoded == "" {
		return nil, n.invalid("encode_dtype", "missing")
	}
	e, err := types.elements(n, decoded)
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
