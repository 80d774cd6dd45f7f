"""``gridhold.blosc2``: programs of python-blosc2's documents, with another import."""

import os
import subprocess
import sys

import numpy as np
import pytest

import gridhold
import gridhold.blosc2 as blosc2

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_schunk_mapped(here):
    """``SChunk.__init__``, "Examples": written and read through a mapping."""
    a = np.arange(3, dtype=np.int64)
    chunksize, n_chunks = a.size * a.itemsize, 2
    schunk_mmap = blosc2.SChunk(chunksize=chunksize, mmap_mode="w+", initial_mapping_size=chunksize * n_chunks, urlpath="schunk.b2frame")
    assert schunk_mmap.append_data(a) == 1
    assert schunk_mmap.append_data(a * 2) == 2
    del schunk_mmap
    schunk_mmap = blosc2.open("schunk.b2frame", mmap_mode="r")
    assert np.frombuffer(schunk_mmap.decompress_chunk(0), dtype=np.int64).tolist() == [0, 1, 2]
    assert np.frombuffer(schunk_mmap.decompress_chunk(1), dtype=np.int64).tolist() == [0, 2, 4]
    assert schunk_mmap.mode == "r"
    with pytest.raises(gridhold.UnsupportedError):
        blosc2.open("schunk.b2frame", mmap_mode="c")


def test_schunk_by_options(here):
    """The tutorial about super-chunks."""
    cparams = blosc2.CParams(codec=blosc2.Codec.LZ4, typesize=4, filters=[blosc2.Filter.BITSHUFFLE])
    storage = blosc2.Storage(contiguous=True, urlpath="myfile.b2frame", mode="w")
    schunk = blosc2.SChunk(chunksize=4000, cparams=cparams, dparams=blosc2.DParams(nthreads=4), storage=storage)
    buffers = [i * np.arange(1000, dtype="int32") for i in range(10)]
    assert [schunk.append_data(buffer) for buffer in buffers] == list(range(1, 11))
    assert schunk.update_data(0, buffers[1], copy=True) == 10 and schunk.insert_data(1, buffers[2], copy=True) == 11
    assert schunk.delete_chunk(1) == 10 and schunk.cparams["codec"] == "lz4"
    assert np.frombuffer(schunk[1000:1010], "i4").tolist() == list(range(10)) and len(schunk) == 10_000
    schunk.vlmeta["info1"] = "This is an example"
    schunk.vlmeta["info2"] = {"a": 1, "b": [2, 3]}
    schunk.attrs["info3"] = 1
    assert schunk.vlmeta[:] == {"info1": "This is an example", "info2": {"a": 1, "b": [2, 3]}, "info3": 1}
    del schunk.vlmeta["info1"]
    assert len(schunk.vlmeta) == 2
    copied = blosc2.schunk_from_cframe(schunk.to_cframe())
    assert copied[:] == schunk[:] and copied.append_data(buffers[0]) == 11
    with pytest.raises(ValueError):
        blosc2.ndarray_from_cframe(schunk.to_cframe())
    assert "items 10000" in repr(schunk) and "lz4" in repr(schunk) and "<table>" in schunk._repr_html_()
    empty = blosc2.SChunk(chunksize=4000, cparams={"typesize": 4})
    assert empty.fill_special(2500, blosc2.SpecialValue.ZERO) == 3 and empty[:] == bytes(10_000)
    value = blosc2.SChunk(chunksize=4000, cparams={"typesize": 4})
    value.fill_special(1000, blosc2.SpecialValue.VALUE, np.int32(7))
    assert np.frombuffer(value[:], "i4").tolist() == [7] * 1000


