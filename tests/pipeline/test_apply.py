"""A moved object is of the type that was given, and at the pose."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spoonful.data.clouds import Cloud, Mesh
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.pipeline.apply import apply_pose

POSE = Pose(rotation_from_vector(torch.tensor([0.3, -1.0, 2.0])), torch.tensor([5.0, -2.0, 0.5]))
POINTS = torch.rand(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
MOVED = POSE.apply(POINTS.float()).numpy()
NORMALS = torch.nn.functional.normalize(POINTS - 0.5, dim=-1)
TURNED = (NORMALS.float() @ POSE.rotation.T).numpy()


def near(found: object, wanted: np.ndarray = MOVED) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-5)


def test_tensors_and_arrays_keep_their_dtype():
    for dtype in (torch.float32, torch.float64):
        for value in (POINTS.to(dtype), POINTS.to(dtype).numpy()):
            found = apply_pose(POSE, value)
            assert type(found) is type(value)
            assert found.dtype == value.dtype
            near(found)
    near(apply_pose(POSE, POINTS.tolist()))
    near(apply_pose(POSE, POINTS.reshape(4, 5, 3)).reshape(-1, 3))
    whole = torch.arange(6).reshape(2, 3)
    assert apply_pose(POSE, whole).dtype == torch.float64
    near(apply_pose(POSE, whole), apply_pose(POSE, whole.double()))


def test_our_clouds_and_meshes():
    found = apply_pose(POSE, Cloud(POINTS, NORMALS))
    near(found.points)
    near(found.normals, TURNED)
    near(apply_pose(POSE, Mesh(POINTS, torch.tensor([[0, 1, 2]]))).vertices)


def test_trimesh_objects_are_moved_copies():
    trimesh = pytest.importorskip("trimesh")
    for value in (
        trimesh.PointCloud(POINTS.numpy()),
        trimesh.Trimesh(POINTS.numpy(), [[0, 1, 2]], process=False),
    ):
        found = apply_pose(POSE, value)
        assert type(found) is type(value)
        near(found.vertices)
        near(value.vertices, POINTS.numpy())


@pytest.mark.slow
def test_open3d_objects_are_moved_copies():
    o3d = pytest.importorskip("open3d")
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(POINTS.numpy()))
    cloud.normals = o3d.utility.Vector3dVector(NORMALS.numpy())
    found = apply_pose(POSE, cloud)
    assert type(found) is type(cloud)
    near(found.points)
    near(found.normals, TURNED)
    near(cloud.points, POINTS.numpy())
    tensors = apply_pose(POSE, o3d.t.geometry.PointCloud.from_legacy(cloud))
    near(tensors.point.positions.numpy())


def test_pyvista_objects_are_moved_copies():
    pv = pytest.importorskip("pyvista")
    cloud = pv.PolyData(POINTS.numpy())
    found = apply_pose(POSE, cloud)
    assert type(found) is type(cloud)
    near(found.points)
    near(cloud.points, POINTS.numpy())


def test_what_cannot_be_moved_is_refused():
    for value in (torch.zeros(4, 2), np.zeros((3, 6)), np.float64(3.0)):
        with pytest.raises(ValueError, match=r"points must be \(\.\.\., 3\), got"):
            apply_pose(POSE, value)
    for value in ("scan.ply", None, {"points": 1}):
        with pytest.raises(TypeError, match=f"cannot move a {type(value).__name__}"):
            apply_pose(POSE, value)
