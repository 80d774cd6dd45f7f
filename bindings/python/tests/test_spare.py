"""Memory of batches: taken again when nobody has it, and never before."""

import threading

import numpy as np

from gridhold._spare import Spare

SHAPE, DTYPE = (4, 300_000), np.dtype("f4")


def test_taken_again():
    spare = Spare(4)
    a = spare.take(SHAPE, DTYPE)
    at = a.__array_interface__["data"][0]
    del a
    b = spare.take(SHAPE, DTYPE)
    assert b.__array_interface__["data"][0] == at
    c = spare.take(SHAPE, DTYPE)
    assert not np.shares_memory(b, c) and spare.take((4, 300_001), DTYPE).shape == (4, 300_001)
    small = spare.take((3,), DTYPE)
    assert not any(k is small for k in spare._kept)


def test_whoever_holds_it_keeps_it():
    holders = [
        lambda a: a[1:2, ::3], lambda a: a.view("u1"), lambda a: memoryview(a), lambda a: np.from_dlpack(a), lambda a: a.T.reshape(-1)[:0].base,
        lambda a: [a], lambda a: np.asarray(a), lambda a: iter(a), lambda a: a.flat,
    ]  # fmt: skip
    for holder in holders:
        spare = Spare(4)
        a = spare.take(SHAPE, DTYPE)
        a[...] = 7
        held = holder(a)
        if held is None or (isinstance(held, np.ndarray) and not np.shares_memory(held, a)):
            continue  # it had made a copy
        del a
        b = spare.take(SHAPE, DTYPE)
        b[...] = 8
        assert not np.any(np.asarray(spare._kept[0]) == 8), holder
        del held


def test_threads():
    spare, wrong = Spare(4), []

    def work(n):
        for i in range(300):
            a = spare.take(SHAPE, DTYPE)
            a[0, :5] = n * 1000 + i
            b = spare.take(SHAPE, DTYPE)
            b[0, :5] = -1
            if not (a[0, :5] == n * 1000 + i).all():
                wrong.append((n, i))
            del a, b

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(spare._kept) <= 4
