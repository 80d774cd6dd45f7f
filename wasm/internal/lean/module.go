package main

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// module is a wasm module with its data section taken apart.
type module struct {
	before, after []byte // all sections but data
	data          []segment
	size          int // of the image: the end of the highest segment
}

type segment struct {
	at int
	b  []byte
}

const (
	sectionData      = 11
	sectionDataCount = 12
)

var errCut = errors.New("not a whole wasm module")

// reader reads LEB128 numbers and bytes; bad is set at the end.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<32-1 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// int reads a signed number, as i32.const has.
func (r *reader) int() int {
	v, shift := 0, 0
	for len(r.b) > 0 && shift < 35 {
		c := r.take(1)[0]
		v |= int(c&127) << shift
		shift += 7
		if c&128 == 0 {
			if c&64 != 0 {
				v -= 1 << shift
			}
			return v
		}
	}
	r.bad = true
	return 0
}

func parse(b []byte) (*module, error) {
	r := &reader{b: b}
	if string(r.take(8)) != "\x00asm\x01\x00\x00\x00" {
		return nil, errCut
	}
	m := &module{before: b[:8:8]}
	seen := false
	for len(r.b) > 0 && !r.bad {
		whole := r.b
		id := r.take(1)[0]
		body := r.take(r.uint())
		section := whole[:len(whole)-len(r.b)]
		switch {
		case id == sectionDataCount:
			return nil, errors.New("counts its data segments beforehand")
		case id == sectionData:
			seen = true
			if err := m.segments(body); err != nil {
				return nil, err
			}
		case seen:
			m.after = append(m.after, section...)
		default:
			m.before = append(m.before, section...)
		}
	}
	if r.bad || !seen {
		return nil, errCut
	}
	return m, nil
}

func (m *module) segments(body []byte) error {
	r := &reader{b: body}
	for range r.uint() {
		if r.uint() != 0 || string(r.take(1)) != "\x41" { // active, in memory 0, at i32.const
			return errors.New("has data that is not active")
		}
		at := r.int()
		if string(r.take(1)) != "\x0b" || at < 0 {
			return errors.New("has data at no fixed place")
		}
		b := r.take(r.uint())
		if r.bad {
			return errCut
		}
		m.data = append(m.data, segment{at, b})
		m.size = max(m.size, at+len(b))
	}
	if m.size > 1<<28 {
		return fmt.Errorf("has data up to %d", m.size)
	}
	return nil
}

// image is the memory as the segments make it.
func (m *module) image() []byte {
	image := make([]byte, m.size)
	for _, s := range m.data {
		copy(image[s.at:], s.b)
	}
	return image
}

// Zeros that end a segment, so many at least: another one costs fewer bytes.
const leastZeros = 8

// mostSegments is what engines accept: https://webassembly.github.io/spec/js-api/#limits
const mostSegments = 100_000

// write is the module with the data of an image.
func (m *module) write(image []byte) []byte {
	zeros := leastZeros
	body, count := cut(image, zeros)
	for count > mostSegments {
		zeros++
		body, count = cut(image, zeros)
	}
	body = append(binary.AppendUvarint(nil, uint64(count)), body...)
	out := append([]byte(nil), m.before...)
	out = append(out, sectionData)
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(append(out, body...), m.after...)
}

// cut makes segments of an image, each of which ends where that many zeros
// follow, and counts them.
func cut(image []byte, enough int) (body []byte, count int) {
	for at := 0; at < len(image); {
		if image[at] == 0 {
			at++
			continue
		}
		end, zeros := at, 0
		for i := at; i < len(image) && zeros < enough; i++ {
			if image[i] == 0 {
				zeros++
			} else {
				zeros, end = 0, i+1
			}
		}
		body = append(body, 0, 0x41)
		body = appendInt(body, at)
		body = append(body, 0x0b)
		body = binary.AppendUvarint(body, uint64(end-at))
		body = append(body, image[at:end]...)
		count++
		at = end
	}
	return body, count
}

// appendInt appends a number from 0 as a signed LEB128.
func appendInt(b []byte, v int) []byte {
	for {
		c := byte(v & 127)
		v >>= 7
		if v == 0 && c&64 == 0 {
			return append(b, c)
		}
		b = append(b, c|128)
	}
}
