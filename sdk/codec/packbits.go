package codec

import (
	"context"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// packBits stores eight booleans in a byte, the first one highest, after a
// byte with the number of bits that the last one has too many.
type packBits struct{ elements }

func newPackBits(n named, decoded string) (Elements, error) {
	if decoded == "" {
		decoded = "|b1"
	}
	t, err := n.number("dtype", decoded, "")
	if err != nil {
		return nil, err
	}
	if t.kind != 'b' {
		return nil, n.invalid("dtype", "only booleans are packed")
	}
	return packBits{elements{n, t, number{kind: 'u', size: 1}}}, nil
}

func (packBits) EncodedSize(n int64) (int64, bool) { return 1 + n/8 + (n%8+7)/8, true }

func (c packBits) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	if len(src) == 0 || src[0] > 7 || len(src) == 1 && src[0] > 0 {
		return nil, c.corrupt("the number of padded bits is wrong")
	}
	n := int64(len(src)-1)*8 - int64(src[0])
	if n > int64(limit) {
		return nil, block.OverLimit(c.Name(), limit)
	}
	out := block.Room(dst, int(n))[:len(dst)+int(n)]
	for i := range out[len(dst):] {
		out[len(dst)+i] = src[1+i/8] >> (7 - i%8) & 1
	}
	return out, nil
}

func (c packBits) Encode(dst, src []byte) ([]byte, error) {
	dst = append(dst, byte(-len(src)&7))
	for len(src) > 0 {
		var packed byte
		for i, b := range src[:min(8, len(src))] {
			packed |= byte(truth(b != 0)) << (7 - i)
		}
		dst = append(dst, packed)
		src = src[min(8, len(src)):]
	}
	return dst, nil
}
