#!/usr/bin/env bash
# Makes a virtual environment and installs pinned requirements into it, unless
# that was done already. What lock.sh wrote beside them holds for all that they
# need. usage: venv.sh DIR REQUIREMENTS
set -euo pipefail

if ! cmp -s "$2" "$1/installed.txt"; then
	rm -rf "$1"
	"${PYTHON:-python3}" -m venv "$1"
	install=(-r "$2")
	if [ -e "${2%.txt}.lock" ]; then install=(--require-hashes -r "${2%.txt}.lock"); fi
	"$(dirname "$0")/fetch.sh" "$1/bin/python" -m pip install --quiet "${install[@]}"
	cp "$2" "$1/installed.txt"
fi
