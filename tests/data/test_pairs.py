from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from data.corpora import blobs, scans
from spoonful.batch import Batch
from spoonful.data import protocols
from spoonful.data.corpus import Corpus
from spoonful.data.pairs import PairGenerator
from spoonful.metrics import rotation_error_degrees

SHAPES = [name for name in protocols.names() if name != "3dmatch-30"]


def pairs(name: str, *, count: int = 16, noise: bool = False, seed: int = 0) -> Batch:
    card = protocols.get(name)
    generator = torch.Generator().manual_seed(seed)
    made = PairGenerator(
        card if noise else replace(card, noise=None),
        blobs(),
        batch_size=count,
        generator=generator,
    )
    return next(iter(made))


def gaps(batch: Batch) -> Tensor:
    """The distance of each moved source point to the nearest target point."""
    assert batch.pose is not None
    return torch.cdist(batch.pose.apply(batch.source).double(), batch.target.double()).amin(-1)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_the_pose_takes_sources_onto_targets(name: str) -> None:
    card = protocols.get(name)
    batch = pairs(name)
    assert batch.source.shape == (16, card.sizes[0], 3)
    assert batch.target.shape == (16, card.sizes[1], 3)
    exact = (gaps(batch) < 1e-5).sum(-1)
    if card.sampling == "disjoint":
        assert exact.max() == 0
    elif card.sampling == "independent":
        # Half the points of a cloud are in the other, or fewer where both are cropped.
        assert (exact > 100).all()
        assert (exact < 0.6 * card.sizes[0]).all()
    elif card.crop is None:
        assert (exact == card.sizes[0]).all()
    else:
        assert (exact > 250).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dcp-twice-sampled", "rpm-clean", "rpm-crop"])
def test_every_point_is_the_shapes_own_with_its_normal_and_comes_once(name: str) -> None:
    card = protocols.get(name)
    batch = pairs(name)
    assert batch.pose is not None
    # The cloud that was not moved is in the corpus' frame; bring the other one back to it.
    back = batch.pose if card.pose.moves == "source" else batch.pose.inverse()
    moved = {"source": (batch.source, batch.source_normals)}
    moved["target"] = (batch.target, batch.target_normals)
    shapes = card.select(blobs(), "train").select(batch.index)  # type: ignore[arg-type]
    for which, (points, normals) in moved.items():
        assert normals is not None
        assert shapes.normals is not None
        if which == card.pose.moves:
            points, normals = back.apply(points), normals @ back.rotation.mT
        away, at = torch.cdist(points.double(), shapes.points.double()).min(-1)
        assert away.max() < 1e-5
        own = shapes.normals.gather(1, at[..., None].expand(-1, -1, 3))
        assert (own - normals).abs().max() < 1e-5
        assert all(len(row.unique()) == len(row) for row in at)


@pytest.mark.slow
def test_a_crop_keeps_a_half_space() -> None:
    """Some plane has all the kept points on one side and all others on the other."""
    # As many points as the half-space holds: those above the 30 % quantile of 2048.
    card = replace(protocols.get("rpm-crop"), noise=None, points=2047)
    assert card.sizes == (1433, 1433)
    batch = next(iter(PairGenerator(card, blobs(), batch_size=12)))
    shapes = card.select(blobs(), "train").points[batch.index]  # type: ignore[index]
    for cloud, shape in zip(batch.target, shapes, strict=True):
        kept = torch.cdist(shape.double()[None], cloud.double()[None])[0].amin(-1) < 1e-6
        assert kept.sum() == 1433
        assert linearly_separable(shape[kept], shape[~kept])


