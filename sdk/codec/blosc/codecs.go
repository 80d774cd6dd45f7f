package blosc

import "strconv"

// Codec is what a chunk's streams are packed with, under the number that
// Blosc gives it. Those from 32 on are plugins.
type Codec uint8

// The codecs. LZ4HC writes what LZ4 reads. Snappy occurs in Blosc 1 only, and
// is not written.
const (
	BloscLZ Codec = 0
	LZ4     Codec = 1
	LZ4HC   Codec = 2
	Snappy  Codec = 3
	Zlib    Codec = 4
	Zstd    Codec = 5
)

var codecNames = map[Codec]string{
	BloscLZ: "blosclz", LZ4: "lz4", LZ4HC: "lz4hc", Snappy: "snappy", Zlib: "zlib", Zstd: "zstd",
	32: "ndlz", 33: "zfp_acc", 34: "zfp_prec", 35: "zfp_rate", 36: "openhtj2k", 37: "grok", 38: "openzl", 39: "j2k", 40: "htj2k",
}

// String returns the name that Blosc gives the codec.
func (c Codec) String() string {
	if name, ok := codecNames[c]; ok {
		return name
	}
	return "codec " + strconv.Itoa(int(c))
}

// CodecNamed returns the codec of a name; ok is false for one that has none.
func CodecNamed(name string) (c Codec, ok bool) {
	for c, n := range codecNames {
		if n == name {
			return c, true
		}
	}
	return 0, false
}

// A stream's format has a number of its own, in the flags of the header:
// several codecs write the same, and those without a number there say so.
const formatPlugin = 6

// formats are the codecs that read each format.
var formats = [...]Codec{BloscLZ, LZ4, Snappy, Zlib, Zstd}

// format is the number of what c writes.
func (c Codec) format() byte {
	switch c {
	case BloscLZ:
		return 0
	case LZ4, LZ4HC:
		return 1
	case Snappy:
		return 2
	case Zlib:
		return 3
	case Zstd:
		return 4
	}
	return formatPlugin
}
