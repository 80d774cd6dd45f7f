"""zarr-python as a peer. With the argument "zarrs": with the codec pipeline of
zarrs, which does what zarrs can and leaves the rest to zarr-python."""

import asyncio
import sys
import warnings

import numpy as np
import zarr
from zarr.core.array import AsyncArray
from zarr.core.metadata.v3 import ArrayV3Metadata
from zarr.storage import LocalStore, StorePath

import protocol

warnings.simplefilter("ignore")
if sys.argv[1:] == ["zarrs"]:
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})


def open_array(dir, path, mode):
    return zarr.open_array(dir, path=path, mode=mode, zarr_format=3)


def variable(array):
    return array.dtype.kind in "TO"


class Peer:
    def read(self, dir, path):
        array = open_array(dir, path, "r")
        values = array[...]
        if variable(array):
            data = protocol.pack_variable(np.asarray(values, object).reshape(-1))
        else:
            data = protocol.pack_fixed(np.asarray(values, array.dtype))
        return {"shape": list(array.shape), "attributes": dict(array.attrs), "data": data}

    def write(self, dir, path, metadata, parts=()):
        # zarr-python writes down the metadata as it understands it.
        meta = ArrayV3Metadata.from_dict(metadata)
        array = AsyncArray(metadata=meta, store_path=StorePath(LocalStore(dir), path))
        asyncio.run(array._save_metadata(meta, ensure_parents=True))
        return self.change(dir, path, parts)

    def change(self, dir, path, parts):
        array = open_array(dir, path, "r+")
        text = array.metadata.data_type.to_json(zarr_format=3) == "string"
        for p in parts:
            start, stop = p["start"], p["stop"]
            shape = [b - a for a, b in zip(start, stop)]
            if variable(array):
                values = np.empty(shape, object)
                flat = [b.decode() if text else b for b in protocol.unpack_variable(p["data"])]
                if shape == []:
                    values[()] = flat[0]
                else:
                    values.reshape(-1)[:] = flat
                if text:
                    values = values.astype(array.dtype)
            else:
                values = protocol.unpack_fixed(p["data"], array.dtype, shape)
            array[protocol.slices(start, stop) if start else ...] = values
        return {}

    def list(self, dir, consolidated):
        group = zarr.open_group(dir, mode="r", zarr_format=3, use_consolidated=consolidated)
        kinds = {zarr.Array: "array", zarr.Group: "group"}
        nodes = [{"path": p, "kind": kinds[type(n)], "attributes": dict(n.attrs)} for p, n in group.members(max_depth=None)]
        return {"attributes": dict(group.attrs), "nodes": nodes}

    def group(self, dir, path, attributes):
        zarr.create_group(LocalStore(dir), path=path, attributes=attributes, zarr_format=3)
        return {}

    def attributes(self, dir, path, attributes):
        zarr.open(dir, path=path, mode="r+", zarr_format=3).attrs.put(attributes)
        return {}

    def consolidate(self, dir):
        zarr.consolidate_metadata(dir, zarr_format=3)
        return {}


protocol.serve(Peer())
