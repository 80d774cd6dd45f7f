#!/usr/bin/env bash
# Ours and the peers in one run, and the table of it: docs/benchmarks.md.
# usage: bench.sh [--quick] [--size MIB]
#   --quick  few rounds, small data: minutes, not an hour
#   --size   how much Blosc2 encodes and decodes; 64
# ROUNDS=5 is how often each case is measured.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-5} size=64 quick=
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 rounds=${ROUNDS:-3} size=16 ;;
	--size) size=$2 && shift ;;
	*) sed -n 's/^# \?//p' "$0" >&2 && exit 2 ;;
	esac
	shift
done
least() { echo $(($1 > rounds && !${quick:-0} ? $1 : rounds)); }
[ -z "$quick" ] || export BENCH_QUICK=1 IMAGES=4000
export ROWS=$((size * 256)) PYTHONPATH=bindings/python/src
python=.bench/venv/bin/python containers=.bench/containers-$size images=.bench/images${quick:+-quick}

scripts/venv.sh .bench/venv bench/requirements.txt
scripts/venv.sh .bench/plots bench/requirements-plot.txt
if [ ! -d .bench/data/indexes ] || [ bench/make_data.py -nt .bench/data ]; then
	echo "making the data"
	$python bench/make_data.py .bench/data
fi
go build -o .bench/bin/ ./bench/reads ./bench/containers ./bench/rows ./bench/update ./bench/sharing ./bench/images ./bench/plugins
scripts/build-js.sh
rm -rf .bench/results

$python bench/run.py .bench/data .bench "$rounds"
$python bench/containers.py .bench/bin/containers "$containers" .bench "$rounds"
$python bench/rows.py .bench/bin/rows "$containers" .bench "$rounds"
$python bench/update.py .bench/bin/update "$containers" .bench "$(least 9)"
# Locking costs are medians of at least 9 pairs.
$python bench/sharing.py .bench/bin/sharing .bench "$(least 9)"
$python bench/images.py .bench/bin/images "$images" .bench "$rounds" epochs start ${quick:-locations orphan}
$python bench/epochs.py "$images" .bench "$rounds"
$python bench/micro.py .bench "$(least 9)"
if [ -z "$quick" ]; then
	$python bench/startup.py .bench "$rounds"
	$python bench/remote.py .bench/data .bench "$rounds"
	# Requests of 256 random subchunks to a server that takes 5 ms for each, held to their times.
	GRIDHOLD_TIMINGS=1 go test -count=1 -v -run '^TestRequests$' ./native/web
	# What it costs that plugins can be interrupted: processor time, medians of 15 rounds at least.
	.bench/bin/plugins testdata/plugins .bench "$(least 15)"
	# Ours and zarrita in one page of Chromium.
	scripts/chromium.sh
	node bindings/js/bench/browser.mjs "$(least 15)" .bench/results/browser.jsonl
fi
$python bench/report.py .bench docs
.bench/plots/bin/python bench/plot.py bench/results.json docs/benchmarks
