"""Diagnostics of the refinement: when it leaves the Kabsch rotation, which the paper leaves open.

The refinement's Jacobian at the Kabsch rotation is, in the frame of the source,

    J = I - spread(Q)^-1 spread(K),      K = R^T H,      Q = S  or  R^T G R,

so an error grows by rho, the spectral radius of J, in every iteration. If the matches are the
rotated source scaled by a, rho is |1 - a| in the source form and |1 - 1/a| in the target form. So
matches that shrink to less than half (a < 1/2) make the target form diverge. The paper's three
indicators are the distance and angle to the unconstrained solution and det G.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.geometry.checks import (
    check_choice,
    check_count,
    check_start,
    matched,
)
from spoonful.geometry.exact import matmul3
from spoonful.geometry.head import scaled_moments
from spoonful.geometry.plan import FORMS, Form
from spoonful.geometry.refinement import refine_moments
from spoonful.geometry.rotation import nearest_rotation
from spoonful.geometry.spread import ROUNDINGS, spread, spread_inverse


class Status(IntEnum):
    """The state of one cloud: the worst that applies.

    Attributes:
        STABLE: the rotation is unique and the refinement contracts towards it.
        UNSTABLE: the rotation is unique, but rho > 1: the refinement moves away from it.
        AMBIGUOUS: the points do not determine the rotation (a line, a point, a mirror tie).
        EMPTY: no point has weight; the pose is the identity.
        NONFINITE: NaN or inf among the points, weights or rotation; the pose is NaN.

    >>> point = torch.rand(1, 3)
    >>> Status(stability(point, point).status.item()).name
    'AMBIGUOUS'
    """

    STABLE = 0
    UNSTABLE = 1
    AMBIGUOUS = 2
    EMPTY = 3
    NONFINITE = 4


class Stability(NamedTuple):
    """Diagnostics of the refinement, one value for each cloud.

    Attributes:
        rho: (...) growth of an error per iteration; < 1 contracts, > 1 diverges. At least 1 where
            the points leave an axis free: an error about it stays.
        divergence: (...) the paper's D: the sum over iterations of |R_i - R|_F.
        distance: (...) the largest distance of a column of the unconstrained solution to R's. The
            paper's first indicator; the next two are the others.
        angle_degrees: (...) the largest angle between such columns, ignoring sign, in degrees.
        target_det: (...) det G.
        step_condition: (...) condition number of the refinement's 3x3 system.
        pose_condition: (...) condition number of Kabsch's own, spread(K): how well the points
            determine the rotation about its weakest axis.
        status: (...) int64, a `Status`.
    """

    rho: Tensor
    divergence: Tensor
    distance: Tensor
    angle_degrees: Tensor
    target_det: Tensor
    step_condition: Tensor
    pose_condition: Tensor
    status: Tensor


@torch.no_grad()
def stability(
    source: Tensor,
    target: Tensor,
    rotation: Tensor | None = None,
    *,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    iterations: int = 5,
    form: Form = "source",
) -> Stability:
    """Diagnostics of a refinement from `rotation`: rho, the divergence and its indicators.

    Args:
        source: (..., N, 3).
        target: (..., N, 3), the match of each source point.
        rotation: (..., 3, 3), the rotation to examine; Kabsch's if None.
        weights: (..., N), >= 0; equal if None.
        mask: (..., N) bool; False removes a point.
        iterations: how many refinements `divergence` sums over.
        form: "source" or "target".

    Returns:
        `Stability`, without gradient. Started at Kabsch's rotation, `divergence` is amplified
        rounding error: rho determines its size, the arithmetic its digits.

    >>> source = torch.cat([torch.eye(3), -torch.eye(3)])
    >>> shrunk = stability(source, 0.1 * source, form="target")
    >>> round(shrunk.rho.item(), 3), Status(shrunk.status.item()).name
    (9.0, 'UNSTABLE')
    >>> stability(source, 0.1 * source, form="source").rho.round(decimals=3)
    tensor(0.9000)
    """
    check_choice("form", form, FORMS)
    check_count("iterations", iterations)
    source, target, weights, mask = matched(source, target, weights, mask)
    m, unit = scaled_moments(source, target, weights, mask)
    if rotation is None:
        rotation = nearest_rotation(m.cross)
    else:
        check_start("rotation", rotation, source, values=True)
        rotation = rotation.to(m.cross.dtype)
    eye = torch.eye(3, dtype=rotation.dtype, device=rotation.device)
    sound = m.cross.isfinite().all(-1).all(-1) & rotation.isfinite().all(-1).all(-1)
    keep = sound[..., None, None]
    # The linear algebra below refuses NaN, so unsound clouds are examined as if they were empty.
    S, G, H = (torch.where(keep, moment, 0) for moment in (m.source, m.target, m.cross))  # type: ignore[arg-type]
    R = torch.where(keep, rotation, eye)

    K = matmul3(R.mT, H)
    M_K = spread((K + K.mT) / 2)
    Q = S if form == "source" else matmul3(matmul3(R.mT, G), R)
    # Similar to spread(Q)^-1 spread(K) and symmetric: its eigenvalues are real and safe to find.
    root = _root(spread_inverse((Q + Q.mT) / 2))
    rho = (1 - torch.linalg.eigvalsh(matmul3(matmul3(root, M_K), root))).abs().amax(-1)

    refined = refine_moments(m, rotation, iterations=iterations, form=form).rotation
    gaps = torch.linalg.matrix_norm(refined - rotation.unsqueeze(-3))

    # The paper's unconstrained solution: G^-1 H in the target form, H S^-1 in the source form.
    if form == "target":
        free = matmul3(torch.linalg.pinv(G, hermitian=True), H)
    else:
        free = matmul3(H, torch.linalg.pinv(S, hermitian=True))
    cosine = (free * R).sum(-2).abs()
    sine = torch.linalg.cross(free, R, dim=-2).norm(dim=-2)

    det = torch.linalg.det(G)
    resist = torch.linalg.eigvalsh(M_K)
    eps = torch.finfo(R.dtype).eps
    ambiguous = resist[..., 0] <= ROUNDINGS * eps * resist[..., 2]
    status = torch.where(rho > 1, int(Status.UNSTABLE), int(Status.STABLE))
    status = torch.where(ambiguous, int(Status.AMBIGUOUS), status)
    status = torch.where(m.total == 0, int(Status.EMPTY), status)
    status = torch.where(sound, status, int(Status.NONFINITE))

    def reported(value: Tensor) -> Tensor:
        return torch.where(sound, value, torch.nan)

    return Stability(
        rho=reported(rho),
        divergence=reported(gaps.sum(-1)),
        distance=reported((free - R).norm(dim=-2).amax(-1)),
        angle_degrees=reported(torch.rad2deg(torch.atan2(sine, cosine)).amax(-1)),
        target_det=reported(det if unit is None else det / unit.pow(6)),
        step_condition=reported(_condition(torch.linalg.eigvalsh(spread(Q)))),
        pose_condition=reported(_condition(resist)),
        status=status,
    )


def _root(matrix: Tensor) -> Tensor:
    """The symmetric square root of a positive semi-definite matrix."""
    values, vectors = torch.linalg.eigh(matrix)
    return matmul3(vectors * values.clamp(min=0).sqrt().unsqueeze(-2), vectors.mT)


def _condition(eigenvalues: Tensor) -> Tensor:
    """Largest over smallest, of ascending eigenvalues; inf where the smallest is not positive."""
    smallest, largest = eigenvalues[..., 0], eigenvalues[..., -1]
    return torch.where(smallest > 0, largest / smallest, torch.inf)
