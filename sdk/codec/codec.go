// Package codec holds compressors and checksums: functions of bytes, told
// the size they may produce before they start.
//
// A decoder never trusts a size that it reads from its input: the caller
// knows how much is due, and more is refused before it is allocated.
package codec

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Bytes is a codec from bytes to bytes. Implementations may be used by any
// number of goroutines at once.
type Bytes interface {
	// Name is the codec's name in metadata.
	Name() string
	// Decode appends the decoding of src to dst, at most limit bytes of it:
	// ErrLimit if there is more, ErrCorrupt if src is damaged. What it
	// returns may share memory with src (a checksum strips its tail) or dst.
	Decode(ctx context.Context, dst, src []byte, limit int) ([]byte, error)
	// EncodedSize bounds the size of n bytes when encoded; fixed says that
	// every n bytes encode to exactly max.
	EncodedSize(n int64) (max int64, fixed bool)
}

// Copies reports whether what b decodes never shares memory with its input:
// only then may the input's buffer be used again. A codec of a caller's says
// so with a method Copies() bool.
func Copies(b Bytes) bool {
	c, ok := b.(interface{ Copies() bool })
	return ok && c.Copies()
}

// New makes the built-in codec of a name as Zarr v3 spells it. It returns
// ErrUnsupported for a name that it does not know and ErrInvalid for a
// configuration that is wrong. configuration may be nil.
func New(name string, configuration json.RawMessage) (Bytes, error) {
	switch name {
	case "crc32c":
		return crc32c{}, nil
	case "gzip":
		return newGzip(configuration)
	case "zstd":
		return newZstd(configuration)
	}
	return nil, fault.New(fault.ErrUnsupported, "codec", strconv.Quote(name), "no such codec here")
}

// level reads configuration.level and checks its bounds; absent is fine.
func level(name string, configuration json.RawMessage, min, max int) error {
	if configuration == nil {
		return nil
	}
	var c struct {
		Level *json.Number `json:"level"`
	}
	if err := json.Unmarshal(configuration, &c); err != nil {
		return fault.New(fault.ErrInvalid, name, "configuration", err.Error())
	}
	if c.Level == nil {
		return nil
	}
	n, err := strconv.Atoi(c.Level.String())
	if err != nil || n < min || n > max {
		return fault.New(fault.ErrInvalid, name, "level", c.Level.String()+" is not in "+strconv.Itoa(min)+".."+strconv.Itoa(max))
	}
	return nil
}

func corrupt(name, why string) error { return fault.New(fault.ErrCorrupt, name, "", why) }

func overLimit(name string, limit int) error {
	return fault.New(fault.ErrLimit, name, "", "decodes to more than the "+strconv.Itoa(limit)+" bytes that are due")
}
