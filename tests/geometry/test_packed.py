"""Packed clouds: each gets what it gets alone."""

from __future__ import annotations

import pytest
import torch

from spoonful import SpoonfulLayer, kabsch
from spoonful.geometry import kabsch_packed, kernels, moments, moments_packed

SIZES = [5, 1, 40, 0, 300]
OFFSETS = torch.tensor([0, *torch.tensor(SIZES).cumsum(0).tolist()])


def draw(dtype=torch.float64):
    kind = {"generator": torch.Generator().manual_seed(0), "dtype": dtype}
    source = torch.randn(sum(SIZES), 3, **kind) + 7
    target = source.roll(1, -1) + 0.1 * torch.randn(sum(SIZES), 3, **kind)
    return [x.requires_grad_() for x in (source, target, torch.rand(sum(SIZES), **kind))]


def one_by_one(fit, leaves):
    """What `fit` gives for every cloud that has points."""
    parts = zip(*(x.split(SIZES) for x in leaves), strict=True)
    return [fit(*part) for part in parts if len(part[0])]


def some(poses):
    return [x[[i for i, size in enumerate(SIZES) if size]] for x in poses]


@pytest.mark.parametrize("form", ["source", "target"])
@pytest.mark.parametrize("start", ["kabsch", "detached"])
def test_the_layer_gives_what_each_cloud_gets_alone_with_its_gradients(form, start):
    leaves = draw()
    layer = SpoonfulLayer(form=form, start=start)
    together = layer.packed(*leaves[:2], OFFSETS, leaves[2]).poses()
    with kernels.disabled():
        alone = one_by_one(lambda *part: layer(*part).poses(), leaves)
    expected = [torch.stack(parts) for parts in zip(*alone, strict=True)]
    probes = [torch.randn_like(x) for x in expected]
    for a, b in zip(some(together), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)
    found = torch.autograd.grad(some(together), leaves, probes)
    for a, b in zip(found, torch.autograd.grad(expected, leaves, probes), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-9)


def test_kabsch_and_moments_too_and_an_empty_cloud_is_the_identity():
    source, target, weights = (x.detach() for x in draw())
    poses = kabsch_packed(source, target, OFFSETS, weights)
    alone = one_by_one(kabsch, (source, target, weights))
    for a, b in zip(some(poses), zip(*alone, strict=True), strict=True):
        torch.testing.assert_close(a, torch.stack(b), rtol=0, atol=1e-10)
    assert torch.equal(poses.rotation[3], torch.eye(3, dtype=torch.float64))
    assert not poses.translation[3].any()
    found = moments_packed(source, target, OFFSETS)
    expected = one_by_one(moments, (source, target))
    for a, b in zip(some(found), zip(*expected, strict=True), strict=True):
        torch.testing.assert_close(a, torch.stack(b), rtol=0, atol=1e-10)


def test_a_spoilt_cloud_is_nan_has_no_gradient_and_disturbs_no_other():
    leaves = draw()
    clean = kabsch_packed(*leaves[:2], OFFSETS, leaves[2]).rotation.detach()
    with torch.no_grad():
        leaves[0][10, 1] = torch.nan  # of the third cloud
    pose = kabsch_packed(*leaves[:2], OFFSETS, leaves[2])
    assert pose.rotation[2].isnan().all()
    others = [0, 1, 3, 4]
    assert torch.equal(pose.rotation[others], clean[others])
    (pose.rotation.cumsum(-1).sum() + pose.translation.sum()).backward()
    for leaf in leaves:
        assert leaf.grad.isfinite().all()
        assert not leaf.grad[6:46].any()


def test_perturbed_starts_are_drawn_for_each_cloud_from_the_generator():
    source, target, weights = (x.detach() for x in draw(torch.float32))
    layer = SpoonfulLayer(start="perturbed", starts=2)
    first, again = (
        layer.packed(source, target, OFFSETS, weights, generator=torch.Generator().manual_seed(3))
        for _ in range(2)
    )
    assert first.poses().rotation.shape == (5, 11, 3, 3)
    assert torch.equal(first.poses().rotation[0], again.poses().rotation[0])
    assert layer.eval().packed(source, target, OFFSETS).refined is None


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        (torch.tensor([0, 5]), "from 0 to the number of points, 346"),
        (torch.tensor([0, 9, 5, 346]), "without decreasing"),
        (torch.tensor([0.0, 346.0]), "must be integers"),
        (torch.tensor([346]), r"must have shape \(B \+ 1,\)"),
    ],
)
def test_offsets_that_make_no_sense_are_refused(offsets, words):
    source, target, _ = draw()
    with pytest.raises((ValueError, TypeError), match=words):
        kabsch_packed(source, target, offsets)