def linearly_separable(inner: Tensor, outer: Tensor) -> bool:
    """Whether a plane parts two clouds: found by linear programming."""
    import numpy as np
    from scipy.optimize import linprog

    # inner . a + b >= 1, outer . a + b <= -1
    one_inner, one_outer = torch.ones(len(inner), 1), torch.ones(len(outer), 1)
    rows = torch.cat([-torch.cat([inner, one_inner], 1), torch.cat([outer, one_outer], 1)])
    found = linprog(
        np.zeros(4), A_ub=rows.double().numpy(), b_ub=-np.ones(len(rows)), bounds=(None, None)
    )
    return bool(found.status == 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rpm-jitter", "rpm-crop", "dcp-noise"])
def test_noise_is_clipped_and_of_the_right_size(name: str) -> None:
    card = protocols.get(name)
    loud = replace(card, noise=card.noise and replace(card.noise, clip=0.02))
    made = [PairGenerator(c, blobs(), batch_size=16) for c in (replace(card, noise=None), loud)]
    for each in made:  # noise is drawn last, so that the rest is the same
        each.generator.manual_seed(1)
    quiet, noisy = (each.pairs(torch.arange(16)) for each in made)
    noise = torch.stack([noisy.source - quiet.source, noisy.target - quiet.target])
    if name == "dcp-noise":  # which is for the test alone
        assert noise.abs().max() == 0
        return
    assert noise.abs().max() == pytest.approx(0.02, abs=1e-6)
    assert noise.mean().abs() < 1e-4
    # the standard deviation of a Gaussian of 0.01 clipped at twice that
    assert noise.std().item() == pytest.approx(0.00959, rel=0.01)
    source, target = noise.flatten(1)
    assert torch.corrcoef(torch.stack([source, target]))[0, 1].abs() < 0.02


@pytest.mark.slow
def test_the_same_generator_state_gives_the_same_pairs() -> None:
    first, again = (pairs("rpm-crop", noise=True, seed=5) for _ in range(2))
    assert torch.equal(first.source, again.source)
    assert torch.equal(first.target, again.target)
    assert not torch.equal(pairs("rpm-crop", noise=True).source, first.source)


def test_pairs_of_a_batch_differ() -> None:
    corpus = blobs()
    made = PairGenerator(protocols.get("rpm-crop"), corpus, batch_size=4)
    batch = made.pairs(torch.zeros(6, dtype=torch.int64))  # one shape, six times
    assert batch.pose is not None
    turns = batch.pose.rotation.flatten(1)
    assert torch.cdist(turns, turns).fill_diagonal_(1).min() > 1e-3
    for cloud in (batch.source, batch.target):
        assert torch.cdist(cloud.flatten(1), cloud.flatten(1)).fill_diagonal_(1).min() > 1e-3


def test_an_epoch_visits_every_training_shape_once() -> None:
    made = PairGenerator(protocols.get("rpm-crop"), blobs(), batch_size=7)
    assert len(made.data) == 32  # the first half of the categories
    epoch = list(made)
    assert [len(batch) for batch in epoch] == [7] * 4 == [7] * len(made)
    seen = torch.cat([batch.index for batch in epoch])  # type: ignore[misc]
    assert len(seen.unique()) == 28
    assert torch.equal(torch.cat([b.label for b in epoch]), made.data.labels[seen])  # type: ignore[misc]
    order = torch.cat([batch.index for batch in made])  # type: ignore[misc]
    assert not torch.equal(order, seen)


def test_small_batches_are_cut_from_large_ones_whole() -> None:
    card, corpus = replace(protocols.get("rpm-crop"), noise=None), blobs()
    for batch in PairGenerator(card, corpus, batch_size=5):
        assert batch.pose is not None
        assert batch.pose.rotation.shape == (5, 3, 3)
        assert (gaps(batch) < 1e-5).sum(-1).min() > 100


def test_stretched_shapes_keep_their_volume_and_their_normals_stay_normal() -> None:
    points = F.normalize(
        torch.randn(4, 2048, 3, generator=torch.Generator().manual_seed(3)), dim=-1
    )
    balls = Corpus("balls", points, points, torch.zeros(4).long(), ("ball",))
    card = replace(protocols.get("dcp-clean"), noise=None)
    batch = next(iter(PairGenerator(card, balls, batch_size=4, stretch=2.0)))
    assert gaps(batch).max() < 1e-5
    # On an ellipsoid the sum of (x / factor)^2 is one.
    still = batch.source if card.pose.moves == "target" else batch.target
    normals = batch.source_normals if card.pose.moves == "target" else batch.target_normals
    ones = torch.ones(4, still.shape[1], 1)
    factors = torch.linalg.lstsq(still.square(), ones).solution.mT.rsqrt()
    assert torch.allclose(factors.prod(-1), torch.ones(4, 1), atol=1e-4)
    assert factors.amax() < 2 ** (4 / 3)
    assert factors.std(0).min() > 0.01  # each pair has its own
    assert torch.allclose(F.normalize(still / factors.square(), dim=-1), normals, atol=1e-4)


def test_normals_can_be_left_out() -> None:
    card = protocols.get("dcp-clean")
    batch = next(iter(PairGenerator(card, blobs(), batch_size=4, normals=False)))
    assert batch.source_normals is None
    bare = next(iter(PairGenerator(card, blobs(normals=False), batch_size=4)))
    assert bare.target_normals is None


@pytest.mark.parametrize("name", ["dcp-twice-sampled", "rpm-crop", "rpm-crop-once-sampled"])
@pytest.mark.slow
def test_nothing_waits_for_the_device(name: str) -> None:
    """Fake tensors have no values: reading one, as waiting for a device does, is an error."""
    card = replace(protocols.get(name), categories="all")
    with FakeTensorMode(allow_non_fake_inputs=True):
        made = PairGenerator(card, blobs(), batch_size=4)
        batch = made.pairs(torch.arange(4))
    assert batch.source.shape == (4, card.sizes[0], 3)


def test_pairs_of_scans() -> None:
    card = protocols.get("3dmatch-30")
    batch = next(iter(PairGenerator(card, scans(), batch_size=4)))
    assert batch.source.shape == batch.target.shape == (4, 300, 3)
    assert batch.label is None
    assert ((gaps(batch) < 1e-5).sum(-1) == 200).all()
    turned = rotation_error_degrees(batch.pose.rotation, torch.eye(3).expand(4, 3, 3))  # type: ignore[union-attr]
    assert turned.max() < 90  # the drawn pose, not that of the scans, which is half a turn


def test_scans_of_unequal_sizes_are_refused() -> None:
    pairs_of_scans = scans()
    pairs_of_scans[0] = replace(pairs_of_scans[0], source=torch.zeros(7, 3))
    with pytest.raises(ValueError, match="same number of points"):
        PairGenerator(protocols.get("3dmatch-30"), pairs_of_scans)


def test_a_crop_of_few_points_repeats_some() -> None:
    card = replace(protocols.get("rpm-crop"), points=2048, crop=(0.7, 0.3), noise=None)
    batch = next(iter(PairGenerator(card, blobs(), batch_size=4)))
    assert batch.source.shape[1] == 1434  # one more than the half-space holds
    assert batch.target.shape[1] == 615


def test_mistakes_are_named() -> None:
    card, corpus = protocols.get("dcp-clean"), blobs(8)
    with pytest.raises(ValueError, match="batch_size must be at least 1 and at most 8"):
        PairGenerator(card, corpus, batch_size=9)
    with pytest.raises(ValueError, match="3dmatch-30 takes pairs of scans"):
        PairGenerator(protocols.get("3dmatch-30"), corpus)
    with pytest.raises(ValueError, match="at least 1024 points"):
        PairGenerator(card, blobs(8, points=100))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", SHAPES)
def test_pairs_on_a_gpu_never_stop_it(name: str) -> None:
    corpus = blobs().to("cuda")
    generator = torch.Generator("cuda").manual_seed(0)
    card = replace(protocols.get(name), noise=None)
    made = PairGenerator(card, corpus, batch_size=16, generator=generator)
    index = torch.arange(16, device="cuda")
    made.pairs(index)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        batch = made.pairs(index)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    if card.sampling != "disjoint":
        assert (gaps(batch) < 1e-5).sum(-1).min() > 100
    with pytest.raises(ValueError, match="generator must be on the device"):
        PairGenerator(card, corpus, generator=torch.Generator())
