"""The compiled guest on disk: shared by processes, trusted only when it is whole, ours and of this version."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import wasmtime

from gridhold import _engine

CHILD = """
import sys
from pathlib import Path
from gridhold import _engine
_engine.guest_path = lambda: Path(sys.argv[1])
compiled = _engine.Compiled()
compiled.get()
"""


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """A guest that compiles in no time."""
    path = tmp_path / "small.wasm"
    path.write_bytes(bytes(wasmtime.wat2wasm('(module (func (export "f") (result i32) i32.const 42))')))
    monkeypatch.setattr(_engine, "guest_path", lambda: path)
    return path


@pytest.fixture
def cache(tmp_path, monkeypatch):
    path = tmp_path / "made" / "by us"
    monkeypatch.setenv("GRIDHOLD_CACHE", str(path))
    return path


def start() -> bool:
    """Does what a new process does, sees that the module works, and says whether it came from disk."""
    compiled = _engine.Compiled()
    engine, module = compiled.get()
    store = wasmtime.Store(engine)
    assert wasmtime.Instance(store, module, []).exports(store)["f"](store) == 42
    return compiled.loaded


@pytest.fixture
def filled(guest, cache) -> Path:
    assert not start()
    (file,) = cache.iterdir()
    return file


def test_second_start_loads(filled, cache):
    assert filled.suffix == ".cwasm"
    assert cache.stat().st_mode & 0o777 == 0o700
    assert start()


def test_another_guest_is_another_file(filled, guest, cache):
    guest.write_bytes(bytes(wasmtime.wat2wasm('(module (func (export "f") (result i32) i32.const 42) (func))')))
    assert not start()
    assert len(list(cache.iterdir())) == 2


def test_another_wasmtime_is_another_file(filled, cache, monkeypatch):
    monkeypatch.setattr(_engine, "_version", lambda: "0.0.1")
    assert not start()
    assert len(list(cache.iterdir())) == 2


def test_eight_processes_at_once(guest, cache):
    children = [subprocess.Popen([sys.executable, "-c", CHILD, str(guest)], env=dict(os.environ)) for _ in range(8)]
    assert [child.wait() for child in children] == [0] * 8
    assert [p.suffix for p in cache.iterdir()] == [".cwasm"]
    assert start()


@pytest.mark.parametrize("case", ["truncated", "empty", "garbage", "flipped", "foreign", "directory", "link", "fifo"])
def test_bad_file_is_made_anew(filled, tmp_path, case):
    raw = bytearray(filled.read_bytes())
    filled.unlink()
    if case == "truncated":
        filled.write_bytes(raw[: len(raw) // 2])
    elif case == "empty":
        filled.write_bytes(b"")
    elif case == "garbage":
        filled.write_bytes(os.urandom(len(raw)))
    elif case == "flipped":
        raw[len(raw) // 2] ^= 1
        filled.write_bytes(raw)
    elif case == "foreign":
        raw[len(_engine._MAGIC)] ^= 1  # of the identity
        filled.write_bytes(raw)
    elif case == "directory":
        (filled / "x").mkdir(parents=True)
    elif case == "link":
        (tmp_path / "elsewhere").write_bytes(raw)
        filled.symlink_to(tmp_path / "elsewhere")
    elif case == "fifo":
        os.mkfifo(filled)
    assert not start()
    assert start() == (case != "directory")
    assert list(filled.parent.iterdir()) == [filled]


@pytest.mark.parametrize("case", ["others may write", "a file", "a link", "none", "cannot be made"])
def test_bad_directory_means_no_cache(filled, cache, monkeypatch, tmp_path, case):
    if case == "others may write":
        cache.chmod(0o770)
    elif case == "a file":
        monkeypatch.setenv("GRIDHOLD_CACHE", str(filled))
    elif case == "a link":
        (tmp_path / "link").symlink_to(cache)
        monkeypatch.setenv("GRIDHOLD_CACHE", str(tmp_path / "link"))
    elif case == "none":
        monkeypatch.setenv("GRIDHOLD_CACHE", "")
    elif case == "cannot be made":
        monkeypatch.setenv("GRIDHOLD_CACHE", "/proc/no/such")
    assert not start()


def test_directory_that_cannot_be_written(guest, cache, monkeypatch):
    """Read-only, full: whatever the reason, the guest is compiled all the same."""

    def refuse(*args, **kwargs):
        raise OSError(30, "read-only")

    monkeypatch.setattr(_engine.tempfile, "mkstemp", refuse)
    assert not start()
    assert list(cache.iterdir()) == []
