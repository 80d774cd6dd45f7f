#!/usr/bin/env bash
# Makes what the tests of internal/interop drive: the other Zarr libraries, in
# .peers and internal/interop/peers/node_modules, unless that was done already.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh .peers internal/interop/peers/requirements.txt
cd internal/interop/peers
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
	../../../scripts/fetch.sh npm ci --silent --no-audit --no-fund
	touch node_modules/.package-lock.json
fi
