"""Weighted Kabsch, of clouds in a batch and of packed clouds. `rotation` has the mathematics."""

from __future__ import annotations

from torch import Tensor

from spoonful.geometry import head, kernels
from spoonful.geometry.checks import matched
from spoonful.geometry.packed import check_packed
from spoonful.geometry.plan import KABSCH
from spoonful.geometry.pose import Pose


def kabsch(
    source: Tensor, target: Tensor, weights: Tensor | None = None, mask: Tensor | None = None
) -> Pose:
    """The rigid pose that minimises `sum_i w_i |R source_i + t - target_i|^2`.

    The paper's Eqs. 1 to 6. Always a proper rotation, never a reflection. Differentiable any number
    of times, in forward and reverse mode, under `torch.func.vmap` and `torch.compile`. If the
    points do not determine the rotation, result and gradient are still finite:

    - two points, or points on a line: the best rotation that turns least, with no gradient about
      the line; if several turn equally little (a line reversed), one of them;
    - one point, or coinciding points: no rotation, a translation alone;
    - points in a plane, or three points: nothing special, the rotation is unique;
    - a mirrored cloud: the best proper rotation; if its two smallest singular values tie, one of
      the equally good ones, with no gradient about the undetermined axis;
    - no point kept, or no weight: the identity and zero gradient;
    - NaN or inf in a cloud, or coordinates beyond 1e34 (1e150 in float64): a NaN pose for that
      cloud alone and, for its points, zero gradient.

    `stability` tells which of these happened. Up to these sizes poses and gradients are as exact as
    for clouds of usual size. (Only if the source is more than 1e8 times larger than the target may
    a gradient overflow.)

    Args:
        source: (..., N, 3), or (..., N, 2) in the plane.
        target: (..., N, 3) or (..., N, 2), the match of each source point.
        weights: (..., N), >= 0, of any total; equal weights if None.
        mask: (..., N) bool; False removes a point (padding). Leading dimensions broadcast, and
            a batch may be empty.

    Returns:
        `Pose` with rotation (..., d, d) and translation (..., d), in float32 whatever lower
        precision the points have (float64 if an input is); `pose.to(dtype)` converts.

    >>> import torch
    >>> source = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    >>> target = source @ torch.tensor([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + 5
    >>> pose = kabsch(source, target)
    >>> pose.rotation.round(decimals=4) + 0.0
    tensor([[ 0., -1.,  0.],
            [ 1.,  0.,  0.],
            [ 0.,  0.,  1.]])
    >>> bool(torch.allclose(pose.apply(source), target, atol=1e-5))
    True
    """
    points = matched(source, target, weights, mask, flat=True)
    # In the plane by the reference alone.
    fit = kernels.pose_head if points.source.shape[-1] == 3 else head.pose_head
    return fit(*points, None, KABSCH, stacked=False)


def kabsch_packed(
    source: Tensor, target: Tensor, offsets: Tensor, weights: Tensor | None = None
) -> Pose:
    """`kabsch` of B clouds of any sizes, packed.

    Args:
        source: (M, 3), all clouds one after the other.
        target: (M, 3), the match of each source point.
        offsets: (B + 1,) integers from 0 to M, not decreasing: where clouds begin and end. Not
            validated on a GPU, where a cloud with impossible offsets gets a NaN pose.
        weights: (M,), >= 0; equal weights if None.

    Returns:
        `Pose` with rotation (B, 3, 3). Degenerate clouds are those of `kabsch`; one without points
        gets the identity.

    >>> import torch
    >>> source = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    >>> poses = kabsch_packed(source, source + 1, torch.tensor([0, 3, 7]))
    >>> poses.translation.round(decimals=4)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    check_packed(source, target, offsets, weights, flat=True)
    fit = kernels.pose_head if source.shape[-1] == 3 else head.pose_head
    return fit(source, target, weights, None, None, KABSCH, offsets, stacked=False)
