package codec

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/internal/xz"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// Formats and filters as the module lzma of Python numbers them.
const (
	lzmaAuto  = 0
	lzmaXZ    = 1
	lzmaAlone = 2
	lzmaRaw   = 3

	filterDelta = 3
	filterLZMA2 = 0x21
	filterLZMA1 = 0x4000000000000001
)

// lzma is LZMA in one of the containers that Python writes, decoded only.
type lzma struct {
	named
	format int
	raw    lzmaFilter // of a raw stream
	delta  int        // distance of a filter before raw; 0: none
}

// lzmaFilter is one member of configuration.filters.
type lzmaFilter struct {
	id         int64
	dist       int
	lc, lp, pb int // of LZMA1
}

func (n named) lzmaFilter(raw json.RawMessage) (lzmaFilter, error) {
	const most = 1 << 30
	c := rawjson.MembersOf(raw)
	number := func(name string, other int64) int { return int(c.Int(name, -most, most, other)) }
	f := lzmaFilter{id: c.Int("id", math.MinInt64, math.MaxInt64, -1), dist: number("dist", 1), lc: number("lc", 3), lp: number("lp", 0), pb: number("pb", 2)}
	return f, n.configured(c)
}

func newLZMA(n named, configuration json.RawMessage) (Bytes, error) {
	c := rawjson.MembersOf(configuration)
	l := lzma{named: n, format: int(c.Int("format", lzmaAuto, lzmaRaw, lzmaXZ))}
	filters := c.List("filters")
	if err := n.configured(c); err != nil {
		return nil, err
	}
	if l.format != lzmaRaw {
		return l, nil // the stream says which filters it has
	}
	for i, raw := range filters {
		f, err := n.lzmaFilter(raw)
		if err != nil {
			return nil, err
		}
		switch last := i == len(filters)-1; {
		case last && (f.id == filterLZMA1 || f.id == filterLZMA2):
			l.raw = f
		case !last && f.id == filterDelta && l.delta == 0:
			l.delta = f.dist
			if l.delta < 1 || l.delta > 256 {
				return nil, n.invalid("dist", strconv.Itoa(l.delta)+" is not in 1..256")
			}
		default:
			return nil, fault.New(fault.ErrUnsupported, string(n), "filters", "filter "+strconv.FormatInt(f.id, 10)+" there")
		}
	}
	if len(filters) == 0 {
		return nil, n.invalid("filters", "none, for a raw stream")
	}
	return l, nil
}

func (lzma) Copies() bool { return true }

func (l lzma) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	switch {
	case l.format == lzmaXZ, l.format == lzmaAuto && xz.IsContainer(src):
		return xz.Append(dst, src, limit)
	case l.format != lzmaRaw:
		return xz.AppendAlone(dst, src, limit)
	}
	var out []byte
	var err error
	if l.raw.id == filterLZMA2 {
		out, err = xz.AppendRaw2(dst, src, limit)
	} else {
		out, err = xz.AppendRaw1(dst, src, l.raw.lc, l.raw.lp, l.raw.pb, limit)
	}
	if err != nil {
		return nil, err
	}
	xz.UndoDelta(out[len(dst):], l.delta)
	return out, nil
}

// EncodedSize is generous: LZMA alone has no stored blocks.
func (lzma) EncodedSize(n int64) (int64, bool) { return n + n/8 + 1024, false }
