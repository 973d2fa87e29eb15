"""What must not depend on the order, or on the place, of the points."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from models.helpers import SMALL, make_batch, small_dcp, small_rpmnet
from spoonful.batch import Batch
from spoonful.geometry import Pose, random_rotation
from spoonful.models.features import FeatureNet, Surroundings


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_order_of_the_points_does_not_matter(name):
    # Fewer points in a ball than places: with more, RPM-Net takes the first, as published.
    options = {"neighbors": 64} if name.startswith("rpmnet") else {}
    model = SMALL[name](**options).double().eval()
    batch = make_batch(2, 45, 38, dtype=torch.float64)
    source, target = torch.randperm(45), torch.randperm(38)
    shuffled = replace(
        batch,
        source=batch.source[:, source],
        source_normals=batch.source_normals[:, source],
        target=batch.target[:, target],
        target_normals=batch.target_normals[:, target],
    )
    with torch.no_grad():
        plain, other = model(batch), model(shuffled)
    torch.testing.assert_close(other.pose.rotation, plain.pose.rotation)
    torch.testing.assert_close(other.pose.translation, plain.pose.translation)
    torch.testing.assert_close(other.matches, plain.matches[:, source])


def moved(points, generator):
    pose = Pose(
        random_rotation(len(points), generator=generator, dtype=points.dtype),
        torch.randn(len(points), 3, generator=generator, dtype=points.dtype),
    )
    return pose, pose.apply(points)


def test_point_pair_features_do_not_see_rigid_motions(generator):
    batch = make_batch(2, 60, dtype=torch.float64)
    surroundings, network = Surroundings(neighbors=16), FeatureNet(("ppf",), 8).double()
    pose, points = moved(batch.source, generator)
    normals = Pose(pose.rotation, torch.zeros_like(pose.translation)).apply(batch.source_normals)
    before = network(batch.source, surroundings(batch.source, batch.source_normals))
    after = network(points, surroundings(points, normals))
    torch.testing.assert_close(after, before)


def test_neighbourhoods_found_in_one_pose_serve_in_all(generator):
    batch = make_batch(2, 60, dtype=torch.float64)
    surroundings, network = Surroundings(neighbors=64), FeatureNet(dim=8).double()
    pose, points = moved(batch.source, generator)
    normals = Pose(pose.rotation, torch.zeros_like(pose.translation)).apply(batch.source_normals)
    reused = network(points, surroundings(batch.source, batch.source_normals))
    torch.testing.assert_close(reused, network(points, surroundings(points, normals)))


def test_relative_positions_do_not_see_translations():
    batch = make_batch(2, 60, dtype=torch.float64)
    surroundings, network = Surroundings(neighbors=16), FeatureNet(("dxyz", "ppf"), 8).double()
    around = surroundings(batch.source, batch.source_normals)
    torch.testing.assert_close(network(batch.source + 3, around), network(batch.source, around))


def test_dcp_treats_both_clouds_alike():
    """Swapping source and target gives the pose that the cycle finds backwards."""
    model = small_dcp(cycle="on").double().eval()
    batch = make_batch(2, 40, 35, dtype=torch.float64)
    with torch.no_grad():
        there = model(batch)
        swapped = model(Batch(source=batch.target, target=batch.source))
    torch.testing.assert_close(there.extras["cycle_rotation"], swapped.pose.rotation)
    torch.testing.assert_close(there.extras["cycle_translation"], swapped.pose.translation)


@pytest.mark.parametrize("build", [small_dcp, small_rpmnet])
def test_pairs_of_a_batch_do_not_see_each_other_in_eval_mode(build):
    model = build().double().eval()
    batch = make_batch(3, dtype=torch.float64)
    with torch.no_grad():
        together = model(batch).pose
        alone = model(
            replace(
                batch,
                source=batch.source[1:2],
                target=batch.target[1:2],
                source_normals=batch.source_normals[1:2],
                target_normals=batch.target_normals[1:2],
            )
        ).pose
    torch.testing.assert_close(together.rotation[1:2], alone.rotation)
    torch.testing.assert_close(together.translation[1:2], alone.translation)
