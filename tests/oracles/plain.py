"""Kabsch as everyone writes it: an SVD, differentiated by autograd."""

from __future__ import annotations

import torch
from torch import Tensor


def svd_kabsch(
    source: Tensor, target: Tensor, weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    if weights is None:
        weights = torch.ones_like(source[..., 0])
    w = (weights / weights.sum(-1, keepdim=True)).unsqueeze(-1)
    ms, mt = (w * source).sum(-2, keepdim=True), (w * target).sum(-2, keepdim=True)
    H = (target - mt).mT @ (w * (source - ms))
    U, _, Vh = torch.linalg.svd(H)
    d = torch.linalg.det(U @ Vh)
    D = torch.stack([torch.ones_like(d), torch.ones_like(d), d], dim=-1)
    R = (U * D.unsqueeze(-2)) @ Vh
    return R, (mt - ms @ R.mT).squeeze(-2)
