// Package xz decodes LZMA in the forms that the lzma module of Python writes:
// the xz container, the older "alone" files, and raw streams. The output
// serves as the dictionary, so memory is bounded by what is due, whatever a
// header states.
//
// xz format: https://tukaani.org/xz/xz-file-format.txt
package xz

import (
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

var decoders = sync.Pool{New: func() any { return new(lzma) }}

// withDecoder lends a decoder to f.
func withDecoder[T any](f func(*lzma) (T, error)) (T, error) {
	d := decoders.Get().(*lzma)
	defer decoders.Put(d)
	defer func() { d.r.src = nil }() // keep no caller's memory alive
	return f(d)
}

func corrupt(why string) error { return block.Corrupt("lzma", why) }
