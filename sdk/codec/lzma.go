package codec

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/internal/xz"
	"github.com/gridhold/gridhold/sdk/fault"
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
	ID   json.Number `json:"id"`
	Dist *int        `json:"dist"`
	LC   *int        `json:"lc"`
	LP   *int        `json:"lp"`
	PB   *int        `json:"pb"`
}

func (f lzmaFilter) id() int64 {
	id, err := strconv.ParseInt(f.ID.String(), 10, 64)
	if err != nil {
		return -1
	}
	return id
}

func newLZMA(n named, configuration json.RawMessage) (Bytes, error) {
	c := struct {
		Format  int          `json:"format"`
		Filters []lzmaFilter `json:"filters"`
	}{Format: lzmaXZ}
	if err := n.configure(configuration, &c); err != nil {
		return nil, err
	}
	if c.Format < lzmaAuto || c.Format > lzmaRaw {
		return nil, n.invalid("format", strconv.Itoa(c.Format)+" is not in 0..3")
	}
	l := lzma{named: n, format: c.Format}
	if c.Format != lzmaRaw {
		return l, nil // the stream says which filters it has
	}
	for i, f := range c.Filters {
		switch id, last := f.id(), i == len(c.Filters)-1; {
		case last && (id == filterLZMA1 || id == filterLZMA2):
			l.raw = f
		case !last && id == filterDelta && l.delta == 0:
			l.delta = value(f.Dist, 1)
			if l.delta < 1 || l.delta > 256 {
				return nil, n.invalid("dist", strconv.Itoa(l.delta)+" is not in 1..256")
			}
		default:
			return nil, fault.New(fault.ErrUnsupported, string(n), "filters", "filter "+f.ID.String()+" there")
		}
	}
	if len(c.Filters) == 0 {
		return nil, n.invalid("filters", "none, for a raw stream")
	}
	return l, nil
}

func value(p *int, other int) int {
	if p == nil {
		return other
	}
	return *p
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
	if l.raw.id() == filterLZMA2 {
		out, err = xz.AppendRaw2(dst, src, limit)
	} else {
		out, err = xz.AppendRaw1(dst, src, value(l.raw.LC, 3), value(l.raw.LP, 0), value(l.raw.PB, 2), limit)
	}
	if err != nil {
		return nil, err
	}
	xz.UndoDelta(out[len(dst):], l.delta)
	return out, nil
}

// EncodedSize is generous: LZMA alone has no stored blocks.
func (lzma) EncodedSize(n int64) (int64, bool) { return n + n/8 + 1024, false }
