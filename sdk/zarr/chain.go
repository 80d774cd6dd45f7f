package zarr

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
)

// chain is a codec pipeline for chunks of one element type. Decoding undoes
// bytes (last first), then serial, then arrays (last first).
type chain struct {
	arrays []arrayCodec  // in the order of encoding; transpositions alone are one
	order  []int         // all transpositions as one: stored axis i is axis order[i]; nil if there are none
	serial serializer    // for stored elements
	bytes  []codec.Bytes // in the order of encoding
	text   json.RawMessage
	elem   element // decoded
	copies bool    // what decode returns never shares memory with what it is given
	limit  int64   // bytes of a chunk, stored or decoded
}

// arrayCodec is a codec from an array to an array.
type arrayCodec interface {
	// decode undoes the codec for a chunk that had this shape before it was
	// encoded. It never writes to src; dst is used if it is large enough.
	decode(ctx context.Context, dst, src []byte, shape []int64) ([]byte, error)
	// encode is the inverse, for a chunk of this shape.
	encode(src []byte, shape []int64) ([]byte, error)
	// encodedShape is what becomes of a shape.
	encodedShape(shape []int64) []int64
	// encodedElement is what becomes of the elements.
	encodedElement() element
}

// serializer turns the elements of a chunk into bytes and back.
type serializer interface {
	// decode returns the elements of a chunk of a shape, C order, little
	// endian. dst is used if it is large enough; the result may alias src.
	decode(ctx context.Context, ar *arena, dst, src []byte, shape []int64) ([]byte, error)
	// encode is the inverse of decode. It never writes to src; the result may
	// alias it.
	encode(ctx context.Context, ar *arena, src []byte, shape []int64) ([]byte, error)
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
	if _, ok := product(append([]int64{elem.size}, shape...)...); !ok {
		return nil, fault.New(fault.ErrLimit, "metadata", field, "a chunk has more than 2^63 bytes")
	}
	p := chainParser{chain: &chain{text: compact(raw), elem: elem, limit: o.Limits.chunk()}, elem: elem, shape: shape, o: o}
	for i, r := range l {
		e, err := parseExtension(field+"["+itoa(int64(i))+"]", r)
		if err == nil {
			err = p.add(field+"["+itoa(int64(i))+"]", e)
		}
		if err != nil {
			return nil, err
		}
	}
	return p.finish(field)
}

// chainParser is a chain in the making: elem and shape are what the next
// codec is given.
type chainParser struct {
	chain *chain
	elem  element
	shape []int64
	o     Options
}

// add adds one codec.
func (p *chainParser) add(field string, e extension) error {
	c := p.chain
	f, err := newFilter(e, p.elem)
	if err != nil {
		return unknownCodec(field, err)
	}
	ofArray := f != nil || slices.Contains([]string{"transpose", "bytes", "sharding_indexed", "vlen-utf8", "vlen-bytes", "packbits"}, e.name)
	if ofArray && c.serial != nil {
		return malformed(field, strconv.Quote(e.name)+" comes after the array has become bytes")
	}
	switch {
	case f != nil:
		p.addArray(f)
		return nil
	case e.name == "transpose":
		order, err := parseTranspose(field, e, len(p.shape))
		if err != nil {
			return err
		}
		p.addArray(transposition{order, p.elem})
		return nil
	case ofArray:
		c.serial, err = p.serializer(field, e)
		return err
	}
	b, err := newBytesCodec(e, p.o)
	if err != nil {
		return unknownCodec(field, err)
	}
	if c.serial == nil {
		return malformed(field, strconv.Quote(e.name)+" comes before the array has become bytes")
	}
	c.bytes = append(c.bytes, b)
	return nil
}

func (p *chainParser) serializer(field string, e extension) (serializer, error) {
	switch e.name {
	case "bytes":
		return parsePlain(field, e, p.elem)
	case "packbits":
		return parsePackbits(field, e, p.elem)
	case "sharding_indexed":
		if p.filtered() {
			return nil, fault.New(fault.ErrUnsupported, "metadata", field, "a filter around shards")
		}
		return parseSharding(field, e, p.elem, p.shape, p.o)
	}
	return parseVlen(field, e, p.elem, p.o)
}

func (p *chainParser) addArray(a arrayCodec) {
	p.chain.arrays = append(p.chain.arrays, a)
	p.elem, p.shape = a.encodedElement(), a.encodedShape(p.shape)
	if t, ok := a.(transposition); ok {
		p.chain.order = compose(p.chain.order, t.order)
	}
}

// filtered reports whether a codec changes elements, not only their places.
func (p *chainParser) filtered() bool {
	for _, a := range p.chain.arrays {
		if _, ok := a.(transposition); !ok {
			return true
		}
	}
	return false
}

func (p *chainParser) finish(field string) (*chain, error) {
	c := p.chain
	if c.serial == nil {
		return nil, malformed(field, "no codec turns the array into bytes")
	}
	if len(c.arrays) > 1 && !p.filtered() {
		c.arrays = []arrayCodec{transposition{c.order, c.elem}}
	}
	pl, isPlain := c.serial.(plain)
	c.copies = !isPlain || pl.swap || c.arrays != nil
	for _, b := range c.bytes {
		c.copies = c.copies || codec.Copies(b)
	}
	if _, ok := c.serial.(vlen); ok {
		c.copies = false // cells point into what was decoded
	}
	return c, nil
}

