#!/usr/bin/env bash
# Go's own benchmarks of the hot paths, in turn with those of another revision,
# compared by benchstat. usage: bench-go.sh [BASE]
# COUNT=8 is how often each is run; BENCH=. which, PACKAGES= where.
set -euo pipefail
cd "$(dirname "$0")/.."

benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
packages=${PACKAGES:-sdk/zarr sdk/cache sdk/blosc2 sdk/scratch sdk/codec/blosc sdk/codec/internal/shuffle native/file}
base=${1:-} out=$PWD/.bench/go
mkdir -p "$out"
rm -rf "$out"/*.txt "$out/base"

# binaries DIR NAME: the test binaries of a tree
binaries() {
	for p in $packages; do
		if [ -d "$1/$p" ]; then (cd "$1" && go test -c -o "$out/$2-${p//\//-}.test" "./$p"); fi
	done
}
# measure DIR NAME: one run of each
measure() {
	for p in $packages; do
		[ -x "$out/$2-${p//\//-}.test" ] || continue
		(cd "$1/$p" && "$out/$2-${p//\//-}.test" -test.run '^$' -test.bench "${BENCH:-Warm|Index|Rows|VLMeta|Refresh|Image|Shuffle|Chunk|ReadInto}" -test.benchmem -test.benchtime "${BENCHTIME:-100ms}") >>"$out/$2.txt"
	done
}

binaries . new
if [ -n "$base" ]; then
	mkdir -p "$out/base"
	git archive "$base" | tar -x -C "$out/base"
	binaries "$out/base" old
fi
for ((i = 0; i < ${COUNT:-8}; i++)); do
	if [ -n "$base" ]; then measure "$out/base" old; fi
	measure . new
done
if [ -n "$base" ]; then
	go run "$benchstat" "$out/old.txt" "$out/new.txt"
else
	go run "$benchstat" "$out/new.txt"
fi
