#!/usr/bin/env bash
# Builds and tests bindings/js.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build-js.sh
cd bindings/js
npm test --silent
