#!/usr/bin/env bash
# Gathers the built npm package for the page of "gridhold serve"; with --check
# it compares. --test opens the page in Chromium; --screenshots also leaves
# pictures of it in docs/viewer.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build-js.sh
case "${1-}" in
--test) REQUIRE_BROWSER=1 node --test bindings/js/viewer/test/*.test.mjs ;;
--screenshots) SCREENSHOTS=$PWD/docs/viewer REQUIRE_BROWSER=1 node --test bindings/js/viewer/test/*.test.mjs ;;
*) node bindings/js/viewer/gather.mjs "$@" ;;
esac
