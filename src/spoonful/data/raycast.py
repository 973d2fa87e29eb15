"""Ray casting: the distance along each ray to the nearest surface of a scene.

A scene is a list of patches: parallelograms, triangles and pieces of cones.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from spoonful.data.synthetic.solids import Surface

# Ray and patch tests that are looked at together.
_AT_ONCE = 4_000_000


def first_hits(rows: Tensor, origin: Tensor, rays: Tensor, most: float = math.inf) -> Tensor:
    """(R,) distances along unit vectors `rays` (R, 3) to the nearest patch; inf if there is none.

    Args:
        rows: (P, 16) patches of closed surfaces, with normals outwards.
        origin: (3,) the sensor, outside of all solids.
        rays: (R, 3) unit vectors.
        most: patches farther away than this are left out.
    """
    rows, middle, reach = _visible(rows, origin, most)
    away = (middle - origin).norm(dim=-1)
    # The half angle of a cone from the sensor around each patch; a little more, for rounding.
    least = (1 - (reach / away).clamp(max=1).square()).sqrt().where(away > reach, -2.0) - 1e-6
    towards = (middle - origin) / away.clamp_min(1e-12)[:, None]
    best = torch.full((len(rays),), torch.inf, dtype=torch.float64)
    size = max(1, _AT_ONCE // max(1, len(rows)))
    for start in range(0, len(rays), size):
        some = rays[start : start + size]
        ray, patch = (some @ towards.mT >= least).nonzero().unbind(1)
        found = _meet(rows[patch], origin, some[ray])
        best[start : start + size].scatter_reduce_(0, ray, found, "amin")
    return best


def _visible(rows: Tensor, origin: Tensor, most: float) -> tuple[Tensor, Tensor, Tensor]:
    """The patches that may be seen, and a ball around each: (Q, 16), (Q, 3) and (Q,)."""
    start, axis, u, v, rest = rows.split([3, 3, 3, 3, 4], dim=1)
    r0, r1, height, kind = rest.unbind(1)
    is_round = kind == Surface.ROUND
    along = torch.where(is_round, 0.0, 0.5)[:, None] * (u + v)
    along = along + (0.5 * height.where(is_round, 0.0))[:, None] * axis
    flat = 0.5 * torch.maximum((u + v).norm(dim=1), (u - v).norm(dim=1))
    reach = torch.where(is_round, torch.hypot(0.5 * height, torch.maximum(r0, r1)), flat)
    facing = ((origin - start) * axis).sum(1) > 0
    keep = (is_round | facing) & ((start + along - origin).norm(dim=1) - reach < most)
    return rows[keep], (start + along)[keep], reach[keep]


def _meet(rows: Tensor, origin: Tensor, rays: Tensor) -> Tensor:
    """(K,) how far along each ray its patch is; inf if the ray misses it."""
    start, axis, u, v, rest = rows.split([3, 3, 3, 3, 4], dim=1)
    r0, r1, height, kind = rest.unbind(1)
    is_round = kind == Surface.ROUND
    gap = origin - start
    z0, dz = (gap * axis).sum(1), (rays * axis).sum(1)
    flat = -z0 / dz.where(dz.abs() > 1e-12, 1e-12)
    place = gap + flat[:, None] * rays
    # place = s u + t v, solved by the vectors that are orthogonal to v and to u.
    normal = torch.linalg.cross(u, v)
    area = normal.square().sum(1).clamp_min(1e-24)
    s = (torch.linalg.cross(place, v) * normal).sum(1) / area
    t = (torch.linalg.cross(u, place) * normal).sum(1) / area
    inside = (s >= 0) & (t >= 0) & ((s <= 1) & (t <= 1) | is_round)
    inside &= (kind != Surface.TRIANGLE) | (s + t <= 1)
    radius = place.norm(dim=1)
    disc = (radius >= torch.minimum(r0, r1)) & (radius <= torch.maximum(r0, r1))
    inside = torch.where(is_round, disc & (height == 0), inside)
    found = flat.where(inside & (flat > 0), torch.inf)
    # A cone: |gap + t d|^2 = z^2 + (r0 + k z)^2 with z = z0 + t dz.
    cone = (is_round & (height != 0)).nonzero().squeeze(1)
    gap, d, z0, dz, h, r = gap[cone], rays[cone], z0[cone], dz[cone], height[cone], r0[cone]
    k = (r1[cone] - r) / h
    rim = r + k * z0
    a = 1 - dz * dz * (1 + k * k)
    b = (gap * d).sum(1) - z0 * dz - rim * k * dz
    c = gap.square().sum(1) - z0 * z0 - rim * rim
    a = a.where(a.abs() > 1e-12, 1e-12)
    root = (b * b - a * c).clamp_min(0).sqrt().where(b * b >= a * c, torch.inf)
    for sign in (-1.0, 1.0):
        t = (-b + sign * root) / a
        z = z0 + t * dz
        on = (z / h >= 0) & (z / h <= 1) & (r + k * z >= 0) & (t > 0)
        found[cone] = torch.minimum(found[cone], t.where(on, torch.inf))
    return found
