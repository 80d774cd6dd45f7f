#!/bin/sh
# Builds gridhold.wasm and writes gridhold.json beside it. With --check it
# builds elsewhere and fails if the bytes differ from what is committed.
set -eu
cd "$(dirname "$0")/.."
out=wasm/gridhold.wasm
if [ "${1-}" = --check ]; then
	out=$(mktemp)
	trap 'rm -f "$out"' EXIT
fi

GOOS=wasip1 GOARCH=wasm GOFLAGS= CGO_ENABLED=0 go build -tags gridhold_guest -buildmode=c-shared -trimpath -buildvcs=false \
	-ldflags='-s -w -buildid=' -o "$out.new" ./wasm/guest
go run ./wasm/internal/lean "$out.new"
mv "$out.new" "$out"
if [ "${1-}" = --check ]; then
	cmp "$out" wasm/gridhold.wasm
	exit
fi
go run ./wasm/internal/manifest "$out" >wasm/gridhold.json.new
mv wasm/gridhold.json.new wasm/gridhold.json
cat wasm/gridhold.json
