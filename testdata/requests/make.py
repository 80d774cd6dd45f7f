"""Makes small.zip: a group with an array of 4 shards, stored, with deflated metadata.

The pack is made by the test of the Go sandbox: GRIDHOLD_UPDATE=1 go test ./host -run TestRequests
"""

import json
import struct
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def shard(count: int) -> bytes:
    data = b"".join(bytes((31 * k + 7 * i) & 255 for i in range(256)) for k in range(count))
    return data + b"".join(struct.pack("<QQ", 256 * k, 256) for k in range(count))


meta = json.loads((HERE / "zarr.json").read_text())
meta["shape"] = [64, 64]
meta["chunk_grid"]["configuration"]["chunk_shape"] = [32, 32]

with zipfile.ZipFile(HERE / "small.zip", "w") as z:
    for name, data, method in [
        ("zarr.json", b'{"zarr_format": 3, "node_type": "group"}', zipfile.ZIP_DEFLATED),
        ("a/zarr.json", json.dumps(meta).encode(), zipfile.ZIP_DEFLATED),
        *((f"a/c/{y}/{x}", shard(4), zipfile.ZIP_STORED) for y in range(2) for x in range(2)),
    ]:
        z.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, method)
