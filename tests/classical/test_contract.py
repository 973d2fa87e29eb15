"""What every classical method promises, held against each of those written in torch."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest
import torch

from classical import easy
from spoonful.batch import Batch
from spoonful.classical.contract import PairwiseMethod
from spoonful.classical.fgr import FGR
from spoonful.classical.goicp import GoICP
from spoonful.classical.icp import ICP
from spoonful.classical.rpm import RPM
from spoonful.geometry import Pose
from spoonful.registration import Registration


@dataclass(frozen=True, kw_only=True)
class Loop(PairwiseMethod):
    """The plainest method that takes one pair at a time: ICP's, in a loop."""

    name = "loop"

    def _solve_pair(self, source, target, init):
        found = ICP.default().register(source, target, init=init)
        return replace(found, inlier_ratio=None)


METHODS = {
    "icp": ICP.default(),
    "icp to planes": ICP(metric="plane"),
    "icp from many starts": ICP(starts=8, sample=64, trim=0.1),
    "rpm": RPM.default(),
    "fgr": FGR(narrow=True),
    "goicp": GoICP(points=48, cells=16),
    "loop": Loop(),
}
each = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@each
def test_an_easy_pair_is_solved(method):
    source, target, truth = easy.pair()
    found = method.register(source, target)
    assert easy.degrees_between(found.pose, truth) < 0.5
    assert (found.pose.translation - truth.translation).norm() < 0.01
    assert found.status == ("ok",)
    assert found.inlier_ratio == 1
    assert found.pose.rotation.shape == (3, 3)


@pytest.mark.slow
@each
def test_batched_equals_one_by_one(method):
    batch = easy.batch(3)
    together = method(batch)
    for row in range(3):
        alone = method.register(batch.source[row], batch.target[row])
        assert torch.allclose(together.pose.rotation[row], alone.pose.rotation, atol=1e-5)
        assert torch.allclose(together.pose.translation[row], alone.pose.translation, atol=1e-5)
        assert together.status[row : row + 1] == alone.status
        assert torch.allclose(together.inlier_ratio[row], alone.inlier_ratio)
        if alone.matches is not None:
            assert together.matches[row].shape == alone.matches.shape


@pytest.mark.slow
@each
def test_padding_changes_nothing(method):
    batch = easy.batch(2)
    source, target = (
        torch.cat([points, torch.full((2, 9, 3), torch.nan)], 1)
        for points in (batch.source, batch.target)
    )
    mask = torch.arange(source.shape[1]).expand(2, -1) < 128
    padded = method(Batch(source, target, source_mask=mask, target_mask=mask))
    plain = method(batch)
    assert torch.allclose(padded.pose.rotation, plain.pose.rotation, atol=1e-5)
    assert torch.allclose(padded.pose.translation, plain.pose.translation, atol=1e-5)
    assert torch.allclose(padded.inlier_ratio, plain.inlier_ratio)
    assert padded.status == plain.status
    if plain.matches is not None:
        assert torch.allclose(padded.matches[:, :128], plain.matches, atol=1e-5)
        assert torch.allclose(padded.weights[:, :128], plain.weights, atol=1e-5)
        assert not padded.weights[:, 128:].any()


@pytest.mark.slow
@each
def test_the_order_of_points_does_not_matter(method):
    source, target, _ = easy.pair()
    order = torch.randperm(128, generator=torch.Generator().manual_seed(5))
    plain, shuffled = method.register(source, target), method.register(source[order], target)
    assert torch.allclose(plain.pose.rotation, shuffled.pose.rotation, atol=1e-4)
    # Where all matches are exact, rounding decides which of them are trimmed.
    if plain.weights is not None and not getattr(method, "trim", 0):
        assert torch.allclose(plain.weights[order], shuffled.weights, atol=1e-3)


@each
def test_units_and_offsets_do_not_matter(method):
    source, target, truth = easy.pair()
    size, away = 1000.0, torch.tensor([4.0e6, -2.0e6, 50.0], dtype=torch.float64)
    large = method.register(size * source.double() + away, size * target.double() + away)
    assert easy.degrees_between(large.pose, truth) < 0.5
    moved = large.pose.apply(size * source.double() + away)
    assert (moved - away - size * truth.apply(source)).norm(dim=-1).max() < 0.01 * size
    assert large.inlier_ratio == 1


@pytest.mark.slow
@each
def test_float64_stays_float64_and_half_becomes_float32(method):
    source, target, _ = easy.pair()
    assert method.register(source.double(), target.double()).pose.rotation.dtype == torch.float64
    assert method.register(source.half(), target.half()).pose.rotation.dtype == torch.float32


FLAT = torch.zeros(20, 3)
LINE = torch.linspace(0, 1, 20).unsqueeze(-1) * torch.tensor([0.3, -0.5, 0.7]) + 2


@each
@pytest.mark.parametrize("bad", [FLAT, FLAT + 7, LINE, LINE[:2], LINE[:1]], ids=str)
def test_degenerate_clouds_shift_and_do_not_turn(method, bad):
    good = easy.shape(30)
    for source, target in ((bad, good), (good, bad), (bad, bad)):
        found = method.register(source, target)
        assert found.status == ("degenerate",)
        assert torch.equal(found.pose.rotation, torch.eye(3))
        assert torch.allclose(found.pose.translation, target.mean(0) - source.mean(0), atol=1e-5)
        assert found.inlier_ratio.isfinite()


