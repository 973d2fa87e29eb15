"""Points spread evenly over the skin of solids, many solids at a time.

Points are drawn on all patches of a solid in proportion to their areas; those that are not on
its surface, because they lie inside another part or inside a cut, are dropped. What remains is
uniform on the surface. The walls of a cut have their normals turned inwards.

Every choice is made with integers, so that no rounding can change it.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from spoonful.data.synthetic import chance
from spoonful.data.synthetic.solids import Body, Solid, Surface, circle


def sample(
    solids: Sequence[Solid], count: int, keys: Sequence[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """Points on the surfaces, (S, count, 3) float64, and outward unit normals.

    Args:
        solids: S of them.
        count: points on each; the first ones do not depend on how many there are.
        keys: a stream of random words for each solid (`chance.keys`).

    >>> from spoonful.data.synthetic.solids import ball, box
    >>> dumbbell = Solid([ball(1).at(-2, 0, 0), box(4, 0.2, 0.2), ball(1).at(2, 0, 0)])
    >>> points, normals = sample([dumbbell], 500, [chance.keys(0)])
    >>> points.shape, bool((points[..., 0].abs() <= 3).all())
    (torch.Size([1, 500, 3]), True)
    """
    found: list[list[tuple[Tensor, Tensor]]] = [[] for _ in solids]
    missing = [count for _ in solids]
    tried, drawn = 0, count + count // 4 + 32
    while active := [number for number, lacks in enumerate(missing) if lacks]:
        drawer = _Drawer([solids[number] for number in active])
        words = [chance.words(keys[number], 3 * tried, 3 * drawn) for number in active]
        points, normals, good = drawer.draw(torch.stack(words).reshape(-1, drawn, 3))
        for row, number in enumerate(active):
            kept = good[row].nonzero().squeeze(-1)[: missing[number]]
            found[number].append((points[row, kept], normals[row, kept]))
            missing[number] -= len(kept)
        tried += drawn
        if tried > 100 * count + 10_000:
            raise ValueError("a solid has next to no surface outside of its own parts")
        # How many are drawn at once is a matter of speed alone: enough, going by those so far.
        drawn = max(tried * lacks // max(1, count - lacks) for lacks in missing) * 5 // 4 + 32
        drawn = min(drawn, 4 * count + 32)
    return (
        torch.stack([torch.cat([points for points, _ in rounds]) for rounds in found]),
        torch.stack([torch.cat([normals for _, normals in rounds]) for rounds in found]),
    )


class _Drawer:
    """Some solids as tensors: over all their parts, and over all patches of these."""

    def __init__(self, solids: Sequence[Solid]) -> None:
        self.parts = [part for solid in solids for part in (*solid.parts, *solid.cuts)]
        self.is_cut = torch.tensor(
            [
                cut
                for solid in solids
                for cut in (False,) * len(solid.parts) + (True,) * len(solid.cuts)
            ]
        )
        self.rotation = _doubles([part.rotation for part in self.parts])
        self.translation = _doubles([part.translation for part in self.parts])
        self.groups: dict[tuple[Body, int], list[int]] = defaultdict(list)
        for number, part in enumerate(self.parts):
            self.groups[part.body, len(part.measures)].append(number)

        # A row of parts for each solid, padded with balls that hold nothing.
        sizes = [len(solid.parts) + len(solid.cuts) for solid in solids]
        self.low, self.high = _doubles([part.bounds() for part in self.parts]).unbind(1)
        middle = (self.low + self.high) / 2
        centers = (self.rotation * middle.unsqueeze(1)).sum(-1) + self.translation
        # A hair more than half the diagonal, for the rounding of distances.
        reach = 0.5001 * (self.high - self.low).square().sum(-1).sqrt()
        self.first = torch.tensor([0, *itertools.accumulate(sizes[:-1])])
        self.centers = pad_sequence(centers.split(sizes), batch_first=True)
        self.reach = pad_sequence(reach.split(sizes), batch_first=True, padding_value=-1.0)

        self.owner = torch.arange(len(self.parts)).repeat_interleave(
            torch.tensor([len(part.rows) for part in self.parts])
        )
        rows = _doubles([row for part in self.parts for row in part.rows])
        vectors = rows[:, :12].reshape(-1, 4, 3)
        frame = self.rotation[self.owner].unsqueeze(1)
        moved = (
            frame[..., 0] * vectors[..., 0:1]
            + frame[..., 1] * vectors[..., 1:2]
            + frame[..., 2] * vectors[..., 2:3]
        )
        moved[:, 0] += self.translation[self.owner]
        self.rows = torch.cat([moved.flatten(1), rows[:, 12:]], dim=1)
        self.ends, self.starts, self.totals = _shares(
            [
                [area for part in (*solid.parts, *solid.cuts) for area in part.areas]
                for solid in solids
            ]
        )

    def draw(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Points and normals (S, n, 3), and whether they are on the surface (S, n).

        Args:
            words: (S, n, 3) random words.
        """
        choice, first, second = words.unbind(-1)
        place = ((choice * self.totals.unsqueeze(-1)) >> 32) + self.starts.unsqueeze(-1)
        pick = torch.searchsorted(self.ends, place, right=True)
        origin, axis, u, v, rest = self.rows[pick].split([3, 3, 3, 3, 4], dim=-1)
        r0, r1, height, kind = rest.unbind(-1)
        s, t = first.to(torch.float64) / 2.0**32, second.to(torch.float64) / 2.0**32

        # Equal areas on a cone: r^2 is uniform; the place along it follows without dividing
        # by r1 - r0, which is zero on a cylinder.
        is_round = kind == Surface.ROUND
        radius = (r0 * r0 + s * (r1 * r1 - r0 * r0)).clamp(min=0.0).sqrt()
        along = height * (s * (r0 + r1) / (r0 + radius).clamp(min=1e-300))
        cosine, sine = circle(t)

        fold = (kind == Surface.TRIANGLE) & (s + t > 1.0)
        a = torch.where(is_round, radius * cosine, torch.where(fold, 1.0 - s, s))
        b = torch.where(is_round, radius * sine, torch.where(fold, 1.0 - t, t))
        points = origin + _scaled(along, axis) + _scaled(a, u) + _scaled(b, v)
        normals = _scaled(height * cosine, u) + _scaled(height * sine, v) + _scaled(r0 - r1, axis)
        x, y, z = normals.unbind(-1)
        length = (x * x + y * y + z * z).sqrt()
        owner = self.owner[pick]
        on_cut = self.is_cut[owner]
        normals = normals / torch.where(on_cut, -length, length).unsqueeze(-1)
        return points, normals, self._on_surface(points, owner, on_cut)

    def _on_surface(self, points: Tensor, owner: Tensor, on_cut: Tensor) -> Tensor:
        """Skin of a part counts outside of the rest; a cut's wall counts where it cuts."""
        # Of all pairs of a part and a point, few are near each other: only those are looked at.
        solid, order, place = self._near(points).nonzero().unbind(1)
        part, point = self.first[solid] + order, solid * points.shape[1] + place
        others = (part != owner.flatten()[point]).nonzero().squeeze(-1)
        part, point = part[others], point[others]
        x, y, z = (points.flatten(0, 1)[point] - self.translation[part]).unbind(-1)
        frame = self.rotation[part]
        local = torch.stack(
            [x * frame[:, 0, k] + y * frame[:, 1, k] + z * frame[:, 2, k] for k in range(3)], dim=-1
        )
        boxed = ((local >= self.low[part]) & (local <= self.high[part])).all(-1)
        part, point, (x, y, z) = part[boxed], point[boxed], local[boxed].unbind(-1)

        inside = torch.zeros(len(part), dtype=torch.bool)
        position = torch.empty(len(self.parts), dtype=torch.int64)
        for (body, _), members in self.groups.items():
            position.fill_(-1)[members] = torch.arange(len(members))
            pairs = (position[part] >= 0).nonzero().squeeze(-1)
            # (rows, columns, pairs): each measure in a row of its own.
            measures = _doubles([self.parts[number].measures for number in members])
            measures = measures.permute(1, 2, 0)
            if len(members) > 1:
                measures = measures.index_select(2, position[part[pairs]])
            inside[pairs] = _INSIDE[body](measures, x[pairs], y[pairs], z[pairs])

        part, point = part[inside], point[inside]
        by_cut, of_cut = self.is_cut[part], on_cut.flatten()[point]
        # A part hides other parts' skin; a cut hides everything, and needs a part to cut.
        hidden = torch.zeros(on_cut.numel(), dtype=torch.bool)
        hidden[point[by_cut | ~of_cut]] = True
        cutting = torch.zeros(on_cut.numel(), dtype=torch.bool)
        cutting[point[~by_cut]] = True
        return ~hidden.reshape(on_cut.shape) & (~on_cut | cutting.reshape(on_cut.shape))

    def _near(self, points: Tensor) -> Tensor:
        """A mask (S, parts of a solid, n) of the points in the balls around the parts."""
        return torch.cdist(self.centers, points) <= self.reach.unsqueeze(-1)


