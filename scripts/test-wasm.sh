#!/usr/bin/env bash
# The tests of sdk as a wasip1 guest, under wazero.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p .build/bin
go build -o .build/bin/wazero github.com/tetratelabs/wazero/cmd/wazero
PATH=$PWD/.build/bin:$PATH GOWASIRUNTIME=wazero GOOS=wasip1 GOARCH=wasm \
	go test -exec "$(go env GOROOT)/lib/wasm/go_wasip1_wasm_exec" -timeout 10m ./sdk/...
