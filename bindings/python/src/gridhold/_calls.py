"""What the guest calls of its host."""

from __future__ import annotations

import json
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _abi
from ._errors import CANCELLED, Error, InternalError, number_of
from ._files import IMPORTS, Files
from ._imports import Codecs, FetchJob, Job, ListJob, ReadJob, SleepJob
from ._instance import Import, Instance
from ._locks import LockJob

if TYPE_CHECKING:
    from ._runtime import Runtime

_DETAILS_MAX = 256  # the guest does not ask for every one
_TEXT_MAX = 200  # characters of up to four bytes; the guest has room for 2048 bytes


class Calls:
    """The imports of one guest. They are called in the midst of its exports, by whoever has its lock."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._under_way: dict[int, Any] = {}  # operation: future
        self._out: dict[int, Job] = {}  # token: job
        self._details: dict[int, bytes] = {}
        self._causes: deque[tuple[str, BaseException]] = deque(maxlen=8)
        self._interrupt: BaseException | None = None
        self._codecs = Codecs(runtime.strict)
        self.files = Files(runtime.file_system)
        self._instance: Instance

    def _launch(self, token: int, job: Job) -> None:
        """Carries a job out; what comes of it goes into the guest later."""
        raise NotImplementedError

    def _withdraw(self, token: int) -> None:
        """Nobody wants the outcome of that job any more."""
        raise NotImplementedError

    def _issue(self, token: int, job: Job) -> int:
        outcome = job.now(self._runtime)
        if outcome is not None:
            return job.write(self._instance.memory, outcome)
        self._out[token] = job
        self._launch(token, job)
        return _abi.PENDING

    def _failed(self, token: int, e: BaseException) -> int:
        if isinstance(e, (KeyboardInterrupt, SystemExit)):
            self._interrupt = e
        number = number_of(e)
        text = str(e) or type(e).__name__
        if not isinstance(e, Error):
            text = f"store: {type(e).__name__}: {text}"
            self._causes.append((text[:_TEXT_MAX], e))
        elif e.__cause__ is not None:
            self._causes.append((text[:_TEXT_MAX], e.__cause__))
        off = getattr(e, "offset", None)
        detail = {
            "code": number,
            "format": getattr(e, "format", ""),
            "item": getattr(e, "item", "")[:_TEXT_MAX],
            "off": -1 if off is None else off,
            "text": text[:_TEXT_MAX],
        }
        while len(self._details) >= _DETAILS_MAX:
            self._details.pop(next(iter(self._details)))
        self._details[token] = json.dumps(detail, ensure_ascii=False).encode("utf-8", "replace")
        return number

    def import_read_ranges(self, token: int, req: int, info: int) -> int:
        return self._issue(token, ReadJob(self._instance.memory, self._runtime, req, info))

    def import_list(self, token: int, req: int, info: int) -> int:
        return self._issue(token, ListJob(self._instance.memory, self._runtime, req, info))

    def import_fetch(self, token: int, req: int, info: int) -> int:
        return self._issue(token, FetchJob(self._instance.memory, req))

    def import_sleep(self, token: int, ms: int) -> int:
        return self._issue(token, SleepJob(ms))

    def import_codec_open(self, token: int, cfg: int, cfg_len: int, info: int) -> int:
        return self._codecs.open(self._instance.memory, cfg, cfg_len, info)

    def import_codec(self, token: int, codec: int, op: int, src: int, src_len: int, dst: int, dst_len: int) -> int:
        return self._codecs.run(self._instance.memory, codec, op, src, src_len, dst, dst_len)

    def import_lock(self, token: int, req: int, into: int) -> int:
        return self._issue(token, LockJob(self._instance.memory, self._runtime, self.files, req, into))

    def import_cancel(self, token: int) -> int:
        job = self._out.pop(token, None)
        if job is not None:
            job.give_up()
            self._withdraw(token)
        return 0  # what comes of the job is dropped, so nobody will touch its buffers

    def import_tick(self, op: int) -> int:
        # Of callers that block the interrupted one is in gh_call, which has not told its number yet; others go on.
        return int(self._interrupt is not None and not (self._runtime.may_block and op in self._under_way))

    def import_error_detail(self, token: int, ptr: int, cap: int) -> int:
        detail = self._details.pop(token, b"")
        if len(detail) > cap:
            return 0
        self._instance.memory.write(ptr, detail)
        return len(detail)

    def import_log(self, level: int, ptr: int, length: int) -> None:
        self._runtime.log(level, self._instance.memory.read(ptr, length).decode("utf-8", "replace"))


def imports_of(guest: Calls) -> Callable[[str], Import]:
    """Imports that hold the guest weakly, for wasmtime keeps them for ever, and that let nothing be thrown through it."""
    ref = weakref.ref(guest)

    def tick(op: int) -> int:
        """As the others, without what they need: loops of the guest ask each time around."""
        owner = ref()
        return CANCELLED if owner is None else owner.import_tick(op)

    def named(name: str) -> Import:
        if name == "tick":
            return tick
        method = _file_import(name) if name in IMPORTS else getattr(Calls, f"import_{name}", None)
        if method is None:
            raise InternalError(f"guest: wants import {name}, which this host does not have")
        silent = name == "log"

        def call(*args: int) -> int | None:
            owner = ref()
            try:
                if owner is None:
                    return None if silent else CANCELLED
                owner._instance.memory.moved()
                answer: int | None = method(owner, *(a & 0xFFFFFFFF for a in args))
                return answer
            except BaseException as e:
                if silent or owner is None:
                    return None if silent else CANCELLED
                return owner._failed(args[0] & 0xFFFFFFFF, e)

        return call

    return named


def _file_import(name: str) -> Callable[..., int]:
    of_files = getattr(Files, name)

    def method(guest: Calls, *args: int) -> int:
        return of_files(guest.files, guest._instance.memory, *args)  # type: ignore[no-any-return]

    return method
