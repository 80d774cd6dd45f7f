#!/usr/bin/env bash
# The shuffles, whose kernels for arm64 are assembly, and the codecs above
# them, as arm64 runs them: on such a machine as they are, elsewhere under
# qemu, which is installed where apt-get may. Without it they are built and
# vetted only, and that is said.
set -euo pipefail
cd "$(dirname "$0")/.."

emulator() { command -v qemu-aarch64-static || command -v qemu-aarch64; }

install() {
	local as_root=
	if [ "$(id -u)" != 0 ]; then as_root="sudo -n"; fi
	apt() { $as_root env DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >/dev/null 2>&1; }
	get() { apt install -y --no-install-recommends qemu-user-static; }
	command -v apt-get >/dev/null && { get || { apt update && get; }; }
}

shuffles=./sdk/codec/internal/shuffle
codecs="./sdk/codec ./sdk/codec/blosc"
export GOARCH=arm64 CGO_ENABLED=0
go vet $shuffles # frames and operands of the assembly

under=
if [ "$(go env GOHOSTARCH)" != arm64 ]; then
	if ! [ "$(uname -s)" = Linux ] || ! { emulator || install; } >/dev/null; then
		go test -run '^$' -exec true $shuffles $codecs >/dev/null
		echo "no qemu-aarch64: the tests of arm64 are built, NOT run"
		exit
	fi
	under="-exec $(emulator)"
	# A thread that is interrupted wherever it is, is what qemu does worst.
	export GODEBUG=asyncpreemptoff=1
fi
go test -timeout 10m $under $shuffles
go test -timeout 10m $under -short -run 'Encoding|Elements|Coverage|RoundTripOfBlocks|FuzzDecode|FuzzPiece|AllStreams' $codecs
