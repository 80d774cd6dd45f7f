"""python-blosc2 as a peer. A request is a list of jobs, so that hundreds of
containers take one exchange; the answer has an outcome a job, {"refused": text}
for a job that raised an exception.

Metadata travels as MessagePack, items as a container stores them."""

import ast
import base64
import hashlib
import os

import blosc2
import msgpack
import numpy as np

import protocol

# What runs beside this is measured too, and cores are few.
blosc2.set_nthreads(1)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def cparams(job):
    return {
        "codec": blosc2.Codec(job["codec"]),
        "clevel": job["level"],
        "typesize": job["type_size"],
        "blocksize": job.get("block_size", 0),
        "splitmode": blosc2.SplitMode(job["split"]),
        "use_dict": job.get("dictionary", False),
        "filters": [blosc2.Filter(f["id"]) for f in job["filters"]],
        "filters_meta": [f["meta"] for f in job["filters"]],
        "nthreads": 1,
    }


def as_dtype(text):
    return np.dtype(ast.literal_eval(text) if text.startswith("[") else text)


def dtype_name(dtype):
    # Through descr, which says where a struct has holes.
    return dtype.str if dtype.fields is None else str(np.dtype(dtype.descr))


def unpack(data):
    return msgpack.unpackb(base64.b64decode(data), strict_map_key=False)


def vlmeta_of(schunk):
    return {name: base64.b64encode(msgpack.packb(schunk.vlmeta[name])).decode() for name in schunk.vlmeta}


def state(c):
    """What a container holds; see state in blosc2_peer_test.go."""
    if isinstance(c, blosc2.NDArray):
        return {
            "kind": "ndarray",
            "type_size": c.schunk.typesize,
            "shape": list(c.shape),
            "chunk_shape": list(c.chunks),
            "block_shape": list(c.blocks),
            "dtype": dtype_name(c.dtype),
            "data": digest(np.asarray(c[()]).tobytes()),
            "vlmeta": vlmeta_of(c.schunk),
        }
    if isinstance(c, (blosc2.BatchArray, blosc2.ObjectArray)):
        batches = isinstance(c, blosc2.BatchArray)
        values = [list(batch) for batch in c] if batches else list(c)
        return {"kind": "batcharray" if batches else "objectarray", "values": [base64.b64encode(msgpack.packb(v)).decode() for v in values]}
    chunks = [c.decompress_chunk(i) for i in range(c.nchunks)]
    return {
        "kind": "schunk",
        "type_size": c.typesize,
        "chunk_size": c.chunksize,
        "chunks": [digest(b) for b in chunks],
        "sizes": [len(b) for b in chunks],
        "vlmeta": vlmeta_of(c),
    }


def slices(spans):
    # Python has no other way to say that a slice down ends with the first item.
    return tuple(slice(a, None if b < 0 else b, step) for a, b, step in spans)


