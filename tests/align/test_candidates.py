"""The pairs to try if there are many scans."""

from __future__ import annotations

import torch

from spoonful.align.candidates import Sketch, agreement, best
from spoonful.geometry import random_rotation


def test_matches_that_keep_distances_count_more_than_features_that_are_alike() -> None:
    generator = torch.Generator().manual_seed(0)
    points, features = (torch.rand(60, size, generator=generator) for size in (3, 33))
    normals = torch.nn.functional.normalize(points - 0.5, dim=-1)
    turn = random_rotation(generator=generator)
    order = torch.randperm(60, generator=generator)
    here = Sketch(points, normals, features, 0.02)
    # The same place, turned; and another place with the same features.
    same = Sketch(points[order] @ turn.mT, normals[order] @ turn.mT, features[order], 0.02)
    other = Sketch(points[order], normals[order], features, 0.02)
    assert agreement(here, same) > 5 * agreement(here, other)


def test_each_scan_is_paired_with_those_it_is_most_like() -> None:
    alike = torch.tensor([[9.0, 2, 1], [2, 9, 3], [1, 3, 9]])
    assert best(alike, 1) == [(0, 1), (1, 2)]
    assert best(alike, 5) == [(0, 1), (0, 2), (1, 2)]
