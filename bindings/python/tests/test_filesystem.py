"""The file system that the guest's containers are in."""

from __future__ import annotations

import pytest

from gridhold import ExistsError
from gridhold._files import FileSystem


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
