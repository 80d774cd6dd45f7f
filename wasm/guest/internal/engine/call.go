package engine

import "github.com/gridhold/gridhold/wasm/wire"

// ReadCall is the import read_ranges. Bufs[i] is where Ranges[i] goes; the
// skin fills in the addresses of both.
type ReadCall struct {
	Store  uint32
	Flags  uint32
	Key    []byte
	Want   []byte
	Ranges []wire.Range
	Bufs   [][]byte
	Info   wire.Info
	Wire   wire.Read // scratch of the skin
}

// reset empties the call and keeps what it has allocated. Key and Want are
// written whole by whoever uses it next.
func (c *ReadCall) reset() {
	clear(c.Bufs)
	c.Ranges, c.Bufs = c.Ranges[:0], c.Bufs[:0]
	c.Info.Size, c.Info.Need, c.Info.VerLen = -1, 0, 0
}

// add appends one range that is read into buf.
func (c *ReadCall) add(off, n int64, buf []byte) {
	c.Ranges = append(c.Ranges, wire.Range{Off: off, Len: n, Cap: uint32(len(buf))})
	c.Bufs = append(c.Bufs, buf)
}

// ListCall is the import list.
type ListCall struct {
	Store  uint32
	Prefix []byte
	Buf    []byte
	Info   wire.Info
	Wire   wire.List
}

// FetchCall is the import fetch. The host writes Status, AnswerLen and Flags
// of Wire.
type FetchCall struct {
	Method, URL, Header []byte
	Body, Answer        []byte
	Info                wire.Info
	Wire                wire.Fetch
}

// CodecOpenCall is the import codec_open.
type CodecOpenCall struct {
	Config []byte
	Info   wire.Info
}

// CodecCall is the import codec.
type CodecCall struct {
	ID       uint32
	Op       uint32
	Src, Dst []byte
}
