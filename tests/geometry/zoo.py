"""The degenerate zoo: clouds that break naive rigid fits. Each is (source, target), float64."""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry import random_rotation


def _draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _rotation(seed: int) -> Tensor:
    return random_rotation(generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _line(n: int) -> Tensor:
    return torch.linspace(-1, 2, n, dtype=torch.float64)[:, None] * torch.tensor(
        [1.0, -2.0, 0.5], dtype=torch.float64
    )


def zoo() -> dict[str, tuple[Tensor, Tensor]]:
    R = _rotation(7)
    cloud = _draw(12, 3, seed=1)
    flat = cloud * torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    mirror = torch.diag(torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64))
    axes = torch.cat([torch.eye(3), -torch.eye(3)]).double()
    return {
        "one point": (cloud[:1], cloud[1:2]),
        "two points": (cloud[:2], cloud[:2] @ R.mT),
        "three points": (cloud[:3], cloud[:3] @ R.mT),
        "coincident": (cloud[:1].expand(8, 3), cloud[1:2].expand(8, 3)),
        "coincident source": (cloud[:1].expand(12, 3), cloud),
        "collinear": (_line(9), _line(9) @ R.mT + 1),
        "collinear reversed": (_line(9), -_line(9)),
        "collinear source": (_line(12), cloud),
        "planar": (flat, flat @ R.mT),
        "planar mirrored": (flat, flat @ mirror @ R.mT),
        "mirrored": (cloud, cloud @ mirror @ R.mT),
        "mirrored tie": (axes, axes @ mirror),
        "point reflected": (axes, -axes),
        "equal singular values": (axes, axes @ R.mT),
        "half turn": (cloud, cloud @ torch.diag(torch.tensor([1.0, -1, -1])).double()),
        "identical": (cloud, cloud.clone()),
        "tiny": (1e-12 * cloud, 1e-12 * cloud @ R.mT),
        "huge": (1e12 * cloud, 1e12 * cloud @ R.mT),
        "far away": (cloud + 1e6, cloud @ R.mT - 1e6),
        "needle": (cloud * torch.tensor([1.0, 1e-5, 1e-5]).double(), cloud),
        "unrelated": (cloud, _draw(12, 3, seed=2)),
    }
