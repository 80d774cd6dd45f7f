#!/usr/bin/env bash
# Builds the sdist, of that the wheel, installs it into an empty virtual
# environment, and reads every fixture through it, with and without extras.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$PWD/.build/python
rm -rf "$out"
mkdir -p "$out"
.venv/bin/python -m build --no-isolation --outdir "$out" bindings/python >"$out/build.log" 2>&1 || { cat "$out/build.log"; exit 1; }
wheel=$(echo "$out"/gridhold-*-py3-none-any.whl)
"${PYTHON:-python3}" -m venv "$out/venv"
scripts/fetch.sh "$out/venv/bin/python" -m pip install --quiet "$wheel" "$(grep '^pytest==' scripts/requirements-python.txt)"

cd bindings/python
"$out/venv/bin/python" - "$out/venv" <<'PY'
import importlib.metadata, pathlib, sys
import gridhold
here = pathlib.Path(gridhold.__file__).resolve()
assert here.is_relative_to(pathlib.Path(sys.argv[1]).resolve()), here
assert (here.parent / "gridhold.wasm").is_file() and (here.parent / "py.typed").is_file()
needs = [r for r in importlib.metadata.requires("gridhold") if "extra ==" not in r]
assert sorted(r.split("=")[0].split(">")[0] for r in needs) == ["numpy", "wasmtime"], needs
engines = importlib.metadata.entry_points(group="xarray.backends")
assert [e.value for e in engines if e.name == "gridhold"] == ["gridhold.xarray:GridholdBackend"], engines
for other in ("numcodecs", "zstandard", "dask", "fsspec", "tqdm"):
    assert other not in sys.modules
PY
"$out/venv/bin/python" -m pytest -p no:cacheprovider tests/test_fixtures.py "tests/test_containers.py::test_fixtures" "tests/test_images.py::test_fixtures" "tests/test_images.py::test_tables"