def test_ndarray(here):
    """The tutorial about arrays."""
    array = blosc2.zeros((100, 100), dtype=np.int32, urlpath="ndarray_tutorial.b2nd", mode="w", chunks=(30, 30), blocks=(10, 10))
    array[0, :] = np.arange(100, dtype=array.dtype)
    array[:, 0] = np.arange(100, dtype=array.dtype)
    array2 = blosc2.open("ndarray_tutorial.b2nd")
    assert array2[:].dtype == np.int32 and array2[0, 0] == 0 and array2[0, 1] == 1 and array2[0, -1] == 99
    with pytest.raises(OSError):
        array2[0] = 1
    array.resize((110, 100))
    assert array.shape == (110, 100) and array.ext_shape == (120, 120)
    assert array2.refresh() and array2.shape == (110, 100) and array2.change_tick > 0
    b = array.copy(chunks=(60, 100), blocks=(20, 50), cparams=blosc2.CParams(codec=blosc2.Codec.ZSTD, clevel=9), urlpath="copy.b2nd", mode="w")
    assert b.chunks == (60, 100) and b.schunk.cparams["clevel"] == 9 and np.array_equal(b[...], array[...])
    c = array.slice((slice(0, 3), slice(None)))
    assert isinstance(c, blosc2.NDArray) and c.shape == (3, 100) and c.urlpath != "" and array.copy(np.float64).dtype == np.float64
    blosc2.save(c, "saved.b2nd", mode="w")
    assert np.array_equal(blosc2.open("saved.b2nd")[:], array[:3])
    assert np.array_equal(blosc2.ndarray_from_cframe(c.to_cframe())[:], c[:])
    assert blosc2.arange(10, shape=(2, 5))[1, 2] == 7 and blosc2.linspace(0, 1, 5)[-1] == 1 and blosc2.ones(3)[1] == 1.0
    assert np.isnan(blosc2.nans((2,))[:]).all() and blosc2.full((2, 2), b"ab")[1, 1] == b"ab" and blosc2.frombuffer(bytes(4), (2,), "u2").shape == (2,)
    assert blosc2.asarray(np.arange(4), dtype="f4").dtype == np.float32 and blosc2.empty((2, 2)).shape == (2, 2)
    b = blosc2.linspace(1, 3, num=23 * 11, shape=[23, 11])
    b.resize([50, 10])
    assert b.shape == (50, 10)
    blosc2.remove_urlpath("saved.b2nd")
    blosc2.remove_urlpath("saved.b2nd")
    with pytest.raises(FileNotFoundError):
        blosc2.open("saved.b2nd")


def test_stores(here):
    """The examples of EmbedStore, DictStore and TreeStore."""
    with blosc2.EmbedStore(urlpath="embed.b2e", mode="w") as estore:
        estore["/node1"] = np.array([1, 2, 3])
        estore["/node2"] = blosc2.ones(2)
        assert list(estore.keys()) == ["/node1", "/node2"] and estore.get("/none", 5) == 5
    with blosc2.DictStore("dict.b2d", mode="w", threshold=100) as dstore:
        dstore["/node1"] = np.array([1, 2, 3])
        dstore["/node2"] = blosc2.zeros((1000,))
        assert dstore.to_b2z(filename="dict.b2z") == str(here / "dict.b2z") and dstore.to_b2z(overwrite=True) == str(here / "dict.b2z")
        assert sorted((k, v[0]) for k, v in dstore.items()) == [("/node1", 1), ("/node2", 0)]
    with blosc2.open("dict.b2z") as again:
        assert isinstance(again, blosc2.DictStore) and again["/node2"].shape == (1000,)
    with blosc2.TreeStore("tree.b2d", mode="w") as tstore:
        tstore["/child0/leaf1"] = np.array([1, 2, 3])
        tstore["/child0/child1/leaf2"] = np.array([4, 5, 6])
        tstore["/child0/child2"] = np.array([7, 8, 9])
        assert tstore.vlmeta[:] == {}
        tstore.vlmeta["author"] = "blosc2"
        tstore.vlmeta["tags"] = ["a", {"b": 1}]
        tstore.node_vlmeta("/child0/")["of"] = 7
        del tstore.vlmeta["tags"]
        assert tstore.vlmeta["author"] == "blosc2" and tstore.vlmeta[:] == {"author": "blosc2"} and tstore.get_vlmeta("/child0") == {"of": 7}
        for wrong in (lambda: tstore.vlmeta["none"], lambda: tstore.vlmeta.__delitem__("none")):
            with pytest.raises(KeyError):
                wrong()
        with pytest.raises(ValueError):
            tstore.node_vlmeta("/child0/leaf1")["x"] = 1
        assert sorted(tstore.get_children("/child0")) == ["/child0/child1", "/child0/child2", "/child0/leaf1"]
        assert sorted(tstore.get_descendants("/child0")) == ["/child0/child1", "/child0/child1/leaf2", "/child0/child2", "/child0/leaf1"]
        walked = {path: (sorted(nodes), sorted(leaves)) for path, nodes, leaves in tstore.walk("/child0")}
        assert walked == {"/child0": (["child1"], ["child2", "leaf1"]), "/child0/child1": ([], ["leaf2"])}
        assert [p for p, _, _ in tstore.walk("/", topdown=False)] == ["/child0/child1", "/child0", "/"]


