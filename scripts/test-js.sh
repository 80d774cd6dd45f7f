#!/usr/bin/env bash
# Builds and tests bindings/js, in Node and in Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build-js.sh
scripts/chromium.sh
cd bindings/js
REQUIRE_BROWSER=1 npm test --silent
