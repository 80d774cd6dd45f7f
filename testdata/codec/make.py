"""Makes the files beside it: chunks as other libraries encode them.

    pip install numpy==2.4.6 numcodecs==0.16.5 crc32c==2.9.post0 blosc==1.11.4 cramjam==2.14.0
    python make.py

codecs.json lists them: id and configuration as Zarr v2 has them, the encoded
bytes, size and SHA-256 of what they decode to, and for filters of elements
again, that encoded. The seed is fixed; the
bytes differ between versions of the libraries, what they decode to does not.
"""

import base64
import hashlib
import json
import lzma
import struct
from pathlib import Path

import blosc
import cramjam
import numpy as np
from numcodecs import registry

HERE = Path(__file__).parent
LZMA1 = 0x4000000000000001
rng = np.random.default_rng(7)
cases = []


def add(name, config, encoded, decoded):
    encoded, decoded = bytes(memoryview(encoded).cast("B")), bytes(memoryview(np.ascontiguousarray(decoded)).cast("B"))
    case = {
        "name": name,
        "id": config["id"],
        "configuration": config,
        "encoded": base64.b64encode(encoded).decode(),
        "size": len(decoded),
        "sha256": hashlib.sha256(decoded).hexdigest(),
    }
    if config["id"] in ("astype", "delta", "fixedscaleoffset", "packbits", "quantize"):
        c = registry.get_codec(dict(config))
        case["again"] = base64.b64encode(np.asarray(c.encode(c.decode(np.frombuffer(encoded, "u1")))).tobytes()).decode()
    cases.append(case)


def peer(name, config, data):
    """Encodes with numcodecs, and lists what it decodes to."""
    c = registry.get_codec(dict(config))
    encoded = c.encode(data)
    if config["id"] == "lzma":  # numcodecs writes some that it then refuses
        decoded = data
    else:
        decoded = np.asarray(c.decode(encoded))
    add(name, config, encoded, decoded)


def snappy(data, typesize, shuffle):
    """Frames a Snappy stream as a chunk of one block: Blosc's wheels lack it."""
    a = np.frombuffer(bytes(data), "u1")
    if shuffle:
        a = a.reshape(-1, typesize).T
    stream = bytes(cramjam.snappy.compress_raw(a.tobytes()))
    head = struct.pack("<BBBBIII", 2, 1, 2 << 5 | 0x10 | shuffle, typesize, a.size, a.size, 16 + 8 + len(stream))
    return head + struct.pack("<II", 20, len(stream)) + stream


ramp = (np.arange(300, dtype="<i4") * 7 - 900)
noise = rng.integers(0, 256, 300, dtype="u1")
runs = np.repeat(rng.integers(0, 5, 60, dtype="u1"), rng.integers(1, 60, 60))
words = np.frombuffer(b"".join(rng.choice([b"alpha ", b"beta ", b"gamma, ", b"delta; "], 400)), "u1")
data = {"ramp": ramp, "noise": noise, "runs": runs, "words": words, "one": noise[:1], "zeros": np.zeros(2000, "u1")}

for id, configs in {
    "zlib": [{"level": 0}, {"level": 1}, {"level": 9}],
    "gzip": [{"level": 1}, {"level": 9}],
    "zstd": [{"level": 1}, {"level": 19}, {"level": -3, "checksum": True}],
    "lz4": [{"acceleration": 1}, {"acceleration": 9}],
    "bz2": [{"level": 1}, {"level": 9}],
    "crc32": [{}, {"location": "end"}],
    "crc32c": [{}, {"location": "start"}],
    "adler32": [{}, {"location": "end"}],
    "fletcher32": [{}],
    "jenkins_lookup3": [{}, {"initval": 77}],
    "lzma": [
        {"format": 1, "check": -1, "preset": None, "filters": None},
        {"format": 1, "check": lzma.CHECK_NONE, "preset": 9, "filters": None},
        {"format": 1, "check": lzma.CHECK_CRC32, "preset": 0, "filters": None},
        {"format": 1, "check": lzma.CHECK_SHA256, "preset": None,
         "filters": [{"id": lzma.FILTER_DELTA, "dist": 4}, {"id": lzma.FILTER_LZMA2, "preset": 6}]},
        {"format": 2, "check": -1, "preset": None, "filters": None},
        {"format": 2, "check": -1, "preset": None, "filters": [{"id": LZMA1, "lc": 2, "lp": 1, "pb": 0}]},
        {"format": 3, "check": -1, "preset": None, "filters": [{"id": lzma.FILTER_LZMA2, "dict_size": 4096}]},
        {"format": 3, "check": -1, "preset": None, "filters": [{"id": LZMA1, "lc": 0, "lp": 2, "pb": 1}]},
        {"format": 3, "check": -1, "preset": None,
         "filters": [{"id": lzma.FILTER_DELTA, "dist": 2}, {"id": lzma.FILTER_LZMA2, "preset": 1}]},
    ],
}.items():
    for i, c in enumerate(configs):
        for kind, d in data.items():
            peer(f"{id}_{i}_{kind}", {"id": id, **c}, d)

