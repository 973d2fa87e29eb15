"""Published functions, by their own names and signatures, for code that already calls them.

`spoonful` is the paper's. The others are fits of matched points as RoMa, PyTorch3D and models of
molecular structure have them, without NaN in their gradients.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry import kabsch, nearest_rotation, similarity
from spoonful.geometry.checks import (
    check_cloud,
    check_count,
    check_start,
    matched,
)
from spoonful.geometry.exact import matvec3, trace
from spoonful.geometry.moments import Moments, checked_moments, moments
from spoonful.geometry.plan import Form
from spoonful.geometry.refinement import refine_moments


def spoonful(
    R: Tensor,
    Ps: Tensor,
    Pt: Tensor,
    iters: int = 5,
    weights: Tensor | None = None,
    use_target: bool = False,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor]:
    """The paper's refinements, as its official code publishes them.

    A drop-in for the `spoonful` of github.com/SergioRAgostinho/just-a-spoonful: same arguments,
    same results, without the functions that torch has removed, and much faster. New code should
    call `refine`. Two differences: if the system is singular the published function returns NaN,
    this one is finite; and the gradient with respect to `R` is the one along the rotations.

    Args:
        R: (B, 3, 3) initial rotations.
        Ps: (B, N, 3) source points.
        Pt: (B, N, 3) target points, the match of each source point.
        iters: number of iterations I.
        weights: (B, N), >= 0, or None.
        use_target: the target form instead of the source form.
        eps: added to the sum of the weights before dividing by it.

    Returns:
        Rotations (B, I, 3, 3) and translations (B, I, 3).

    >>> import torch
    >>> Ps = torch.randn(4, 50, 3)
    >>> rotations, translations = spoonful(torch.eye(3).expand(4, 3, 3), Ps, Ps + 1)
    >>> rotations.shape, translations.shape
    (torch.Size([4, 5, 3, 3]), torch.Size([4, 5, 3]))
    """
    check_cloud("Ps", Ps)
    check_cloud("Pt", Pt)
    Ps, Pt, weights, _ = matched(Ps, Pt, weights)
    check_count("iters", iters)
    check_start("R", R, Ps, values=False)
    form: Form = "target" if use_target else "source"
    m = checked_moments(Ps, Pt, weights, None, form)
    # The published weights sum to k = W / (W + eps), a little under 1, and so the published means
    # are k times the true ones; points about such means have the moments below.
    k = (m.total / (m.total + eps)).unsqueeze(-1)
    short = (1 - k).square().unsqueeze(-1)
    scale = k.unsqueeze(-1)

    def about_published(moment: Tensor, mean: Tensor, other: Tensor) -> Tensor:
        return scale * (moment + short * mean.unsqueeze(-1) * other.unsqueeze(-2))

    S, G = m.source, m.target

    published = Moments(
        source_mean=k * m.source_mean,
        target_mean=k * m.target_mean,
        source=None if S is None else about_published(S, m.source_mean, m.source_mean),
        target=None if G is None else about_published(G, m.target_mean, m.target_mean),
        cross=about_published(m.cross, m.target_mean, m.source_mean),
        total=m.total,
    )
    pose = refine_moments(published, R, iterations=iters, form=form)
    return pose.rotation, pose.translation


def rigid_points_registration(
    x: Tensor, y: Tensor, weights: Tensor | None = None, compute_scaling: bool = False
) -> tuple[Tensor, ...]:
    """RoMa's fit: (R, t) with `y ~ R x + t`, or (R, t, s) with `y ~ s R x + t`.

    A drop-in for `roma.rigid_points_registration` in two and three dimensions.

    Args:
        x: (..., N, d), d = 2 or 3.
        y: (..., N, d), the match of each point.
        weights: (..., N), >= 0; equal if None.
        compute_scaling: also fit a scale.

    >>> x = torch.eye(3)
    >>> R, t = rigid_points_registration(x, x + 1)
    >>> t
    tensor([1., 1., 1.])
    """
    return tuple((similarity if compute_scaling else kabsch)(x, y, weights))


class SimilarityTransform(NamedTuple):
    """PyTorch3D's result, for points as rows: `Y ~ s X R + T`."""

    R: Tensor
    T: Tensor
    s: Tensor


def corresponding_points_alignment(
    X: Tensor,
    Y: Tensor,
    weights: Tensor | None = None,
    estimate_scale: bool = False,
    allow_reflection: bool = False,
    eps: float = 1e-9,
) -> SimilarityTransform:
    """PyTorch3D's fit, for points as rows: `Y ~ s X R + T`.

    A drop-in for `pytorch3d.ops.corresponding_points_alignment` on tensors. As there, the centroids
    have the weights, but rotation and scale have their squares; `similarity` has one set of weights
    for all.

    Args:
        X: (B, N, d), d = 2 or 3.
        Y: (B, N, d), the match of each point.
        weights: (B, N), >= 0; equal if None.
        estimate_scale: also fit a scale; otherwise s is 1.
        allow_reflection: R may be a reflection if that fits better.
        eps: the least mean squared size of X, for the scale.

    >>> X = torch.randn(2, 10, 3, generator=torch.Generator().manual_seed(0))
    >>> corresponding_points_alignment(X, 2 * X + 1, estimate_scale=True).s.round(decimals=4)
    tensor([2., 2.])
    """
    m = moments(X, Y, None if weights is None else weights.square(), spreads="source")
    assert m.source is not None
    centre = m if weights is None else moments(X, Y, weights, spreads="none")
    x, y = m.source_mean - centre.source_mean, m.target_mean - centre.target_mean
    H = m.cross + y.unsqueeze(-1) * x.unsqueeze(-2)
    R = nearest_rotation(H)
    if allow_reflection:
        mirror = torch.ones_like(H[..., :1, :])
        mirror[..., -1] = -1
        R = torch.where(torch.det(H)[..., None, None] < 0, nearest_rotation(H * mirror) * mirror, R)
    scale = torch.ones_like(H[..., 0, 0])
    if estimate_scale:
        size = trace(m.source) + x.square().sum(-1)
        scale = (R * H).sum((-1, -2)) / size.clamp_min(eps)
    T = centre.target_mean - scale.unsqueeze(-1) * matvec3(R, centre.source_mean)
    return SimilarityTransform(R.mT, T, scale)


def weighted_rigid_align(
    coords: Tensor,
    target: Tensor,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    detach: bool = True,
) -> Tensor:
    """Coordinates after the rigid motion that best brings them to `target`.

    As models of molecular structure align their ground truth with a prediction before a loss
    (AlphaFold 3, Abramson et al. 2024, Algorithm 28). Never a reflection.

    Args:
        coords: (..., N, 3), the points to move.
        target: (..., N, 3), the match of each point.
        weights: (..., N), >= 0; equal if None.
        mask: (..., N) bool; False leaves a point out of the fit. It is moved all the same.
        detach: cut the result from the graph, as for a loss's target.

    Returns:
        (..., N, 3).

    >>> coords = torch.eye(3)
    >>> weighted_rigid_align(coords + 1, coords).round(decimals=4).abs()
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """
    aligned = kabsch(coords, target, weights, mask).apply(coords)
    return aligned.detach() if detach else aligned
