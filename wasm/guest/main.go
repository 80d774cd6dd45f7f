// Command guest is gridhold.wasm: the core as a WASI reactor, under the ABI
// of docs/abi.md. Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -tags gridhold_guest -buildmode=c-shared ./wasm/guest
//
// It is a skin: exports.go and imports.go turn addresses into slices and
// back, and everything else is package engine, which knows no addresses.
package main

func main() {}
