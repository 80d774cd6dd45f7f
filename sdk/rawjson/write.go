package rawjson

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// Writer appends one JSON text, as json.Marshal writes it: no white space,
// the characters that HTML knows escaped. Calls come in the order of the
// text; nothing checks that they nest. The zero value is ready.
//
// Its methods are not inlined: those who describe themselves call them by the
// dozen, and no text is long.
type Writer struct {
	text  []byte
	comma bool // one is due before the next value
}

// Value is what can write itself: as json.Marshal would.
type Value interface{ WriteJSON(w *Writer) }

// Marshal returns the text of v.
func Marshal(v Value) []byte {
	var w Writer
	v.WriteJSON(&w)
	return w.text
}

// Bytes returns what was written.
func (w *Writer) Bytes() []byte { return w.text }

// begin is what comes before every value and name.
//
//go:noinline
func (w *Writer) begin() {
	if w.comma {
		w.text = append(w.text, ',')
	}
	w.comma = true
}

// Open begins an object ('{') or a list ('[').
//
//go:noinline
func (w *Writer) Open(bracket byte) {
	w.begin()
	w.text = append(w.text, bracket)
	w.comma = false
}

// Close ends an object ('}') or a list (']').
//
//go:noinline
func (w *Writer) Close(bracket byte) {
	w.text = append(w.text, bracket)
	w.comma = true
}

// Name writes the name of a member, whose value is next, and returns w.
//
//go:noinline
func (w *Writer) Name(name string) *Writer {
	w.String(name)
	w.text = append(w.text, ':')
	w.comma = false
	return w
}

// Null writes null.
//
//go:noinline
func (w *Writer) Null() {
	w.begin()
	w.text = append(w.text, "null"...)
}

// Bool writes a boolean.
//
//go:noinline
func (w *Writer) Bool(v bool) {
	w.begin()
	w.text = strconv.AppendBool(w.text, v)
}

// Int writes an integer.
//
//go:noinline
func (w *Writer) Int(v int64) {
	w.begin()
	w.text = strconv.AppendInt(w.text, v, 10)
}

// Ints writes a list of integers, null for nil.
func (w *Writer) Ints(v []int64) {
	if v == nil {
		w.Null()
		return
	}
	w.Open('[')
	for _, n := range v {
		w.Int(n)
	}
	w.Close(']')
}

// Float writes a number; null for what JSON has no number for.
func (w *Writer) Float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.Null()
		return
	}
	w.begin()
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	w.text = strconv.AppendFloat(w.text, f, format, -1, 64)
	if n := len(w.text); format == 'e' && n >= 4 && w.text[n-4] == 'e' && w.text[n-3] == '-' && w.text[n-2] == '0' {
		w.text[n-2] = w.text[n-1] // e-09 is e-9
		w.text = w.text[:n-1]
	}
}

// Floats writes a list of numbers, null for nil.
func (w *Writer) Floats(v []float64) {
	if v == nil {
		w.Null()
		return
	}
	w.Open('[')
	for _, f := range v {
		w.Float(f)
	}
	w.Close(']')
}

// Raw writes a value that is JSON already, without its white space; null for
// nil.
func (w *Writer) Raw(raw []byte) {
	if raw == nil {
		w.Null()
		return
	}
	w.begin()
	w.text = appendCompact(w.text, raw, true)
}

// Compact returns raw, which is JSON, without white space.
func Compact(raw []byte) []byte { return appendCompact(make([]byte, 0, len(raw)), raw, false) }

func appendCompact(dst, raw []byte, html bool) []byte {
	text, escaped := false, false
	for i, c := range raw {
		switch {
		case !text && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		case html && (c == '<' || c == '>' || c == '&'):
			dst = appendUnit(dst, rune(c))
			continue
		case html && i >= 2 && (c == 0xa8 || c == 0xa9) && raw[i-1] == 0x80 && raw[i-2] == 0xe2: // U+2028, U+2029
			dst = appendUnit(dst[:len(dst)-2], 0x2000|rune(c&0x3f))
			continue
		case escaped:
			escaped = false
		case text && c == '\\':
			escaped = true
		case c == '"':
			text = !text
		}
		dst = append(dst, c)
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendUnit appends an escape of four digits.
//
//go:noinline
func appendUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// String writes a string.
//
//go:noinline
func (w *Writer) String(s string) {
	w.begin()
	w.text = AppendString(w.text, s)
}

// AppendString appends s in quotes.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 || r == 0x2028 || r == 0x2029 {
				dst = appendUnit(dst, r)
			} else {
				dst = append(dst, s[i:i+n]...)
			}
			i += n
			continue
		}
		i++
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			if c < ' ' || c == '<' || c == '>' || c == '&' {
				dst = appendUnit(dst, rune(c))
			} else {
				dst = append(dst, c)
			}
		}
	}
	return append(dst, '"')
}
