"""One guest at work: operations go in, jobs come out, answers come back.

The same for hosts that block and hosts that must not; which it is, the
runtime decides, when it is asked to carry out a job.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _abi
from ._errors import CANCELLED, INTERNAL, ClosedError, Error, InternalError, from_number, number_of
from ._files import IMPORTS, Files
from ._imports import Codecs, FetchJob, Job, ListJob, ReadJob, SleepJob
from ._instance import Import, Instance
from ._locks import LockJob
from ._signals import Deferred

if TYPE_CHECKING:
    from ._runtime import Runtime

_STALLED_MAX = 10
_STALLED_S = 0.001
_DETAILS_MAX = 256  # the guest does not ask for every one
_TEXT_MAX = 200  # characters of up to four bytes; the guest has room for 2048 bytes
_serial = itertools.count(1)


class Done(NamedTuple):
    """What an operation gave."""

    data: bytes
    object: int
    kind: int  # 0: there is nothing
    off: int = 0  # of a located answer, as length
    length: int = 0


class Retired(Exception):
    """This guest takes no operations any more; another one does."""


class Guest:
    """An instance and what is under way in it.

    Every method but ``begin``, ``complete`` and ``abandon`` is called with
    ``lock`` held. A guest that died fails all its operations with
    InternalError and raises Retired from then on.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.serial = next(_serial)
        self.lock = threading.Lock()
        self.retiring = False
        self._runtime = runtime
        self._under_way: dict[int, Any] = {}  # operation: future
        self._out: dict[int, Job] = {}  # token: job
        self._details: dict[int, bytes] = {}
        self._causes: deque[tuple[str, BaseException]] = deque(maxlen=8)
        self._interrupt: BaseException | None = None
        self._closing: deque[int] = deque()
        self._stalled = 0
        self._codecs = Codecs(runtime.strict)
        self.files = Files(runtime.file_system)
        with Deferred(self._stop):
            self._instance = Instance(_imports_of(self), runtime.memory)
            self._configure(runtime.memory)
        self._resume()

    def _configure(self, memory: int) -> None:
        request = json.dumps({"memory": memory}).encode()
        ptr, _ = self._instance.write_request(self._instance.mailbox(), request)
        code = _signed(self._instance.call("gh_configure", ptr, len(request)))
        if code < 0:
            raise from_number(code, "guest: refused its configuration")

    @property
    def dead(self) -> bool:
        return bool(self._instance.dead)

    @property
    def memory_size(self) -> int:
        """Bytes the instance has now."""
        return self._instance.memory.size()

    # Operations.

    def begin(self, kind: int, request: bytes) -> Any:
        """Starts an operation; returns its number and the runtime's future of a Done. Raises Retired."""
        with self.lock:
            if self.dead or self.retiring:
                raise Retired
            with Deferred(self._stop):
                while self._closing:
                    with contextlib.suppress(ClosedError):  # a cache goes with its array
                        self._submit(_abi.CLOSE, _abi.handle_request(self._closing.popleft()), None)
                future = self._runtime.future()
                op = self._submit(kind, request, future)
                if self._interrupt is not None:
                    self._drop(op)
            self._resume()
            return op, future

    def abandon(self, op: int) -> None:
        """Nobody waits for the operation any more."""
        with self.lock:
            if self.dead:
                return
            with Deferred(self._stop), contextlib.suppress(InternalError):  # if it dies of that, the others have been told
                if self._drop(op):
                    self._runtime.turn_soon(self)
            self._resume()

    def _stop(self) -> None:
        self._interrupt = KeyboardInterrupt()

    def _resume(self) -> None:
        """Raises the interrupt that came while the guest was at work."""
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    def close_later(self, handle: int) -> None:
        """Closes a handle with the next operation. May be called from a finalizer: takes no lock."""
        self._closing.append(handle)

    def _submit(self, kind: int, request: bytes, future: Any) -> int:
        try:
            mailbox = self._instance.mailbox()
            ptr, owned = self._instance.write_request(mailbox, request)
            if not ptr:
                raise from_number(-7, "guest: no memory for the request")
            op = _signed(self._instance.call(self._runtime.starter, kind, ptr, len(request)))
            if op > 0:
                self._under_way[op] = future
            if owned:
                self._instance.call("gh_free", ptr)
            if op < 0:
                raise from_number(op, "guest: refused the operation")
            if self._runtime.starter == "gh_call":
                mailbox = self._instance.mailbox()
                if mailbox.result:
                    self._finish(op, mailbox.result)
                self._collect(mailbox)
                self._settle(self._after(mailbox.status, mailbox))
            else:
                self._runtime.turn_soon(self)
            return op
        except BaseException as e:
            if isinstance(e, InternalError) or not isinstance(e, Error):
                self._bury()
            raise

    def _drop(self, op: int) -> bool:
        if op not in self._under_way:
            return False
        del self._under_way[op]
        self._call("gh_drop", op)
        return True

    def _call(self, name: str, *args: int) -> int:
        try:
            return self._instance.call(name, *args)
        except BaseException:
            self._bury()
            raise

    # Running.

    def complete(self, completions: Sequence[tuple[int, Job, object]]) -> None:
        """Hands in outcomes of jobs (an exception is an outcome) and lets the guest run."""
        with self.lock:
            if self.dead:
                for _, job, outcome in completions:
                    job.discard(outcome)
                return
            with Deferred(self._stop):
                numbers = [(c[0], n) for c in completions if (n := self._write(*c)) is not None]
                with contextlib.suppress(InternalError):  # the operations have been told
                    self._settle(self.turn(numbers))
            self._resume()

    def _write(self, token: int, job: Job, outcome: object) -> int | None:
        if self._out.get(token) is not job:  # cancelled meanwhile; the token may be another job's by now
            job.discard(outcome)
            return None
        del self._out[token]
        try:
            if isinstance(outcome, BaseException):
                raise outcome
            return job.write(self._instance.memory, outcome)
        except BaseException as e:
            return self._failed(token, e)

    def turn(self, completions: list[tuple[int, int]]) -> float | None:
        """One ``gh_run`` with everything at hand. Returns after how many seconds to run again; None: when a job is done."""
        mailbox = self._instance.mailbox()
        first, rest = completions[: mailbox.cq_cap], completions[mailbox.cq_cap :]
        self._instance.memory.write(mailbox.cq_ptr, b"".join(_abi.COMPLETION.pack(*c) for c in first))
        status = self._call("gh_run", len(first), self._runtime.budget_us)
        mailbox = self._instance.mailbox()
        self._collect(mailbox)
        if rest:
            return self.turn(rest)
        return self._after(status, mailbox)

    def _after(self, status: int, mailbox: _abi.Mailbox) -> float | None:
        self.retiring = self.retiring or mailbox.panics > 0
        if status == _abi.REENTERED:
            self._instance.kill("was entered while it ran")
            self._bury()
        if status == _abi.STALLED:
            self._stalled += 1
            if self._stalled >= _STALLED_MAX:
                self._instance.kill("operations wait for nothing")
                self._bury()
                return None
            return _STALLED_S
        self._stalled = 0
        return 0 if status == _abi.MORE else None

    def _settle(self, again: float | None) -> None:
        while again is not None and not self.dead:
            if self._runtime.turn_later(self, again):
                return
            again = self.turn([])

    def _collect(self, mailbox: _abi.Mailbox) -> None:
        if not mailbox.done:
            return
        raw = self._instance.memory.read(mailbox.done_ptr, 4 * min(mailbox.done, mailbox.done_cap))
        for i in range(0, len(raw), 4):
            op = int.from_bytes(raw[i : i + 4], "little")
            if op in self._under_way:
                self._finish(op, self._call("gh_result", op))

    def _finish(self, op: int, address: int) -> None:
        future = self._under_way[op]
        memory = self._instance.memory
        result = _abi.parse_result(memory.read(address, _abi.RESULT_SIZE))
        error: Error | None = None
        data = b""
        if result.state == _abi.OK:
            data = memory.read(result.ptr, result.len)
        else:
            error = self._error(result, memory.read(result.detail_ptr, result.detail_len))
        self._call("gh_drop", op)
        del self._under_way[op]  # not before: if the guest dies here, whoever waits is told
        if future is None:
            return
        if error is None:
            self._runtime.resolve(future, Done(data, result.object, result.kind, result.off, result.length))
        else:
            self._runtime.reject(future, error)

    def _error(self, result: _abi.Result, raw: bytes) -> Error:
        code = result.code if result.state == _abi.FAILED else INTERNAL
        detail = json.loads(raw) if raw else {}
        text = detail.get("text", "guest: gave no reason")
        off = detail.get("off", -1)
        error = from_number(
            code, text, item=detail.get("item", ""), offset=off if off >= 0 else None, format=detail.get("format", "")
        )
        for said, cause in reversed(self._causes):
            if said and said in text:
                error.__cause__ = cause
                break
        return error

    def disown(self) -> None:
        """In a forked child: it is the parent's, who may be in the midst of it, and is not called here again.

        The descriptors that lock files are open on are closed, or else the child would go on to hold locks.
        """
        self.lock = threading.Lock()
        self._instance.dead = "guest: of the process that this one was forked from"
        self._out.clear()
        self.files.disown()
        waiting, self._under_way = self._under_way, {}
        for future in waiting.values():
            if future is not None:  # of threads that stayed behind, or of tasks, which did not
                self._runtime.reject(future, InternalError(self._instance.dead))

    def _bury(self) -> None:
        """It died: whoever waits is told, and nothing is written to it any more."""
        why = self._instance.dead or "guest: broke its contract"
        self._instance.kill(why)
        self.files.close_all()
        for token, job in self._out.items():
            job.give_up()
            self._runtime.withdraw(self, token)
        self._out.clear()
        waiting, self._under_way = self._under_way, {}
        for future in waiting.values():
            if future is not None:
                self._runtime.reject(future, InternalError(why))

    # Imports. Called by the guest, so in the midst of one of the calls above.

    def _issue(self, token: int, job: Job) -> int:
        outcome = job.now(self._runtime)
        if outcome is not None:
            return job.write(self._instance.memory, outcome)
        self._out[token] = job
        self._runtime.launch(self, token, job)
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
            self._runtime.withdraw(self, token)
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


def _signed(n: int) -> int:
    return n - (1 << 32) if n >> 31 else n


def _imports_of(guest: Guest) -> Callable[[str], Import]:
    """Imports that hold the guest weakly, for wasmtime keeps them for ever, and that let nothing be thrown through it."""
    ref = weakref.ref(guest)

    def tick(op: int) -> int:
        """As the others, without what they need: loops of the guest ask each time around."""
        owner = ref()
        return CANCELLED if owner is None else owner.import_tick(op)

    def named(name: str) -> Import:
        if name == "tick":
            return tick
        method = _file_import(name) if name in IMPORTS else getattr(Guest, f"import_{name}", None)
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

    def method(guest: Guest, *args: int) -> int:
        return of_files(guest.files, guest._instance.memory, *args)  # type: ignore[no-any-return]

    return method
