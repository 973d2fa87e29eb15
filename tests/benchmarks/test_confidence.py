"""benchmarks/confidence.py: pairs whose sensors are not known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from scripts import load_benchmark
from spoonful.data.clouds import Cloud

confidence = load_benchmark("confidence")


def pair(kind: str, truth: np.ndarray | None):
    generator = torch.Generator().manual_seed(0)
    clouds = (Cloud(torch.rand(50, 3, generator=generator).double() + k) for k in (3, 5))
    return confidence.Pair(kind, "pair", *clouds, truth, 5.0, 0.2, 0.1, origin="room camera")


def test_a_copy_without_sensor_is_far_away_and_its_pose_is_the_same():
    truth = np.eye(4)
    truth[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    truth[:3, 3] = [1, 2, 3]
    copy, same = confidence.with_and_without_sensor(pair("simulated", truth))
    assert same.kind == "simulated"
    assert copy.kind == "simulated, no sensor"
    assert copy.origin == same.origin
    for cloud in (copy.source, copy.target):
        assert float(cloud.points.abs().min()) > 900
    # Distances are measured where the source is: far away a small turn would be a large shift.
    np.testing.assert_allclose(copy.about, copy.source.points.mean(0).numpy())

    def between(pair) -> np.ndarray:
        """The moved source's points, seen from the target's centroid."""
        points = pair.source.points.numpy() @ pair.truth[:3, :3].T + pair.truth[:3, 3]
        return points - pair.target.points.mean(0).numpy()

    np.testing.assert_allclose(between(copy), between(same), atol=1e-9)


@pytest.mark.parametrize(("kind", "count"), [("simulated, apart", 2), ("pairs", 1)])
def test_only_simulated_pairs_are_copied_and_nothing_is_right_if_nothing_was(kind, count):
    found = [*confidence.with_and_without_sensor(pair(kind, None))]
    assert len(found) == count
    assert all(each.truth is None for each in found)
