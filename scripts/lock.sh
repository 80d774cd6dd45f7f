#!/usr/bin/env bash
# Writes beside each list of Python requirements a .lock: what they need in
# turn, each in one version, with the digests of its files. venv.sh installs
# by it.
set -euo pipefail
cd "$(dirname "$0")/.."

uv=uv==0.13.9
if [ "$(cat .build/uv.version 2>/dev/null)" != "$uv" ]; then
	mkdir -p .build
	"${PYTHON:-python3}" -m venv .build/uv
	scripts/fetch.sh .build/uv/bin/python -m pip install --quiet "$uv"
	echo "$uv" >.build/uv.version
fi
for list in $(git ls-files '*requirements*.txt'); do
	.build/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate "$list" -o "${list%.txt}.lock"
	echo "${list%.txt}.lock: $(grep -c == "${list%.txt}.lock") packages"
done
