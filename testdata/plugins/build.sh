#!/usr/bin/env bash
# Builds the plugins: clang 14 and lld for C, rustc 1.63 with the target
# wasm32-unknown-unknown for Rust (on Debian 12: clang lld rustc
# libstd-rust-dev-wasm32), wat2wasm 1.0.32 of wabt for the hostile ones.
# about.json, with the samples in it, is made by make.py.
set -euo pipefail
cd "$(dirname "$0")"

RUSTC=${RUSTC:-/usr/bin/rustc}

for name in tiff npy; do
	# As a C string, so that it is read only and has no file format of its own.
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/"/' "$name/about.json" >"$name/about.inc"
	# Linked apart: clang would run wasm-opt where it finds one.
	clang --target=wasm32 -std=c11 -O2 -mbulk-memory -msign-ext -mnontrapping-fptoint -ffreestanding -fvisibility=hidden \
		-Wall -Wextra -Wno-unused-parameter -Wno-logical-op-parentheses -Wno-bitwise-op-parentheses -Wno-shift-op-parentheses \
		-c -o "$name.o" "$name/$name.c"
	wasm-ld --no-entry --strip-all --stack-first -z stack-size=16384 -o "$name.wasm" "$name.o"
	rm "$name/about.inc" "$name.o"
done
"$RUSTC" --target wasm32-unknown-unknown --edition 2021 --crate-type cdylib -C opt-level=3 -C panic=abort -C lto -C strip=symbols \
	-C target-feature=+bulk-memory,+nontrapping-fptoint -C link-arg=-zstack-size=16384 -o aec.wasm aec/aec.rs
for wat in hostile/*.wat; do
	wat2wasm "$wat" -o "${wat%.wat}.wasm"
done
LC_ALL=C sed -i 's/\xfd\x80\x01/\xfd\x80\x00/' hostile/odd.wasm
sha256sum ./*.wasm hostile/*.wasm | sed 's| \./| |' >SHA256SUMS
