package blosc2

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

const (
	maxTypeDepth  = 32
	maxTypeFields = 1 << 12
)

// DType is the data type of an item.
type DType struct {
	text  string
	size  int64
	lanes []lane // numbers that are stored big endian
}

// lane is count numbers of width bytes at off of an item.
type lane struct{ off, width, count int64 }

// String returns the type as NumPy writes it.
func (d DType) String() string { return d.text }

// Size is the bytes of an item.
func (d DType) Size() int64 { return d.size }

// LittleEndian reverses, in place, the numbers of whole items that are stored
// big endian.
func (d DType) LittleEndian(items []byte) {
	if len(d.lanes) == 0 {
		return
	}
	for ; int64(len(items)) >= d.size; items = items[d.size:] {
		for _, l := range d.lanes {
			reverse(items[l.off:l.off+l.width*l.count], l.width)
		}
	}
}

func reverse(b []byte, width int64) {
	for ; len(b) > 0; b = b[width:] {
		switch n := b[:width]; width {
		case 2:
			n[0], n[1] = n[1], n[0]
		case 4:
			binary.LittleEndian.PutUint32(n, binary.BigEndian.Uint32(n))
		case 8:
			binary.LittleEndian.PutUint64(n, binary.BigEndian.Uint64(n))
		default:
			for i, j := 0, len(n)-1; i < j; i, j = i+1, j-1 {
				n[i], n[j] = n[j], n[i]
			}
		}
	}
}

// ParseDType reads a data type as NumPy writes it: a code ("<f4", "|S5",
// "<M8[ns]") or a list of fields ("[('a', '<i4'), ('b', '<f8', (2,))]", with
// lists of fields for types). ErrUnsupported for what it does not know: text
// is never evaluated.
func ParseDType(text string) (DType, error) {
	p := typeParser{rest: strings.TrimSpace(text)}
	d := DType{text: text}
	if strings.HasPrefix(p.rest, "[") {
		d.size = p.fields(0, 0)
	} else {
		d.size = p.code(p.rest, 0)
		p.rest = ""
	}
	if p.bad || p.rest != "" || d.size <= 0 {
		return DType{}, fault.New(fault.ErrUnsupported, "data type", text, "")
	}
	d.lanes = p.lanes
	return d, nil
}

type typeParser struct {
	rest  string
	lanes []lane
	count int // of fields so far
	bad   bool
}

// eat takes what comes next if it is token.
func (p *typeParser) eat(token string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " \n\t"), token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *typeParser) need(token string) { p.bad = p.bad || !p.eat(token) }

// quoted takes a string as Python prints one.
func (p *typeParser) quoted() string {
	quote := "'"
	if p.eat(`"`) {
		quote = `"`
	} else {
		p.need(quote)
	}
	for i := 0; i < len(p.rest) && !p.bad; i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case quote[0]:
			text := p.rest[:i]
			p.rest = p.rest[i+1:]
			return text
		}
	}
	p.bad = true
	return ""
}

// fields takes a list of fields, the first of which lies at off, and returns
// its size.
func (p *typeParser) fields(off int64, depth int) int64 {
	start := off
	p.need("[")
	p.bad = p.bad || depth > maxTypeDepth
	for !p.bad && !p.eat("]") {
		off += p.field(off, depth)
		if p.count++; p.count > maxTypeFields || off > 1<<31 {
			p.bad = true
		}
		if !p.eat(",") {
			p.need("]")
			break
		}
	}
	return off - start
}

// field takes ('name', TYPE) or ('name', TYPE, (n, …)); a name may be a pair
// of title and name.
func (p *typeParser) field(off int64, depth int) int64 {
	p.need("(")
	if p.eat("(") {
		p.quoted()
		p.need(",")
		p.quoted()
		p.need(")")
	} else {
		p.quoted()
	}
	p.need(",")
	before := len(p.lanes)
	var size int64
	if strings.HasPrefix(strings.TrimLeft(p.rest, " \n\t"), "[") {
		size = p.fields(off, depth+1)
	} else {
		size = p.code(p.quoted(), off)
	}
	count := int64(1)
	if p.eat(",") {
		count = p.repeats()
	}
	p.need(")")
	p.repeat(before, size, count)
	return size * count
}

// repeats takes (n, …), or a number, and returns the product.
func (p *typeParser) repeats() int64 {
	if !p.eat("(") {
		return p.number()
	}
	n := int64(1)
	for !p.bad && !p.eat(")") {
		n *= p.number()
		p.bad = p.bad || n > 1<<31
		if !p.eat(",") {
			p.need(")")
			break
		}
	}
	return n
}

func (p *typeParser) number() int64 {
	p.rest = strings.TrimLeft(p.rest, " ")
	end := strings.IndexFunc(p.rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(p.rest)
	}
	n, err := strconv.ParseInt(p.rest[:end], 10, 32)
	p.bad = p.bad || err != nil
	p.rest = p.rest[end:]
	return n
}

// repeat makes the lanes from before on those of count items of size bytes.
func (p *typeParser) repeat(before int, size, count int64) {
	one := p.lanes[before:]
	switch {
	case count == 1 || len(one) == 0 || p.bad:
	case count == 0:
		p.lanes = p.lanes[:before]
	case len(one) == 1 && one[0].width*one[0].count == size:
		one[0].count *= count
	case int64(len(one))*count > maxTypeFields:
		p.bad = true
	default:
		for i := range count - 1 {
			for _, l := range one {
				p.lanes = append(p.lanes, lane{l.off + (i+1)*size, l.width, l.count})
			}
		}
	}
}

// code takes the code of a type that lies at off, and returns its size.
func (p *typeParser) code(text string, off int64) int64 {
	big := strings.HasPrefix(text, ">")
	text = strings.TrimLeft(text, "<>|=")
	if text == "" {
		p.bad = true
		return 0
	}
	kind, digits := text[0], text[1:]
	if kind == 'M' || kind == 'm' { // the unit is of no concern here
		digits, _, _ = strings.Cut(digits, "[")
	}
	if kind == '?' && digits == "" {
		digits = "1"
	}
	n, err := strconv.ParseInt(digits, 10, 31)
	if err != nil || n < 0 || digits[0] == '+' {
		p.bad = true
		return 0
	}
	allowed, width, count := "", n, int64(1)
	switch kind {
	case 'b', '?':
		allowed = "1"
	case 'i', 'u':
		allowed = "1 2 4 8"
	case 'f':
		allowed = "2 4 8 16"
	case 'c':
		allowed, width, count = "8 16 32", n/2, 2
	case 'M', 'm':
		allowed = "8"
	case 'U':
		width, count = 4, n
	case 'S', 'a', 'V':
		big = false
	default:
		p.bad = true
	}
	if allowed != "" {
		p.bad = p.bad || !strings.Contains(" "+allowed+" ", " "+digits+" ")
	}
	if big && width > 1 && count > 0 && !p.bad {
		p.lanes = append(p.lanes, lane{off, width, count})
	}
	if kind == 'U' {
		n *= 4
	}
	return n
}
