"""Fast global registration (Zhou, Park and Koltun, ECCV 2016) on FPFH features.

Points are matched once, by features. The pose then minimises a robust cost of the matches

    sum_i  l_i |R p_i + t - q_i|^2  +  mu (sqrt(l_i) - 1)^2,      l_i = (mu / (mu + r_i^2))^2,

in turns: the weights l_i (the line process) from the residuals r_i, the pose from the weights, by
Kabsch. A large mu makes the cost convex; it may be narrowed step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from spoonful.batch import Batch
from spoonful.classical.contract import NO_OVERLAP, OK, ClassicalMethod, frame_of, into
from spoonful.classical.fpfh import fpfh, mutual_matches
from spoonful.data.normals import estimate_normals
from spoonful.extras import require
from spoonful.geometry import Pose, kabsch
from spoonful.geometry.checks import check_choice, check_count
from spoonful.registration import Registration

# Triangles tried for each match, as in the published code, and how many of them at once.
_TRIALS, _AT_ONCE = 100, 10
# The published code gives up with fewer matches.
_FEWEST = 10
# mu narrows once in this many iterations.
_EVERY = 4


@dataclass(frozen=True, kw_only=True)
class FGR(ClassicalMethod):
    """Fast global registration.

    It is global: the result does not depend on the clouds' poses, and `init` is ignored. The
    status is "no-overlap" if fewer than 10 features match. Lengths are in the clouds' own unit;
    None stands for the same share of the larger cloud's radius as in `published`.

    Settings mean what they mean in Open3D. Three things differ from its implementation. Features
    describe all points within `feature_radius`. They are compared by the Bhattacharyya coefficient,
    not the Euclidean distance. Each iteration solves for the pose in closed form.

    Attributes:
        feature_radius: the radius of the neighbourhoods that features describe.
        max_distance: the value at which mu stops narrowing.
        normals: "given" uses those of the batch if it has any; "estimated" never does. Normals
            are estimated from `normal_neighbors` points, and point away from the centroid.
        normal_neighbors: see `normals`.
        division_factor: mu is divided by this in every fourth iteration.
        absolute_scale: whether mu and `max_distance` are in the clouds' unit, mu starting at the
            larger cloud's radius; otherwise they are in such radii, mu starting at 1.
        narrow: whether mu narrows at all ("decrease_mu" in Open3D).
        iterations: of the optimisation.
        tuple_scale: corresponding sides of two triangles of matches must agree to this ratio.
        tuples: triangles that pass, at most; only their matches are used. 0 uses all matches.
        seed: of the random triangles.

    >>> generator = torch.Generator().manual_seed(0)
    >>> cloud = torch.rand(300, 3, generator=generator) * torch.tensor([1.0, 0.7, 0.4])
    >>> half_turn = torch.diag(torch.tensor([-1.0, -1, 1]))
    >>> found = FGR.default().register(cloud, cloud @ half_turn + 2)
    >>> found.pose.translation.round(decimals=3), found.status
    (tensor([2., 2., 2.]), ('ok',))
    """

    name: ClassVar[str] = "fgr"

    feature_radius: float | None = None
    max_distance: float | None = None
    normals: Literal["given", "estimated"] = "given"
    normal_neighbors: int = 30
    division_factor: float = 1.4
    absolute_scale: bool = False
    narrow: bool = False
    iterations: int = 64
    tuple_scale: float = 0.95
    tuples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("normals", self.normals, ("given", "estimated"))
        for name in ("feature_radius", "max_distance"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {value}")
        for name, least in (("normal_neighbors", 3), ("iterations", 1), ("tuples", 0)):
            check_count(name, getattr(self, name), least=least)
        if not self.division_factor > 1:
            raise ValueError(f"division_factor must be above 1, got {self.division_factor}")
        if not 0 < self.tuple_scale < 1:
            raise ValueError(f"tuple_scale must lie in (0, 1), got {self.tuple_scale}")

    @classmethod
    def published(cls) -> Self:
        """The settings reported with RPM-Net: features of radius 0.3, distance 0.01.

        All else is Open3D's default.
        """
        return cls(settings="published", feature_radius=0.3, max_distance=0.01)

    def check(self) -> None:
        """Raise `MissingExtra` if SciPy, which features need, is not installed."""
        require("scipy", extra="classical", why=self.name)

    def _solve(self, batch: Batch, init: Pose | None) -> Registration:
        frame = frame_of(batch)
        source, target = into(frame, batch)
        scale = frame.scale.to(source.dtype)
        given = batch.source_normals is not None and batch.target_normals is not None
        use_given = given and self.normals == "given"
        here, there, weight = [], [], []
        for row in range(len(batch)):
            clouds = []
            for points, mask, normals in (
                (source, batch.source_mask, batch.source_normals),
                (target, batch.target_mask, batch.target_normals),
            ):
                kept = slice(None) if mask is None else mask[row]
                cloud = points[row][kept].cpu()
                if use_given and normals is not None:
                    clouds.append((cloud, normals[row][kept].cpu()))
                else:
                    clouds.append((cloud, estimate_normals(cloud, self.normal_neighbors)))
            p, q, times = self._matches(clouds[0], clouds[1], float(scale[row]))
            here.append(p)
            there.append(q)
            weight.append(times)
        p, q, times = (
            pad_sequence(part, batch_first=True).to(source) for part in (here, there, weight)
        )
        pose = self._robust_pose(p, q, times, scale)
        few = torch.tensor([len(p) < _FEWEST for p in here], device=source.device)
        found = frame.pose_out(pose).to(source.dtype)
        still = Pose.identity(len(batch), dtype=source.dtype, device=source.device)
        return Registration(
            Pose(
                still.rotation.where(few[:, None, None], found.rotation),
                still.translation.where(few[:, None], found.translation),
            ),
            status=tuple(NO_OVERLAP if lost else OK for lost in few.tolist()),
        )

    def _matches(
        self, source: tuple[Tensor, Tensor], target: tuple[Tensor, Tensor], scale: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Matched points (K, 3) and (K, 3) of one pair, and how often each counts (K,)."""
        radius = 0.3 if self.feature_radius is None else self.feature_radius / scale
        first, second = mutual_matches(fpfh(*source, [radius]), fpfh(*target, [radius]))
        p, q = source[0][first], target[0][second]
        if self.tuples == 0 or len(p) < _FEWEST:
            return p, q, torch.ones(len(p))
        times = in_alike_triangles(p, q, self.tuple_scale, self.tuples, self.seed)
        kept = times > 0
        return p[kept], q[kept], times[kept]

    def _robust_pose(self, p: Tensor, q: Tensor, weight: Tensor, scale: Tensor) -> Pose:
        """The poses (B, 3, 3) of matches (B, K, 3) with weights (B, K), zero for padding."""
        # Residuals are in radii here, so mu is divided by the square of the radius if absolute.
        mu = 1 / scale if self.absolute_scale else torch.ones_like(scale)
        last = torch.full_like(scale, self.max_distance or 0.01)
        if self.max_distance is None and self.absolute_scale:
            last = last * scale
        last = last / scale.square() if self.absolute_scale else last
        pose = Pose.identity(len(p), dtype=p.dtype, device=p.device)
        for step in range(self.iterations if p.shape[1] > 0 else 0):
            squared = (pose.apply(p) - q).square().sum(-1)
            narrowness = mu.unsqueeze(-1)
            pose = kabsch(p, q, weight * (narrowness / (narrowness + squared)).square())
            if self.narrow and step % _EVERY == 0:
                mu = (mu / self.division_factor).where(mu > last, mu)
        return pose


