"""A server of S3 for tests: versitygw over a directory, as scripts/gateway.sh builds it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PROGRAM = Path(__file__).resolve().parents[3] / ".build" / "versitygw"
ACCESS, SECRET, BUCKET = "gridhold", "gridhold-secret", "bucket"


class Gateway(NamedTuple):
    endpoint: str
    bucket: Path
    """The directory that is the bucket."""

    @property
    def fsspec_options(self) -> dict:
        return {"key": ACCESS, "secret": SECRET, "endpoint_url": self.endpoint, "client_kwargs": {"region_name": "us-east-1"}}

    def obstore(self, prefix: str):
        from obstore.store import S3Store

        return S3Store(
            BUCKET, prefix=prefix, endpoint=self.endpoint, region="us-east-1", access_key_id=ACCESS, secret_access_key=SECRET,
            virtual_hosted_style_request=False, client_options={"allow_http": True},
        )  # fmt: skip


@pytest.fixture(scope="module")
def gateway(tmp_path_factory) -> Iterator[Gateway]:
    if not PROGRAM.exists():
        if os.environ.get("REQUIRE_PEERS"):
            pytest.fail("there is no .build/versitygw: run scripts/gateway.sh")
        pytest.skip("there is no .build/versitygw: run scripts/gateway.sh")
    root = tmp_path_factory.mktemp("s3")
    (root / BUCKET).mkdir()
    for _ in range(5):  # somebody may take the port between the two of us
        with socket.create_server(("127.0.0.1", 0)) as s:
            address = "127.0.0.1:%d" % s.getsockname()[1]
        command = [PROGRAM, "--quiet", "--access", ACCESS, "--secret", SECRET, "--port", address, "posix", root]
        server = subprocess.Popen(command, env={"HOME": str(root), "PATH": os.environ["PATH"]})
        try:
            if listens(server, address):
                yield Gateway(f"http://{address}", root / BUCKET)
                return
        finally:
            server.kill()
            server.wait()
    pytest.fail("versitygw did not start")


def listens(server: subprocess.Popen, address: str) -> bool:
    """Waits until it does; False if it ended."""
    host, port = address.split(":")
    while server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
            return True
        time.sleep(0.01)
    return False
