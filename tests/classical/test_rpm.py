"""Robust point matching."""

from __future__ import annotations

import torch

from classical import easy
from spoonful.batch import Batch
from spoonful.classical import rpm as rpm_module
from spoonful.classical.icp import ICP
from spoonful.classical.rpm import RPM
from spoonful.geometry import Pose


def test_outliers_in_both_clouds_go_unmatched():
    source, target, truth = easy.pair(150)
    source = torch.cat([source, torch.tensor([0.9, 0.9, 0.9]) + 0.1 * easy.shape(30, seed=7)])
    target = torch.cat([target, torch.tensor([-0.9, 0.9, -0.9]) + 0.1 * easy.shape(30, seed=8)])
    found = RPM.default().register(source, target)
    assert easy.degrees_between(found.pose, truth) < 0.5
    assert found.weights[:150].mean() > 0.8
    assert found.weights[150:].max() < 0.01


def test_it_turns_farther_than_nearest_neighbours_do():
    source, target, truth = easy.pair(150, degrees=40, seed=2)
    assert easy.degrees_between(ICP.default().register(source, target).pose, truth) > 30
    assert easy.degrees_between(RPM.default().register(source, target).pose, truth) < 0.5


def test_matches_end_up_hard():
    source, target, truth = easy.pair(100)
    found = RPM(last_beta=1e5).register(source, target)
    assert torch.allclose(found.matches, truth.apply(source), atol=1e-3)
    assert ((found.weights > 0) & (found.weights <= 1 + 1e-5)).all()


def test_clouds_out_of_sight_stay_where_they_were_put():
    source, target, _ = easy.pair(50)
    far = Pose(torch.eye(3), torch.full((3,), 1e4))
    found = RPM.default().register(source, target, init=far)
    assert found.status == ("no-overlap",)
    assert torch.allclose(found.pose.translation, far.translation, rtol=1e-4)


def test_chunks_change_nothing(monkeypatch):
    batch = easy.batch(3, points=60)
    whole = RPM.default()(batch)
    monkeypatch.setattr(rpm_module, "_BUDGET", 1)
    parts = RPM.default()(Batch(batch.source, batch.target))
    assert torch.allclose(whole.pose.rotation, parts.pose.rotation, atol=1e-6)
    assert torch.allclose(whole.weights, parts.weights, atol=1e-5)
