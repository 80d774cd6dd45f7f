// Package rawjson reads and writes JSON (RFC 8259) without reflection: values
// stay the text they are until somebody asks what they mean, so that numbers
// keep all their digits and names their case.
//
// It accepts and means what encoding/json does: of members with one name the
// last counts, bytes that are not UTF-8 and lone surrogates become U+FFFD. It
// refuses what is nested deeper than [MaxDepth]. What a [Writer] writes is what
// json.Marshal would, to the byte.
//
// A program that refers to json.Unmarshal or json.Marshal holds the reflection
// for every type it has; in the wasm guest that is a fifth of its size. This
// package is for what the guest links. What only writes or only runs natively
// may go on with encoding/json.
package rawjson
