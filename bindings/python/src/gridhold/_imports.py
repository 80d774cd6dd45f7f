"""What the guest asks of its host: the imports of docs/abi.md.

An import that may take time becomes a job. Its request is read from guest
memory at once; it runs without touching that memory; what came of it is
written by whoever holds the instance.
"""

from __future__ import annotations

import json
import struct
import threading
from typing import TYPE_CHECKING

from . import _abi, _decoders
from ._errors import UNSUPPORTED, InvalidError
from ._http import Request, Response
from ._store import Answer, Range

if TYPE_CHECKING:
    from ._lent import Lent
    from ._memory import Memory
    from ._runtime import Runtime

_LENT_MIN = 4096  # smaller outputs are decoded in the guest: crossing over costs more than it saves


class Job:
    """Something the guest waits for."""

    patient = False
    """It may wait for long, and for what others do first: it takes no thread from those others."""

    def now(self, runtime: Runtime) -> object | None:
        """The outcome, if it can be had without waiting."""
        return None

    async def run(self, runtime: Runtime) -> object:
        """The outcome. Raises what went wrong."""
        raise NotImplementedError

    def write(self, memory: Memory, outcome: object) -> int:
        """Hands the outcome to the guest; returns the number that completes the token."""
        raise NotImplementedError

    def give_up(self) -> None:
        """Nobody waits for it any more."""

    def discard(self, outcome: object) -> None:
        """It came when nobody waited for it any more."""


class ReadJob(Job):
    """``read_ranges``."""

    def __init__(self, memory: Memory, runtime: Runtime, req: int, info: int) -> None:
        store, _, key, key_len, ver, ver_len, ranges, n = _abi.READ.unpack(memory.read(req, _abi.READ.size))
        self._lent: Lent = runtime.lent(store)
        self._key = memory.read(key, key_len).decode()
        self._version = _abi.decode_version(memory.read(ver, ver_len))
        self._at = ranges
        self._info = info
        self._spans = list(_abi.RANGE.iter_unpack(memory.read(ranges, n * _abi.RANGE.size)))
        # Never more than one byte over what has room, however much was asked for.
        self._ranges: list[Range] = [
            (off, length if off < 0 else min(length, cap + 1) if length >= 0 else cap + 1)
            for off, length, _, cap, _, _ in self._spans
        ]

    def now(self, runtime: Runtime) -> Answer | None:
        return self._lent.now(self._key, self._ranges, self._version, runtime.may_block)

    async def run(self, runtime: Runtime) -> Answer:
        return await runtime.read(self._lent, self._key, self._ranges, self._version)

    def write(self, memory: Memory, outcome: object) -> int:
        assert isinstance(outcome, Answer)
        version = _abi.encode_version(outcome.version)
        if len(version) > _abi.VERSION_MAX:
            raise InvalidError(f"store: {self._key}: its version has more than {_abi.VERSION_MAX} bytes", item=self._key)
        for i, (data, (off, length, buf, cap, _, _)) in enumerate(zip(outcome.data, self._spans)):
            n = memoryview(data).nbytes
            if n > cap:
                memory.write(self._info, _abi.info_need(_needed(n, off, length, outcome.size)))
                return _abi.TOO_SMALL
            memory.write(buf, data)
            memory.write(self._at + i * _abi.RANGE.size + _abi.RANGE_N, struct.pack("<i", n))
        memory.write(self._info, _abi.info(outcome.size, version))
        return len(self._spans)


def _needed(n: int, off: int, length: int, size: int) -> int:
    if off < 0:
        return n
    have = size - off if size >= 0 else length
    return max(n, min(have, length) if length >= 0 else have)


