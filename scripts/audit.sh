#!/usr/bin/env bash
# Asks the databases of known vulnerabilities about every version that is
# pinned: Go's, npm's, PyPI's. What is found fails. A database that cannot be
# reached is said, and fails only with REQUIRE_AUDIT=1.
set -euo pipefail
cd "$(dirname "$0")/.."

govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0
pip_audit=pip-audit==2.10.1
out=.build/audit
mkdir -p "$out"
asked=() unasked=() failed=0

unreached() { # NAME WHY
	unasked+=("$1")
	echo "audit: $1 NOT ASKED: $2" >&2
}

within() { # SECONDS COMMAND...
	if command -v timeout >/dev/null; then timeout "$@"; else shift && "$@"; fi
}

reaches() { # URL
	if command -v curl >/dev/null; then
		curl --silent --fail --location --max-time 10 --output /dev/null "$1"
	else
		"${PYTHON:-python3}" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=10)' "$1" 2>/dev/null
	fi
}

# Go: only what is called counts (exit status 3).
if reaches https://vuln.go.dev/index/db.json; then
	status=0
	within 600 go run "$govulncheck" ./... >"$out/go" 2>&1 || status=$?
	case $status in
	0) asked+=(Go) ;;
	3) failed=1 && cat "$out/go" ;;
	*) unreached Go "$(tail -1 "$out/go")" ;;
	esac
else
	unreached Go "vuln.go.dev cannot be reached"
fi

# npm: the lock files. Without an answer there is "error", or no JSON at all.
for dir in bindings/js internal/interop/peers; do
	if ! command -v npm >/dev/null; then
		unreached "npm ($dir)" "there is no npm"
		continue
	fi
	(cd "$dir" && within 60 npm audit --package-lock-only --json --fetch-retries=0 --fetch-timeout=10000) >"$out/npm" 2>/dev/null || true
	case $(node -e '
		const text = require("node:fs").readFileSync(process.argv[1], "utf8");
		let a; try { a = JSON.parse(text); } catch { a = {}; }
		const n = a.metadata?.vulnerabilities?.total;
		console.log(a.error || n === undefined ? "unreached" : n > 0 ? "found" : "none");' "$out/npm") in
	none) asked+=("npm ($dir)") ;;
	found) failed=1 && (cd "$dir" && npm audit --package-lock-only || true) ;;
	*) unreached "npm ($dir)" "no answer from the registry's audit" ;;
	esac
done

# PyPI: of each requirement, its version. What it does not know is told apart
# from what it knows nothing bad of.
if reaches https://pypi.org/pypi/numpy/2.4.6/json; then
	if [ "$(cat "$out/pip.version" 2>/dev/null)" != "$pip_audit" ]; then
		"${PYTHON:-python3}" -m venv "$out/venv"
		scripts/fetch.sh "$out/venv/bin/python" -m pip install --quiet "$pip_audit" && echo "$pip_audit" >"$out/pip.version"
	fi
	for list in scripts/requirements-python.txt bench/requirements.txt internal/interop/peers/requirements.txt; do
		within 300 "$out/venv/bin/pip-audit" --no-deps --disable-pip --progress-spinner off --timeout 10 --format json -r "$list" >"$out/pip" 2>"$out/pip.log" || true
		case $("$out/venv/bin/python" - "$out/pip" <<'PY'
import json, sys
try:
    found = json.load(open(sys.argv[1]))["dependencies"]
except ValueError:
    found = []
if any(d.get("vulns") for d in found):
    print("found")
elif not found or any("skip_reason" in d for d in found):
    print("unreached")
else:
    print("none")
PY
		) in
		none) asked+=("PyPI ($list)") ;;
		found) failed=1 && cat "$out/pip" ;;
		*) unreached "PyPI ($list)" "$(tail -1 "$out/pip.log")" ;;
		esac
	done
else
	unreached PyPI "pypi.org tells nothing of vulnerabilities"
fi

join() { local IFS=,; echo "${*//,/ }" | sed 's/,/, /g'; }
echo "audit: asked: $(join "${asked[@]:-nobody}"); not asked: $(join "${unasked[@]:-nobody}")"
if [ -n "${REQUIRE_AUDIT:-}" ] && [ ${#unasked[@]} -gt 0 ]; then failed=1; fi
exit $failed
