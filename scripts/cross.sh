#!/usr/bin/env bash
# Builds for every platform we name. Nothing is run.
set -euo pipefail
cd "$(dirname "$0")/.."

build() { # GOOS GOARCH WHY PACKAGES...
	local os=$1 arch=$2 why=$3
	shift 3
	printf '%-8s %-6s %s\n' "$os" "$arch" "$why"
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build "$@"
}

whole="./sdk/... ./native/... ./host/... ./wasm ./cmd/..."
for arch in amd64 arm64; do
	build linux $arch "servers and clusters: everything" $whole
	build darwin $arch "laptops: everything" $whole
	build windows $arch "instrument computers: everything" $whole
done
build freebsd amd64 "storage servers: the core" ./sdk/...
build linux s390x "the highest byte first: the formats must not care" ./sdk/...
build linux 386 "int has 32 bits: the core must not care" ./sdk/...
build js wasm "Go programs in a page: the core" ./sdk/...
build wasip1 wasm "the guest and other people's" ./sdk/... ./wasm/guest
