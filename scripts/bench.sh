#!/usr/bin/env bash
# Ours and the peers in one run. ROUNDS=5 is how often each case is measured.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh .bench/venv bench/requirements.txt
if [ ! -d .bench/data ] || [ bench/make_data.py -nt .bench/data ]; then
	echo "making the data"
	.bench/venv/bin/python bench/make_data.py .bench/data
fi
go build -o .bench/bin/ ./bench/reads ./bench/containers ./bench/rows ./bench/sharing ./bench/images ./bench/plugins
scripts/build-js.sh
PYTHONPATH=bindings/python/src .bench/venv/bin/python bench/run.py .bench/data .bench "${ROUNDS:-5}"
PYTHONPATH=bindings/python/src .bench/venv/bin/python bench/startup.py .bench "${ROUNDS:-5}"
PYTHONPATH=bindings/python/src .bench/venv/bin/python bench/remote.py .bench/data .bench "${ROUNDS:-5}"
# Locking costs are medians of at least 9 pairs.
.bench/venv/bin/python bench/sharing.py .bench/bin/sharing .bench "$((${ROUNDS:-5} > 9 ? ${ROUNDS:-5} : 9))"
.bench/venv/bin/python bench/containers.py .bench/bin/containers .bench/containers .bench "${ROUNDS:-5}"
.bench/venv/bin/python bench/rows.py .bench/bin/rows .bench/containers .bench "${ROUNDS:-5}"
# Requests of 256 random subchunks to a server that takes 5 ms for each, held to their times.
GRIDHOLD_TIMINGS=1 go test -count=1 -v -run '^TestRequests$' ./native/web
.bench/venv/bin/python bench/images.py .bench/bin/images .bench/images .bench "${ROUNDS:-5}"
# What it costs that plugins can be interrupted: processor time, medians of 15 rounds at least.
.bench/bin/plugins testdata/plugins .bench "$((${ROUNDS:-5} > 15 ? ${ROUNDS:-5} : 15))"
PYTHONPATH=bindings/python/src .bench/venv/bin/python bench/epochs.py .bench/images .bench "${ROUNDS:-5}"
# Ours and zarrita in one page of Chromium.
scripts/chromium.sh
node bindings/js/bench/browser.mjs "$((${ROUNDS:-5} > 15 ? ${ROUNDS:-5} : 15))"
