#!/usr/bin/env bash
# Builds, then reads the same subchunks of one peer-made array through all four
# doors: machine code, wazero, Node, Python. See examples/doors.
set -euo pipefail
cd "$(dirname "$0")/.."

go build -o .build/bin/doors ./examples/doors
scripts/build-js.sh
scripts/venv.sh .venv scripts/requirements-python.txt

array=testdata/zarr/big_index_zarr-python
echo
echo "8 subchunks of $array (its index: 16388 bytes)"
echo
{
	printf 'door\tcache\tread\tsum\tindex loads\trequests\tbytes\n'
	.build/bin/doors "$array"
	node examples/doors/doors.mjs "$array"
	PYTHONPATH=bindings/python/src .venv/bin/python examples/doors/doors.py "$array"
} | awk -F '\t' '{ printf "%-10s %-6s %5s %9s %12s %9s %8s\n", $1, $2, $3, $4, $5, $6, $7 }'