def change(c, op):
    do, data = op["do"], base64.b64decode(op.get("data") or "")
    schunk = c.schunk if isinstance(c, blosc2.NDArray) else c
    match do:
        case "append":
            schunk.append_data(data)
        case "insert":
            schunk.insert_data(op["chunk"], data, True)
        case "update":
            schunk.update_data(op["chunk"], data, True)
        case "delete":
            schunk.delete_chunk(op["chunk"])
        case "special update":
            schunk.update_special(op["chunk"], blosc2.SpecialValue(op["special"]), data or None)
        case "fill":
            schunk.fill_special(op["count"], blosc2.SpecialValue(op["special"]), data or None)
        case "items":
            schunk[op["start"] : op["start"] + len(data) // schunk.typesize] = data
        case "reverse":
            schunk.reorder_offsets(np.arange(schunk.nchunks, dtype=np.int64)[::-1].copy())
        case "set vlmeta":
            schunk.vlmeta[op["name"]] = unpack(op["data"])
        case "delete vlmeta":
            del schunk.vlmeta[op["name"]]
        case "slice":
            key = slices(op.get("spans", []))
            shape = tuple(len(range(*s.indices(n))) for s, n in zip(key, c.shape))
            c[key or ()] = np.frombuffer(data, c.dtype).reshape(shape)
        case "resize":
            c.resize(op["shape"])


def make(dir, job):
    common = {"urlpath": os.path.join(dir, job["name"]), "mode": "w", "contiguous": not job.get("sparse", False), "cparams": cparams(job)}
    if "dtype" not in job:
        chunk_size = job["chunk_size"]
        return blosc2.SChunk(chunksize=chunk_size if chunk_size > 0 else None, meta={m["name"]: unpack(m["value"]) for m in job.get("meta") or []}, **common)
    del common["cparams"]["blocksize"]
    shape, chunks, blocks = (tuple(job.get(key, ())) for key in ("shape", "chunk_shape", "block_shape"))
    items = np.frombuffer(base64.b64decode(job.get("data", "")), as_dtype(job["dtype"])).reshape(shape)
    if job.get("full"):  # of one item, of which nothing is stored
        return blosc2.full(shape, items.flat[0], dtype=items.dtype, chunks=chunks, blocks=blocks, **common)
    return blosc2.asarray(items, chunks=chunks, blocks=blocks, **common)


def each(jobs, do):
    outcomes = []
    for job in jobs:
        try:
            outcomes.append(do(job) or {})
        except Exception as e:
            outcomes.append({"refused": f"{type(e).__name__}: {e}"[:300]})
    return {"outcomes": outcomes}


STORES = {"embedstore": blosc2.EmbedStore, "dictstore": blosc2.DictStore, "treestore": blosc2.TreeStore}


def open_store(dir, job, mode):
    kind = STORES[job["kind"]]
    threshold = {} if kind is blosc2.EmbedStore else {"threshold": job.get("threshold", 0)}
    return kind(os.path.join(dir, job["name"]), mode=mode, **threshold)


def close(store):
    if hasattr(store, "close"):
        store.close()


class Peer:
    def write(self, dir, jobs):
        """Makes frames and does what their ops say."""

        def one(job):
            c = make(dir, job)
            for op in job.get("ops") or []:
                change(c, op)
            schunk = c.schunk if isinstance(c, blosc2.NDArray) else c
            return {"packed": schunk.cbytes}

        return each(jobs, one)

    def sizes(self, dir, jobs):
        """Packs files, a chunk each, and says how large the chunks are."""

        def one(job):
            with open(os.path.join(dir, job["name"]), "rb") as f:
                data = f.read()
            schunk = blosc2.SChunk(chunksize=len(data), data=data, cparams=cparams(job))
            return {"packed": len(schunk.get_chunk(0))}

        return each(jobs, one)

    def change(self, dir, jobs):
        def one(job):
            c = blosc2.open(os.path.join(dir, job["name"]), mode="a")
            for op in job["ops"]:
                change(c, op)

        return each(jobs, one)

    def read(self, dir, jobs):
        return each(jobs, lambda job: state(blosc2.open(os.path.join(dir, job["name"]), mode="r")))

    def chunks(self, dir, jobs):
        """The chunks of arrays, as they decode one by one."""

        def one(job):
            # Its chunks are gone with the array.
            array = blosc2.open(os.path.join(dir, job["name"]), mode="r")
            return {"chunks": [digest(array.schunk.decompress_chunk(i)) for i in range(array.schunk.nchunks)]}

        return each(jobs, one)

    def objects(self, dir, jobs):
        """Makes BatchArrays and ObjectArrays."""

        def one(job):
            path = os.path.join(dir, job["name"])
            values = [unpack(v) for v in job["values"]]
            if job["kind"] == "objectarray":
                a = blosc2.ObjectArray(urlpath=path, mode="w")
            else:
                a = blosc2.BatchArray(urlpath=path, mode="w", items_per_block=job["items_per_block"])
            for v in values:
                a.append(v)

        return each(jobs, one)

    def store(self, dir, jobs):
        """Changes stores, which are made if they are not there."""

        def one(job):
            store = open_store(dir, job, "a" if os.path.exists(os.path.join(dir, job["name"])) else "w")
            for key in job.get("delete") or []:
                del store[key]
            for leaf in job.get("leaves") or []:
                # A leaf is a frame in memory, as bytes, under a key.
                store[leaf["key"]] = blosc2.from_cframe(base64.b64decode(leaf["frame"]), copy=True)
            for name, value in (job.get("vlmeta") or {}).items():
                store.vlmeta[name] = unpack(value)
            if job.get("zip"):
                store.to_b2z(filename=os.path.join(dir, job["zip"]), overwrite=True)
            close(store)

        return each(jobs, one)

    def store_state(self, dir, jobs):
        def one(job):
            store = open_store(dir, job, "r")
            leaves = {}
            for key in store.keys():
                leaf = store[key]
                if isinstance(leaf, blosc2.TreeStore):  # an inner node
                    continue
                leaves[key] = state(leaf)
            vlmeta = {}
            if job["kind"] == "treestore":
                vlmeta = {name: base64.b64encode(msgpack.packb(store.vlmeta[name])).decode() for name in store.vlmeta}
            close(store)
            return {"leaves": leaves, "vlmeta": vlmeta}

        return each(jobs, one)


protocol.serve(Peer())
