"""HTTP: the mechanism. The rules (ranges, tags, retries) are the guest's.

One exchange is one request and one response, over connections that are kept.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit

from . import _fork
from ._errors import InvalidError, IOFailedError

if TYPE_CHECKING:
    import http.client
    import ssl

TIMEOUT_S = 60.0
IDLE_MAX = 32
"""Connections kept to one server."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REDIRECTS_MAX = 5


class HTTPStore:
    """Objects below a URL.

    ``forbidden_is_missing``: 403 means that there is no such object, as S3
    says without the right to list. ``no_suffix``: ask for the size first
    instead of for the last bytes. ``gap``: bytes between two ranges that are
    rather read than asked around; 0: 32 KiB, -1: none. ``max_merged``: bytes
    of a request made of several ranges; 0: 8 MiB. ``parallel``: requests under
    way at once that the core makes; 0: 32, at most 1024.
    """

    def __init__(
        self,
        url: str,
        *,
        forbidden_is_missing: bool = False,
        no_suffix: bool = False,
        gap: int = 0,
        max_merged: int = 0,
        parallel: int = 0,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidError(f"store: {url}: not an http or https URL", item=url)
        self.url = url
        self.forbidden_is_missing = forbidden_is_missing
        self.no_suffix = no_suffix
        self.gap = gap
        self.max_merged = max_merged
        self.parallel = parallel

    def __repr__(self) -> str:
        return f"HTTPStore({self.url!r})"


class Request(NamedTuple):
    method: str
    url: str
    header: list[tuple[str, str]]
    limit: int  # of the body, in bytes


class Response(NamedTuple):
    status: int
    header: list[tuple[str, str]]
    body: bytes
    cut: bool  # the body was longer than the limit


class Fetcher:
    """Makes exchanges. Safe for use by several threads: each takes a connection of its own."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, str], list[http.client.HTTPConnection]] = {}

    def fetch(self, request: Request) -> Response:
        """Follows redirects within the scheme. Raises IOFailedError where no whole response came."""
        for _ in range(_REDIRECTS_MAX):
            response = self._exchange(request)
            if response.status not in REDIRECTS:
                return response
            to = next((value for name, value in response.header if name.lower() == "location"), None)
            if to is None:
                return response
            url = urljoin(request.url, to)
            if urlsplit(url).scheme != urlsplit(request.url).scheme:
                raise IOFailedError(f"http: {request.url}: redirected to another scheme", item=request.url)
            request = request._replace(url=url)
        raise IOFailedError(f"http: {request.url}: too many redirects", item=request.url)

    def _exchange(self, request: Request) -> Response:
        import http.client  # which takes a while to load, and most programs read files

        parts = urlsplit(request.url)
        where = parts.scheme, parts.netloc
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        while True:
            connection, kept = self._take(*where)
            try:
                connection.request(request.method, target, headers=dict(request.header))
                got = connection.getresponse()
            except (OSError, http.client.HTTPException) as e:
                connection.close()
                if kept and isinstance(e, (ConnectionError, http.client.RemoteDisconnected)):
                    continue  # the server let go of an idle connection; a fresh one tells what is the matter
                raise self._failed(request, e) from None
            try:
                body = got.read(request.limit + 1) if request.limit else got.read(1)
                cut = len(body) > request.limit
                if not cut and request.method != "HEAD" and got.length:
                    raise http.client.IncompleteRead(body, got.length)
            except (OSError, http.client.HTTPException) as e:
                connection.close()
                raise self._failed(request, e) from None
            if cut or got.will_close or not got.isclosed():
                connection.close()
            else:
                self._keep(where, connection)
            return Response(got.status, got.getheaders(), body[: request.limit], cut)

    @staticmethod
    def _failed(request: Request, e: Exception) -> IOFailedError:
        why = str(e) or type(e).__name__
        return IOFailedError(f"http: {request.url}: {why}", item=request.url)

    def _take(self, scheme: str, netloc: str) -> tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            idle = self._idle.get((scheme, netloc))
            if idle:
                return idle.pop(), True
        import http.client
        import ssl

        host = netloc.rpartition("@")[2]
        if scheme == "http":
            return http.client.HTTPConnection(host, timeout=TIMEOUT_S), False
        if self._context is None:
            self._context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, timeout=TIMEOUT_S, context=self._context), False

    def _keep(self, where: tuple[str, str], connection: http.client.HTTPConnection) -> None:
        with self._lock:
            idle = self._idle.setdefault(where, [])
            if len(idle) < IDLE_MAX:
                idle.append(connection)
                return
        connection.close()


fetcher = Fetcher()
