package zarr

import (
	"context"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// packbits stores only the bits from first to last of each element, the
// lowest first, without gaps between elements.
//
// https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/packbits
type packbits struct {
	elem        element
	first, bits int // bits of an element that are stored
	signed      bool
	padding     string // where the number of padding bits is: "none", "first_byte", "last_byte"
}

func parsePackbits(field string, e extension, elem element) (serializer, error) {
	if err := e.only(field, "padding_encoding", "first_bit", "last_bit"); err != nil {
		return nil, err
	}
	p := packbits{elem: elem, padding: "none"}
	width := 0
	switch t := elem.dtype.(type) {
	case boolean:
		width = 1
	case tinyInteger:
		p.signed = t.min < 0
		width = 4
		if t.max < 4 {
			width = 2
		}
	case integerType:
		width, p.signed = t.bits, t.signed
	default:
		return nil, fault.New(fault.ErrUnsupported, "metadata", field, "packbits of "+elem.dtype.Name())
	}
	last := width - 1
	if raw, ok := e.config["padding_encoding"]; ok {
		var err error
		if p.padding, err = text(field, raw); err != nil {
			return nil, err
		}
		if p.padding == "start_byte" || p.padding == "end_byte" { // names of an earlier draft
			p.padding = map[string]string{"start_byte": "first_byte", "end_byte": "last_byte"}[p.padding]
		}
		if p.padding != "none" && p.padding != "first_byte" && p.padding != "last_byte" {
			return nil, malformed(field+".padding_encoding", strconv.Quote(p.padding)+" is not known")
		}
	}
	for name, to := range map[string]*int{"first_bit": &p.first, "last_bit": &last} {
		raw := e.config[name]
		if isNull(raw) {
			continue
		}
		n, err := integer(field+"."+name, raw)
		if err != nil {
			return nil, err
		}
		if n < 0 || n >= int64(width) {
			return nil, malformed(field+"."+name, itoa(n)+" is not a bit of "+elem.dtype.Name())
		}
		*to = int(n)
	}
	if p.bits = last - p.first + 1; p.bits < 1 {
		return nil, malformed(field, "the last bit comes before the first")
	}
	p.signed = p.signed && last == width-1
	return p, nil
}

func (p packbits) encodedSize(shape []int64) (int64, bool) {
	n, _ := product(shape...)
	packed, ok := product(n, int64(p.bits))
	if !ok {
		return maxAlloc + 1, true
	}
	size := ceilDiv(packed, 8)
	if p.padding != "none" {
		size++
	}
	return size, true
}

func (p packbits) decode(_ context.Context, _ *arena, _, src []byte, shape []int64) ([]byte, error) {
	want, _ := p.encodedSize(shape)
	if int64(len(src)) != want {
		return nil, fault.New(fault.ErrCorrupt, "packbits", "", "has "+itoa(int64(len(src)))+" bytes, want "+itoa(want))
	}
	n, _ := product(shape...)
	unused := byte(0)
	switch p.padding {
	case "first_byte":
		unused, src = src[0], src[1:]
	case "last_byte":
		unused, src = src[len(src)-1], src[:len(src)-1]
	}
	if free := int64(len(src))*8 - n*int64(p.bits); p.padding != "none" && int64(unused) != free {
		return nil, fault.New(fault.ErrCorrupt, "packbits", "", "says "+itoa(int64(unused))+" bits of padding, has "+itoa(free))
	}
	out := make([]byte, n*p.elem.size) // src may lie where the result is to go
	bit := 0
	for i := range n {
		var v uint64
		for k := range p.bits {
			v |= uint64(src[bit>>3]>>(bit&7)&1) << k
			bit++
		}
		if p.signed && v>>(p.bits-1) == 1 {
			v |= ^uint64(0) << p.bits
		}
		v <<= p.first
		for k := range p.elem.size {
			out[i*p.elem.size+k] = byte(v >> (8 * k))
		}
	}
	return out, nil
}
