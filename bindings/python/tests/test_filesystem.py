"""The file system that the guest's containers are in."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from test_scratch import stacks  # noqa: F401

from gridhold import ExistsError, NoSpaceError
from gridhold._errors import wrapped
from gridhold._filesystem import FileSystem

LIMITED = """
import resource, sys
import numpy as np
import gridhold
from gridhold import scratch
from test_scratch import everything, check
locations = everything(sys.argv[1])
held = scratch.create_mapped_file_image_scratch(locations, sys.argv[1] + "/scr", 4)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, resource.RLIM_INFINITY))
check(scratch.loader(held), locations)
assert held.stats()["no_space"] > 0
try:
    scratch.create_mapped_file_image_scratch(locations, sys.argv[1] + "/another", 4)
except gridhold.NoSpaceError as e:
    assert isinstance(e, OSError)
else:
    sys.exit("there was room")
"""


@pytest.mark.parametrize("replace", [True, False])
def test_a_directory_takes_the_place_of_no_other(tmp_path, replace):
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_bytes(b"")
    fs = FileSystem(str(tmp_path))
    for name in ("new", "file"):
        with pytest.raises(ExistsError, match="old" if replace else None):
            fs.rename(name, "old", replace)
    fs.remove("old")
    fs.rename("new", "old", replace)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "old"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_room(number):
    """A disk, a quota, a limit of the size of files: for who writes it is the same."""
    error = wrapped(OSError(number, os.strerror(number)), "a")
    assert isinstance(error, NoSpaceError) and isinstance(error, OSError) and error.code == "NoSpace"


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no such limit here")
def test_files_may_not_grow(stacks):  # noqa: F811
    """A process that may write no larger files reads on, and is told where it makes one."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
    child = subprocess.run([sys.executable, "-c", LIMITED, stacks], env=env, timeout=300)
    assert child.returncode == 0