class ListJob(Job):
    """``list``."""

    def __init__(self, memory: Memory, runtime: Runtime, req: int, info: int) -> None:
        store, prefix, prefix_len, self._buf, self._cap = _abi.LISTING.unpack(memory.read(req, _abi.LISTING.size))
        self._lent: Lent = runtime.lent(store)
        self._prefix = memory.read(prefix, prefix_len).decode()
        self._info = info

    def now(self, runtime: Runtime) -> list[str] | None:
        return self._lent.list_now(self._prefix, runtime.may_block)

    async def run(self, runtime: Runtime) -> list[str]:
        return await runtime.names(self._lent, self._prefix)

    def write(self, memory: Memory, outcome: object) -> int:
        assert isinstance(outcome, list)
        packed = _abi.pack_names(outcome)
        if len(packed) > self._cap:
            memory.write(self._info, _abi.info_need(len(packed)))
            return _abi.TOO_SMALL
        memory.write(self._buf, packed)
        return len(packed)


class FetchJob(Job):
    """``fetch``."""

    def __init__(self, memory: Memory, req: int) -> None:
        (method, method_len, url, url_len, header, header_len, self._body, body_cap, self._answer, self._answer_cap) = (
            _abi.FETCH.unpack(memory.read(req, _abi.FETCH.size))
        )
        lines = memory.read(header, header_len).decode("latin-1").split("\r\n")
        fields = [(name, value.strip()) for name, colon, value in (line.partition(":") for line in lines) if colon]
        self.request = Request(memory.read(method, method_len).decode(), memory.read(url, url_len).decode(), fields, body_cap)
        self._req = req

    def now(self, runtime: Runtime) -> None:
        return None

    async def run(self, runtime: Runtime) -> Response:
        return await runtime.fetch(self.request)

    def write(self, memory: Memory, outcome: object) -> int:
        assert isinstance(outcome, Response)
        header = b""
        for name, value in outcome.header:
            line = f"{name}: {value}\r\n".encode("latin-1", "replace")
            if len(header) + len(line) <= self._answer_cap:  # a field as long as that is none the guest reads
                header += line
        memory.write(self._answer, header)
        memory.write(self._body, outcome.body)
        flags = _abi.FETCH_CUT if outcome.cut else 0
        tail = _abi.FETCH_ANSWER.pack(outcome.status, len(header), flags)
        memory.write(self._req + _abi.FETCH_ANSWER_AT, tail)
        return len(outcome.body)


class SleepJob(Job):
    """``sleep``: mostly the longest wait for something, which comes long before."""

    patient = True

    def __init__(self, ms: int) -> None:
        self._ms = ms
        self._given_up = threading.Event()

    def now(self, runtime: Runtime) -> bool | None:
        return True if self._ms == 0 else None

    async def run(self, runtime: Runtime) -> bool:
        await runtime.sleep(self._ms / 1000, self._given_up)
        return True

    def give_up(self) -> None:
        self._given_up.set()

    def write(self, memory: Memory, outcome: object) -> int:
        return 0


class Codecs:
    """The codecs that this host lends, by the number the guest knows them by."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._open: list[_decoders.Decoder] = []

    def open(self, memory: Memory, cfg: int, cfg_len: int, info: int) -> int:
        """``codec_open``."""
        named = json.loads(memory.read(cfg, cfg_len))
        decoder = None if self._strict else _decoders.lent(named["name"], named.get("configuration") or {})
        if decoder is None:
            return UNSUPPORTED
        if decoder not in self._open:
            self._open.append(decoder)
        memory.write(info, _abi.info_codec(self._open.index(decoder) + 1, _LENT_MIN))
        return 0

    def run(self, memory: Memory, codec: int, op: int, src: int, src_len: int, dst: int, dst_len: int) -> int:
        """``codec``. What the lent decoder does not like, the guest's own has to judge."""
        if op != 0 or not 0 < codec <= len(self._open):
            return UNSUPPORTED
        out = self._open[codec - 1](memory.window(src, src_len), dst_len)
        if out is None:
            return UNSUPPORTED
        memory.write(dst, out)
        return len(out)