@pytest.mark.slow
@each
def test_a_degenerate_pair_does_not_touch_the_others(method):
    batch = easy.batch(3)
    alone = method(Batch(batch.source[::2], batch.target[::2]))
    source, mask = batch.source.clone(), torch.ones(3, 128, dtype=torch.bool)
    mask[1] = False
    found = method(Batch(source, batch.target, source_mask=mask))
    assert found.status == (alone.status[0], "degenerate", alone.status[1])
    assert torch.allclose(found.pose.rotation[::2], alone.pose.rotation, atol=1e-5)
    assert torch.equal(found.pose.rotation[1], torch.eye(3))
    assert torch.equal(found.pose.translation[1], torch.zeros(3))
    for value in (*found.pose, found.matches, found.weights, *found.extras.values()):
        assert value is None or (len(value) == 3 and value.isfinite().all())


@pytest.mark.slow
@each
def test_planes_mirrors_and_repeated_points_give_finite_poses(method):
    plane = easy.shape(60) * torch.tensor([1.0, 1.0, 0.0])
    solid = easy.shape(60)
    for source, target in (
        (plane, plane),
        (solid, plane),
        (solid, solid * torch.tensor([-1.0, 1.0, 1.0])),
        (solid.repeat_interleave(3, 0), solid),
        (solid, solid[:4]),
        (solid + 1e4, solid),
    ):
        method = replace(method, time_limit=0.2) if isinstance(method, GoICP) else method
        found = method.register(source, target)
        assert found.pose.rotation.isfinite().all()
        assert found.pose.translation.isfinite().all()
        assert torch.allclose(torch.linalg.det(found.pose.rotation), torch.ones(()), atol=1e-4)
        assert 0 <= found.inlier_ratio <= 1


WRONG = {
    "array": (lambda x: (x.numpy(), x), TypeError, "source must be a torch.Tensor"),
    "batch": (lambda x: (x[None], x), ValueError, "source must be one cloud"),
    "two": (lambda x: (x, x[:, :2]), ValueError, r"target must be \(N, 3\)"),
    "empty": (lambda x: (x[:0], x), ValueError, "source must be .* with at least one point"),
    "whole": (lambda x: (x.long(), x), TypeError, "source must be floating point"),
    "nan": (lambda x: (x, x / 0), ValueError, "target must be finite"),
}


@pytest.mark.parametrize(("make", "kind", "words"), WRONG.values(), ids=WRONG)
@each
def test_wrong_clouds_are_named(method, make, kind, words):
    with pytest.raises(kind, match=words):
        method.register(*make(easy.shape(20)))


def test_wrong_batches_and_starts_are_named():
    method, good = ICP.default(), easy.shape(20).expand(2, -1, -1)
    with pytest.raises(ValueError, match=r"batch.source must be finite.*pair 1"):
        method(Batch(torch.stack([good[0], good[0] / 0]), good))
    with pytest.raises(ValueError, match=r"batch.target_mask must be bool of shape \(2, 20\)"):
        method(Batch(good, good, target_mask=torch.ones(2, 20)))
    with pytest.raises(ValueError, match="same number of clouds"):
        method(Batch(good, good[:1]))
    with pytest.raises(ValueError, match=r"batch.source_normals must be \(2, 20, 3\)"):
        method(Batch(good, good, source_normals=good[:, :3]))
    with pytest.raises(ValueError, match=r"init.rotation must have one per pair, \(2, 3, 3\)"):
        method(Batch(good, good), init=Pose.identity(3))
    with pytest.raises(ValueError, match="init must be a Pose"):
        method.register(good[0], good[0], init=Pose(torch.zeros(3), torch.zeros(3)))


@each
def test_settings_are_fixed_comparable_and_printed(method):
    assert hash(method) == hash(replace(method))
    assert method == replace(method) != replace(method, inlier_distance=0.5)
    assert "inlier_distance=None" in repr(method)
    with pytest.raises(FrozenInstanceError):
        method.settings = "mine"


@pytest.mark.parametrize("kind", [ICP, RPM, GoICP])
def test_settings_say_whose_they_are(kind):
    assert kind.default().settings == "default"
    assert kind.published().settings == "published"
    assert kind().settings == "custom"


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (ICP, {"metric": "line"}),
        (ICP, {"iterations": 0}),
        (ICP, {"tolerance": -1.0}),
        (ICP, {"max_distance": 0.0}),
        (ICP, {"trim": 1.0}),
        (ICP, {"starts": 0}),
        (ICP, {"start_degrees": 0.0}),
        (ICP, {"sample": 2}),
        (RPM, {"beta": 0.0}),
        (RPM, {"last_beta": 1.0}),
        (RPM, {"growth": 1.0}),
        (RPM, {"outlier_distance": -1.0}),
        (RPM, {"rounds": 0}),
        (RPM, {"sinkhorn": 0}),
        (GoICP, {"threshold": 0.0}),
        (GoICP, {"trim": -0.1}),
        (GoICP, {"translation": 0.0}),
        (GoICP, {"points": 2}),
        (GoICP, {"cells": 100}),
        (GoICP, {"time_limit": 0.0}),
    ],
    ids=str,
)
def test_impossible_settings_are_named(kind, settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"^{name} must"):
        kind(**settings)


def test_the_inlier_distance_is_the_users_or_three_spacings():
    source, target, truth = easy.pair()
    off = Pose(truth.rotation, truth.translation + torch.tensor([0.0, 0.0, 0.3]))

    @dataclass(frozen=True, kw_only=True)
    class Fixed(PairwiseMethod):
        name = "fixed"

        def _solve_pair(self, source, target, init):
            return Registration(off, status=("ok",))

    assert Fixed(inlier_distance=0.31).register(source, target).inlier_ratio == 1
    assert Fixed(inlier_distance=1e-4).register(source, target).inlier_ratio == 0
    assert 0.1 < Fixed().register(source, target).inlier_ratio < 1
