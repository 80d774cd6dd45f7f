package zarr

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// Zarr v2: https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html

// parseV2 reads the text of .zarray or .zgroup (name) and of .zattrs, which
// may be nil.
func parseV2(name string, raw, attributes []byte, o Options) (*metadata, error) {
	f, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	format, err := integer("zarr_format", f["zarr_format"])
	if err != nil {
		return nil, err
	}
	if format != 2 {
		return nil, fault.New(fault.ErrUnsupported, "metadata", "zarr_format", "is "+itoa(format)+", want 2")
	}
	m := &metadata{format: 2, raw: raw, node: "group", attributes: json.RawMessage("{}")}
	if attributes != nil {
		if _, err := parseObject(attributes); err != nil {
			return nil, malformed(".zattrs", err.Error())
		}
		m.attributes = compact(attributes)
	}
	if name == ".zgroup" {
		return m, nil
	}
	m.node = "array"
	return m, m.parseArrayV2(f, o)
}

// parseV2Pair reads {".zarray" or ".zgroup": …, ".zattrs": …}.
func parseV2Pair(raw []byte, o Options) (*metadata, error) {
	f, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{".zarray", ".zgroup"} {
		if f[name] != nil {
			return parseV2(name, f[name], f[".zattrs"], o)
		}
	}
	return nil, malformed("", "neither an array nor a group")
}

func (m *metadata) parseArrayV2(f fields, o Options) error {
	var err error
	if m.shape, err = sizes("shape", f["shape"], 0); err != nil {
		return err
	}
	if err := checkAxes(m.shape); err != nil {
		return err
	}
	chunk, err := sizes("chunks", f["chunks"], 1)
	if err != nil {
		return err
	}
	if err := sameAxes("chunks", len(chunk), m.shape); err != nil {
		return err
	}
	m.grid = regular{gridShape(m.shape, chunk), chunk}
	m.keys = keyEncoding{Name: "v2", Separator: "."}
	if s := f["dimension_separator"]; !isNull(s) {
		if m.keys.Separator, err = separator("dimension_separator", s); err != nil {
			return err
		}
	}
	filters, err := v2Codecs("filters", f["filters"])
	if err != nil {
		return err
	}
	t, err := parseNumpyType("dtype", f["dtype"], objectCodec(filters))
	if err != nil {
		return err
	}
	m.dtype = t.dtype
	if m.fillText = compact(f["fill_value"]); f["fill_value"] == nil {
		return malformed("fill_value", "missing")
	}
	if m.elem, m.fill, err = parseElement(m.dtype, v2Fill(m.dtype, f["fill_value"])); err != nil {
		return err
	}
	if err := m.checkSize(); err != nil {
		return err
	}
	m.codecs, err = m.parseCodecsV2(f, filters, t, chunk, o)
	return err
}

// parseCodecsV2 makes a chain of what v2 spreads over order, filters, dtype
// and compressor.
func (m *metadata) parseCodecsV2(f fields, filters []v2Codec, t numpyType, chunk []int64, o Options) (*chain, error) {
	if _, ok := product(append([]int64{m.elem.size}, chunk...)...); !ok {
		return nil, fault.New(fault.ErrLimit, "metadata", "chunks", "a chunk has more than 2^63 bytes")
	}
	p := chainParser{chain: &chain{elem: m.elem, limit: o.Limits.chunk()}, elem: m.elem, shape: chunk, o: o}
	switch string(f["order"]) {
	case `"C"`:
	case `"F"`:
		order := make([]int, len(chunk))
		if err := letterOrder("order", f["order"], order); err != nil {
			return nil, err
		}
		p.addArray(transposition{order, m.elem})
	default:
		return nil, malformed("order", brief(f["order"])+` is neither "C" nor "F"`)
	}
	if objects := objectCodec(filters); objects != "" {
		var err error
		if p.chain.serial, err = parseVlen("filters", extension{name: objects}, m.elem, o); err != nil {
			return nil, err
		}
	} else {
		p.chain.serial = plain{m.elem, t.bigEndian && hasOrder(m.elem)}
	}
	if raw := f["compressor"]; !isNull(raw) {
		c, err := parseV2Codec("compressor", raw)
		if err != nil {
			return nil, err
		}
		filters = append(filters, c)
	}
	var text rawjson.Writer
	text.Open('[')
	for i, c := range filters {
		text.Raw(c.raw)
		if i == 0 && c.id == objectCodec(filters) {
			continue
		}
		b, err := p.bytesCodecV2(c)
		if err != nil {
			return nil, unknownCodec("filters["+itoa(int64(i))+"]", err)
		}
		p.chain.bytes = append(p.chain.bytes, b)
	}
	text.Close(']')
	m.codecText = text.Bytes()
	p.chain.text = m.codecText
	return p.finish("filters")
}

