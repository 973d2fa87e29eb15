"""Files in the published layouts."""

from __future__ import annotations

import h5py
import numpy as np


def write_h5(path, count, *, first_label=0, size=16, names=3, **changes):
    """An HDF5 file as ModelNet40's; `changes` replace or (None) leave out an array."""
    rng = np.random.default_rng(count)
    arrays = {
        "data": rng.uniform(-1, 1, (count, size, 3)).astype("f4"),
        "normal": rng.normal(size=(count, size, 3)).astype("f4"),
        "label": ((np.arange(count) + first_label) % names).astype("u1")[:, None],
        **changes,
    }
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            if values is not None:
                file.create_dataset(name, data=values, compression="gzip")
    return arrays
