"""Makes the file beside it: chunks of Blosc 2 as the C library writes them.

    pip install blosc2==4.14.1 numpy==2.4.6
    python make.py

chunks.json lists them: the chunk, the type size of its container, and size and SHA-256 of what
it decodes to. The seeds are fixed; the bytes differ between versions
of the library, what they decode to does not.
"""

import base64
import hashlib
import json
from pathlib import Path

import blosc2
import numpy as np

HERE = Path(__file__).parent
rng = np.random.default_rng(11)
C, F, S = blosc2.Codec, blosc2.Filter, blosc2.SplitMode
CODECS = (C.BLOSCLZ, C.LZ4, C.LZ4HC, C.ZLIB, C.ZSTD)
cases = []


def add(name, chunk, decoded, typesize, **more):
    cases.append({
        "name": name,
        "encoded": base64.b64encode(chunk).decode(),
        "typesize": typesize,
        "size": len(decoded),
        "sha256": hashlib.sha256(decoded).hexdigest(),
        **more,
    })


def chunk(data, codec, typesize, filters=(), split=S.AUTO_SPLIT, blocksize=0, level=5, use_dict=False):
    """The chunk, and what the library decodes it to (filters may lose bits)."""
    filters = [f if isinstance(f, tuple) else (f, 0) for f in filters] or [(F.NOFILTER, 0)]
    cparams = blosc2.CParams(
        codec=codec, clevel=level, typesize=typesize, splitmode=split, blocksize=blocksize, use_dict=use_dict,
        filters=[f for f, _ in filters], filters_meta=[m for _, m in filters], nthreads=1)
    s = blosc2.SChunk(chunksize=max(len(data), typesize), cparams=cparams)
    s.append_data(data)
    encoded = s.get_chunk(0)
    return encoded, blosc2.decompress2(encoded)


def peer(name, data, codec, typesize, *args, **kwargs):
    data = bytes(data)
    encoded, decoded = chunk(data, codec, typesize, *args, **kwargs)
    add(name, encoded, decoded, typesize)


def numbers(n, typesize):
    """n elements that grow slowly, with noise in the lowest byte."""
    a = np.cumsum(rng.integers(0, 3, n)).astype("<u8")
    b = np.zeros((n, typesize), "u1")
    k = min(typesize, 8)
    b[:, :k] = a.view("u1").reshape(n, 8)[:, :k]
    return b.tobytes()