for n in range(14):
    peer(f"jenkins_lookup3_len{n}", {"id": "jenkins_lookup3"}, noise[:n])
    if n:
        peer(f"fletcher32_len{n}", {"id": "fletcher32"}, noise[:n])
big = rng.integers(0, 65536, 1000, dtype="<u2")
big[::2] = 65535
peer("fletcher32_high", {"id": "fletcher32"}, big)
# Two streams with padding between them, as xz concatenates.
add("lzma_streams", {"id": "lzma", "format": 1}, lzma.compress(bytes(ramp)) + bytes(8) + lzma.compress(bytes(runs)),
    np.frombuffer(bytes(ramp) + bytes(runs), "u1"))
# Chunks of LZMA2 that were stored, between ones that were packed.
mixed = np.concatenate([np.tile(words, 30), rng.integers(0, 256, 66_000, dtype="u1"), np.tile(words, 2)])
add("lzma_mixed", {"id": "lzma", "format": 1}, lzma.compress(bytes(mixed)), mixed)

for size in (1, 2, 3, 4, 8, 16):
    peer(f"shuffle_{size}", {"id": "shuffle", "elementsize": size}, noise[:240])

for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
    for shuffle in (0, 1, 2):
        for size in (1, 2, 3, 4, 8, 12, 20):
            for count, what in ((1, "one"), (64, "few"), (157, "odd"), (320, "even")):
                if cname in ("zlib", "zstd", "lz4hc") and (size not in (1, 4, 8) or what != "odd"):
                    continue
                a = (np.arange(count * size, dtype="u4") ** 2 >> 11).astype("u1") if size % 4 else (np.arange(count * size // 4, dtype="<u4") * 5 + 3)
                blosc.set_blocksize(0)
                e = blosc.compress(bytes(a), typesize=size, clevel=5, shuffle=shuffle, cname=cname)
                add(f"blosc_{cname}_{shuffle}_{size}_{what}", {"id": "blosc", "cname": cname, "shuffle": shuffle}, e, a)
        # Several blocks, the last one shorter; words have long matches.
        blosc.set_blocksize(4096)
        e = blosc.compress(bytes(mixed[5000:30001]), typesize=4, clevel=9, shuffle=shuffle, cname=cname)
        add(f"blosc_{cname}_{shuffle}_blocks", {"id": "blosc", "cname": cname, "shuffle": shuffle}, e, mixed[5000:30001])
        blosc.set_blocksize(0)
far = np.concatenate([noise, np.tile(noise[:50], 5), rng.integers(0, 256, 9000, dtype="u1"), noise, np.zeros(3000, "u1"), noise])
for kind, d in (("runs", runs), ("words", words), ("zeros", data["zeros"])):
    add(f"blosc_snappy_0_{kind}", {"id": "blosc", "cname": "snappy"}, snappy(d.tobytes(), 1, 0), d)
add("blosc_snappy_1", {"id": "blosc", "cname": "snappy"}, snappy(ramp.tobytes(), 4, 1), ramp)
add("blosc_snappy_far", {"id": "blosc", "cname": "snappy"}, snappy(far.tobytes(), 1, 0), far)
add("blosc_snappy_mixed", {"id": "blosc", "cname": "snappy"}, snappy(mixed[40000:75000].tobytes(), 1, 0), mixed[40000:75000])
for cname in ("blosclz", "lz4"):
    add(f"blosc_{cname}_far", {"id": "blosc", "cname": cname}, blosc.compress(bytes(far), typesize=1, clevel=9, shuffle=0, cname=cname), far)
add("blosc_stored", {"id": "blosc", "cname": "lz4"}, blosc.compress(bytes(noise), typesize=4, clevel=0, cname="lz4"), noise)
add("blosc_noise", {"id": "blosc", "cname": "lz4"}, blosc.compress(bytes(noise), typesize=4, clevel=5, cname="lz4"), noise)
add("blosc_empty", {"id": "blosc", "cname": "lz4"}, bytes([2, 1, 0x33, 4, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0]), noise[:0])

with np.errstate(all="ignore"):
    numbers = np.array([0, 1, -1, 2.5, -3.5, 100.4, 126.6, 1e-3, 65504, 1e9, 3e18], "f8")
    for t in ("<i1", "|u1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", "<f2", "<f4", ">f4", "<f8"):
        t = np.dtype(t)
        ints = rng.integers(0, 256, 20 * t.itemsize, dtype="u1").view(t) if t.kind != "f" else np.round(rng.normal(size=20) * 50, 3).astype(t)
        peer(f"delta_{t.str}", {"id": "delta", "dtype": t.str}, ints)
        for to in ("<f8", ">f4", "<f2", "<i8", ">i2", "|u1", "<u8", "|b1"):
            if np.dtype(to).kind != "f" and t.kind == "f":
                values = np.array([0, 1, 2.5, 100.4, 126.6, 1e-3], t)  # others have no value in C
            else:
                values = ints
            e = values.tobytes()
            c = {"id": "astype", "encode_dtype": t.str, "decode_dtype": to}
            add(f"astype_{t.str}_{to}", c, e, registry.get_codec(dict(c)).decode(np.frombuffer(e, t)))
        if t.kind == "f" or t.itemsize <= 4:
            for i, (offset, factor) in enumerate(((0, 4), (-3.7, 0.3), (1000, 100))):
                for to in ("<f8", ">f4", "<f2"):
                    c = {"id": "fixedscaleoffset", "offset": offset, "scale": factor, "dtype": to, "astype": t.str}
                    add(f"fixedscaleoffset_{i}_{t.str}_{to}", c, ints, registry.get_codec(dict(c)).decode(ints))
    for to in ("<i4", ">i2", "|u1", "<u8"):
        for t in ("<i2", "|u1", "<f4"):
            for i, (offset, factor) in enumerate(((3, 2), (1.5, 0.5))):
                e = np.array([0, 7, 30, 51, 100], t)
                c = {"id": "fixedscaleoffset", "offset": offset, "scale": factor, "dtype": to, "astype": t}
                add(f"fixedscaleoffset_{i}_{t}_{to}", c, e, registry.get_codec(dict(c)).decode(e))
    peer("delta_narrow", {"id": "delta", "dtype": "<i4", "astype": "<i2"}, ramp)
    peer("delta_widen", {"id": "delta", "dtype": "<f8", "astype": "<f4"}, numbers[:9])
    peer("delta_negzero", {"id": "delta", "dtype": "<f4"}, np.array([-0.0, -0.0, 3], "f4"))
    for digits in (0, 1, 3, -1):
        for t in ("<f2", "<f4", ">f8"):
            peer(f"quantize_{digits}_{t}", {"id": "quantize", "digits": digits, "dtype": t, "astype": "<f4"}, numbers[:8].astype(t))
    peer("bitround", {"id": "bitround", "keepbits": 5}, numbers)
for n in (1, 7, 8, 9, 64, 65):
    peer(f"packbits_{n}", {"id": "packbits"}, (noise[:n] & 1).astype(bool))

lines = ",\n".join(json.dumps(c) for c in cases)
(HERE / "codecs.json").write_text(f"[\n{lines}\n]\n")
print(len(cases), "cases")
