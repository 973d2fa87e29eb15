"""PyTorch3D's `corresponding_points_alignment`, from its documentation and equations, by SVD."""

from __future__ import annotations

import torch
from torch import Tensor


def corresponding_points(
    X: Tensor, Y: Tensor, w: Tensor, *, scale: bool, reflection: bool
) -> tuple[Tensor, Tensor, Tensor]:
    share = (w / w.sum(-1, keepdim=True)).unsqueeze(-1)
    mx, my = (share * X).sum(-2, keepdim=True), (share * Y).sum(-2, keepdim=True)
    x, y = (X - mx) * w.unsqueeze(-1), (Y - my) * w.unsqueeze(-1)
    U, S, Vh = torch.linalg.svd(x.mT @ y)
    E = torch.ones_like(S)
    if not reflection:
        E[..., -1] = torch.linalg.det(U @ Vh)
    R = U * E.unsqueeze(-2) @ Vh
    s = (E * S).sum(-1) / x.square().sum((-1, -2)) if scale else torch.ones_like(S[..., 0])
    return R, (my - s[..., None, None] * mx @ R).squeeze(-2), s
