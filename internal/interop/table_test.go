package interop

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func config(name, text string) zarr.Codec {
	return zarr.Codec{Name: name, Configuration: json.RawMessage(text)}
}

var (
	little = config("bytes", `{"endian":"little"}`)
	big    = config("bytes", `{"endian":"big"}`)
	crc    = zarr.Codec{Name: "crc32c"}
	gzip   = config("gzip", `{"level":5}`)
	zstd   = config("zstd", `{"level":3,"checksum":true}`)
)

// transposed turns the axes around.
func transposed(ndim int) zarr.Codec {
	order := make([]int, ndim)
	for i := range order {
		order[i] = ndim - 1 - i
	}
	b, _ := json.Marshal(map[string]any{"order": order})
	return zarr.Codec{Name: "transpose", Configuration: b}
}

// chain is a column of the table: the codecs of a chunk or a subchunk.
type chain struct {
	name      string
	transpose bool
	big       bool
	after     []zarr.Codec
	advice    bool // leave the codecs to the library's advice
}

var chains = []chain{
	{name: "none"},
	{name: "advice", advice: true},
	{name: "zstd", after: []zarr.Codec{zstd}},
	{name: "gzip", after: []zarr.Codec{gzip}},
	{name: "crc32c", after: []zarr.Codec{crc}},
	{name: "transpose", transpose: true},
	{name: "big endian", big: true},
	{name: "all", transpose: true, big: true, after: []zarr.Codec{gzip, crc}},
}

func chainNamed(name string) chain {
	return chains[slices.IndexFunc(chains, func(c chain) bool { return c.name == name })]
}

func (c chain) codecs(e elementType, ndim int) []zarr.Codec {
	var l []zarr.Codec
	if c.transpose {
		l = append(l, transposed(ndim))
	}
	switch {
	case e.serial != "":
		l = append(l, zarr.Codec{Name: e.serial})
	case c.big:
		l = append(l, big)
	default:
		l = append(l, little)
	}
	return append(l, c.after...)
}

// layout is a column of the table: how an array is cut.
type layout struct {
	name                string
	shape, chunk, sub   []int64
	inner               []int64 // cuts sub once more
	start               bool    // the index is at the start
	index               []zarr.Codec
	transposed, wrapped bool // codecs around the sharding
	order               zarr.SubchunkOrder
	separator           string
	missing             bool // most of it is never written
}

// cut reports whether an array is sharded.
func (l layout) cut() bool { return l.sub != nil }

// composed reports whether the codecs of a chunk have to be spelled out.
func (l layout) composed() bool { return l.inner != nil || l.transposed || l.wrapped }

func at(n ...int64) []int64 { return append([]int64{}, n...) }

var layouts = []layout{
	{name: "unsharded", shape: at(10, 7), chunk: at(4, 4)},
	{name: "dividing", shape: at(8, 6), chunk: at(4, 3), separator: "."},
	{name: "sharded", shape: at(10, 7), chunk: at(4, 4), sub: at(2, 2), order: zarr.MortonOrder},
	{name: "sharded, C order", shape: at(10, 7), chunk: at(4, 4), sub: at(2, 2)},
	{name: "sharded, dividing", shape: at(8, 12), chunk: at(4, 6), sub: at(2, 3), order: zarr.MortonOrder},
	{name: "index at start", shape: at(10, 7), chunk: at(4, 4), sub: at(2, 2), start: true},
	{name: "no crc", shape: at(10, 7), chunk: at(4, 4), sub: at(2, 2), index: []zarr.Codec{little}},
	{name: "no crc at start", shape: at(10, 7), chunk: at(4, 4), sub: at(2, 2), index: []zarr.Codec{little}, start: true},
	{name: "big endian index", shape: at(10, 7), chunk: at(4, 4), sub: at(2, 2), index: []zarr.Codec{big, crc}},
	{name: "nested", shape: at(10, 9), chunk: at(8, 8), sub: at(4, 4), inner: at(2, 2), order: zarr.MortonOrder},
	{name: "transposed shards", shape: at(10, 7), chunk: at(4, 4), sub: at(4, 2), transposed: true},
	{name: "wrapped shards", shape: at(10, 7), chunk: at(4, 4), sub: at(2, 2), wrapped: true},
	{name: "one axis", shape: at(13), chunk: at(8), sub: at(2)},
	{name: "three axes", shape: at(5, 4, 3), chunk: at(4, 2, 4), sub: at(2, 1, 2), order: zarr.MortonOrder},
	{name: "no axes", shape: at(), chunk: at()},
	{name: "no axes, sharded", shape: at(), chunk: at(), sub: at()},
	{name: "no elements", shape: at(0, 7), chunk: at(4, 4), sub: at(2, 2)},
	{name: "missing", shape: at(10, 7), chunk: at(4, 4), missing: true},
	{name: "missing, sharded", shape: at(10, 7), chunk: at(4, 4), sub: at(2, 2), missing: true},
}