// v2Codec is a filter or a compressor: an object with an "id".
type v2Codec struct {
	id  string
	raw json.RawMessage
}

func parseV2Codec(field string, raw json.RawMessage) (v2Codec, error) {
	f, err := object(field, raw)
	if err != nil {
		return v2Codec{}, err
	}
	id, err := text(field+".id", f["id"])
	return v2Codec{id, compact(raw)}, err
}

func v2Codecs(field string, raw json.RawMessage) ([]v2Codec, error) {
	if isNull(raw) {
		return nil, nil
	}
	l, err := list(field, raw)
	if err != nil {
		return nil, err
	}
	out := make([]v2Codec, len(l))
	for i, r := range l {
		if out[i], err = parseV2Codec(field+"["+itoa(int64(i))+"]", r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// objectCodec is the filter that makes bytes of Python objects, or "".
func objectCodec(filters []v2Codec) string {
	for _, c := range filters {
		switch c.id {
		case "vlen-utf8", "vlen-bytes", "vlen-array", "json2", "msgpack2", "pickle":
			return c.id
		}
	}
	return ""
}

// bytesCodecV2 asks the caller's codecs by the name that v3 gives to those of
// v2, then the built-in ones.
func (p *chainParser) bytesCodecV2(c v2Codec) (codec.Bytes, error) {
	if b, err := p.o.callersCodec("numcodecs."+c.id, c.raw); b != nil || err != nil {
		return b, err
	}
	return codec.NewV2(c.id, c.raw)
}

// v2Fill turns a fill value of v2 into one that v3 would have: null and the 0
// of old writers are zeros, numbers may have a needless fraction.
func v2Fill(t DataType, raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return zeroFill(t)
	}
	switch t.(type) {
	case boolean:
		switch string(raw) {
		case "0", "0.0":
			return json.RawMessage("false")
		case "1", "1.0":
			return json.RawMessage("true")
		}
	case integerType, timeType:
		if whole, ok := bytes.CutSuffix(raw, []byte(".0")); ok {
			return whole
		}
	case utf32Type, variableType, bytesType, structType:
		if s := string(raw); s == "0" || s == `""` {
			return zeroFill(t)
		}
	}
	return raw
}

// zeroFill is the fill value whose bytes are all zero, or that is empty.
func zeroFill(t DataType) json.RawMessage {
	switch t := t.(type) {
	case boolean:
		return json.RawMessage("false")
	case complexType:
		return json.RawMessage("[0,0]")
	case tinyFloat:
		if t.kind == scale { // has no zero
			return json.RawMessage(`"0x00"`)
		}
	case utf32Type, variableType:
		return json.RawMessage(`""`)
	case bytesType:
		if strings.HasPrefix(t.name, "r") && t.name != "raw_bytes" { // raw bits: a list of bytes
			return json.RawMessage("[" + strings.TrimSuffix(strings.Repeat("0,", int(t.size)), ",") + "]")
		}
		return zeroBytes(t.size)
	case structType:
		return t.zeroFill()
	}
	return json.RawMessage("0")
}

func zeroBytes(n int64) json.RawMessage {
	return json.RawMessage(`"` + base64.StdEncoding.EncodeToString(make([]byte, n)) + `"`)
}
