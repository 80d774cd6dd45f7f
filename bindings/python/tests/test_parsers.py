"""What Python itself parses, with anything in it: a value, or one of our errors."""

import random
import struct

import pytest

import gridhold
from gridhold import _msgpack

# Of each form that MessagePack has.
VALUES = [
    None, True, 0, 200, -1, -200, 70_000, -70_000, 2**40, -(2**40), 2**64 - 1, 1.5, "", "name", "é" * 40, "x" * 300, b"", b"\xff" * 70, b"y" * 70_000,
    [], [1, [2, [3, "x"]]], list(range(20)), {}, {"a": {"b": [1, 2]}, 3: "c", None: True}, {str(i): i for i in range(20)},
    _msgpack.Ext(5, b"abcd"), _msgpack.Ext(-1, b"x" * 300), {"embed_map": {"/a": {"offset": 0, "length": 999}}, "current_offset": 999},
]  # fmt: skip


def mutant(r: random.Random, raw: bytes) -> bytes:
    """A copy that is cut, has other bytes, or a piece in another place."""
    b = bytearray(raw)
    for _ in range(r.randrange(1, 4)):
        match r.randrange(5):
            case 0:
                del b[r.randrange(len(b) + 1) :]
            case 1:
                b[r.randrange(len(b) + 1) : 0] = r.randbytes(r.randrange(1, 5))
            case 2 if b:
                at, to = r.randrange(len(b)), r.randrange(len(b))
                b[to : to + 8] = b[at : at + 8]
            case _ if b:
                b[r.randrange(len(b))] = r.choice((r.randrange(256), r.randrange(0x80, 0xE0), 0xFF))
    return bytes(b)


def depth(value: object) -> int:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def test_msgpack_of_anything():
    r = random.Random(13)
    seeds = [_msgpack.encode(v) for v in VALUES]
    read = 0
    for _ in range(20_000):
        raw = mutant(r, r.choice(seeds[:-1]) if r.random() < 0.9 else seeds[-1])
        try:
            value = _msgpack.decode(raw)
        except gridhold.CorruptError as e:
            assert e.offset is None or 0 <= e.offset <= len(raw)
            continue
        read += 1
        assert depth(value) <= 65
        # What was read is written in its shortest form, which reads the same: NaN, too.
        again = _msgpack.encode(value)
        assert _msgpack.encode(_msgpack.decode(again)) == again
    assert 1000 < read < 19_000


@pytest.mark.parametrize("lead", [b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xc9"])
def test_lengths_that_are_lies(lead):
    with pytest.raises(gridhold.CorruptError):
        _msgpack.decode(lead + struct.pack(">I", 2**32 - 1) + b"\0" * 50)
