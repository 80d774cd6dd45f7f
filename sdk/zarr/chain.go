package zarr

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
)

// element is what a chunk is made of.
type element struct {
	dtype DataType
	fill  []byte
}

// chain is a codec pipeline for chunks of one element type. Decoding undoes
// bytes (last first), then serial, then arrays (last first).
type chain struct {
	order  []int // transpositions before serial, as one: encoded axis i is axis order[i]; nil if there are none
	serial serializer
	bytes  []codec.Bytes // in the order of encoding
	text   json.RawMessage
	elem   element
	copies bool // what decode returns never shares memory with what it is given
}

// serializer turns the elements of a chunk into bytes and back.
type serializer interface {
	// decode returns the elements of a chunk of a shape, C order, little
	// endian. dst is used if it is large enough; the result may alias src.
	decode(ctx context.Context, dst, src []byte, shape []int64) ([]byte, error)
	// encodedSize is like that of codec.Bytes, for a chunk of a shape.
	encodedSize(shape []int64) (max int64, fixed bool)
}

// parseChain reads a list of codecs for chunks of a shape. The order in the
// list is array codecs, one serializer, bytes codecs.
func parseChain(field string, raw json.RawMessage, elem element, shape []int64, o Options) (*chain, error) {
	l, err := list(field, raw)
	if err != nil {
		return nil, err
	}
	if len(l) == 0 {
		return nil, malformed(field, "is empty")
	}
	if _, ok := product(append([]int64{elem.dtype.Size()}, shape...)...); !ok {
		return nil, fault.New(fault.ErrLimit, "metadata", field, "a chunk has more than 2^63 bytes")
	}
	c := &chain{text: compact(raw), elem: elem}
	for i, r := range l {
		if err := c.parse(field+"["+strconv.Itoa(i)+"]", r, shape, o); err != nil {
			return nil, err
		}
	}
	if c.serial == nil {
		return nil, malformed(field, "no codec turns the array into bytes")
	}
	p, isPlain := c.serial.(plain)
	c.copies = !isPlain || p.swap || c.order != nil
	for _, b := range c.bytes {
		c.copies = c.copies || codec.Copies(b)
	}
	return c, nil
}

// parse adds one codec.
func (c *chain) parse(field string, raw json.RawMessage, shape []int64, o Options) error {
	e, err := parseExtension(field, raw)
	if err != nil {
		return err
	}
	switch e.name {
	case "transpose", "bytes", "sharding_indexed":
		if c.serial != nil {
			return malformed(field, strconv.Quote(e.name)+" comes after the array has become bytes")
		}
	}
	switch e.name {
	case "transpose":
		order, err := parseTranspose(field, e, len(shape))
		if err != nil {
			return err
		}
		c.order = compose(c.order, order)
	case "bytes":
		c.serial, err = parsePlain(field, e, c.elem)
	case "sharding_indexed":
		c.serial, err = parseSharding(field, e, c.elem, permute(shape, c.order), o)
	default:
		if c.serial == nil {
			if _, err := codec.New(e.name, e.raw); err != nil {
				return unknownCodec(field, err)
			}
			return malformed(field, strconv.Quote(e.name)+" comes before the array has become bytes")
		}
		var b codec.Bytes
		if b, err = newBytesCodec(e, o); err == nil {
			c.bytes = append(c.bytes, b)
		}
		err = unknownCodec(field, err)
	}
	return err
}

func newBytesCodec(e extension, o Options) (codec.Bytes, error) {
	if o.Codecs != nil {
		b, err := o.Codecs.BytesCodec(e.name, e.raw)
		if err == nil || fault.CodeOf(err) != fault.CodeUnsupported {
			return b, err
		}
	}
	return codec.New(e.name, e.raw)
}

func unknownCodec(field string, err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Format: "metadata", Item: field, Off: -1, Err: err}
}

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

// sharding returns the serializer as a sharding codec, or nil.
func (c *chain) sharding() *sharding {
	s, _ := c.serial.(*sharding)
	return s
}

// raw reports whether the stored bytes of a chunk are its elements.
func (c *chain) raw() bool {
	p, ok := c.serial.(plain)
	return ok && !p.swap && len(c.bytes) == 0 && c.order == nil
}

// size is the number of bytes of a decoded chunk of a shape. Shapes were
// checked when the metadata was parsed.
func (c *chain) size(shape []int64) int64 {
	n := c.elem.dtype.Size()
	for _, x := range shape {
		n *= x
	}
	return n
}

// decode decodes the stored bytes of a chunk of a shape: C order, little
// endian. dst is used where it is large enough; the result may alias src.
func (c *chain) decode(ctx context.Context, dst, src []byte, shape []int64) ([]byte, error) {
	stored := permute(shape, c.order)
	flat := dst
	if c.order != nil {
		flat = nil // dst is for what comes after the transposition
	}
	b, err := c.decodeBytes(ctx, flat, src, stored)
	if err != nil {
		return nil, err
	}
	if b, err = c.serial.decode(ctx, flat, b, stored); err != nil || c.order == nil {
		return b, err
	}
	out := buffer(dst, c.size(shape))
	item := c.elem.dtype.Size()
	// Encoded axis i is axis order[i]: seen through the inverse, the encoded
	// block has the axes of the array.
	copyBox(cOrder(out, shape, item), cOrder(b, stored, item).permute(invert(c.order)), shape, item)
	return out, nil
}

// decodeBytes undoes the bytes codecs. Each is told how much may come out of
// it: what the codecs before it could make of a chunk of this shape.
func (c *chain) decodeBytes(ctx context.Context, dst, src []byte, shape []int64) ([]byte, error) {
	for i := len(c.bytes) - 1; i >= 0; i-- {
		limit := c.limit(i, shape)
		if limit > maxAlloc {
			return nil, fault.New(fault.ErrLimit, c.bytes[i].Name(), "", "would decode to "+itoa(limit)+" bytes")
		}
		into := dst
		if i > 0 {
			into = nil // src of the next step must not share memory with its dst
		}
		out, err := c.bytes[i].Decode(ctx, into[:0:len(into)], src, int(limit))
		if err != nil {
			return nil, err
		}
		src = out
	}
	return src, nil
}

// limit is the largest input of bytes codec i when it encoded.
func (c *chain) limit(i int, shape []int64) int64 {
	n, _ := c.serial.encodedSize(shape)
	for _, b := range c.bytes[:i] {
		n, _ = b.EncodedSize(n)
	}
	return n
}

// encodedSize bounds the stored size of a chunk of a shape.
func (c *chain) encodedSize(shape []int64) (max int64, fixed bool) {
	max, fixed = c.serial.encodedSize(permute(shape, c.order))
	for _, b := range c.bytes {
		var same bool
		max, same = b.EncodedSize(max)
		fixed = fixed && same
	}
	return max, fixed
}

// maxAlloc is what one buffer may have on any machine.
const maxAlloc = 1<<31 - 1

// buffer returns n bytes, dst's if it has as many.
func buffer(dst []byte, n int64) []byte {
	if int64(cap(dst)) >= n {
		return dst[:n]
	}
	return make([]byte, n)
}
