#!/usr/bin/env bash
# Runs every fuzz test for a while. usage: fuzz.sh TIME
set -euo pipefail
cd "$(dirname "$0")/.."

for package in $(git ls-files -co --exclude-standard '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n 1 dirname | sort -u); do
	for name in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -d ' ' -f 2); do
		echo "== $package $name"
		go test "./$package" -run '^$' -fuzz "^$name\$" -fuzztime "$1"
	done
done
