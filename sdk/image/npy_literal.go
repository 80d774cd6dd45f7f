package image

import (
	"bytes"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// literal goes through a Python literal. After the first error it answers
// zero values.
type literal struct {
	text []byte
	at   int
	err  error
}

func (p *literal) fail(why string) { p.stop(fault.ErrCorrupt, "bad header: "+why) }

func (p *literal) stop(kind error, why string) {
	if p.err == nil {
		p.err = fault.At(kind, "npy", "", int64(p.at), why)
	}
}

func (p *literal) space() {
	for p.at < len(p.text) && (isBlank(p.text[p.at]) || p.text[p.at] == '\n') {
		p.at++
	}
}

// peek returns the next byte that is not blank, 0 at the end.
func (p *literal) peek() byte {
	p.space()
	if p.err != nil || p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// try takes c if it comes next.
func (p *literal) try(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

func (p *literal) want(c byte) {
	if !p.try(c) {
		p.fail("no " + strconv.Quote(string(c)))
	}
}

// string reads text in quotes. Python's escapes are refused: no name that is
// looked for has any.
func (p *literal) string() string {
	quote := p.peek()
	if quote == 'u' || quote == 'b' { // of Python 2, and of bytes
		p.at++
		quote = p.peek()
	}
	if quote != '\'' && quote != '"' {
		p.fail("no text")
		return ""
	}
	p.at++
	n := bytes.IndexByte(p.text[p.at:], quote)
	if n < 0 || bytes.IndexByte(p.text[p.at:p.at+n], '\\') >= 0 {
		p.fail("text that does not end, or with a backslash")
		return ""
	}
	s := string(p.text[p.at : p.at+n])
	p.at += n + 1
	return s
}

// word reads letters: True, False.
func (p *literal) word() {
	p.space()
	from := p.at
	for c := p.peek(); c|0x20 >= 'a' && c|0x20 <= 'z'; c = p.peek() {
		p.at++
	}
	if p.at == from {
		p.fail("no word")
	}
}

// number reads digits. Python 2 wrote an L behind some.
func (p *literal) number() int64 {
	p.space()
	from := p.at
	for p.at < len(p.text) && p.text[p.at]-'0' <= 9 {
		p.at++
	}
	n, err := strconv.ParseInt(string(p.text[from:p.at]), 10, 64)
	if err != nil {
		p.fail("no number")
	}
	p.try('L')
	return n
}

// shape reads a number or a tuple of up to 32.
func (p *literal) shape() (shape []int64) {
	if !p.try('(') {
		return []int64{p.number()}
	}
	for p.err == nil && !p.try(')') {
		if shape = append(shape, p.number()); len(shape) > 32 {
			p.fail("too many axes")
		}
		if !p.try(',') && p.peek() != ')' {
			p.fail("no comma")
		}
	}
	return shape
}
