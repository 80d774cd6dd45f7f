"""The line protocol that a peer speaks with the Go tests of internal/interop.

A request is a line of JSON: {"do": name, ...}. The answer is a line of JSON,
{"refused": text} if the library raised an exception.

Elements travel in canonical form, as base64: C order, little endian, bool one
byte, integers below a byte one byte each, structs packed; elements of variable
length as their length, a little-endian uint32, and their bytes.
"""

import base64
import json
import os
import struct
import sys

import numpy as np


def serve(peer):
    """Answers until standard input ends. peer has a method a request."""
    # What a library prints must not get among the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        do = request.pop("do")
        try:
            answer = getattr(peer, do)(**request)
        except BaseException as e:  # a panic of zarrs is no Exception
            if isinstance(e, (KeyboardInterrupt, SystemExit)):
                raise
            answer = {"refused": f"{type(e).__name__}: {e}"[:500]}
        out.write(json.dumps(answer) + "\n")
        out.flush()


def pack_fixed(array):
    """The canonical form of elements of fixed length."""
    array = np.asarray(array)
    # numpy knows no byte order of the types of ml_dtypes.
    if array.dtype.kind != "V" or array.dtype.names:
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(array.tobytes(order="C")).decode()


def pack_variable(elements):
    """The canonical form of str or bytes."""
    out = bytearray()
    for e in elements:
        b = e.encode() if isinstance(e, str) else bytes(e)
        out += struct.pack("<I", len(b)) + b
    return base64.b64encode(out).decode()


def unpack_fixed(data, dtype, shape):
    """An array of canonical elements."""
    if np.dtype(dtype).kind != "V" or np.dtype(dtype).names:
        dtype = np.dtype(dtype).newbyteorder("<")
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape)


def unpack_variable(data):
    """A list of bytes."""
    raw, out, at = base64.b64decode(data), [], 0
    while at < len(raw):
        (n,) = struct.unpack_from("<I", raw, at)
        out.append(raw[at + 4 : at + 4 + n])
        at += 4 + n
    return out


def slices(start, stop):
    return tuple(slice(a, b) for a, b in zip(start, stop))


def type_name(data_type):
    """The name of a type as metadata has it."""
    return data_type["name"] if isinstance(data_type, dict) else data_type


def is_variable(data_type):
    """Whether the elements of a type vary in length."""
    return type_name(data_type) in ("string", "bytes", "variable_length_bytes")