def in_alike_triangles(p: Tensor, q: Tensor, scale: float, most: int, seed: int = 0) -> Tensor:
    """Count the random triangles of matches that have the same shape in both clouds, by match.

    Args:
        p: (K, 3) matched points.
        q: (K, 3) their matches.
        scale: corresponding sides must agree to this ratio, below 1.
        most: triangles counted, at most.
        seed: of the random triangles.

    Returns:
        (K,) counts.

    >>> p = torch.rand(20, 3, generator=torch.Generator().manual_seed(0))
    >>> q = p.clone()
    >>> q[:5] += 1
    >>> int(in_alike_triangles(p, q, 0.95, 300)[5:].sum()) > 800
    True
    """
    generator = torch.Generator().manual_seed(seed)
    times, left = p.new_zeros(len(p)), most
    for _ in range(_TRIALS // _AT_ONCE):
        corner = torch.randint(len(p), (_AT_ONCE * len(p), 3), generator=generator)
        a, b = ((x[corner] - x[corner.roll(1, -1)]).norm(dim=-1) for x in (p, q))
        alike = corner[((scale * a < b) & (scale * b < a)).all(-1)][:left]
        times += torch.bincount(alike.flatten(), minlength=len(p)).to(times)
        left -= len(alike)
        if left == 0:
            break
    return times
