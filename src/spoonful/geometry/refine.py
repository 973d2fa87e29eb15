"""The paper's refinement of a rotation, on clouds. `refinement` has the mathematics."""

from __future__ import annotations

from torch import Tensor

from spoonful.geometry import kernels
from spoonful.geometry.checks import (
    Matched,
    check_choice,
    check_count,
    check_start,
    matched,
)
from spoonful.geometry.head import scaled_moments
from spoonful.geometry.plan import FORMS, Form, Plan
from spoonful.geometry.pose import Pose
from spoonful.geometry.refinement import step_moments


def refine(
    source: Tensor,
    target: Tensor,
    rotation: Tensor,
    *,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    iterations: int = 5,
    form: Form = "source",
    check: bool = True,
) -> Pose:
    """The paper's n refinements of a rotation, and the best translation for each.

    Started at the Kabsch rotation this is, in exact arithmetic, the identity, in value and in
    gradient; rounding errors are multiplied by `stability(...).rho` each time. Started anywhere
    else it moves towards the Kabsch rotation if rho < 1.

    Args:
        source: (..., N, 3).
        target: (..., N, 3), the match of each source point.
        rotation: (..., 3, 3), the start: any rotation.
        weights: (..., N), >= 0; equal if None.
        mask: (..., N) bool; False removes a point.
        iterations: how many refinements, I >= 1.
        form: "source", the paper's main text, or "target", its supplement.
        check: raise if `rotation` is not a rotation. On a GPU this waits for its value.

    Returns:
        `Pose` with rotation (..., I, 3, 3) and translation (..., I, 3). The gradient with respect
        to the start is the one along SO(3).

    >>> import torch
    >>> from spoonful.geometry import kabsch, random_rotation
    >>> generator = torch.Generator().manual_seed(0)
    >>> source = torch.randn(100, 3, generator=generator, dtype=torch.float64)
    >>> best = random_rotation(generator=generator, dtype=torch.float64)
    >>> refined = refine(source, source @ best.mT, torch.eye(3, dtype=torch.float64), iterations=12)
    >>> bool((refined.rotation[-1] - best).abs().max() < 1e-12)
    True
    """
    check_count("iterations", iterations)
    points = _checked(source, target, rotation, weights, mask, form, check)
    return kernels.pose_head(*points, rotation, Plan(iterations, form, "given"))


def linearized_step(
    source: Tensor,
    target: Tensor,
    rotation: Tensor,
    *,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    form: Form = "source",
    check: bool = True,
) -> Tensor:
    """One constrained solve, before the assembler: `R (I + hat u)`, near a rotation but not one.

    The paper's Eqs. 7 to 13, whose 15x15 system this solves as a 3x3 one.

    Args:
        source: (..., N, 3).
        target: (..., N, 3).
        rotation: (..., 3, 3), where the constraints are linearised.
        weights: (..., N), >= 0; equal if None.
        mask: (..., N) bool; False removes a point.
        form: "source" or "target".
        check: raise if `rotation` is not a rotation.

    Returns:
        (..., 3, 3): its columns have length >= 1 and the first two are never parallel.

    >>> import torch
    >>> source = torch.cat([torch.eye(3), -torch.eye(3)])
    >>> quarter_turn = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> linearized_step(source, source @ quarter_turn.mT, torch.eye(3)).round(decimals=4) + 0.0
    tensor([[ 1., -1.,  0.],
            [ 1.,  1.,  0.],
            [ 0.,  0.,  1.]])
    """
    points = _checked(source, target, rotation, weights, mask, form, check)
    m, _ = scaled_moments(*points, spreads=form)
    return step_moments(m, rotation, form=form)


def _checked(
    source: Tensor,
    target: Tensor,
    rotation: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    form: str,
    values: bool,
) -> Matched:
    check_choice("form", form, FORMS)
    points = matched(source, target, weights, mask)
    check_start("rotation", rotation, points.source, values=values)
    return points
