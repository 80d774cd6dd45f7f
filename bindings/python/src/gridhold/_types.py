"""Elements: what numpy has for a data type, and arrays of what the guest answers."""

from __future__ import annotations

import importlib
import math
import struct
from typing import Any

import numpy as np

from ._errors import InternalError, UnsupportedError

NDArray = np.ndarray[Any, Any]
Shape = tuple[int, ...]

_PLAIN = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
_TINY_INTEGERS = {"int2": "i1", "int4": "i1", "uint2": "u1", "uint4": "u1"}
_TINY_FLOATS = ("bfloat16", "float8_", "float6_", "float4_")
_TEXT, _BYTES = ("string",), ("variable_length_bytes", "bytes")


class Element:
    """One element of an array. Immutable; safe for use by several threads.

    ``dtype`` is of what reads return. ``bits`` is what lies in memory, little
    endian, of the same size: another one than ``dtype`` only where bytes
    cannot be swapped in that. ``size`` in bytes, 0 where it varies: then
    arrays hold ``str`` or ``bytes`` objects. ``fill`` has no axes.
    """

    def __init__(self, data_type: Any, fill: bytes) -> None:
        name = _split(data_type)[0]
        self.text = name in _TEXT
        self.variable = self.text or name in _BYTES
        self.dtype = np.dtype(object) if self.variable else _dtype(data_type)
        self.size = 0 if self.variable else self.dtype.itemsize
        # Types of other packages know no byte orders.
        self.bits = np.dtype(f"<u{self.size}") if name.startswith(_TINY_FLOATS) else self.dtype
        self.fill: NDArray
        if self.variable:
            self.fill = np.empty((), object)
            self.fill[()] = fill.decode() if self.text else fill
        else:
            self.fill = np.frombuffer(fill, self.dtype).reshape(())

    def array(self, data: bytes | bytearray, shape: Shape) -> NDArray:
        """Elements as the guest answers them, in C order. A ``bytearray`` becomes the array's memory."""
        count = math.prod(shape)
        if self.variable:
            return self._objects(data, count).reshape(shape)
        if len(data) != count * self.size:
            raise InternalError(f"guest: answered {len(data)} bytes for {list(shape)}")
        return np.ndarray(shape, self.dtype, data if isinstance(data, bytearray) else bytearray(data))

    def _objects(self, data: bytes | bytearray, count: int) -> NDArray:
        out = np.empty(count, object)
        at = 0
        try:
            for i in range(count):
                (n,) = _LENGTH.unpack_from(data, at)
                at += 4 + n
                piece = bytes(data[at - n : at])
                out[i] = piece.decode() if self.text else piece
        except (struct.error, UnicodeDecodeError):
            at = -1
        if at != len(data):
            raise InternalError(f"guest: answered {len(data)} bytes that are not {count} elements")
        return out

    def full(self, shape: Shape) -> NDArray:
        """An array of fill values, to the bit."""
        out = np.empty(shape, self.dtype)
        out[...] = self.fill
        return out


_LENGTH = struct.Struct("<I")


def _split(data_type: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(data_type, str):
        return data_type, {}
    return data_type["name"], data_type.get("configuration") or {}


def _dtype(data_type: Any) -> np.dtype[Any]:
    """The numpy type of a data type of fixed size, as v3 metadata names it. Raises UnsupportedError."""
    name, configuration = _split(data_type)
    try:
        if name in _PLAIN:
            return np.dtype(name).newbyteorder("<")
        if name in _TINY_INTEGERS:
            return np.dtype(_TINY_INTEGERS[name])
        if name.startswith(_TINY_FLOATS):
            return _tiny_float(name)
        if name in ("numpy.datetime64", "numpy.timedelta64"):
            unit, scale = configuration["unit"], configuration["scale_factor"]
            kind = "<M8" if name == "numpy.datetime64" else "<m8"
            return np.dtype(kind if unit == "generic" else f"{kind}[{scale}{unit.replace('μ', 'u')}]")
        if name == "fixed_length_utf32":
            return np.dtype(f"<U{configuration['length_bytes'] // 4}")
        if name == "null_terminated_bytes":
            return np.dtype(f"S{configuration['length_bytes']}")
        if name == "raw_bytes":
            return np.dtype(f"V{configuration['length_bytes']}")
        if name[:1] == "r" and name[1:].isdigit():
            return np.dtype(f"V{int(name[1:]) // 8}")
        if name in ("struct", "structured"):
            return np.dtype([_field(field) for field in configuration["fields"]])
    except (KeyError, TypeError, ValueError) as e:
        raise UnsupportedError(f"zarr: data type {name}: numpy has none for it: {e}") from None
    raise UnsupportedError(f"zarr: data type {name}: numpy has none for it")


def _field(field: Any) -> tuple[str, np.dtype[Any]]:
    """Of a struct; its older name wrote pairs."""
    name, data_type = (field["name"], field["data_type"]) if isinstance(field, dict) else field
    return name, _dtype(data_type)


def _tiny_float(name: str) -> np.dtype[Any]:
    """Of ml_dtypes where that is installed; else the bits."""
    try:
        found: np.dtype[Any] = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
        return found
    except (ImportError, AttributeError):
        return np.dtype("<u2" if name == "bfloat16" else "u1")
