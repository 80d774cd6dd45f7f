#!/usr/bin/env bash
# Installs Debian's Chromium, for the tests of bindings/js in a browser, unless
# there is one. CHROMIUM names another one.
set -euo pipefail

[ -x "${CHROMIUM:-/usr/bin/chromium}" ] && exit
as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
install() {
	DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -qq -y --no-install-recommends chromium >/dev/null
}
install 2>/dev/null || { "${as_root[@]}" apt-get update -qq && install; }
