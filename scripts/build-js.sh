#!/usr/bin/env bash
# Installs what bindings/js is built with, unless that was done, and builds it.
set -euo pipefail
cd "$(dirname "$0")/../bindings/js"

if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
	../../scripts/fetch.sh npm ci --no-audit --no-fund
	touch node_modules/.package-lock.json
fi
npm run --silent build
