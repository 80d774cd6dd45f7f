"""mrcfile and vitrio as peers that read and write files of images."""

import hashlib
import os

import mrcfile
import numpy as np
import vitrio

import protocol


class Images:
    def read(self, path, library):
        if library == "mrcfile":
            with mrcfile.open(path) as m:
                a = np.array(m.data)
        else:
            a = np.asarray(vitrio.read(path))
        a = a.astype(a.dtype.newbyteorder("<"))
        return {"shape": a.shape, "dtype": a.dtype.name, "sha256": hashlib.sha256(a.tobytes()).hexdigest()}

    def write(self, path, library, dtype, shape, volume):
        rng = np.random.default_rng(len(path))
        a = (rng.standard_normal(shape) * 50).astype(dtype)
        if library == "mrcfile":
            with mrcfile.new(path) as m:
                m.set_data(a)
                if not volume and len(shape) == 3:
                    m.set_image_stack()
        elif volume or len(shape) == 2:
            vitrio.write_single(a, path)
        else:
            vitrio.write_stack(a, path)
        return {"shape": a.shape, "dtype": a.dtype.name, "sha256": hashlib.sha256(a.tobytes()).hexdigest()}

    def write_table(self, path, rows, padding):
        fields = [("uid", "<u8"), ("blob/path", f"S{40 + padding}"), ("x", "<f4", (3, 2)), ("blob/idx", "<u4"), ("flag", "?"), ("blob/psize_A", "<f4")]
        a = np.zeros(len(rows), np.dtype(fields, align=padding % 2 == 1))
        for i, (name, index) in enumerate(rows):
            a[i]["uid"], a[i]["blob/path"], a[i]["blob/idx"], a[i]["blob/psize_A"] = i + 7, name.encode(), index, 1.5
        with open(path, "wb") as f:
            np.lib.format.write_array(f, a, version=(1 + padding % 2, 0))
        return {"size": os.path.getsize(path)}


protocol.serve(Images())
