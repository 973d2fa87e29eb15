"""How far a kernel's poses and gradients are from those of the composite, on any device."""

from __future__ import annotations

from contextlib import nullcontext

import torch

from spoonful.geometry import kernels, random_rotation

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


def draw(dtype, batch=(2,), n=40, *, seed=0, device="cpu"):
    """Matches that a rigid motion nearly explains, weights and a start."""
    kind = {"generator": torch.Generator().manual_seed(seed), "dtype": dtype}
    source = torch.randn(*batch, n, 3, **kind)
    target = 0.9 * source.roll(1, -1) + 0.1 * torch.randn(*batch, n, 3, **kind) + 2
    drawn = source, target, torch.rand(*batch, n, **kind), random_rotation(*batch, **kind)
    return [x.to(device) for x in drawn]


def poses_and_gradients(fit, leaves, *, composite):
    """What `fit` returns, and the gradients of a random function of it."""
    leaves = [x.detach().clone().requires_grad_() for x in leaves]
    with kernels.disabled() if composite else nullcontext():
        pose = fit(*leaves)
        generator = torch.Generator().manual_seed(0)
        loss = sum((x * torch.randn(x.shape, generator=generator).to(x)).sum() for x in pose)
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
    return [x.detach() for x in pose], gradients


def disagreement(ours, theirs, reach):
    """The largest relative error of rotation, translation, scale if there is one, and gradients
    (source, target, weights).

    A translation is small beside the means it is the difference of, and the gradient at a weight
    is small (0 at a perfect fit) beside the terms that it sums; `reach` is the size of the points.
    """
    (ours, gradients), (theirs, true_gradients) = ours, theirs
    scales = [0.0, reach, 0.0][: len(ours)]
    scales += [0.0, 0.0, float(true_gradients[1].abs().max()) * reach, 0.0][: len(gradients)]
    found = []
    for a, b, scale in zip([*ours, *gradients], [*theirs, *true_gradients], scales, strict=True):
        if b is None:
            assert a is None or not a.any()
        else:
            size = max(float(b.abs().max()), scale, 1e-300)
            found.append(float((a.double() - b.double()).abs().max()) / size)
    return max(found)


def assert_agrees(fit, leaves, truth=None):
    """The kernel gives what the composite gives, of these leaves or of truer ones."""
    ours = poses_and_gradients(fit, leaves, composite=False)
    theirs = poses_and_gradients(fit, leaves if truth is None else truth, composite=True)
    reach = max(float(leaf.abs().max()) for leaf in leaves[:2])
    assert disagreement(ours, theirs, reach) <= TOLERANCE[leaves[0].dtype]


def pack(clouds):
    """Sources, targets and weights (n, ...) of several clouds, end to end, and their offsets."""
    sizes = [len(source) for source, *_ in clouds]
    offsets = torch.tensor([0, *sizes]).cumsum(0)
    return [torch.cat(parts) for parts in zip(*clouds, strict=True)], offsets


def assert_packed_agrees(layer, clouds, *, device="cpu"):
    """Packed, each cloud gets what the composite gives it alone in float64, with its gradients."""
    leaves, offsets = pack(clouds)
    leaves = [x.to(device).requires_grad_() for x in leaves]
    poses = layer.packed(*leaves[:2], offsets.to(device), leaves[2]).poses
    generator = torch.Generator().manual_seed(0)
    probes = [torch.randn(x.shape, generator=generator).to(x) for x in poses]
    gradients = torch.autograd.grad(poses, leaves, probes)
    assert "PoseHead" in poses.rotation.grad_fn.name()
    sizes = [len(source) for source, *_ in clouds]
    parts = zip(*(x.cpu().split(sizes) for x in gradients), strict=True)
    for b, (cloud, part) in enumerate(zip(clouds, parts, strict=True)):
        ours = [x[b].detach().cpu() for x in poses]
        if not sizes[b]:
            assert torch.equal(ours[0], torch.eye(3).to(ours[0]).expand_as(ours[0]))
            assert not ours[1].any()
            continue
        alone = [x.detach().double().requires_grad_() for x in cloud]
        with kernels.disabled():
            theirs = layer(*alone).poses
        probed = [x[b].double().cpu() for x in probes]
        true_gradients = torch.autograd.grad(theirs, alone, probed)
        reach = max(float(x.abs().max()) for x in cloud[:2])
        found = disagreement((ours, part), ([x.detach() for x in theirs], true_gradients), reach)
        assert found <= TOLERANCE[leaves[0].dtype], (b, found)


def assert_robust_agrees(fit, leaves, options, tolerance, *, shown=slice(None)):
    """A robust fit's pose, weights, noise and gradients are those of the composite.

    `shown` are the parts of the pose that the gradients are of. The tolerance is relative to the
    largest number of each kind.
    """

    def run():
        own = [x.clone().requires_grad_() for x in leaves]
        found = fit(*own, **options)
        total = sum(value.nan_to_num().square().sum() for value in found.pose[shown])
        return [*found.pose, found.weights, found.noise, *torch.autograd.grad(total, own)]

    ours = run()
    with kernels.disabled():
        theirs = run()
    for mine, other in zip(ours, theirs, strict=True):
        size = float(other.detach().nan_to_num().abs().max())
        torch.testing.assert_close(mine, other, equal_nan=True, rtol=0, atol=size * tolerance)