for codec in CODECS:
    for name, filters in {
        "plain": (), "shuffle": (F.SHUFFLE,), "bitshuffle": (F.BITSHUFFLE,), "delta": (F.DELTA,),
        "delta_shuffle": (F.DELTA, F.SHUFFLE), "bytedelta": (F.SHUFFLE, (F.BYTEDELTA, 4)),
        "shuffle_by_2": ((F.SHUFFLE, 2),),
    }.items():
        for split in (S.ALWAYS_SPLIT, S.NEVER_SPLIT):
            peer(f"{codec.name}_{name}_{split.name}", numbers(900, 4), codec, 4, filters, split, 1024)
    for typesize in (1, 2, 3, 7, 8, 12, 16, 17, 255, 300):
        for name, f in (("shuffle", F.SHUFFLE), ("bitshuffle", F.BITSHUFFLE)):
            peer(f"{codec.name}_{name}_of_{typesize}", numbers(max(2100 // typesize, 9), typesize), codec, typesize, (f,))
    peer(f"{codec.name}_level_9", numbers(900, 8), codec, 8, (F.SHUFFLE,), level=9)
for typesize in (1, 2, 4, 8, 16, 24, 12, 3):
    peer(f"delta_of_{typesize}", numbers(160, typesize), C.LZ4, typesize, (F.DELTA,), blocksize=48 * typesize)
    if typesize <= 8 and typesize != 3:
        peer(f"int_trunc_of_{typesize}", rng.bytes(40 * typesize), C.ZSTD, typesize, ((F.INT_TRUNC, 5), F.SHUFFLE))
for dtype in ("f4", "f8"):
    a = rng.normal(size=200).astype(dtype)
    peer(f"trunc_prec_{dtype}", a, C.ZSTD, a.itemsize, ((F.TRUNC_PREC, 10), F.SHUFFLE))
peer("bytedelta_odd", numbers(701, 4)[:2803], C.ZLIB, 4, (F.SHUFFLE, (F.BYTEDELTA, 4)), blocksize=1004)
peer("six_filters", numbers(500, 4), C.LZ4, 4, (F.DELTA, F.SHUFFLE, (F.BYTEDELTA, 4), F.BITSHUFFLE, (F.SHUFFLE, 8), (F.BYTEDELTA, 2)), blocksize=400)

# Sizes around the thresholds, runs and zeros among the streams.
for n in (1, 4, 31, 32, 33, 127, 128, 129, 255, 256, 257):
    peer(f"size_{n}", numbers(n, 4)[:n], C.LZ4, 4, (F.SHUFFLE,))
mixed = np.zeros((4, 300), "<u4")
mixed[1] = 0x05050505
mixed[2] = np.arange(300)
mixed[3] = 0xFF00FF00
peer("runs", mixed.tobytes(), C.BLOSCLZ, 4, (F.SHUFFLE,), S.ALWAYS_SPLIT, 1200)
peer("zeros", bytes(5000), C.ZSTD, 4, (F.SHUFFLE,))
peer("zeros_odd", bytes(5001), C.LZ4, 4, (F.SHUFFLE,))
peer("noise", rng.bytes(700), C.LZ4, 4, (F.SHUFFLE,))
peer("level_0", numbers(100, 4), C.LZ4, 4, (F.SHUFFLE,), level=0)
for kind in (blosc2.SpecialValue.ZERO, blosc2.SpecialValue.NAN, blosc2.SpecialValue.UNINIT):
    for typesize in (4, 8):
        s = blosc2.SChunk(chunksize=100 * typesize, cparams=blosc2.CParams(typesize=typesize))
        s.fill_special(100, kind)
        decoded = bytes(100 * typesize) if kind == blosc2.SpecialValue.UNINIT else s.decompress_chunk(0)
        add(f"special_{kind.name}_{typesize}", s.get_chunk(0), decoded, typesize)
for value, typesize in ((b"\x07", 1), (b"abc", 3), (b"12345678", 8), (bytes(range(200)) + bytes(range(100)), 300)):
    s = blosc2.SChunk(chunksize=20 * typesize, cparams=blosc2.CParams(typesize=typesize))
    s.fill_special(20, blosc2.SpecialValue.VALUE, value)
    add(f"special_VALUE_{typesize}", s.get_chunk(0), value * 20, typesize)

# Dictionaries. Words that come again in each block, but not within it.
words = [rng.bytes(24) for _ in range(40)]
text = b"".join(words[i] for i in rng.integers(0, 40, 500))
for codec in (C.LZ4, C.LZ4HC, C.ZSTD):
    for name, filters in (("plain", ()), ("shuffle", (F.SHUFFLE,))):
        peer(f"dictionary_{codec.name}_{name}", text, codec, 4, filters, blocksize=1024, use_dict=True)
        cases[-1]["dictionary"] = base64.b64decode(cases[-1]["encoded"])[31] & 1

# Matches from far away, and blocks of which the last one is shorter.
far = rng.bytes(3000) + bytes(9000) + rng.bytes(200)
far += far[:2500] + bytes(300) + far[100:900]
for codec in CODECS:
    peer(f"{codec.name}_far", far, codec, 1, (), S.NEVER_SPLIT, level=9)

lines = ",\n".join(json.dumps(c) for c in cases)
(HERE / "chunks.json").write_text(f"[\n{lines}\n]\n")
print(len(cases), "cases")
