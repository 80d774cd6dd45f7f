"""What numpy gets for each data type."""

import json
import sys
import types

import numpy as np
import pytest
from conftest import FIXTURES

import gridhold
from gridhold._types import Element


def read(path, at=()):
    with gridhold.open_array(FIXTURES, path) as array:
        return array[at] if at else array[...]


@pytest.mark.parametrize(
    ("path", "dtype"),
    [
        ("dtype_bool", "?"), ("dtype_int8", "i1"), ("dtype_complex128", "<c16"), ("dtype_int4", "i1"),
        ("dtype_datetime64_ns", "<M8[ns]"), ("dtype_timedelta64_s", "<m8[10s]"), ("dtype_utf32", "<U5"),
        ("dtype_ntbytes", "S5"), ("dtype_rawbytes", "V3"), ("dtype_r24", "V3"), ("dtype_string", "O"),
        ("dtype_vbytes", "O"), ("dtype_struct", [("x", "<f4"), ("id", "<u2")]), ("dtype_bfloat16", "<u2"),
        ("dtype_float8_e4m3fn", "u1"), ("v2_S5", "S5"), ("v2_U5", "<U5"), ("v2_M8", "<M8[ns]"), ("v2_string", "O"),
        ("v2_struct", [("x", "<f4"), ("id", "<u2")]),
    ],
)  # fmt: skip
def test_dtypes(path, dtype, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    got = read(path)
    assert got.dtype == np.dtype(dtype)
    with gridhold.open_array(FIXTURES, path) as array:
        for cache in (None, array.shard_cache()):
            sub = array.retrieve_subchunk((0,) * array.ndim, shard_cache=cache)
            assert sub.dtype == got.dtype
            inside = tuple(slice(0, n) for n in np.minimum(sub.shape, array.shape))
            assert sub[inside].tolist() == got[inside].tolist()


def test_values():
    zarr_python = {
        "dtype_utf32": str, "dtype_ntbytes": bytes, "dtype_string": str, "dtype_vbytes": bytes, "v2_string": str,
    }  # fmt: skip
    for path, kind in zarr_python.items():
        assert all(isinstance(x, kind) for x in read(path).reshape(-1).tolist()), path
    with gridhold.open_array(FIXTURES, "dtype_string_fill") as array:
        assert "none" in array[...].reshape(-1).tolist()
    got = read("dtype_struct")
    assert got["x"].dtype == np.float32 and got["id"].dtype == np.uint16


def test_with_ml_dtypes(monkeypatch):
    """The module is not needed; if it is there, its types are used, and the bits stay."""
    fake = types.ModuleType("ml_dtypes")
    fake.bfloat16 = np.dtype("<f2")  # any other type of two bytes
    monkeypatch.setitem(sys.modules, "ml_dtypes", fake)
    with gridhold.open_array(FIXTURES, "dtype_bfloat16") as array:
        cached = array.retrieve_region((0,) * array.ndim, array.shape, shard_cache=array.shard_cache())
        plain = array[...]
    assert cached.dtype == plain.dtype == np.dtype("<f2")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert read("dtype_bfloat16").tobytes() == cached.tobytes() == plain.tobytes()


def test_real_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert read("dtype_bfloat16").dtype == np.dtype(ml_dtypes.bfloat16)
    assert read("dtype_float8_e4m3fn").dtype == np.dtype(ml_dtypes.float8_e4m3fn)


def named(name, **configuration):
    return {"name": name, "configuration": configuration}


@pytest.mark.parametrize(
    ("data_type", "fill", "dtype", "value"),
    [
        ("uint64", b"\xff" * 8, "<u8", 2**64 - 1),
        ("int2", b"\xfe", "i1", -2),
        (named("numpy.datetime64", unit="generic", scale_factor=1), bytes(7) + b"\x80", "<M8", None),
        (named("numpy.timedelta64", unit="μs", scale_factor=25), b"\x02" + bytes(7), "<m8[25us]", None),
        ("r16", b"\x01\x02", "V2", b"\x01\x02"),
        (named("structured", fields=[["a", "int8"], ["b", named("null_terminated_bytes", length_bytes=2)]]),
         b"\x05hi", [("a", "i1"), ("b", "S2")], (5, b"hi")),
        (named("struct", fields=[{"name": "s", "data_type": named("struct", fields=[{"name": "t", "data_type": "int16"}])}]),
         b"\x01\x00", [("s", [("t", "<i2")])], ((1,),)),
        ("string", b"a\0", "O", "a\0"),
        ("bytes", b"a\0", "O", b"a\0"),
    ],
)  # fmt: skip
def test_elements(data_type, fill, dtype, value):
    element = Element(data_type, fill)
    assert element.dtype == np.dtype(dtype)
    full = element.full((2, 3))
    assert full.shape == (2, 3) and full.dtype == element.dtype
    if not element.variable:
        assert full.tobytes() == fill * 6 and element.size == len(fill)
    if value is not None:
        assert full[1, 2] == np.array(value, element.dtype)[()] if not element.variable else full[1, 2] == value


def test_nan_bits_stay():
    for data_type, bits in (
        ("float16", b"\x01\x7e"),
        ("float32", b"\x01\0\xc0\x7f"),
        ("float64", b"\x05" + bytes(5) + b"\xf8\xff"),
    ):
        assert Element(data_type, bits).full((3,)).tobytes() == bits * 3


def test_what_numpy_has_not():
    for data_type in ("int3", named("struct", fields=[{"name": "a", "data_type": "string"}]), named("fixed_length_utf32")):
        with pytest.raises(gridhold.UnsupportedError):
            Element(data_type, b"")


@pytest.mark.parametrize("answer", [b"", b"\x01\0\0\0", b"\x01\0\0\0ab", b"\x01\0\0\0\xff", b"\x01\0\0\0a" * 2])
def test_answers_that_contradict_themselves(answer):
    with pytest.raises(gridhold.InternalError):
        Element("string", b"").array(answer, (1,))


def test_fixtures_have_every_type():
    names = {json.dumps(json.loads((f / "zarr.json").read_text())["data_type"]) for f in FIXTURES.glob("dtype_*")}
    assert len(names) >= 20
