package fault

import (
	"errors"
	"math"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// Detail is an error as it crosses the ABI: flat, without its chain.
type Detail struct {
	Code   Code   `json:"code"`
	Format string `json:"format,omitempty"`
	Item   string `json:"item,omitempty"`
	Off    int64  `json:"off"` // -1: none
	Text   string `json:"text"`
}

// ParseDetail reads a Detail; ok is false for what is none or says nothing.
func ParseDetail(raw []byte) (d Detail, ok bool) {
	m := rawjson.MembersOf(raw)
	d.Code = Code(m.Int("code", math.MinInt32, math.MaxInt32, 0))
	d.Format, d.Item, d.Text = m.String("format", ""), m.String("item", ""), m.String("text", "")
	d.Off = m.Int("off", math.MinInt64, math.MaxInt64, 0)
	return d, m.Err() == nil && d.Text != ""
}

// WriteJSON implements [rawjson.Value].
func (d Detail) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("code").Int(int64(d.Code))
	if d.Format != "" {
		w.Name("format").String(d.Format)
	}
	if d.Item != "" {
		w.Name("item").String(d.Item)
	}
	w.Name("off").Int(d.Off)
	w.Name("text").String(d.Text)
	w.Close('}')
}

// DetailOf flattens err. The outermost *Error gives format and item, the
// outermost one that has an offset gives that.
func DetailOf(err error) Detail {
	d := Detail{Code: CodeOf(err), Off: -1, Text: err.Error()}
	var e *Error
	if errors.As(err, &e) {
		d.Format, d.Item, d.Off = e.Format, e.Item, e.Off
	}
	for d.Off < 0 && e != nil && errors.As(e.Err, &e) {
		d.Off = e.Off
	}
	return d
}

// Err makes the error of a Detail again: same kind, same text.
func (d Detail) Err() error { return &crossed{d} }

// crossed is an error that came over a boundary.
type crossed struct{ d Detail }

func (c *crossed) Error() string { return c.d.Text }
func (c *crossed) Unwrap() error { return Of(c.d.Code) }

// As lets errors.As find the *Error it was.
func (c *crossed) As(target any) bool {
	e, ok := target.(**Error)
	if ok {
		*e = &Error{Format: c.d.Format, Item: c.d.Item, Off: c.d.Off, Why: c.d.Text, Err: Of(c.d.Code)}
	}
	return ok
}
