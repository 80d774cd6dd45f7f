"""Makes about.json of the plugins, with samples by imagecodecs, and in arrays/ what other software wrote through the same codecs.

    python -m venv v && v/bin/pip install imagecodecs==2026.3.6 numcodecs==0.16.6 zarr==3.1.6 blosc2==4.14.1 && v/bin/python make.py
"""

import base64
import hashlib
import json
import os
import shutil

import blosc2
import imagecodecs
import imagecodecs.numcodecs
import numpy as np
import zarr

here = os.path.dirname(os.path.abspath(__file__))
arrays = os.path.join(here, "arrays")
random = np.random.default_rng(7)


def text(b):
    return base64.b64encode(bytes(b)).decode()


def about(name, what):
    with open(os.path.join(here, name, "about.json"), "w") as f:
        json.dump(what, f, separators=(",", ":"))


def codec(name, encoded, decoded, configuration=None, **more):
    sample = {"encoded": text(encoded), "decoded": text(decoded)}
    if configuration:
        sample["configuration"] = configuration
    return {"names": ["imagecodecs_" + name, "numcodecs.imagecodecs_" + name], **more, "sample": sample}


def smooth(shape, dtype, step=5):
    """What instruments measure: neighbours differ by little."""
    walk = np.cumsum(random.integers(-step, step + 1, size=int(np.prod(shape))))
    return np.round(walk - walk.min()).astype(dtype).reshape(shape)


small = smooth((300,), "u1", 2).tobytes()
words = smooth((200,), "<u2")
runs = np.repeat(random.integers(0, 9, 40), random.integers(1, 30, 40)).astype("u1").tobytes()

about("tiff", {"name": "tiff", "version": "1.0", "codecs": [
    codec("lzw", imagecodecs.lzw_encode(small), small),
    codec("packbits", imagecodecs.packbits_encode(runs), runs, blosc2=240, encodes=True, times=2, plus=16),
]})
c = {"bitspersample": 16, "flags": 8, "blocksize": 16, "rsi": 32}
about("aec", {"name": "aec", "version": "1.0", "codecs": [codec("aec", imagecodecs.aec_encode(words, **c), words.tobytes(), c)]})
header = b"\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }"
about("npy", {"name": "npy", "version": "1.0", "reader": {"suffixes": [".npy"], "sample": {
    "key": "sample.npy", "object": text(header.ljust(127) + b"\n" + np.arange(6, dtype="<i2").tobytes())}}})

shutil.rmtree(arrays, ignore_errors=True)
os.mkdir(arrays)
imagecodecs.numcodecs.register_codecs(verbose=False)
want = {}


def digest(a):
    return {"shape": list(a.shape), "sha256": hashlib.sha256(np.ascontiguousarray(a.astype(a.dtype.newbyteorder("<"))).tobytes()).hexdigest()}


def write(name, data, chunks, compressor):
    a = zarr.create_array(os.path.join(arrays, name), shape=data.shape, dtype=data.dtype, chunks=chunks, compressors=compressor, zarr_format=2, fill_value=0)
    a[...] = data
    want[name] = digest(data)


numcodecs = imagecodecs.numcodecs
write("lzw.zarr", smooth((60, 90), "<u2"), (32, 32), numcodecs.Lzw())
write("packbits.zarr", np.repeat(random.integers(0, 5, (50, 5)), 13, axis=1).astype("u1"), (20, 65), numcodecs.Packbits())
for bits, dtype, flags in (8, "u1", 8), (12, "<u2", 8), (16, "<i2", 9), (16, ">u2", 12), (32, "<i4", 9), (16, "<u2", 0), (24, "<u4", 40):
    if bits == 12:
        data = smooth((70, 40), dtype, 20) % 4096
    elif bits == 8:
        data = smooth((70, 40), dtype, 1)
    else:
        data = smooth((70, 40), dtype, 3 if flags & 1 else 40)
    if bits == 16 and flags == 9:
        data -= 30
    data[10:30] = data[10, 0]  # blocks of zeros
    data[40:50] = random.integers(0, 2 ** min(bits, 15) - 1, (10, 40))  # and what does not pack
    data = data.astype(dtype)
    write(f"aec-{bits}-{flags}.zarr", data, (35, 40), numcodecs.Aec(bitspersample=bits, flags=flags, blocksize=16 if bits != 8 else 8, rsi=4 if bits != 32 else 128))


def pack(src, dst, meta, schunk):
    b = np.frombuffer(imagecodecs.packbits_encode(src.tobytes()), "u1")
    if len(b) > len(dst):
        return 0
    dst[: len(b)] = b
    return len(b)


def unpack(src, dst, meta, schunk):
    b = np.frombuffer(imagecodecs.packbits_decode(src.tobytes()), "u1")
    dst[: len(b)] = b
    return len(b)


blosc2.register_codec("packbits", 240, pack, unpack)
data = np.repeat(random.integers(0, 5, (50, 8)), 16, axis=1).astype("<u2")
blosc2.asarray(data, chunks=(25, 128), blocks=(5, 128), urlpath=os.path.join(arrays, "packbits.b2nd"),
               cparams={"codec": 240, "nthreads": 1, "filters": [blosc2.Filter.SHUFFLE], "filters_meta": [0]}, dparams={"nthreads": 1})
want["packbits.b2nd"] = digest(data)

for name, data in {
    "plain.npy": smooth((7, 11, 5), "<f4"),
    "fortran.npy": np.asfortranarray(smooth((9, 4, 6), "<i4")),
    "big.npy": smooth((40,), ">f8"),
    "scalar.npy": np.array(12345, "<i8"),
    "empty.npy": np.zeros((0, 4), "<u2"),
    "bool.npy": smooth((13, 3), "u1") % 2 == 0,
    "complex.npy": smooth((5, 5), "<f4") * np.complex64(1 + 2j),
}.items():
    np.save(os.path.join(arrays, name), data)
    want[name] = digest(data)

with open(os.path.join(arrays, "want.json"), "w") as f:
    json.dump(want, f, indent=1)
    f.write("\n")