def _shares(areas: Sequence[Sequence[float]]) -> tuple[Tensor, Tensor, Tensor]:
    """Areas of solids' patches as whole numbers, so that choosing by area never rounds.

    Returns:
        ends: (patches,) where each patch ends in the running sum over all solids.
        starts: (S,) where each solid's patches start.
        totals: (S,) each solid's whole, about 2^30, so that 2^32 times it fits 63 bits.
    """
    wholes = [math.fsum(of_solid) for of_solid in areas]
    shares = [
        [round(area / whole * 2.0**30) for area in of_solid]
        for of_solid, whole in zip(areas, wholes, strict=True)
    ]
    totals = torch.tensor([sum(of_solid) for of_solid in shares])
    ends = torch.tensor([share for of_solid in shares for share in of_solid]).cumsum(0)
    return ends, totals.cumsum(0) - totals, totals


def _doubles(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _scaled(factor: Tensor, vectors: Tensor) -> Tensor:
    return factor.unsqueeze(-1) * vectors


# Each takes the parts' measures (rows, columns, pairs) and the points x, y, z (pairs,).


def _in_box(measures: Tensor, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    half = measures[0]
    return (x.abs() < half[0]) & (y.abs() < half[1]) & (z.abs() < half[2])


def _in_prism(measures: Tensor, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    height, taper = measures[0]
    scale = 1.0 + (taper - 1.0) * (z / height + 0.5)
    within = (2.0 * z.abs() < height) & (scale > 0)
    scale = scale.clamp(min=1e-9)
    return within & _in_polygon(measures[1:], x / scale, y / scale)


def _in_revolved(measures: Tensor, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return _in_polygon(measures, (x * x + y * y).sqrt(), z)


def _in_tube(measures: Tensor, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    inside = torch.zeros_like(x, dtype=torch.bool)
    pieces = len(measures) - 1
    for k, ((ax, ay, az, ar), (bx, by, bz, br)) in enumerate(itertools.pairwise(measures)):
        ux, uy, uz = bx - ax, by - ay, bz - az
        dx, dy, dz = x - ax, y - ay, z - az
        raw = (dx * ux + dy * uy + dz * uz) / (ux * ux + uy * uy + uz * uz)
        t = raw.clamp(0.0, 1.0)
        dx, dy, dz = dx - t * ux, dy - t * uy, dz - t * uz
        reach = ar + t * (br - ar)
        near = dx * dx + dy * dy + dz * dz < reach * reach
        # Round joints where two pieces meet, but flat ends.
        if k == 0:
            near &= raw >= 0.0
        if k == pieces - 1:
            near &= raw <= 1.0
        inside |= near
    return inside


def _in_polygon(corners: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """An odd number of edges to the right."""
    inside = torch.zeros_like(x, dtype=torch.bool)
    ax, ay = corners[-1]
    a_above = ay > y
    for bx, by in corners:
        b_above = by > y
        # A level edge divides by zero, but no point lies between its ends' heights.
        right = x < ax + (y - ay) * ((bx - ax) / (by - ay))
        inside ^= (a_above != b_above) & right
        ax, ay, a_above = bx, by, b_above
    return inside


_INSIDE = {
    Body.BOX: _in_box,
    Body.PRISM: _in_prism,
    Body.REVOLVED: _in_revolved,
    Body.TUBE: _in_tube,
}
