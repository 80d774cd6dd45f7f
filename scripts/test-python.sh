#!/usr/bin/env bash
# Makes .venv and runs the tests of bindings/python in it, those of its types, and those of the wheel.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh .venv scripts/requirements-python.txt
scripts/gateway.sh
(cd bindings/python && ../../.venv/bin/python -m mypy && REQUIRE_PEERS=1 PYTHONPATH=src ../../.venv/bin/python -m pytest)
scripts/test-wheel.sh
