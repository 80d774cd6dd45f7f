package interop

import (
	"slices"
	"testing"
)

// limit is something that a peer does not do. A list that is empty stands for
// all of its kind; an array is meant if it is in each list.
type limit struct {
	peers, does, types, chains, layouts, fills []string
	wrong                                      bool // it reads, or leaves, other elements than it should
	why                                        string
}

var limits = []limit{
	{peers: zarrPython, types: list("int2", "uint2", "int4", "uint4", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e3m4", "r24", "struct"),
		why: "unknown types"},
	{peers: zarrPython, types: list("raw_bytes", "structured"), layouts: sharded, why: "TypeError in its sharding"},
	{peers: zarrPython, types: list("bytes"), fills: list("[1,255]"), why: "wants base64"},
	{peers: zarrPython, does: list("read"), types: list("structured"), chains: list("big endian", "all"), wrong: true, why: "does not swap fields"},
	{peers: zarrPython, types: list("float16"), fills: list(`"0x7e01"`), wrong: true, why: "loses the bits of a NaN"},
	{peers: list("zarr-python"), does: list("write"), fills: nanBits, wrong: true, why: "loses the bits of a NaN"},
	{peers: list("zarrs-zarr"), fills: nanBits, wrong: true, why: "loses the bits of a NaN"},
	{peers: list("zarrs-zarr"), does: list("read"), types: list("complex64", "complex128"), chains: list("big endian", "all"), wrong: true,
		why: "swaps the numbers of a pair"},
	{peers: zarrPython, does: list("write"), types: list("string", "bytes", "variable_length_bytes"), chains: list("transpose"), layouts: filled, wrong: true,
		why: "does not turn them, and so cannot read them back"},

	{peers: list("zarr-python"), does: list("write"), layouts: list("no axes, sharded"), why: "IndexError in its sharding"},
	{peers: list("zarrs-zarr"), does: list("write"), types: list("bytes", "datetime", "fixed_bytes", "fixed_text", "string", "timedelta", "variable_length_bytes"),
		layouts: list("no axes, sharded"), why: "leaves them to zarr-python"},

	{peers: list("zarrista"), types: list("float8_e4m3fn", "raw_bytes", "fixed_bytes", "struct", "structured"), why: "unknown types"},
	{peers: list("zarrista"), does: list("read"), types: list("string"), chains: list("transpose"), layouts: list("transposed shards"), why: "an error of its indexer"},

	{peers: list("tensorstore"), types: list("uint2", "uint4", "string", "bytes", "variable_length_bytes", "fixed_bytes", "fixed_text", "datetime", "timedelta"),
		why: "unknown types"},
	{peers: list("tensorstore"), types: list("r24"), why: "takes it for raw_bytes, of which it wants base64"},
	{peers: list("tensorstore"), does: list("write"), types: list("raw_bytes", "struct", "structured"), why: "would abort"},
	{peers: list("tensorstore"), layouts: list("wrapped shards"), why: "nothing may be around a shard but transpose"},

	{peers: list("zarrita"), types: list("float16", "complex64", "complex128", "int2", "uint2", "int4", "uint4", "bfloat16",
		"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e3m4", "r24", "raw_bytes", "fixed_bytes", "fixed_text", "datetime", "timedelta",
		"struct", "structured", "bytes", "variable_length_bytes"), why: "unknown types"},
	{peers: list("zarrita"), does: list("write"), layouts: layoutsThat(layout.cut), why: "does not write shards"},
	{peers: list("zarrita"), does: list("write"), types: list("string"), why: "does not encode them"},
	{peers: list("zarrita"), does: list("write"), chains: list("gzip", "crc32c", "all"), layouts: filled, why: "does not encode them"},
	{peers: list("zarrita"), does: list("read"), layouts: list("index at start", "no crc at start", "wrapped shards"), why: "takes any index to be at the end"},
	{peers: list("zarrita"), does: list("read"), layouts: list("nested"), why: "no shards in shards"},
	{peers: list("zarrita"), does: list("read"), layouts: list("no elements"), why: "an empty iterator"},
	{peers: list("zarrita"), layouts: list("transposed shards"), wrong: true, why: "does not turn them"},
	{peers: list("zarrita"), does: list("read"), types: list("bool"), chains: list("big endian", "all"), wrong: true, why: "swaps elements of one byte"},
	{peers: list("zarrita"), types: list("int64", "uint64"), fills: list("-9007199254740993", "9007199254740993", "18446744073709551615"),
		wrong: true, why: "fill values pass through float64"},
	{peers: list("zarrita"), fills: nanBits, wrong: true, why: "loses the bits of a NaN"},
	{peers: list("zarrita"), does: list("write"), fills: list("-0.0"), wrong: true, why: "loses the sign of zero"},
}

var (
	zarrPython = list("zarr-python", "zarrs-zarr")
	nanBits    = list(`"0x7fc00123"`, `"0xfff8000000000001"`)
	sharded    = layoutsThat(func(l layout) bool { return l.cut() && l.name != "no elements" })
	filled     = layoutsThat(func(l layout) bool { return l.name != "no elements" })
)

func layoutsThat(are func(layout) bool) []string {
	var names []string
	for _, l := range layouts {
		if are(l) {
			names = append(names, l.name)
		}
	}
	return names
}

func list(s ...string) []string { return s }

func (l limit) covers(peer, does string, a array) bool {
	in := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	return in(l.peers, peer) && in(l.does, does) && in(l.types, a.elementType.name) &&
		in(l.chains, a.chain.name) && in(l.layouts, a.layout.name) && in(l.fills, a.fill)
}

// verdict is how it has to end when a peer reads or writes an array.
func verdict(peer, does string, a array) (v, why string) {
	for _, l := range limits {
		if l.covers(peer, does, a) {
			if l.wrong {
				return "wrong", l.why
			}
			return "refused", l.why
		}
	}
	return "right", ""
}

// Each limit is met by some array that no earlier one covers.
func TestLimitsAreMet(t *testing.T) {
	met := map[int]bool{}
	for _, a := range arrays() {
		for _, peer := range peerNames {
			for _, does := range list("read", "write") {
				if i := slices.IndexFunc(limits, func(l limit) bool { return l.covers(peer, does, a) }); i >= 0 {
					met[i] = true
				}
			}
		}
	}
	for i, l := range limits {
		if !met[i] {
			t.Errorf("limit %d is met by nothing: %v %v %s", i, l.peers, l.does, l.why)
		}
	}
}