func newBytesCodec(e extension, o Options) (codec.Bytes, error) {
	if b, err := o.callersCodec(e.name, e.raw); b != nil || err != nil {
		return b, err
	}
	return codec.New(e.name, e.raw)
}

func unknownCodec(field string, err error) error {
	return &fault.Error{Format: "metadata", Item: field, Off: -1, Err: err}
}

// sharding returns the serializer as a sharding codec, or nil.
func (c *chain) sharding() *sharding {
	s, _ := c.serial.(*sharding)
	return s
}

// raw reports whether the stored bytes of a chunk are its elements.
func (c *chain) raw() bool {
	p, ok := c.serial.(plain)
	return ok && !p.swap && len(c.bytes) == 0 && len(c.arrays) == 0
}

// size is the number of bytes of a decoded chunk of a shape in memory.
func (c *chain) size(shape []int64) int64 { return sizeOf(shape, c.elem.size) }

// decoded is size; -1 where the lengths of elements are in the elements.
func (c *chain) decoded(shape []int64) int64 {
	if c.elem.variable {
		return -1
	}
	return c.size(shape)
}

// decode decodes the stored bytes of a chunk of a shape: C order, little
// endian. dst is used where it is large enough; the result may alias src.
func (c *chain) decode(ctx context.Context, ar *arena, dst, src []byte, shape []int64) ([]byte, error) {
	if len(c.arrays) == 0 {
		into := dst
		if c.elem.variable {
			into = nil // what the cells point to must stay
		}
		b, err := c.decodeBytes(ctx, into, src, shape)
		if err != nil {
			return nil, err
		}
		return c.serial.decode(ctx, ar, dst, b, shape)
	}
	shapes := make([][]int64, len(c.arrays)+1)
	shapes[0] = shape
	for i, a := range c.arrays {
		shapes[i+1] = a.encodedShape(shapes[i])
	}
	stored := shapes[len(c.arrays)]
	b, err := c.decodeBytes(ctx, nil, src, stored)
	if err != nil {
		return nil, err
	}
	if b, err = c.serial.decode(ctx, ar, nil, b, stored); err != nil {
		return nil, err
	}
	for i := len(c.arrays) - 1; i >= 0; i-- {
		var into []byte
		if i == 0 {
			into = dst
		}
		if b, err = c.arrays[i].decode(ctx, into, b, shapes[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// decodeBytes undoes the bytes codecs. Each is told how much may come out of
// it: what the codecs before it could make of a chunk of this stored shape.
func (c *chain) decodeBytes(ctx context.Context, dst, src []byte, shape []int64) ([]byte, error) {
	for i := len(c.bytes) - 1; i >= 0; i-- {
		into := dst
		if i > 0 {
			into = nil // src of the next step must not share memory with its dst
		}
		limit, exact := c.bound(i, shape)
		if limit > c.limit && exact {
			return nil, fault.New(fault.ErrLimit, c.bytes[i].Name(), "", "would decode to "+itoa(limit)+" bytes")
		}
		out, err := decodeGrowing(ctx, c.bytes[i], into, src, min(limit, c.limit), exact)
		if err != nil {
			return nil, err
		}
		src = out
	}
	return src, nil
}

// decodeGrowing decodes with a limit that is only a bound: codecs may take
// all the memory that they may fill, so it begins small.
func decodeGrowing(ctx context.Context, b codec.Bytes, dst, src []byte, limit int64, exact bool) ([]byte, error) {
	guess := max(int64(8*len(src)), 1<<16)
	if exact || guess > limit {
		guess = limit
	}
	for {
		out, err := b.Decode(ctx, dst[:0:len(dst)], src, int(guess))
		if guess == limit || !errors.Is(err, fault.ErrLimit) {
			return out, err
		}
		guess = min(guess*4, limit)
	}
}

// bound is the largest input of bytes codec i when it encoded; exact if its
// input always has this size.
func (c *chain) bound(i int, shape []int64) (n int64, exact bool) {
	n, exact = c.serial.encodedSize(shape)
	for _, b := range c.bytes[:i] {
		var same bool
		n, same = b.EncodedSize(n)
		exact = exact && same
	}
	return n, exact
}

// encodedSize bounds the stored size of a chunk of a shape.
func (c *chain) encodedSize(shape []int64) (max int64, fixed bool) {
	for _, a := range c.arrays {
		shape = a.encodedShape(shape)
	}
	return c.bound(len(c.bytes), shape)
}

// maxAlloc is what one buffer may have on any machine.
const maxAlloc = 1<<31 - 1

// buffer returns n bytes, dst's if it has as many.
func buffer(dst []byte, n int64) []byte {
	if dst != nil && int64(cap(dst)) >= n {
		return dst[:n]
	}
	return make([]byte, n)
}
