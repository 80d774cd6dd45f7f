"""Stacks and tables of images: what the manifest says of each, by its hash."""

import hashlib
import json
import time
from pathlib import Path

import numpy as np
import pytest

import gridhold

IMAGES = Path(__file__).resolve().parents[3] / "testdata" / "images"
MANIFEST = json.loads((IMAGES / "manifest.json").read_text())
MEMORY = 400 << 20


def sha(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


class Directory:
    """A store of the user's own."""

    def read_ranges(self, key, ranges, version):
        path = IMAGES / key
        if not path.is_file():
            return None
        raw = path.read_bytes()
        cut = [raw[off:] if n < 0 else raw[len(raw) - n :] if off < 0 else raw[off : off + n] for off, n in ranges]
        return cut, len(raw), ""


@pytest.mark.parametrize("where", ["path", "store"])
def test_fixtures(where):
    viewed = 0
    for entry in MANIFEST["files"]:
        source = (IMAGES / entry["file"],) if where == "path" else (Directory(), entry["file"])
        if entry["expect"].startswith("error:"):
            began = time.process_time()
            with pytest.raises((gridhold.CorruptError, gridhold.UnsupportedError)) as told:
                gridhold.open_stack(*source, memory=MEMORY)
            assert entry["expect"][6:].replace("-", " ") in str(told.value)
            assert time.process_time() - began < 20
            continue
        with gridhold.open_stack(*source, memory=MEMORY) as stack:
            if entry["expect"] == "ok:0-images":
                assert len(stack) == 0 and stack[:].shape[0] == 0
                continue
            everything, hashes = stack.read(0, len(stack)), entry["image_sha256"]
            for image, want in zip(everything.reshape(len(hashes), -1), hashes):
                assert sha(image) == want, entry["file"]
            assert np.array_equal(stack[-1].view(np.uint8), everything[-1].view(np.uint8))
            assert stack[1:3].shape[0] == min(2, len(stack) - 1) and stack.ndim == len(stack.shape)
            with pytest.raises(IndexError):
                stack[len(stack)]
            view = stack.view()
            if view is not None:
                viewed += 1
                assert not view.flags.writeable and sha(view) == sha(everything)
        with pytest.raises(gridhold.ClosedError):
            stack[0]
    assert viewed > 20 or where == "store"


@pytest.mark.parametrize("table", MANIFEST["tables"], ids=lambda t: t["file"])
def test_tables(table):
    for source in ((IMAGES / table["file"],), (Directory(), table["file"])):
        read = gridhold.read_table(*source)
        rows = [[read.keys[f], i] for f, i in zip(read.files.tolist(), read.indices.tolist())]
        assert rows == table["locations"] and len(rows) == table["rows"]


def test_damaged_table(tmp_path):
    (tmp_path / "p.star").write_text("data_\nloop_\n_rlnImageName\n3@x\n0@x\n")
    with pytest.raises(gridhold.InvalidError, match="p.star: line 5"):
        gridhold.read_table(tmp_path / "p.star")
    with pytest.raises(FileNotFoundError):
        gridhold.read_table(tmp_path / "q.star")
    with pytest.raises(FileNotFoundError):
        gridhold.open_stack(tmp_path / "q.mrcs")
