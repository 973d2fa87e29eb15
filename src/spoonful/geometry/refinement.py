"""The paper's refinement: Kabsch's problem again, under linearised rotation constraints.

Around a rotation R the six constraints R'^T R' = I become "R^T R' - I is skew". So
R' = R (I + hat u), and the paper's 15x15 KKT system (nine entries of R', six multipliers) is a 3x3
solve for u:

    source form (main text):    spread(S)       u = vee(K)
    target form (supplement):   spread(R^T G R) u = vee(K),        K = R^T H

In the target form it is simplest in the target's frame: with a = R u, spread(G) a = vee(H R^T) and
R' = (I + hat a) R. Either way the matrix of the system is the same in every iteration. Each
iteration ends with the rotation assembler (`gram_schmidt`) and the translation estimator.

**The gradient.** All iterates are rotations, so a change of one is a 3-vector: dR = R hat(omega).
An iteration maps omega by a 3x3 matrix J and adds what dH and dP contribute (P = spread inverse):

    omega' = J omega + T du,     J = Q^T + T (du / d omega),     Q = R^T R'

with T the derivative of the assembler at u. The chain of these small matrices is the whole
backward pass; nothing in it depends on the number of points.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from spoonful.geometry.autodiff import applier
from spoonful.geometry.exact import matmul3, matvec3
from spoonful.geometry.moments import Moments
from spoonful.geometry.plan import Form
from spoonful.geometry.pose import Pose
from spoonful.geometry.rotation import best_translation
from spoonful.geometry.so3 import gram_schmidt, hat, torque, turned
from spoonful.geometry.spread import spread, spread_inverse


def refine_moments(m: Moments, rotation: Tensor, *, iterations: int, form: Form) -> Pose:
    """Refined poses (..., I, 3, 3) and (..., I, 3) from a start (..., 3, 3); see `refine`."""
    rotations = _refined(
        m.cross, _inverse_for(m, form), rotation.to(m.cross.dtype), iterations, form
    )
    means = m.source_mean.unsqueeze(-2), m.target_mean.unsqueeze(-2)
    return Pose(rotations, best_translation(rotations, *means))


def step_moments(m: Moments, rotation: Tensor, *, form: Form) -> Tensor:
    """One constrained solve (..., 3, 3), before the assembler; see `linearized_step`."""
    return _step(m.cross, _inverse_for(m, form), rotation.to(m.cross.dtype), form)


def _inverse_for(m: Moments, form: Form) -> Tensor:
    moment = m.source if form == "source" else m.target
    if moment is None:
        raise ValueError(f"form={form!r} needs moments computed with spreads={form!r} or 'both'")
    return spread_inverse(moment)


def _step(H: Tensor, P: Tensor, R: Tensor, form: str) -> Tensor:
    if form == "source":
        return R + turned(R, matvec3(P, torque(R, H)))
    # The same with the roles of the clouds exchanged: R^T maps target to source, and H^T is H.
    return (R.mT + turned(R.mT, matvec3(P, torque(R.mT, H.mT)))).mT


class _Refinement(Function):
    """Rotations (..., I, 3, 3) from the cross moment, the spread inverse and a start."""

    generate_vmap_rule = True

    @staticmethod
    def forward(H: Tensor, P: Tensor, start: Tensor, iterations: int, form: str) -> Tensor:
        R, found = start, []
        for _ in range(iterations):
            R = gram_schmidt(_step(H, P, R, form))
            found.append(R)
        return torch.stack(found, dim=-3)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        H, P, start, _, ctx.form = inputs
        ctx.save_for_backward(H, P, start, output)
        ctx.save_for_forward(H, P, start, output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        H, P, start, rotations = ctx.saved_tensors
        R, P, v, T, J = _linearise(H, P, start, rotations, ctx.form)
        # Pull the gradient at each rotation back to its 3-vector, then down the chain.
        own = torque(rotations, gradient).unbind(-2)
        links = J.mT.unbind(-3)
        pulls = [own[-1]]
        for i in range(len(own) - 1, 0, -1):
            pulls.append(own[i - 1] + matvec3(links[i], pulls[-1]))
        at_start = matvec3(links[0], pulls[-1])
        at_u = matvec3(T.mT, torch.stack(pulls[::-1], dim=-2))
        d_H = turned(R, matvec3(P, at_u)).sum(-3)
        if ctx.form == "target":
            at_u, v = matvec3(R, at_u), matvec3(R, v)
        d_P = (at_u.unsqueeze(-1) * v.unsqueeze(-2)).sum(-3)
        d_start = turned(start, at_start) / 2
        # No gradient for a rotation that is NaN, nor from a chain that overflows. (A chain that is
        # given NaN or inf keeps it.)
        sound = ~_finite(gradient).all(-1)
        sound = sound | (_finite(d_H) & _finite(d_P) & _finite(d_start))
        sound = (sound & _finite(rotations).all(-1))[..., None, None]
        d_H, d_P, d_start = (torch.where(sound, d, 0) for d in (d_H, d_P, d_start))
        return d_H, d_P, d_start, None, None

    @staticmethod
    def jvp(ctx: Any, d_H: Tensor, d_P: Tensor, d_start: Tensor, *_: None) -> Tensor:
        H, P, start, rotations = ctx.saved_tensors
        R, P, v, T, J = _linearise(H, P, start, rotations, ctx.form)
        d_P = d_P.unsqueeze(-3)
        if ctx.form == "target":
            d_P = matmul3(matmul3(R.mT, d_P), R)
        added = matvec3(T, matvec3(P, torque(R, d_H.unsqueeze(-3))) + matvec3(d_P, v))
        omega = torque(start, d_start) / 2
        omegas = []
        for i in range(rotations.shape[-3]):
            omega = matvec3(J[..., i, :, :], omega) + added[..., i, :]
            omegas.append(omega)
        return turned(rotations, torch.stack(omegas, dim=-2))


_refined = applier(_Refinement)


class _Chain(NamedTuple):
    """The iterations, linearised; every tensor has the dimension I of iterations."""

    R: Tensor  # where each iteration started
    P: Tensor  # the spread inverse in the source's frame
    v: Tensor  # vee(R^T H)
    T: Tensor  # how the assembled rotation follows u
    J: Tensor  # how it follows the rotation it started from


def _finite(matrices: Tensor) -> Tensor:
    """(...) which of the matrices (..., 3, 3) are finite."""
    return matrices.isfinite().all(-1).all(-1)


def _linearise(H: Tensor, P: Tensor, start: Tensor, rotations: Tensor, form: str) -> _Chain:
    R = torch.cat([start.unsqueeze(-3), rotations[..., :-1, :, :]], dim=-3)
    H, P = H.unsqueeze(-3), P.unsqueeze(-3)
    v = torque(R, H)
    # d(vee K) = -spread(K) omega + vee(R^T dH); in the target form P turns with R as well.
    resist = spread(matmul3(R.mT, H))
    if form == "source":
        u = matvec3(P, v)
        follow = -matmul3(P, resist)
    else:
        P = matmul3(matmul3(R.mT, P), R)
        u = matvec3(P, v)
        follow = hat(u) - matmul3(P, hat(v) + resist)
    Q = matmul3(R.mT, rotations)
    T = _assembler_derivative(u, Q)
    return _Chain(R, P, v, T, Q.mT + matmul3(T, follow))


def _assembler_derivative(u: Tensor, Q: Tensor) -> Tensor:
    """T with `Q^T dQ = hat(T du)`, where Q = gram_schmidt(I + hat u).

    Let c1, c2 be the first columns of I + hat u and n1 = |c1|, m = q1 . c2, n2 = q2 . c2. As u
    changes, c_j moves by du x e_j, so q1 turns towards q2 by du . (e1 x q2) / n1 and towards -q3 by
    du . (q3 x e1) / n1; and q2 towards q3 by what du x e2 gives, and the turn of q1 takes along.
    """
    axes = torch.eye(3, dtype=u.dtype, device=u.device)
    e1, e2 = axes[0].expand_as(u), axes[1].expand_as(u)
    q1, q2, q3 = Q.unbind(-1)
    c1, c2 = e1 + torch.linalg.cross(u, e1), e2 + torch.linalg.cross(u, e2)
    n1, m, n2 = ((q * c).sum(-1, keepdim=True) for q, c in ((q1, c1), (q1, c2), (q2, c2)))
    T2 = torch.linalg.cross(q3, e1) / n1
    T3 = torch.linalg.cross(e1, q2) / n1
    T1 = (torch.linalg.cross(e2, q3) + m * T2) / n2
    return torch.stack([T1, T2, T3], dim=-2)
