"""Pieces of images, as every loader cuts them."""

import numpy as np
import pytest
from test_scratch import COUNT, SIDE, everything, pixels, stacks  # noqa: F401

import gridhold
from gridhold import scratch

CENTRES = [(4, 6), (0, 0), (SIDE - 1, SIDE - 1), (-3, 5), (4, 100), (-100, -100), (-(2**63), 2**63 - 1), (SIDE, 6), (-1, -1)]


@pytest.mark.parametrize("held", [False, True])
def test_patches(stacks, held):  # noqa: F811
    at = everything(stacks)[5]
    held = scratch.create_host_image_scratch(everything(stacks), 4) if held else None
    for dtype, fill, outside in [("i4", -7.9, -7), ("f4", -7.5, -7.5), (None, 3, 3), ("u1", -7.9, 0), ("c8", 2, 2)]:
        load = scratch.loader(held, dtype=dtype)
        image = load.read_batch([at])[0]
        for extent in [(4, 4), (5, 3), (1, 1), (30, 40)]:
            got = load.read_patches(at, extent, CENTRES, fill)
            assert got.shape == (len(CENTRES), *extent) and got.dtype == image.dtype
            for patch, (cy, cx) in zip(got, CENTRES):
                for y in range(extent[0]):
                    for x in range(extent[1]):
                        py, px = cy - extent[0] // 2 + y, cx - extent[1] // 2 + x
                        inside = 0 <= py < SIDE and 0 <= px < SIDE
                        assert patch[y, x] == (image[py, px] if inside else outside)
        assert load.read_patches(at, (2, 2), []).shape == (0, 2, 2)


def test_patches_of_a_volume(stacks):  # noqa: F811
    whole = scratch.ImageLocation(f"{stacks}/b.mrcs")
    got = scratch.loader().read_patches(whole, (2, 2, 2), [(3, 1, 1), (COUNT, 1, 1)], -1)
    assert np.array_equal(got[0], np.stack([pixels(scratch.ImageLocation(whole.key, i))[:2, :2] for i in (2, 3)]))
    assert (got[1, 1] == -1).all() and (got[1, 0] >= 0).all()


def test_refusals(stacks):  # noqa: F811
    load, at = scratch.loader(), everything(stacks)[0]
    for extent, centres in [((1,), [(1, 1)]), ((1, 1), [(1,)]), ((0, 1), [(1, 1)]), ((1, 1), [(0.5, 1)]), ((1, 1), [1, 1])]:
        with pytest.raises(gridhold.InvalidError):
            load.read_patches(at, extent, centres)
    with pytest.raises(gridhold.OutOfRangeError):
        load.read_patches(scratch.ImageLocation(at.key, COUNT), (1, 1), [(1, 1)])
