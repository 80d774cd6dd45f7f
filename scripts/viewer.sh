#!/usr/bin/env bash
# Gathers the built npm package for the page of "gridhold serve". --test
# compares what is committed with it, and opens the page in Chromium;
# --screenshots leaves pictures of it in docs/viewer.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build-js.sh
case "${1-}" in
--test)
	node bindings/js/viewer/gather.mjs --check
	scripts/chromium.sh
	REQUIRE_BROWSER=1 node --import ./bindings/js/test/watchdog.mjs --test --test-timeout=1200000 bindings/js/viewer/test/*.test.mjs
	;;
--screenshots) SCREENSHOTS=$PWD/docs/viewer node --import ./bindings/js/test/watchdog.mjs --test --test-timeout=1200000 bindings/js/viewer/test/*.test.mjs ;;
*) node bindings/js/viewer/gather.mjs ;;
esac
