"""One guest at work: operations go in, jobs come out, answers come back.

The same for hosts that block and hosts that must not; which it is, the
runtime decides, when it is asked to carry out a job.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _abi
from ._calls import Calls, imports_of
from ._errors import INTERNAL, ClosedError, Error, InternalError, from_number
from ._imports import Job
from ._instance import Instance
from ._signals import Deferred

if TYPE_CHECKING:
    from ._runtime import Runtime

_STALLED_MAX = 10
_STALLED_S = 0.001
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


class Guest(Calls):
    """An instance and what is under way in it.

    Every method but ``begin``, ``complete`` and ``abandon`` is called with
    ``lock`` held. A guest that died fails all its operations with
    InternalError and raises Retired from then on.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.serial = next(_serial)
        self.lock = threading.Lock()
        self.retiring = False
        super().__init__(runtime)
        self._closing: deque[int] = deque()
        self._stalled = 0
        with Deferred(self._stop):
            self._instance = Instance(imports_of(self), runtime.memory)
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

    def _launch(self, token: int, job: Job) -> None:
        self._runtime.launch(self, token, job)

    def _withdraw(self, token: int) -> None:
        self._runtime.withdraw(self, token)

    def _bury(self) -> None:
        """It died: whoever waits is told, and nothing is written to it any more."""
        why = self._instance.dead or "guest: broke its contract"
        self._instance.kill(why)
        self.files.close_all()
        for token, job in self._out.items():
            job.give_up()
            self._withdraw(token)
        self._out.clear()
        waiting, self._under_way = self._under_way, {}
        for future in waiting.values():
            if future is not None:
                self._runtime.reject(future, InternalError(why))


def _signed(n: int) -> int:
    return n - (1 << 32) if n >> 31 else n
