#!/usr/bin/env bash
# Runs a command that fetches something from a registry: a network that fails
# once is asked again, one that says nothing is not waited for for ever.
# usage: fetch.sh COMMAND...
set -uo pipefail

export PIP_RETRIES=5 PIP_DEFAULT_TIMEOUT=60 PIP_DISABLE_PIP_VERSION_CHECK=1
export npm_config_fetch_retries=5 npm_config_fetch_timeout=120000 npm_config_update_notifier=false
bounded=()
if command -v timeout >/dev/null; then bounded=(timeout --foreground --kill-after=10 900); fi

for pause in 5 20 60 0; do
	"${bounded[@]}" "$@" && exit
	status=$?
	if [ $pause = 0 ] || [ $status = 124 ]; then break; fi
	echo "$1 failed ($status); once more in $pause s" >&2
	sleep $pause
done
exit $status
