"""A directory as a store: nothing leads out of it, changes are noticed, few files stay open."""

import asyncio
import os
import shutil

import numpy as np
import pytest
from conftest import SHARD, SUB, VALUES, block, sharded, write

import gridhold


def read(store, key, off=0, length=100, version=""):
    return store.read_ranges(key, [(off, length)], version)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "root" / "in").mkdir(parents=True)
    (tmp_path / "root" / "in" / "x").write_bytes(b"inside")
    (tmp_path / "secret").write_bytes(b"secret")
    with gridhold.FileStore(tmp_path / "root") as store:
        yield store


def test_ranges(store):
    got = store.read_ranges("in/x", [(0, 2), (2, 100), (-1, 3), (-1, 100), (1, -1), (9, 5), (0, 0)], "")
    assert list(got.data) == [b"in", b"side", b"ide", b"inside", b"nside", b"", b""]
    assert got.size == 6 and got.version
    assert store.read_ranges("in/x", [(0, 1)], got.version).version == got.version
    with pytest.raises(gridhold.StaleError):
        read(store, "in/x", version="another")


@pytest.mark.parametrize("key", ["", "/", "/in/x", "in/../in/x", "../secret", "in//x", "in/x/", ".", "a\0b", "in\\x"])
def test_keys_that_are_none(store, key):
    with pytest.raises(gridhold.InvalidError):
        read(store, key)


@pytest.mark.parametrize("key", ["nope", "nope/x", "in/x/y", "in/x/y/z"])
def test_absent(store, key):
    with pytest.raises(gridhold.NotFoundError):
        read(store, key)


def test_links(store, tmp_path):
    root = tmp_path / "root"
    links = {
        "good": "in/x",
        "in/up": "../in/x",
        "twice": "good",
        "dir": "in",
        "out": "../secret",
        "absolute": str(root / "in" / "x"),
        "parent": "..",
        "dots": "in/../../root/in/x",
        "loop": "loop",
        "in/out": "../../secret",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    for key in ("good", "in/up", "twice", "dir/x"):
        assert read(store, key).data[0] == b"inside"
    for key in ("out", "absolute", "parent/secret", "parent/root/in/x", "dots", "loop", "in/out", "dir/out"):
        with pytest.raises(gridhold.NotAllowedError):
            read(store, key)
    assert "dir/" in store.list("") and "parent" in store.list("")
    with pytest.raises(gridhold.NotAllowedError):
        store.list("parent/")


def test_directory_that_became_a_link(store, tmp_path):
    read(store, "in/x")
    shutil.rmtree(tmp_path / "root" / "in")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"secret")
    (tmp_path / "root" / "in").symlink_to(outside)
    with pytest.raises(gridhold.NotAllowedError):
        read(store, "in/x")


def test_not_a_file(store, tmp_path):
    with pytest.raises(gridhold.IOFailedError):
        read(store, "in")
    os.mkfifo(tmp_path / "root" / "fifo")
    with pytest.raises(gridhold.IOFailedError):
        read(store, "fifo")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_without_permission(store, tmp_path):
    (tmp_path / "root" / "in" / "x").chmod(0)
    with pytest.raises(gridhold.NotAllowedError):
        read(store, "in/x")


def test_list(store, tmp_path):
    (tmp_path / "root" / "a").write_bytes(b"")
    assert store.list("") == ["a", "in/"]
    assert store.list("in/") == ["x"]
    assert store.list("nope/") == []


def test_closed(store):
    read(store, "in/x")
    store.close()
    store.close()
    with pytest.raises(gridhold.ClosedError):
        read(store, "in/x")


def test_few_files_stay_open(tmp_path):
    for i in range(50):
        (tmp_path / f"f{i}").write_bytes(b"%d" % i)
    before = len(os.listdir("/proc/self/fd"))
    with gridhold.FileStore(tmp_path, handles=8) as store:
        for _ in range(2):
            for i in range(50):
                assert read(store, f"f{i}").data[0] == b"%d" % i
        assert len(os.listdir("/proc/self/fd")) <= before + 9
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("how", ["replaced", "rewritten", "moved", "cut", "removed"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_changed_shard_is_noticed(directory, how, asynchronous, monkeypatch):
    """Of equal size or not, in place or not: never the new bytes cut by the old index."""
    changed = sharded(VALUES + np.uint16(1), SHARD, SUB, codec="gzip")["c/0/0"]
    path = directory / "c/0/0"
    if how == "moved":  # the old file lives on elsewhere, so only the path tells
        monkeypatch.setattr("gridhold._file._RECHECK_S", 0.0)

    def change():
        if how == "rewritten":
            path.write_bytes(changed)
        elif how == "cut":
            path.write_bytes(path.read_bytes()[:40])
        elif how == "removed":
            path.unlink()
        else:
            if how == "moved":
                path.rename(path.with_name("kept"))
            new = path.with_name("new")
            new.write_bytes(changed)
            new.replace(path)

    def check(got):
        assert np.array_equal(got, np.full(SUB, 7) if how == "removed" else block(VALUES + 1, (1, 1)))

    async def main():
        async with await gridhold.aio.open_array(directory) as array:
            cache = array.shard_cache()
            assert np.array_equal(await array.retrieve_subchunk((1, 1), shard_cache=cache), block(VALUES, (1, 1)))
            change()
            check(await array.retrieve_subchunk((1, 1), shard_cache=cache))

    def blocking():
        with gridhold.open_array(directory) as array:
            cache = array.shard_cache()
            assert np.array_equal(array.retrieve_subchunk((1, 1), shard_cache=cache), block(VALUES, (1, 1)))
            change()
            check(array.retrieve_subchunk((1, 1), shard_cache=cache))

    if how == "cut":
        with pytest.raises(gridhold.CorruptError):
            asyncio.run(main()) if asynchronous else blocking()
    else:
        asyncio.run(main()) if asynchronous else blocking()


def test_two_writes_in_one_tick(tmp_path):
    """A file so young that another write could leave its time alone is not trusted before it is older."""
    path = tmp_path / "x"
    for i in range(20):
        path.write_bytes(b"%04d" % i)
        with gridhold.FileStore(tmp_path) as store:
            first = read(store, "x")
            with open(path, "r+b") as f:
                f.write(b"%04d" % (i + 1000))
            with pytest.raises(gridhold.StaleError):
                read(store, "x", version=first.version)


def test_many_names(tmp_path):
    """Each name reaches its own key and no other."""
    names = ["a b", "a+b", "a#b", "a?b", "a%20b", "\u00e9", "e\u0301", "\u4e2d\u6587", "n" * 200]
    for i, name in enumerate(names):
        write(tmp_path, sharded(VALUES + np.uint16(i), SHARD, SUB, seed_path=name))
    for i, name in enumerate(names):
        with gridhold.open_array(tmp_path, name) as array:
            assert np.array_equal(array.retrieve_subchunk((0, 0)), block(VALUES + np.uint16(i), (0, 0)))
