"""Exchanges over HTTP in an event loop, without a thread for each.

That is the common case: an answer whose length is told, over a connection that is kept. Whatever is not, a redirect or
an answer in chunks, say, is left to ``_http``, which asks again.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from ._errors import IOFailedError
from ._http import IDLE_MAX, REDIRECTS, TIMEOUT_S, Request, Response

if TYPE_CHECKING:
    import ssl

_HEAD_MAX = 64 << 10
_PLAIN = re.compile(r"[!-~]+")  # what may stand in a request line
_BODILESS = frozenset({204, 304})

Where = tuple[str, str]  # scheme and authority


class _Unusual(Exception):
    """Not an answer that is understood here."""


class _Answer(NamedTuple):
    response: Response
    may_stay: bool  # the connection


class _Connection(asyncio.Protocol):
    """One connection, with one exchange at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[_Answer] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._got = bytearray()
        self._head: tuple[int, list[tuple[str, str]], int, bool] | None = None
        self._heard = 0.0
        self.lost = False

    async def exchange(self, request: Request, raw: bytes) -> _Answer:
        """Raises ConnectionError, TimeoutError and _Unusual; then, and if it is cancelled, the connection is of no use any more."""
        self._got.clear()
        self._head = None
        self._request = request
        self._waiting = self._loop.create_future()
        self._heard = self._loop.time()
        self._timer = self._loop.call_later(TIMEOUT_S, self._overdue)
        assert self._transport is not None
        self._transport.write(raw)
        try:
            return await self._waiting
        except BaseException:
            self.close()
            raise
        finally:
            self._timer.cancel()
            self._waiting = None

    @property
    def heard(self) -> bool:
        """Whether anything of an answer came."""
        return self._head is not None or bool(self._got)

    def close(self) -> None:
        self.lost = True
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, e: Exception) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(e)

    def _overdue(self) -> None:
        quiet = self._loop.time() - self._heard
        if quiet >= TIMEOUT_S:
            self._fail(TimeoutError("timed out"))
        else:
            self._timer = self._loop.call_later(TIMEOUT_S - quiet, self._overdue)

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._fail(exc if isinstance(exc, OSError) else ConnectionResetError("the connection was closed before all had come"))

    def data_received(self, data: bytes) -> None:
        if self._waiting is None or self._waiting.done():
            self.close()  # it talks unasked
            return
        self._heard = self._loop.time()
        self._got += data
        try:
            if self._head is None:
                end = self._got.find(b"\r\n\r\n")
                if end < 0:
                    if len(self._got) > _HEAD_MAX:
                        raise _Unusual
                    return
                self._head = _parse(bytes(self._got[:end]), self._request.method)
                del self._got[: end + 4]
            self._deliver(*self._head)
        except _Unusual as e:
            self._fail(e)

    def _deliver(self, status: int, header: list[tuple[str, str]], length: int, may_stay: bool) -> None:
        limit = self._request.limit
        cut = length > limit
        if len(self._got) < (limit + 1 if cut else length):
            return
        if len(self._got) > length:
            raise _Unusual
        response = Response(status, header, bytes(self._got[:limit]), cut)
        assert self._waiting is not None
        self._waiting.set_result(_Answer(response, may_stay and not cut))


def _parse(head: bytes, method: str) -> tuple[int, list[tuple[str, str]], int, bool]:
    """Status, fields, bytes of the body, and whether the connection stays."""
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if version != "HTTP/1.1" or not rest[:3].isdecimal() or rest[:1] == "1":
        raise _Unusual
    header: list[tuple[str, str]] = []
    length, may_stay = -1, True
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or line[0] in " \t":
            raise _Unusual
        value = value.strip()
        header.append((name, value))
        name = name.lower()
        if name == "transfer-encoding" or (name == "content-length" and (length >= 0 or not value.isdecimal())):
            raise _Unusual
        if name == "content-length":
            length = int(value)
        elif name == "connection":
            may_stay = value.lower() == "keep-alive"
    status = int(rest[:3])
    if method == "HEAD" or status in _BODILESS:
        length = 0
    if length < 0 or status in REDIRECTS:
        raise _Unusual
    return status, header, length, may_stay


class Exchanges:
    """Makes exchanges in one event loop. Connections are kept until ``rest``."""

    def __init__(self) -> None:
        self._idle: dict[Where, list[_Connection]] = {}
        self._context: ssl.SSLContext | None = None

    async def fetch(self, request: Request) -> Response | None:
        """None: it is for ``_http`` to make. Raises IOFailedError where no whole response came."""
        parts = urlsplit(request.url)
        raw = _written(request, parts.netloc, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        if raw is None:
            return None
        where = parts.scheme, parts.netloc
        while True:
            kept = self._take(where)
            try:
                connection = kept or await self._connect(parts.scheme, parts.hostname or "", parts.port)
                answer = await connection.exchange(request, raw)
            except _Unusual:
                return None
            except OSError as e:
                if kept is not None and isinstance(e, ConnectionError) and not kept.heard:
                    continue  # the server let go of an idle connection; a fresh one tells what is the matter
                raise IOFailedError(f"http: {request.url}: {str(e) or type(e).__name__}", item=request.url) from None
            if answer.may_stay and not connection.lost:
                idle = self._idle.setdefault(where, [])
                if len(idle) < IDLE_MAX:
                    idle.append(connection)
                    return answer.response
            connection.close()
            return answer.response

    def _take(self, where: Where) -> _Connection | None:
        idle = self._idle.get(where, [])
        while idle:
            connection = idle.pop()
            if not connection.lost:
                return connection
        return None

    async def _connect(self, scheme: str, host: str, port: int | None) -> _Connection:
        loop = asyncio.get_running_loop()
        context = None
        if scheme == "https":
            import ssl

            context = self._context = self._context or ssl.create_default_context()
        made = loop.create_connection(lambda: _Connection(loop), host, port or (443 if context else 80), ssl=context)
        try:
            _, connection = await asyncio.wait_for(made, TIMEOUT_S)
        except asyncio.TimeoutError:
            raise TimeoutError("timed out") from None
        return connection

    def rest(self) -> None:
        """Nobody needs them for now: idle connections are closed."""
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()


def _written(request: Request, netloc: str, target: str) -> bytes | None:
    """The bytes of a request; None if something is in it that does not belong there."""
    host = netloc.rpartition("@")[2]
    if not (_PLAIN.fullmatch(target) and _PLAIN.fullmatch(host) and request.method in ("GET", "HEAD")):
        return None
    lines = [f"{request.method} {target} HTTP/1.1", f"Host: {host}", "Accept-Encoding: identity"]
    lines += [f"{name}: {value}" for name, value in request.header]
    text = "\r\n".join(lines)
    if not text.isascii() or text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
        return None
    return f"{text}\r\n\r\n".encode()
