"""What changes a container as a whole, and what looks on."""

import numpy as np
import pytest

import gridhold


def test_axes_snapshots_and_checksums(tmp_path):
    items = np.arange(60, dtype="<i4").reshape(1, 60)
    with gridhold.asarray(items, urlpath=tmp_path / "a.b2nd", chunks=(1, 20), blocks=(1, 10)) as array:
        array.keep_checksums()
        array.squeeze()
        assert array.shape == (60,)
        array.expand_dims((0, -1))
        assert array.shape == (1, 60, 1)
        ticks = array.watch()
        first = next(ticks)
        with array.snapshot() as kept:
            array[0, 0, 0] = 9
            assert kept[0, 0, 0] == 0
        assert next(ticks) > first
        array.squeeze(-1)
        assert array[0, 0] == 9
        assert array.verify()["damaged"] == []
        with pytest.raises(gridhold.NotFoundError):
            array.repair()