WRITER = """
import sys, numpy as np, gridhold.blosc2 as blosc2
array = blosc2.open("grows.b2nd", mode="a", locking=len(sys.argv) > 1)
for line in sys.stdin:
    if len(sys.argv) > 1:
        with array.holding_lock():
            array.append(np.full(array.shape[0] % 7 + 1, array.shape[0]))
    else:
        n = array.shape[0]
        array.resize((n + 100,))
        array[n:] = np.arange(n, n + 100)
    print(array.shape[0], flush=True)
"""


def test_growth_with_readers(here):
    """The guide about one writer and many readers, which need no lock."""
    blosc2.zeros((0,), dtype="i8", urlpath="grows.b2nd", mode="w", chunks=(64,), blocks=(16,))
    readers = [blosc2.open("grows.b2nd") for _ in range(2)]
    writer = subprocess.Popen([sys.executable, "-c", WRITER], env=ENVIRONMENT, stdin=-1, stdout=-1, text=True, bufsize=1)
    try:
        for n in range(100, 700, 100):
            writer.stdin.write("go\n")
            assert writer.stdout.readline() == f"{n}\n"
            assert readers[0].refresh() and readers[0].shape == (n,)
            for reader in readers:  # the second follows as it reads
                assert np.array_equal(reader[:], np.arange(n)) and reader.shape == (n,)
        assert np.array_equal(readers[1][:], np.arange(600)) and readers[1].change_tick > 0
    finally:
        writer.stdin.close()
        assert writer.wait(300) == 0
        writer.stdout.close()


def test_append_under_a_held_lock(here):
    """Two processes append what depends on what is there; nothing is lost and nothing is torn."""
    array = blosc2.zeros((1,), dtype="i8", urlpath="grows.b2nd", mode="w", locking=True)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, "locked"], env=ENVIRONMENT, stdin=-1, stdout=-1, text=True) for _ in range(2)]
    for w in writers:
        w.stdin.write("go\n" * 10)
        w.stdin.close()
    for _ in range(10):
        with array.holding_lock():
            array.append(np.full(array.shape[0] % 7 + 1, array.shape[0]))
    for w in writers:
        assert w.wait(300) == 0 and len(w.stdout.read().splitlines()) == 10
        w.stdout.close()
    found, at, runs = array[:], 1, 0
    while at < len(found):
        n = at % 7 + 1
        assert (found[at : at + n] == at).all()
        at, runs = at + n, runs + 1
    assert runs == 30 and array.shape == (at,)


def test_read_modify_write(here, monkeypatch):
    """``holding_lock``, with the lock asked for by the environment."""
    monkeypatch.setenv("BLOSC_LOCKING", "1")
    schunk = blosc2.SChunk(chunksize=8, data=np.zeros(2, "i8"), urlpath="rmw.b2frame", mode="w")
    assert os.path.exists("rmw.b2frame.b2lock")
    with schunk.holding_lock():
        n = np.frombuffer(schunk.decompress_chunk(0), "i8")[0]
        schunk.update_data(0, np.array([n + 1]), copy=True)
        schunk.update_data(1, np.array([n + 2]), copy=True)
    assert np.frombuffer(schunk[:], "i8").tolist() == [1, 2]
