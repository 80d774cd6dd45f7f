#!/usr/bin/env bash
# Makes a virtual environment and installs pinned requirements into it, unless
# that was done already. usage: venv.sh DIR REQUIREMENTS
set -euo pipefail

if ! cmp -s "$2" "$1/installed.txt"; then
	rm -rf "$1"
	"${PYTHON:-python3}" -m venv "$1"
	"$1/bin/python" -m pip install --quiet --disable-pip-version-check -r "$2"
	cp "$2" "$1/installed.txt"
fi
