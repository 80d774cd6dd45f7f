#!/usr/bin/env bash
# Runs every fuzz test for a while, one after the other, and counts what they
# did. Inputs that fail stay in the testdata/fuzz of their package.
#
# usage: fuzz.sh TIME [PATTERN]   TIME such as 30s; PATTERN of "package name", such as 'sdk/zip '
#        fuzz.sh --counts         writes what all runs came to, docs/proof/fuzz.json
#
# WORKERS (1) processes run each test. An input that is new is made smaller by
# 100 tries only: of inputs of kilobytes, more would take nearly all the time.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=.build/fuzz/runs.tsv # package, name, seconds of processor time, inputs tried, inputs kept, ok or failed

# counts adds up all runs. What was found is written by hand, and stays.
counts() {
	"${PYTHON:-python3}" - "$runs" <<'END'
import datetime, json, os, platform, sys

runs = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
name = "docs/proof/fuzz.json"
found = json.load(open(name))["found"] if os.path.exists(name) else []
with open(name, "w") as out:
    json.dump({
        "what": "Mutated inputs to every decoder and parser",
        "when": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": "make fuzz",
        "machine": f"linux/amd64, {os.cpu_count()} cores" if platform.machine() == "x86_64" else platform.machine(),
        "counts": {
            "fuzz tests": len({(r[0], r[1]) for r in runs}),
            "executions": sum(int(r[3]) for r in runs),
            "seconds of processor time": round(sum(float(r[2]) for r in runs)),
        },
        "found": found,
    }, out, indent=2)
    out.write("\n")
END
}

if [ "$1" = --counts ]; then
	counts
	exit
fi

mkdir -p .build/fuzz
failed=0
for package in $(git ls-files -co --exclude-standard '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n 1 dirname | sort -u); do
	binary=$PWD/.build/fuzz/$(tr / - <<<"$package").test
	built=
	for name in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -d ' ' -f 2); do
		[[ "$package $name " =~ ${2:-.} ]] || continue
		if [ -z "$built" ]; then
			go test "./$package" -c -fuzz . -o "$binary"
			built=yes
		fi
		echo "== $package $name"
		kept=$(go env GOCACHE)/fuzz/$(go list "./$package")
		result=ok
		(
			cd "$package"
			"$binary" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$1" -test.fuzzcachedir "$kept" -test.parallel "${WORKERS:-1}" -test.fuzzminimizetime 100x || true
			times
		) 2>&1 | tee .build/fuzz/last | grep -v '^[0-9]*m[0-9.]*s '
		# That the time is up is no failure, though the tool may say so.
		if ! grep -q '^PASS$' .build/fuzz/last && ! grep -qx ' *context deadline exceeded' .build/fuzz/last || grep -q 'Failing input\|^panic:' .build/fuzz/last; then
			result=failed
			failed=1
		fi
		last=$(grep -o 'execs: [0-9]* .*new interesting: [0-9]*' .build/fuzz/last | tail -n 1 | sed 's/execs: \([0-9]*\).*interesting: \([0-9]*\)/\1\t\2/') || true
		cpu=$(tail -n 1 .build/fuzz/last | tr 'ms' '  ' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }')
		printf '%s\t%s\t%s\t%s\t%s\n' "$package" "$name" "$cpu" "${last:-0	0}" "$result" >> "$runs"
	done
done
exit $failed
