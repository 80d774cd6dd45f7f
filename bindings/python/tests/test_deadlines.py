"""Report 36: ``asyncio.timeout`` is the deadline of the binding, whatever the operation does meanwhile; the next call is right."""

import asyncio

import numpy as np
import pytest
from conftest import VALUES, AsyncCounting, block, sharded

import gridhold
from gridhold import aio
from gridhold._guest import Guest


def test_while_the_guest_computes(monkeypatch):
    """It ends at a tick, long before all is decoded."""
    ticks = []
    own = Guest.import_tick
    monkeypatch.setattr(Guest, "import_tick", lambda guest, op: (ticks.append(op), own(guest, op))[1])
    values = np.zeros((4096, 4096), "<u2")
    store = gridhold.MemoryStore(sharded(values, (4096, 4096), (512, 512), codec="gzip"))

    async def main():
        async with await aio.open_array(store, strict=True, memory=(512 << 20) - 5) as array:
            ticks.clear()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await array.retrieve_region((0, 0), values.shape)
            stopped = len(ticks)
            ticks.clear()
            assert np.array_equal(await array.retrieve_region((0, 0), values.shape), values)
            assert stopped < len(ticks)

    asyncio.run(main())


class Silent(AsyncCounting):
    """Never answers, once it is silent."""

    silent = False

    async def read_ranges(self, key, ranges, version):
        if self.silent:
            await asyncio.Event().wait()
        return await super().read_ranges(key, ranges, version)


@pytest.mark.parametrize("seconds", [0.01, 0, -1])
def test_while_a_store_is_silent(objects, seconds):
    """One that is over before it begins ends the call as well."""
    store = Silent(objects)

    async def main():
        async with await aio.open_array(store) as array:
            store.silent = True
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(seconds):
                    await array.retrieve_subchunk((5, 5))
            store.silent = False
            assert np.array_equal(await array.retrieve_subchunk((5, 5)), block(VALUES, (5, 5)))

    asyncio.run(main())
