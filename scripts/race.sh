#!/usr/bin/env bash
# The Go tests under the race detector, which needs a C compiler: without one
# they run all the same, and it is said.
set -euo pipefail
cd "$(dirname "$0")/.."

if command -v "$(go env CC)" >/dev/null; then
	# wazero is left as it is: watched, it takes twenty times as long to compile
	# the guest, and its races are not ours to find.
	go test -race -timeout 30m -gcflags='github.com/tetratelabs/wazero/...=-race=false' ./...
else
	echo "no C compiler: the Go tests run without the race detector"
	go test -timeout 30m ./...
fi
