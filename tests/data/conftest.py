"""Small datasets on disk, in the published layouts; and no dataset of this machine."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from data.files import write_h5
from spoonful.data import synthetic
from spoonful.data.clouds import Cloud, write_cloud
from spoonful.geometry import Pose, rotation_from_vector


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """A home folder without a cache, and no folder of datasets."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.delenv("SPOONFUL_DATA", raising=False)
    return home


@pytest.fixture
def hdf5_folder(tmp_path):
    """Two training files, one for test, three categories."""
    root = tmp_path / "little"
    root.mkdir()
    (root / "shape_names.txt").write_text("bowl\ncup\nvase\n")
    write_h5(root / "ply_data_train1.h5", 5, first_label=1)
    write_h5(root / "ply_data_train0.h5", 4)
    write_h5(root / "ply_data_test0.h5", 3)
    return root


@pytest.fixture
def overlap_lists(tmp_path):
    """Two sequences of one scene, as FCGF distributes them, and a list of each."""
    root = tmp_path / "threedmatch"
    root.mkdir()
    points, _ = synthetic.cloud("house", 0, points=8000)
    for sequence, lines in (("seq-01", "0 1 0.72\n1 2 0.31\n0 9 0.5\n"), ("seq-02", "0 1 0.44\n")):
        files = [f"7-scenes-chess@{sequence}_{k:03}.npz" for k in range(10)]
        for k in range(3):
            seen = points[points[:, k] > -0.2]
            np.savez(root / files[k], pcd=seen.double().numpy(), color=np.zeros((len(seen), 3)))
        text = "".join(
            f"{files[int(a)]} {files[int(b)]} {share}\n"
            for a, b, share in (line.split() for line in lines.splitlines())
        )
        (root / f"7-scenes-chess@{sequence}-0.30.txt").write_text(text)
    return root


@pytest.fixture
def scene(tmp_path):
    """Three overlapping scans of one shape, each in a frame of its own, and their log."""
    root = tmp_path / "3dmatch" / "kitchen"
    root.mkdir(parents=True)
    points, _ = synthetic.cloud("house", 0, points=8000)
    poses = []
    for k, axis in enumerate(torch.eye(3)):
        # Each scan lacks another end of the shape.
        seen = points[points[:, k] > -0.2]
        pose = Pose(rotation_from_vector(0.5 * (k + 1) * axis), torch.tensor([5.0 * k, 1, -2]))
        write_cloud(root / f"cloud_bin_{k}.ply", Cloud(pose.apply(seen)))
        poses.append(pose.to(torch.float64))
    log = []
    for i in range(3):
        for j in range(i + 1, 4):
            # Fragment 3 is not there.
            matrix = poses[i].compose(poses[min(j, 2)].inverse()).matrix()
            log.append(f"{i}\t {j}\t 4")
            log += ["\t".join(f"{value: .10e}" for value in row) for row in matrix.tolist()]
    (root / "gt.log").write_text("\n".join(log) + "\n")
    return root
