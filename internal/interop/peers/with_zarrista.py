"""zarrs, through zarrista, as a peer."""

import base64

import numpy as np
import zarrista
from zarrista.store import FilesystemStore

import protocol


def open_node(kind, dir, path):
    return kind.open(FilesystemStore(dir), "/" + path)


class Peer:
    def read(self, dir, path):
        array = open_node(zarrista.Array, dir, path)
        got = array[...]
        if isinstance(got, zarrista.VariableLengthTensor):
            data = protocol.pack_variable(np.asarray(got.to_numpy(), object).reshape(-1))
        else:
            data = base64.b64encode(bytes(got.buffer())).decode()
        return {"shape": list(array.shape), "attributes": dict(array.attrs), "data": data}

    def write(self, dir, path, metadata, parts=()):
        array = zarrista.Array.from_metadata(metadata, FilesystemStore(dir), "/" + path)
        array.store_metadata()
        return self.change(dir, path, parts)

    def change(self, dir, path, parts):
        array = open_node(zarrista.Array, dir, path)
        variable = protocol.is_variable(array.metadata["data_type"])
        for p in parts:
            if variable:
                elements = protocol.unpack_variable(p["data"])
                offsets = [0]
                for e in elements:
                    offsets.append(offsets[-1] + len(e))
                data = zarrista.ArrayBytes(b"".join(elements), offsets=offsets)
            else:
                data = zarrista.ArrayBytes(base64.b64decode(p["data"]))
            selection = protocol.slices(p["start"], p["stop"]) if p["start"] else ...
            array.store_array_subset(selection, data)
        return {}

    def list(self, dir, consolidated):
        group = open_node(zarrista.Group, dir, "")
        nodes = []
        if consolidated:
            for path, meta in group.consolidated_metadata["metadata"].items():
                nodes.append({"path": path, "kind": meta["node_type"], "attributes": meta.get("attributes", {})})
        else:
            for node in group.traverse():
                kind = "array" if isinstance(node, zarrista.Array) else "group"
                nodes.append({"path": node.path.strip("/"), "kind": kind, "attributes": dict(node.attrs)})
        return {"attributes": dict(group.attrs), "nodes": nodes}

    def attributes(self, dir, path, attributes):
        try:
            node = open_node(zarrista.Array, dir, path)
        except zarrista.exceptions.ZarristaError:
            node = open_node(zarrista.Group, dir, path)
        node.with_attrs(attributes).store_metadata()
        return {}


protocol.serve(Peer())
