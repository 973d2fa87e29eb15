"""COLMAP's points and Gaussian splats are read as clouds, and splats are moved whole."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from spoonful.data.clouds import Cloud, CloudFileError, read, read_cloud, write_cloud
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.pipeline import as_cloud
from spoonful.pipeline.shapes import moved, scaled

POINTS = [(7, (0.5, -1.25, 3.0), (255, 0, 10), 0.5, 3), (9, (1e6 + 0.1, 2, 3), (1, 2, 3), 1.5, 0)]


def binary(points=POINTS) -> bytes:
    rows = [
        struct.pack("<Q3d3BdQ", number, *xyz, *rgb, error, track) + track * struct.pack("<ii", 1, 2)
        for number, xyz, rgb, error, track in points
    ]
    return struct.pack("<Q", len(points)) + b"".join(rows)


def text(points=POINTS) -> bytes:
    rows = [
        " ".join(map(str, (number, *xyz, *rgb, error, *(1, 2) * track)))
        for number, xyz, rgb, error, track in points
    ]
    head = ["# 3D point list with one line of data per point:", "#   POINT3D_ID, X, Y, Z, R, G, B"]
    return "\n".join([*head, *rows, ""]).encode()


@pytest.mark.parametrize("name", ["points3D.bin", "points3D.txt", "room_points3D.TXT"])
def test_points_of_colmap_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(binary() if name.endswith("bin") else text())
    cloud = read(tmp_path / name, fields=True)
    assert isinstance(cloud, Cloud)
    assert cloud.points.tolist() == [list(xyz) for _, xyz, *_ in POINTS]
    assert cloud.colors is not None
    assert cloud.colors.tolist() == [list(rgb) for _, _, rgb, *_ in POINTS]
    assert cloud.fields["error"].tolist() == [0.5, 1.5]
    assert cloud.fields["track_length"].tolist() == [3, 0]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("points3D.bin", binary()[:-3], "truncated"),
        ("points3D.bin", binary()[:60], "truncated"),
        ("points3D.bin", struct.pack("<Q", 2**60), "truncated"),
        ("points3D.bin", b"\1\2", "truncated"),
        ("points3D.bin", struct.pack("<Q", 0), "holds no points"),
        ("points3D.txt", b"# nothing\n", "holds no points"),
        ("points3D.txt", b"1 2 3 4\n", "line 1 has 4 numbers"),
        ("points3D.txt", b"# head\n1 2 3 4 5 six 7 8\n", "line 2 has 'six'"),
        ("images.bin", binary(), r"points3D\.bin"),
    ],
)
def test_bad_files_of_colmap_are_refused(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CloudFileError, match=message):
        read(tmp_path / name)


def test_colmap_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(CloudFileError, match="COLMAP is read but not written"):
        write_cloud(tmp_path / "points3D.bin", Cloud(torch.eye(3)))


@pytest.fixture
def splats(tmp_path: Path) -> Path:
    """Ten splats; the first is half transparent, the last hardly visible."""
    rng = np.random.default_rng(0)
    names = ["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2", "f_rest_0", "opacity"]
    names += [*(f"scale_{k}" for k in range(3)), *(f"rot_{k}" for k in range(4))]
    table = rng.normal(size=(10, len(names))).astype(np.float32)
    table[:, 3:9] = 0
    table[:, 10] = 20
    table[0, 10], table[-1, 10] = 0, -30
    head = ["ply", "format binary_little_endian 1.0", "element vertex 10"]
    head += [*(f"property float {name}" for name in names), "end_header", ""]
    path = tmp_path / "splats.ply"
    path.write_bytes("\n".join(head).encode() + table.tobytes())
    return path


def test_splats_have_opacities_as_weights_and_colours(splats: Path) -> None:
    cloud = read_cloud(splats)
    assert cloud.normals is None
    assert cloud.weights is not None
    assert cloud.weights[0] == pytest.approx(0.5)
    assert cloud.weights[-1] < 1e-12
    assert cloud.colors is not None
    assert cloud.colors.unique().tolist() == [128]


def test_transparent_splats_are_not_registered(splats: Path) -> None:
    cloud = read_cloud(splats)
    kept = as_cloud(cloud)
    assert 8 <= len(kept) <= 9
    assert not bool((kept.points == cloud.points[-1]).all(-1).any())
    faint = Cloud(cloud.points, weights=torch.zeros(10))
    assert len(as_cloud(faint)) == 10


def axes(cloud: Cloud) -> torch.Tensor:
    """(N, 3, 3) the axes of splats, times their sizes."""
    turn = torch.from_numpy(np.stack([cloud.fields[f"rot_{k}"] for k in range(4)], -1)).double()
    w, v = turn[:, :1], turn[:, 1:]
    angle = 2 * torch.atan2(v.norm(dim=-1, keepdim=True), w)
    turns = rotation_from_vector(torch.nn.functional.normalize(v, dim=-1) * angle)
    size = torch.from_numpy(np.stack([cloud.fields[f"scale_{k}"] for k in range(3)], -1)).double()
    return turns * size.exp().unsqueeze(-2)


def test_moved_splats_turn_and_grow_and_keep_their_columns(splats: Path, tmp_path: Path) -> None:
    before = read(splats, fields=True)
    turn = rotation_from_vector(torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64))
    after = moved(scaled(before, 3.0), Pose(turn, torch.ones(3).double()))
    write_cloud(tmp_path / "moved.ply", after)
    again = read(tmp_path / "moved.ply", fields=True)
    assert list(again.fields) == list(before.fields)
    torch.testing.assert_close(axes(again), 3 * turn @ axes(before), rtol=1e-5, atol=1e-5)
    places = 3 * before.points.double() @ turn.mT + 1
    torch.testing.assert_close(again.points.double(), places, rtol=1e-5, atol=1e-5)


def test_weights_follow_their_points() -> None:
    cloud = Cloud(torch.eye(3), weights=torch.tensor([0.1, 0.2, 0.3]))
    assert cloud.select(torch.tensor([2, 0])).weights.tolist() == pytest.approx([0.3, 0.1])
    with pytest.raises(ValueError, match="weights must have shape"):
        Cloud(torch.eye(3), weights=torch.ones(2))
