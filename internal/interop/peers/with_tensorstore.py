"""tensorstore as a peer."""

import ctypes
import json
import os

import numpy as np
import tensorstore as ts

import protocol


CONTEXT = {"file_io_sync": False}  # waiting for the disk shows nothing here


def open_array(dir, path, **more):
    store = {"driver": "file", "path": os.path.join(dir, path)}
    return ts.open({"driver": "zarr3", "kvstore": store, "context": CONTEXT, **more}).result()


def metadata_of(dir, path):
    with open(os.path.join(dir, path, "zarr.json"), encoding="utf-8") as f:
        return json.load(f)


def memory(values):
    """The bytes of elements that tensorstore gives an axis more and no size,
    of which numpy would copy nothing."""
    if values.size == 0:
        return np.empty(0, np.uint8)
    span = 1 + sum((n - 1) * step for n, step in zip(values.shape, values.strides))
    raw = np.frombuffer(ctypes.string_at(values.ctypes.data, span), np.uint8)
    return np.lib.stride_tricks.as_strided(raw, values.shape, values.strides)


def read_struct(dir, path, fields):
    """A struct is opened field by field."""
    names = [f["name"] if isinstance(f, dict) else f[0] for f in fields]
    columns = [open_array(dir, path, open=True, field=name).read().result() for name in names]
    dtype = [(name, c.dtype.newbyteorder("<")) for name, c in zip(names, columns)]
    values = np.empty(columns[0].shape, dtype)
    for name, c in zip(names, columns):
        values[name] = c
    return values


class Peer:
    def read(self, dir, path):
        metadata = metadata_of(dir, path)
        data_type = metadata["data_type"]
        if protocol.type_name(data_type) in ("struct", "structured"):
            values = read_struct(dir, path, data_type["configuration"]["fields"])
            return {"shape": list(values.shape), "data": protocol.pack_fixed(values)}
        array = open_array(dir, path, open=True)
        values = array.read().result()
        if protocol.type_name(data_type) == "raw_bytes":
            return {"shape": list(array.shape[:-1]), "data": protocol.pack_fixed(memory(values))}
        return {"shape": list(array.shape), "data": protocol.pack_fixed(values)}

    def write(self, dir, path, metadata, parts=()):
        if protocol.type_name(metadata["data_type"]) in ("raw_bytes", "struct", "structured"):
            raise NotImplementedError("tensorstore 0.1.86 aborts the process when it creates such an array")
        open_array(dir, path, metadata=metadata, create=True)
        return self.change(dir, path, parts)

    def change(self, dir, path, parts):
        array = open_array(dir, path, open=True)
        for p in parts:
            start, stop = p["start"], p["stop"]
            shape = [b - a for a, b in zip(start, stop)]
            values = protocol.unpack_fixed(p["data"], array.dtype.numpy_dtype, shape)
            array[protocol.slices(start, stop)].write(values).result()
        return {}


protocol.serve(Peer())