func layoutNamed(name string) layout {
	return layouts[slices.IndexFunc(layouts, func(l layout) bool { return l.name == name })]
}

// array is a row of the table: one array.
type array struct {
	elementType
	chain
	layout
	fill     string // as metadata writes it; "": the type's zero
	fillBits []byte // the same in canonical form
}

func (a array) name() string {
	n := a.elementType.name + "; " + a.chain.name + "; " + a.layout.name
	if a.fill != "" {
		n += "; " + a.fill
	}
	return n
}

// fills are values that are easily lost on the way.
var fills = []struct{ elements, fill, bits string }{
	{"bool", "true", "01"},
	{"int8", "-128", "80"},
	{"int64", "-9007199254740993", "ffffffffffffdfff"},
	{"uint64", "18446744073709551615", "ffffffffffffffff"},
	{"uint64", "9007199254740993", "0100000000002000"},
	{"float16", "1.5", "003e"},
	{"float16", `"0x7e01"`, "017e"},
	{"float32", "-0.0", "00000080"},
	{"float32", `"NaN"`, "0000c07f"},
	{"float32", `"0x7fc00123"`, "2301c07f"},
	{"float32", `"-Infinity"`, "000080ff"},
	{"float64", "-0.0", "0000000000000080"},
	{"float64", "0.1", "9a9999999999b93f"},
	{"float64", `"0xfff8000000000001"`, "010000000000f8ff"},
	{"complex64", `[1.5,"NaN"]`, "0000c03f0000c07f"},
	{"int4", "-8", "f8"},
	{"bfloat16", "1.5", "c03f"},
	{"float8_e4m3fn", "1.5", "3c"},
	{"r24", "[1,2,3]", "010203"},
	{"raw_bytes", `"AQIDBAU="`, "0102030405"},
	{"fixed_bytes", `"YWI="`, "6162000000"},
	{"fixed_text", `"ab"`, "610000006200000000000000"},
	{"datetime", "-9223372036854775808", "0000000000000080"},
	{"struct", `{"x":1.5,"id":7}`, "0000c03f0700"},
	{"structured", `"AADAPwcA"`, "0000c03f0700"},
	{"string", `"ñ"`, "02000000c3b1"},
	{"bytes", `[1,255]`, "0200000001ff"},
	{"variable_length_bytes", `"Af8="`, "0200000001ff"},
}

// arrays is the table: types with chains, types with layouts and chains with
// layouts, less what tells nothing new; and the fill values.
func arrays() []array {
	var all []array
	seen := map[string]bool{}
	add := func(e elementType, c chain, l layout) {
		if c.transpose && len(l.shape) < 2 || c.big && e.serial != "" || c.advice && l.composed() {
			return // there is nothing to turn, or no advice
		}
		a := array{elementType: e, chain: c, layout: l, fillBits: e.zero()}
		if !seen[a.name()] {
			seen[a.name()] = true
			all = append(all, a)
		}
	}
	for _, e := range elementTypes {
		for _, c := range chains {
			add(e, c, layoutNamed("sharded"))
		}
		for _, c := range []string{"none", "transpose", "all"} {
			add(e, chainNamed(c), layoutNamed("unsharded"))
		}
		for _, l := range []string{"nested", "transposed shards", "three axes", "no axes", "no axes, sharded", "no elements", "missing, sharded"} {
			add(e, chains[0], layoutNamed(l))
		}
	}
	for _, l := range layouts {
		for _, c := range chains {
			add(typeNamed("int16"), c, l)
			add(typeNamed("string"), c, l)
		}
	}
	for _, f := range fills {
		b, err := hex.DecodeString(f.bits)
		if err != nil {
			panic(err)
		}
		for _, l := range []string{"missing", "missing, sharded"} {
			all = append(all, array{typeNamed(f.elements), chains[0], layoutNamed(l), f.fill, b})
		}
	}
	return all
}

