"""Scans made up for the tests: things on a floor."""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud


def floor(*things: Tensor) -> Cloud:
    """A floor of four by four metres with things on it."""
    x, y = 4 * torch.rand(2, 5000, generator=torch.Generator().manual_seed(0)).double()
    return Cloud(torch.cat([torch.stack([x, y, 0 * x], 1), *things]))


def box(x: float, y: float, size: float = 0.3) -> Tensor:
    """The sides of a cube that stands on the floor."""
    u, v = size * torch.rand(2, 150, generator=torch.Generator().manual_seed(1)).double()
    sides = [torch.stack([u, 0 * u + k, v], 1) for k in (0, size)]
    sides += [side[:, [1, 0, 2]] for side in sides] + [torch.stack([u, v, 0 * u + size], 1)]
    return torch.cat(sides) + torch.tensor([x, y, 0.0])


def column(x: float, y: float) -> Tensor:
    angle, height = torch.rand(2, 800, generator=torch.Generator().manual_seed(2)).double()
    angle = 2 * torch.pi * angle
    return torch.stack([x + 0.4 * angle.cos(), y + 0.4 * angle.sin(), height], 1)
