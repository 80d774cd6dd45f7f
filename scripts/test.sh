#!/usr/bin/env bash
# All tests of all languages. A failing part does not keep the others from
# running; the last lines say how each ended.
set -uo pipefail
cd "$(dirname "$0")/.."

# Nobody watches where there is no terminal: a part that hangs, though all that
# tests has limits of its own, is ended, so that the others are heard of.
bounded=()
if [ ! -t 0 ] && [ ! -t 1 ] && command -v timeout >/dev/null; then bounded=(timeout --kill-after=30 2100); fi

summary=()
failed=0
part() { # NAME COMMAND...
	local name=$1 began=$SECONDS
	shift
	echo
	echo "== $name"
	if "${bounded[@]}" "$@"; then
		summary+=("ok      $name ($((SECONDS - began)) s)")
	else
		summary+=("FAILED  $name ($((SECONDS - began)) s)")
		failed=1
	fi
}

part "modules of Go" scripts/fetch.sh go mod download
part "check" scripts/check.sh
part "the other Zarr libraries" scripts/peers.sh
part "the server of S3" scripts/gateway.sh
part "Go" env REQUIRE_PEERS=1 scripts/race.sh
part "scratches, killed at every point" go test -tags gridhold_crash -run CrashPoints ./sdk/scratch
part "sdk under wasip1" scripts/test-wasm.sh
part "shuffles and codecs on arm64" scripts/test-arm64.sh
part "JavaScript" scripts/test-js.sh
part "the page of serve" scripts/viewer.sh --test
part "Python" scripts/test-python.sh
part "all languages at one container" env REQUIRE_PEERS=1 REQUIRE_BINDINGS=1 go test -count=1 -run '^TestSharingInAllLanguages$' ./internal/interop

echo
printf '%s\n' "${summary[@]}"
exit $failed
