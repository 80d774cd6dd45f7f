#!/usr/bin/env bash
# fmt, vet, tidy, licences, known vulnerabilities, and whether the committed
# guest is what the sources give.
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
go run ./internal/notice --check
scripts/audit.sh

# Another release of Go makes other bytes of the same sources.
made_with=$(sed -n 's/.*"go": "\(.*\)".*/\1/p' wasm/gridhold.json)
if [ "$(go env GOVERSION)" = "$made_with" ]; then
	wasm/build.sh --check
	fresh="guest fresh"
else
	fresh="guest NOT compared: it was built with $made_with, this is $(go env GOVERSION)"
fi
echo "check: formatted, vetted, tidy, licences known, $fresh"
