// Package wasm holds the guest, gridhold.wasm, as its hosts load it.
//
// The module is built from wasm/guest by wasm/build.sh, which also writes
// gridhold.json: what it was built with and its hash. The build is
// reproducible, so whoever has the same Go can build the same bytes.
package wasm

import _ "embed"

// Module is the guest. It must not be changed.
//
//go:embed gridhold.wasm
var Module []byte

// Manifest is gridhold.json: {"abi", "go", "sha256", "size", "brotli"}, sizes
// in bytes.
//
//go:embed gridhold.json
var Manifest []byte
