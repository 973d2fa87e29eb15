"""Whatever holds points becomes the same cloud."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from spoonful.data.clouds import Cloud, Mesh, write_cloud, write_mesh
from spoonful.pipeline import as_cloud
from spoonful.pipeline.inputs import MESH_SAMPLES
from spoonful.pipeline.shapes import scaled

POINTS = torch.rand(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
CORNER = Mesh(torch.eye(3), torch.tensor([[0, 1, 2]]))


def test_arrays_tensors_lists_and_clouds_hold_the_same_points(tmp_path):
    write_cloud(tmp_path / "a.ply", Cloud(POINTS))
    for value in (
        POINTS,
        POINTS.numpy(),
        POINTS.tolist(),
        Cloud(POINTS),
        POINTS.clone().requires_grad_(),
        tmp_path / "a.ply",
        str(tmp_path / "a.ply"),
    ):
        assert torch.allclose(as_cloud(value).points, POINTS)


def test_points_are_float64_whatever_they_were():
    for value in (POINTS.float(), POINTS.half(), np.arange(9).reshape(3, 3)):
        assert as_cloud(value).points.dtype == torch.float64


def test_points_that_are_not_finite_are_left_out_with_their_normals():
    points = POINTS.clone()
    points[3, 1] = torch.nan
    cloud = as_cloud(points, normals=torch.nn.functional.normalize(POINTS, dim=-1))
    assert len(cloud) == 19
    assert cloud.normals is not None
    assert len(cloud.normals) == 19
    assert cloud.dropped == 1
    # A file's own count is added to, and stays through a change of scale.
    assert scaled(as_cloud(replace(cloud, points=points[1:])), 2.0).dropped == 2


def test_six_columns_are_points_and_normals():
    normals = torch.nn.functional.normalize(POINTS - 0.5, dim=-1)
    cloud = as_cloud(torch.cat([POINTS, normals], 1))
    assert cloud.normals is not None
    assert torch.allclose(cloud.normals, normals)
    with pytest.raises(ValueError, match="not unit normals"):
        as_cloud(torch.cat([POINTS, POINTS], 1))


def test_meshes_give_points_of_their_surface(tmp_path):
    write_mesh(tmp_path / "corner.ply", CORNER)
    for value in (CORNER, tmp_path / "corner.ply"):
        cloud = as_cloud(value, mesh_samples=500)
        assert len(cloud) == 500
        assert torch.allclose(cloud.points.sum(-1), torch.ones(500, dtype=torch.float64))
        assert cloud.normals is not None


def test_a_scan_with_triangles_keeps_its_number_of_points():
    side = 160
    x, y = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    vertices = torch.stack([x, y, 0 * x], -1).reshape(-1, 3).double()
    corner = (side * x + y)[:-1, :-1].flatten()
    near, far = ([0, 1, side], [1, side + 1, side])
    faces = torch.cat([corner[:, None] + torch.tensor(k) for k in (near, far)])
    assert len(as_cloud(Mesh(vertices, faces))) == side**2 > MESH_SAMPLES
    soup = Mesh(vertices[faces.flatten()], torch.arange(3 * len(faces)).view(-1, 3))
    assert len(as_cloud(soup)) == len(faces)
    assert len(as_cloud(CORNER)) == MESH_SAMPLES


def test_trimesh_objects():
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box()
    for value in (box, trimesh.Scene([box])):
        cloud = as_cloud(value, mesh_samples=300)
        assert len(cloud) == 300
        assert float(cloud.points.abs().amax()) == pytest.approx(0.5)
    assert len(as_cloud(trimesh.PointCloud(POINTS.numpy()))) == 20


@pytest.mark.slow
def test_open3d_objects():
    o3d = pytest.importorskip("open3d")
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(POINTS.numpy()))
    assert torch.allclose(as_cloud(cloud).points, POINTS)
    box = o3d.geometry.TriangleMesh.create_box()
    assert len(as_cloud(box, mesh_samples=100)) == 100


def test_what_holds_no_points_is_refused():
    for value in (None, 3.0, {"points": 1}, object()):
        with pytest.raises(TypeError, match="target must be an array"):
            as_cloud(value, name="target")
    with pytest.raises(FileNotFoundError):
        as_cloud("no-such-file.ply")
