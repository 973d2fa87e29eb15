"""The published function, by its own name and signature, for code that already calls it."""

from __future__ import annotations

from torch import Tensor

from spoonful.geometry.checks import (
    check_cloud,
    check_count,
    check_start,
    matched,
)
from spoonful.geometry.moments import Moments, checked_moments
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
