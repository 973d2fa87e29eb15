"""Distances to the target's surface do not depend on how densely it was sampled."""

from __future__ import annotations

import math

import torch

from pipeline.standins import aligned
from spoonful.geometry import Pose
from spoonful.pipeline import measures
from spoonful.pipeline.measures import surface_distance
from view.helpers import box, turn

STILL = Pose.identity(dtype=torch.float64)


def bowl(count: int, seed: int) -> torch.Tensor:
    plane = torch.rand(count, 2, generator=torch.Generator().manual_seed(seed)).double()
    height = plane.square().sum(-1, keepdim=True)
    return torch.cat([plane, height], 1)


def test_a_right_pose_is_near_the_surface_though_its_points_are_apart() -> None:
    source, target = bowl(3000, 1), bowl(3000, 2)
    nearest = torch.cdist(source, target).amin(1)
    found = surface_distance(source, target, STILL, radius=0.1)
    assert float(nearest.square().mean().sqrt()) > 5 * found.rmse
    assert found.median < found.rmse < 0.002


def test_an_offset_is_measured_also_at_map_coordinates() -> None:
    far = torch.tensor([512_345.678, 5_403_210.987, 412.3], dtype=torch.float64)
    off = 0.01 * torch.nn.functional.normalize(torch.tensor([0.0, 0, 1]), dim=0)
    flat = bowl(3000, 1) * torch.tensor([1.0, 1, 0])
    found = surface_distance(flat + off + far, flat + far, STILL, radius=0.1)
    assert abs(found.rmse - 0.01) < 1e-4
    assert abs(found.median - 0.01) < 1e-4


def test_without_inliers_there_is_no_distance() -> None:
    target = bowl(3000, 1)
    for source, onto in ((target + 9, target), (target, target[:2])):
        assert all(map(math.isnan, surface_distance(source, onto, STILL, radius=0.1)))


def test_a_result_and_its_record_have_it() -> None:
    pose = turn(70, "z", (1.5, -0.5, 0.25))
    found = aligned(pose.inverse().apply(box()), box())
    record = found.summary()
    assert record["surface_rmse"] == found.surface.rmse <= found.radius
    assert record["surface_median"] == found.surface.median


def test_more_points_than_float32_can_count_are_measured():
    # 2^24 + 1 is not a float32; the points are one row, seen as many.
    many = torch.tensor([[1.0, 2, 3]], dtype=torch.float64).expand(50_000_000, 3)
    found = surface_distance(many[:5], many, Pose.identity(dtype=torch.float64), 1.0)
    assert found.rmse == 0
    assert len(measures._some(many, 20_000)) == 20_000