func (a array) spec() zarr.ArraySpec {
	s := zarr.ArraySpec{
		Shape: a.shape, ChunkShape: a.chunk, SubchunkShape: a.sub, DataType: a.dtype, FillValue: json.RawMessage(a.fill),
		IndexCodecs: a.index, IndexAtStart: a.start, Separator: a.separator,
		Attributes: json.RawMessage(`{"title":"ñ","list":[1,2.5,null]}`),
	}
	if a.fill == "" {
		s.FillValue = nil
	}
	if len(a.shape) == 2 {
		s.DimensionNames = []string{"y", "x"}
	}
	if !a.advice {
		s.Codecs = a.codecs(a.elementType, len(a.shape))
	}
	if a.inner != nil {
		s.Codecs = []zarr.Codec{sharding(a.inner, s.Codecs)}
	}
	if a.transposed || a.wrapped {
		around := []zarr.Codec{sharding(a.sub, s.Codecs)}
		if a.transposed {
			around = append([]zarr.Codec{transposed(len(a.shape))}, around...)
		}
		if a.wrapped {
			around = append(around, crc)
		}
		s.Codecs, s.SubchunkShape = around, nil
	}
	return s
}

func sharding(sub []int64, codecs []zarr.Codec) zarr.Codec {
	b, _ := json.Marshal(map[string]any{
		"chunk_shape": sub, "codecs": codecs, "index_codecs": []zarr.Codec{little, crc}, "index_location": "end",
	})
	return zarr.Codec{Name: "sharding_indexed", Configuration: b}
}

// part is what is written of an array: all of it, or, where some is to be
// missing, a block that cuts through chunks and subchunks.
func (a array) part() part {
	if a.missing {
		return a.block(at(3, 1), at(7, 3), 0)
	}
	return a.block(make([]int64, len(a.shape)), a.shape, 0)
}

// block is a block of elements that follow from their places in the array,
// and from shift, by which they differ from what is there already.
func (a array) block(start, stop []int64, shift int) part {
	p := part{Start: start, Stop: stop, Data: []byte{}, shift: shift}
	eachElement(start, stop, func(x []int64) { p.Data = append(p.Data, a.at(a.number(x)+shift)...) })
	return p
}

func (a array) number(p []int64) int {
	i := int64(0)
	for k, n := range a.shape {
		i = i*n + p[k]
	}
	return int(i)
}

// want is the canonical form of the whole array after parts were written in
// turn.
func (a array) want(parts ...part) []byte {
	data := []byte{}
	eachElement(make([]int64, len(a.shape)), a.shape, func(x []int64) {
		element := a.fillBits
		for _, p := range parts {
			if inside(x, p.Start, p.Stop) {
				element = a.at(a.number(x) + p.shift)
			}
		}
		data = append(data, element...)
	})
	return data
}

func inside(p, start, stop []int64) bool {
	for k := range p {
		if p[k] < start[k] || p[k] >= stop[k] {
			return false
		}
	}
	return true
}

// eachElement visits a block in C order.
func eachElement(start, stop []int64, visit func([]int64)) {
	p := make([]int64, len(start))
	var axis func(int)
	axis = func(k int) {
		if k == len(p) {
			visit(p)
			return
		}
		for p[k] = start[k]; p[k] < stop[k]; p[k]++ {
			axis(k + 1)
		}
	}
	axis(0)
}

// create makes an array in a store and, if filled, writes its part.
func (a array) create(ctx context.Context, st storage.Store, path string, filled bool) (*zarr.Array, error) {
	z, err := zarr.CreateArray(ctx, st, path, a.spec(), zarr.Options{SubchunkOrder: a.order})
	if err != nil || !filled {
		return z, err
	}
	p := a.part()
	return z, z.StoreRegion(ctx, p.Start, p.Stop, p.Data)
}
