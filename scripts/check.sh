#!/usr/bin/env bash
# fmt, vet, tidy, and whether the committed guest is what the sources give.
set -euo pipefail
cd "$(dirname "$0")/.."

unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
	echo "not formatted:"
	echo "$unformatted"
	exit 1
fi
go vet ./...
go mod tidy -diff
wasm/build.sh --check
echo "check: formatted, vetted, tidy, guest fresh"
