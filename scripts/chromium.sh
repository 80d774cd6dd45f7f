#!/usr/bin/env bash
# Installs Debian's Chromium, for the tests of bindings/js in a browser, unless
# there is one. CHROMIUM names another one.
set -euo pipefail

[ -x "${CHROMIUM:-/usr/bin/chromium}" ] && exit
as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=5 -o Acquire::http::Timeout=60 "$@"; }
install() { apt install -y --no-install-recommends chromium >/dev/null; }
install 2>/dev/null || { apt update && install; } || { sleep 30 && apt update && install; }
