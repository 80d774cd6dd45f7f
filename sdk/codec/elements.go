package codec

import (
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// elements is what the filters have in common that work element by element.
type elements struct {
	named
	decoded, encoded number
}

// Types implements [Elements].
func (e elements) Types() (decoded, encoded string) { return e.decoded.String(), e.encoded.String() }

// Copies says that the result is new memory.
func (elements) Copies() bool { return true }

// EncodedSize implements [Bytes].
func (e elements) EncodedSize(n int64) (int64, bool) {
	return n / int64(e.decoded.size) * int64(e.encoded.size), true
}

// each appends one element of type to for each of type from in src. f makes
// them, up to runLen at a time and in order.
func (e elements) each(dst, src []byte, from, to number, limit int, f func(dst, src []byte)) ([]byte, error) {
	count := len(src) / from.size
	if count*from.size != len(src) {
		return nil, e.corrupt(strconv.Itoa(len(src)) + " bytes are no whole number of elements of type " + from.String())
	}
	if int64(count)*int64(to.size) > int64(limit) {
		return nil, block.OverLimit(e.Name(), limit)
	}
	end := len(dst) + count*to.size
	out := block.Room(dst, count*to.size)[:end]
	for d, s := out[len(dst):], src; len(s) > 0; {
		n := min(runLen, len(s)/from.size)
		f(d[:n*to.size], s[:n*from.size])
		d, s = d[n*to.size:], s[n*from.size:]
	}
	return out, nil
}

// unlimited is for encoding, where the caller's own data is the bound.
const unlimited = 1<<31 - 1

// types are the names of a type and the one it is stored as, as a
// configuration has them; "" for one that it does not name.
type types struct{ decoded, encoded string }

func typesOf(c *rawjson.Members) types { return types{c.String("dtype", ""), c.String("astype", "")} }

// elements resolves the types; decoded is what the array has, "" if it is not
// known.
func (t types) elements(n named, decoded string) (elements, error) {
	e := elements{named: n}
	var err error
	if e.decoded, err = n.number("dtype", t.decoded, decoded); err != nil {
		return e, err
	}
	if decoded != "" {
		if t, ok := parseNumber(decoded); !ok || t.kind != e.decoded.kind || t.size != e.decoded.size {
			return e, n.invalid("dtype", e.decoded.String()+" is not the type of the elements, "+decoded)
		}
	}
	e.encoded, err = n.number("astype", t.encoded, e.decoded.String())
	return e, err
}

// number reads a type of the configuration, or else other.
func (n named) number(member string, s, other string) (number, error) {
	if s == "" {
		if other == "" {
			return number{}, n.invalid(member, "missing")
		}
		s = other
	}
	t, ok := parseNumber(s)
	if !ok {
		return t, fault.New(fault.ErrUnsupported, string(n), member, "elements of type "+strconv.Quote(s))
	}
	return t, nil
}

// typed reads a configuration that is types and nothing else.
func (n named) typed(configuration json.RawMessage, decoded string) (elements, error) {
	c := rawjson.MembersOf(configuration)
	t := typesOf(c)
	if err := n.configured(c); err != nil {
		return elements{}, err
	}
	return t.elements(n, decoded)
}
