package codec

import (
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// bitRound keeps so many bits of the fraction of floats and zeroes the rest.
// There is nothing to decode.
type bitRound struct {
	elements // of no type where only the bytes are known
	keep     int
}

func newBitRound(n named, configuration json.RawMessage, decoded string) (Elements, error) {
	c := rawjson.MembersOf(configuration)
	keep := int(c.Int("keepbits", 0, 1<<30, -1))
	if err := n.configured(c); err != nil {
		return nil, err
	}
	if keep < 0 {
		return nil, n.invalid("keepbits", "missing")
	}
	b := bitRound{elements{named: n}, keep}
	if decoded == "" {
		return b, nil
	}
	t, err := n.number("dtype", decoded, "")
	if err != nil {
		return nil, err
	}
	if t.kind != 'f' || keep > fractionBits(t) {
		return nil, n.invalid("keepbits", "the elements are no floats of that many bits")
	}
	b.decoded, b.encoded = t, t
	return b, nil
}

func fractionBits(t number) int {
	switch t.size {
	case 2:
		return 10
	case 4:
		return 23
	}
	return 52
}

func (bitRound) Copies() bool { return false }

func (bitRound) EncodedSize(n int64) (int64, bool) { return n, true }

func (c bitRound) Decode(_ context.Context, _, src []byte, limit int) ([]byte, error) {
	if len(src) > limit {
		return nil, block.OverLimit(c.Name(), limit)
	}
	return src, nil
}

func (c bitRound) Encode(dst, src []byte) ([]byte, error) {
	t := c.decoded
	if t.kind == 0 {
		return nil, fault.New(fault.ErrUnsupported, c.Name(), "", "rounding elements of a type that is not known")
	}
	drop := fractionBits(t) - c.keep
	if drop == 0 {
		return append(dst, src...), nil
	}
	var r run
	return c.each(dst, src, t, t, unlimited, func(d, s []byte) {
		v := r.load(s, t)
		for i, x := range v {
			x += x>>drop&1 + 1<<(drop-1) - 1 // to even on a tie
			v[i] = x >> drop << drop
		}
		store(d, v, t)
	})
}
