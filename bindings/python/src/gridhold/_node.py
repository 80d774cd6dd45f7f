"""An array or a group, opened at a place."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import _abi
from ._errors import ClosedError
from ._guest import Guest
from ._handle import Handle
from ._place import Place
from ._runtime import Runtime


class Node:
    """What arrays and groups have in common, whoever calls."""

    def __init__(self, runtime: Runtime, place: Place, handle: Handle, how: Opening) -> None:
        self.runtime = runtime
        self.place = place
        self.how = how
        self.handle = handle
        self.raw = handle.description.decode()
        self.info: dict[str, Any] = json.loads(self.raw)
        self.path: str = self.info.get("path", place.path)
        self._closed = False
        runtime.opened(self)

    def check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"gridhold: {self.path or '/'}: closed")

    def close(self) -> None:
        self._closed = True
        self.handle.close()
        self.place.close()
        self.how.close()
        self.runtime.closed(self)


class Opening(NamedTuple):
    """How to open a node."""

    consolidated: bool = False
    trace: bool = False
    pack: tuple[Place, str] | None = None  # where its index pack lies, and under which key

    def close(self) -> None:
        if self.pack is not None:
            self.pack[0].close()


async def open_handle(runtime: Runtime, place: Place, wanted: str, how: Opening) -> Handle:
    """Opens what is there. The place and the pack's are the node's from here on; they are closed if there is none."""
    place.lend(runtime)
    request: dict[str, Any] = {"store": place.spec(), "path": place.path, "node": wanted}
    request |= {"consolidated": how.consolidated, "trace": how.trace}
    if how.pack is not None:
        how.pack[0].lend(runtime)
        request["index_pack"] = {"store": how.pack[0].spec(), "key": how.pack[1]}
    raw = json.dumps(request).encode()

    async def build(_: Guest) -> bytes:
        return raw

    handle = Handle(runtime, _abi.OPEN, build)
    try:
        await handle.open()
        return handle
    except BaseException:
        handle.close()
        place.close()
        how.close()
        raise


async def list_nodes(runtime: Runtime, place: Place, consolidated: bool) -> list[dict[str, Any]]:
    """All nodes below the group at a place, which is closed."""
    place.lend(runtime)
    request = json.dumps({"store": place.spec(), "path": place.path, "consolidated": consolidated}).encode()

    async def build(_: Guest) -> bytes:
        return request

    try:
        return json.loads((await runtime.call(_abi.LIST, build)).data)  # type: ignore[no-any-return]
    finally:
        place.close()
