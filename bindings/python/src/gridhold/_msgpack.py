"""MessagePack, as far as metadata of containers needs it: whole values, bounded by their bytes.

Format: https://github.com/msgpack/msgpack/blob/master/spec.md
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from ._errors import CorruptError, InvalidError, UnsupportedError

_DEPTH_MAX = 64
_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_FIXED_EXT = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


class Ext(NamedTuple):
    """A value of a type that applications define."""

    type: int
    data: bytes


def decode(raw: bytes) -> Any:
    """The value that is all of ``raw``. Raises CorruptError."""
    reader = _Reader(raw)
    try:
        value = reader.value(0)
    except (struct.error, UnicodeDecodeError, TypeError) as e:  # TypeError: a list for a key
        raise CorruptError(f"msgpack: at {reader.at}: {e}", offset=reader.at) from None
    if reader.at != len(raw):
        raise CorruptError(f"msgpack: at {reader.at}: more than one value", offset=reader.at)
    return value


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.at = 0

    def _take(self, n: int) -> bytes:
        if n > len(self._raw) - self.at:
            raise struct.error("ends early")
        self.at += n
        return self._raw[self.at - n : self.at]

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _length(self, lead: int, first: int) -> int:
        return int(self._number((">B", ">H", ">I")[lead - first]))

    def value(self, depth: int) -> Any:
        if depth > _DEPTH_MAX:
            raise struct.error("too deep")
        lead = self._take(1)[0]
        if lead < 0x80:
            return lead
        if lead >= 0xE0:
            return lead - 256
        if lead < 0x90:
            return self._map(lead & 15, depth)
        if lead < 0xA0:
            return self._list(lead & 15, depth)
        if lead < 0xC0:
            return self._take(lead & 31).decode()
        if lead in _NUMBERS:
            return self._number(_NUMBERS[lead])
        if lead in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[lead]
        if 0xC4 <= lead <= 0xC6:
            return self._take(self._length(lead, 0xC4))
        if 0xC7 <= lead <= 0xC9 or lead in _FIXED_EXT:
            n = _FIXED_EXT[lead] if lead in _FIXED_EXT else self._length(lead, 0xC7)
            return Ext(self._number(">b"), self._take(n))
        if 0xD9 <= lead <= 0xDB:
            return self._take(self._length(lead, 0xD9)).decode()
        if lead in (0xDC, 0xDD):
            return self._list(self._number(">H" if lead == 0xDC else ">I"), depth)
        if lead in (0xDE, 0xDF):
            return self._map(self._number(">H" if lead == 0xDE else ">I"), depth)
        raise struct.error("0xc1 is no value")

    def _list(self, n: int, depth: int) -> list[Any]:
        return [self.value(depth + 1) for _ in range(n)]  # each has a byte at least, or it ends early

    def _map(self, n: int, depth: int) -> dict[Any, Any]:
        found = {}
        for _ in range(n):
            key = self.value(depth + 1)
            found[key] = self.value(depth + 1)
        return found


def encode(value: Any) -> bytes:
    """Raises UnsupportedError for what MessagePack has no form of."""
    out = bytearray()
    _append(out, value, 0)
    return bytes(out)


def _append(out: bytearray, value: Any, depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise InvalidError("msgpack: nested too deep")
    if value is None or isinstance(value, bool):
        out.append({None: 0xC0, False: 0xC2, True: 0xC3}[value])
    elif isinstance(value, int):
        _integer(out, value)
    elif isinstance(value, float):
        out += struct.pack(">Bd", 0xCB, value)
    elif isinstance(value, str):
        raw = value.encode()
        _head(out, len(raw), 0xA0, 32, (0xD9, 0xDA, 0xDB))
        out += raw
    elif isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        _head(out, len(raw), 0, 0, (0xC4, 0xC5, 0xC6))
        out += raw
    elif isinstance(value, Ext):
        _head(out, len(value.data), 0, 0, (0xC7, 0xC8, 0xC9))
        out += struct.pack(">b", value.type) + value.data
    elif isinstance(value, (list, tuple)):
        _head(out, len(value), 0x90, 16, (None, 0xDC, 0xDD))
        for item in value:
            _append(out, item, depth + 1)
    elif isinstance(value, dict):
        _head(out, len(value), 0x80, 16, (None, 0xDE, 0xDF))
        for key, item in value.items():
            _append(out, key, depth + 1)
            _append(out, item, depth + 1)
    elif hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a scalar of numpy
        _append(out, value.item(), depth + 1)
    else:
        raise UnsupportedError(f"msgpack: no form for a {type(value).__name__}")


def _integer(out: bytearray, n: int) -> None:
    if -32 <= n < 128:
        out += struct.pack(">b", n)
        return
    leads = (0xCC, 0xCD, 0xCE, 0xCF) if n >= 0 else (0xD0, 0xD1, 0xD2, 0xD3)
    for lead in leads:
        try:
            out += bytes((lead,)) + struct.pack(_NUMBERS[lead], n)
            return
        except struct.error:
            continue
    raise InvalidError(f"msgpack: {n}: more than 64 bits")


def _head(out: bytearray, n: int, short: int, below: int, leads: tuple[int | None, int, int]) -> None:
    if n < below:
        out.append(short | n)
        return
    for lead, form, most in zip(leads, "BHI", (1 << 8, 1 << 16, 1 << 32)):
        if lead is not None and n < most:
            out += struct.pack(f">B{form}", lead, n)
            return
    raise InvalidError("msgpack: too long")
