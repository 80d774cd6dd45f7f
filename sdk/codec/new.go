package codec

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// prefix is that of the names under which Zarr v3 has the codecs of v2.
const prefix = "numcodecs."

// filters are the ids of the codecs of elements.
var filters = []string{"astype", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize"}

// New makes the built-in codec of a name as Zarr v3 spells it: "blosc",
// "crc32c", "gzip", "zstd" and those with "numcodecs." in front of what NewV2
// knows. It returns ErrUnsupported for a name that it does not know and
// ErrInvalid for a configuration that is wrong. configuration may be nil.
//
// Zarr v3 codecs: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/
func New(name string, configuration json.RawMessage) (Bytes, error) {
	id, old := strings.CutPrefix(name, prefix)
	if !old {
		switch name {
		case "blosc", "crc32c", "gzip", "zstd":
		default:
			return nil, unknown(name)
		}
	}
	return newBytes(name, id, configuration)
}

// NewV2 makes the built-in codec of an id as Zarr v2 has them in compressor
// and filters. configuration is the whole object that id comes from. A filter
// of elements is an [Elements], and works on bytes like any other.
//
// Codecs of Zarr v2: https://numcodecs.readthedocs.io/
func NewV2(id string, configuration json.RawMessage) (Bytes, error) {
	if !slices.Contains(filters, id) {
		return newBytes(id, id, configuration)
	}
	e, err := newElements(id, id, configuration, "")
	if err != nil {
		return nil, err
	}
	return e, nil
}

// NewElements makes the built-in codec of elements that Zarr v3 has under a
// name, for elements of a type as NumPy writes it, little endian: "<f4". The
// configuration may leave its type out and must not contradict it. Errors are
// those of New.
func NewElements(name string, configuration json.RawMessage, decoded string) (Elements, error) {
	id, old := strings.CutPrefix(name, prefix)
	if !old {
		return nil, unknown(name)
	}
	e, err := newElements(name, id, configuration, decoded)
	if err != nil {
		return nil, err
	}
	if from, to := e.Types(); from[0] == '>' || to[0] == '>' {
		// Bytes are ordered by the codec after this one. Peers write such
		// arrays and then read others.
		return nil, fault.New(fault.ErrUnsupported, "codec", strconv.Quote(name), "big endian element types")
	}
	return e, nil
}

func newBytes(name, id string, configuration json.RawMessage) (Bytes, error) {
	n := named(name)
	switch id {
	case "adler32":
		return newChecksum(n, configuration, front, adler)
	case "blosc":
		return newBlosc(n, configuration)
	case "bz2":
		return newBzip2(n, configuration)
	case "crc32":
		return newChecksum(n, configuration, front, crcIEEE)
	case "crc32c":
		return newChecksum(n, configuration, back, crcCastagnoli)
	case "fletcher32":
		return newChecksum(n, nil, back, fletcher32)
	case "gzip":
		return newGzip(n, configuration)
	case "jenkins_lookup3":
		return newJenkins(n, configuration)
	case "lz4":
		return lz4{n}, nil
	case "lzma":
		return newLZMA(n, configuration)
	case "shuffle":
		return newShuffle(n, configuration)
	case "zlib":
		return newZlib(n, configuration)
	case "zstd":
		return newZstd(n, configuration)
	}
	return nil, unknown(name)
}

func newElements(name, id string, configuration json.RawMessage, decoded string) (Elements, error) {
	n := named(name)
	switch id {
	case "astype":
		return newAsType(n, configuration, decoded)
	case "bitround":
		return newBitRound(n, configuration, decoded)
	case "delta":
		return newDelta(n, configuration, decoded)
	case "fixedscaleoffset":
		return newScale(n, configuration, decoded)
	case "packbits":
		return newPackBits(n, decoded)
	case "quantize":
		return newQuantize(n, configuration, decoded)
	}
	return nil, unknown(name)
}

func unknown(name string) error {
	return fault.New(fault.ErrUnsupported, "codec", strconv.Quote(name), "no such codec here")
}

// named is a codec's name in metadata.
type named string

// Name implements [Bytes].
func (n named) Name() string { return string(n) }

// configured says what was wrong with a configuration that was read.
func (n named) configured(c *rawjson.Members) error {
	if err := c.Err(); err != nil {
		return n.invalid("configuration", err.Error())
	}
	return nil
}

// level reads configuration.level and checks its bounds; absent, it is other.
func (n named) level(configuration json.RawMessage, other, min, max int) (int, error) {
	c := rawjson.MembersOf(configuration)
	level := c.Number("level")
	if err := n.configured(c); err != nil || level == "" {
		return other, err
	}
	l, err := strconv.Atoi(level)
	if err != nil || l < min || l > max {
		return 0, n.invalid("level", level+" is not in "+strconv.Itoa(min)+".."+strconv.Itoa(max))
	}
	return l, nil
}

//go:noinline // it has many callers
func (n named) invalid(member, why string) error {
	return fault.New(fault.ErrInvalid, string(n), member, why)
}

//go:noinline // it has many callers
func (n named) corrupt(why string) error { return fault.New(fault.ErrCorrupt, string(n), "", why) }
