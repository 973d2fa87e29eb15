"""Training pairs made on the device that trains, whole batches at once.

The corpus stays in the device's memory. A batch is a few operations on it: choose points, gather
them, turn and shift one cloud, add noise. Nothing loops over pairs and nothing waits for the
device. Every pair has random numbers of its own. `benchmarks/data.py` measures the throughput
(to be measured).

Each coordinate is a plane of its own, x, y, z and the normals' x, y, z, because gathering single
numbers is several times faster than gathering rows of three.

>>> from spoonful.data.protocols import get
>>> corpus = Corpus("toy", torch.rand(8, 2048, 3), None, torch.arange(8), tuple("abcdefgh"))
>>> training = PairGenerator(get("rpm-crop"), corpus, batch_size=2)
>>> for batch in training:  # an epoch: every shape of the training categories once
...     print(tuple(batch.source.shape))
(2, 717, 3)
(2, 717, 3)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from spoonful.batch import Batch
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Protocol, check_protocol
from spoonful.geometry import Pose
from spoonful.geometry.euler import rotation_from_euler

if TYPE_CHECKING:
    from spoonful.data.scans import ScanPair

# Pairs that are made at once; smaller batches are cut from them.
BLOCK = 192


class PairGenerator:
    """The training pairs of a protocol, in batches.

    Every pair is distributed as the card says, like the items of `ProtocolDataset` with
    `split="train"`: the categories are those of training, and noise for the test is left out.

    Args:
        protocol: the card.
        data: the training shapes, on the device that is to make the pairs; or a list of scan
            pairs, all of the same number of points, if the protocol is one of scans.
        batch_size: pairs in a batch. Items that do not fill a last batch are left out of an epoch.
        generator: the random numbers, on the data's device. None: a new one with seed 0.
        normals: whether to bring normals, if the shapes have them.
        stretch: each pair's shape is stretched along the axes by random factors between one over
            this and this, then scaled to its former volume; 1 leaves shapes as they are.

    Batches have no `clean` shapes, which only test metrics need. Clouds are (B, N, 3) views of
    memory that is ordered (3, B, N): use `reshape` on them rather than `view`.
    """

    def __init__(
        self,
        protocol: Protocol,
        data: Corpus | Sequence[ScanPair],
        *,
        batch_size: int = 32,
        generator: torch.Generator | None = None,
        normals: bool = True,
        stretch: float = 1.0,
    ) -> None:
        check_protocol(protocol)
        protocol.check(data)
        if isinstance(data, Corpus):
            data = protocol.select(data, "train")
            # (1 or 2, 3, S, P): points and perhaps normals, a plane for each coordinate
            both = [data.points, data.normals] if normals else [data.points]
            planes = torch.stack([each.permute(2, 0, 1) for each in both if each is not None])
            labels, sizes = data.labels, protocol.sizes
        else:
            planes = _scan_planes(data)
            labels, sizes = None, (planes.shape[-1], planes.shape[-1])
        if generator is None:
            generator = torch.Generator(planes.device).manual_seed(0)
        if generator.device.type != planes.device.type:
            raise ValueError(
                f"generator must be on the device of the data, {planes.device}, "
                f"got one on {generator.device}"
            )
        if not 1 <= batch_size <= len(data):
            raise ValueError(
                f"batch_size must be at least 1 and at most {len(data)}, the number of items to "
                f"train on, got {batch_size}"
            )
        self.protocol, self.stretch = protocol, stretch
        self.data = data
        self.batch_size = batch_size
        self.generator = generator
        self._planes, self._labels, self._sizes = planes, labels, sizes
        self._sampling = protocol.sampling_for("train")
        self._noise = protocol.noise_for("train")

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return len(self.data) // self.batch_size

    def __iter__(self) -> Iterator[Batch]:
        """One epoch: the items of the data in random order, none of them twice."""
        device = self.generator.device
        order = torch.randperm(len(self.data), generator=self.generator, device=device)
        order = order[: len(self) * self.batch_size]
        motion, pose = self._motion(len(order))
        size = max(1, BLOCK // self.batch_size) * self.batch_size
        for first in range(0, len(order), size):
            part = slice(first, first + size)
            block = self._make(order[part], motion.at(part), pose.at(part))
            for start in range(0, len(block), self.batch_size):
                yield block.part(slice(start, start + self.batch_size))

    def pairs(self, index: Tensor) -> Batch:
        """A pair of each of the items at `index`, (B,) int64 on the data's device."""
        return self._make(index, *self._motion(len(index)))

    def _make(self, index: Tensor, motion: Pose, pose: Pose) -> Batch:
        body = self._body(index)
        # One gather for both clouds: what the second one reads is in the cache already.
        planes = self._stretched(body.gather(self._choose(body, len(index))))
        source, target = planes.split(self._sizes, dim=-1)
        moves = self.protocol.pose.moves
        source = self._finish(source, motion if moves == "source" else None)
        target = self._finish(target, motion if moves == "target" else None)
        return Batch(
            source=_rows(source[0]),
            target=_rows(target[0]),
            source_normals=_rows(source[1]) if len(source) > 1 else None,
            target_normals=_rows(target[1]) if len(target) > 1 else None,
            pose=pose,
            label=None if self._labels is None else self._labels[index],
            index=index,
        )

    def _motion(self, count: int) -> tuple[Pose, Pose]:
        """Motions of one cloud of each pair, and the true poses that follow from them."""
        pose = self.protocol.pose
        angles, shift = self._uniform(2, count, 3)
        motion = Pose(
            rotation_from_euler(angles * pose.max_degrees, "zyx", degrees=True),
            (2 * shift - 1) * pose.max_translation,
        )
        return motion, motion.inverse() if pose.moves == "source" else motion

    def _body(self, index: Tensor) -> _Clouds:
        """The clouds that both clouds of each pair are made of: the shape, or one sample of it."""
        shapes = _Clouds(self._planes, index)
        if self._sampling != "shared":
            return shapes
        planes = shapes.gather(self._order(len(index), shapes.size, self.protocol.points))
        if self._noise is not None and self._noise.on == "shared":
            planes[0] += self._jitter(planes[0].shape)
        return _Clouds.of(planes)

    def _choose(self, body: _Clouds, count: int) -> Tensor:
        """The numbers of the points of each source and then of each target: (B, N + M)."""
        points = self.protocol.points
        if self.protocol.crop is not None:
            sizes = zip(self.protocol.crop, self.protocol.sizes, strict=True)
            return torch.cat([self._cropped(body, keep, take) for keep, take in sizes], dim=1)
        if self._sampling == "given":
            # The targets lie behind all the sources.
            behind = body.size * len(self.data)
            first, second = (self._order(count, body.size, body.size) for _ in range(2))
            return torch.cat([first, second + behind], dim=1)
        if self._sampling == "disjoint":
            return self._order(count, body.size, 2 * points)
        pool = body.size if self._sampling == "independent" else points
        return torch.cat([self._order(count, pool, points) for _ in range(2)], dim=1)

    def _cropped(self, clouds: _Clouds, keep: float, take: int) -> Tensor:
        """Draw `take` of the points that lie furthest along a random direction.

        Args:
            clouds: B clouds.
            keep: the fraction of the points that lie in the half-space.
            take: how many of them to draw.

        Returns:
            (B, take) numbers of points.
        """
        direction = F.normalize(self._normal(3, len(clouds.row), 1), dim=0)
        x, y, z = (plane.index_select(0, clouds.row) for plane in clouds.planes[0])
        height = (x * direction[0]).addcmul_(y, direction[1]).addcmul_(z, direction[2])
        # Those above the (1 - keep) quantile, as the published loader has them.
        count = clouds.size - 1 - int((1.0 - keep) * (clouds.size - 1))
        kept = height.topk(count, dim=1, sorted=False).indices
        return _Clouds.of(kept).gather(self._order(len(kept), count, take))

    def _stretched(self, planes: Tensor) -> Tensor:
        """Stretch clouds (1 or 2, 3, B, N), each pair's by its own factors."""
        if self.stretch == 1:
            return planes
        logs = math.log(self.stretch) * (2 * self._uniform(3, planes.shape[2], 1) - 1)
        factors = (logs - logs.mean(0)).exp()
        # Normals shrink where the surface stretches.
        return torch.stack(
            [planes[0] * factors, *(F.normalize(n / factors, dim=0) for n in planes[1:])]
        )

    def _finish(self, planes: Tensor, motion: Pose | None) -> Tensor:
        """Move and jitter clouds (1 or 2, 3, B, N): their points and perhaps normals."""
        noise = None
        if self._noise is not None and self._noise.on == "both":
            noise = self._jitter(planes[0].shape)
        if motion is None:
            if noise is not None:
                planes[0] += noise
            return planes
        shift = motion.translation.T.unsqueeze(-1)
        x, y, z = motion.rotation.permute(2, 1, 0).unsqueeze(-1)  # columns of R, (3, B, 1) each
        turned = torch.empty_like(planes)
        turned[0] = shift if noise is None else noise + shift
        turned[0].addcmul_(x, planes[0, 0])
        torch.mul(x, planes[1:, None, 0], out=turned[1:])
        return turned.addcmul_(y, planes[:, None, 1]).addcmul_(z, planes[:, None, 2])

    def _jitter(self, shape: torch.Size) -> Tensor:
        """Clipped Gaussian noise."""
        assert self._noise is not None
        noise = self._normal(*shape)
        return noise.mul_(self._noise.sigma).clamp_(-self._noise.clip, self._noise.clip)

    def _uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator, device=self.generator.device)

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, device=self.generator.device)

    def _order(self, count: int, pool: int, take: int) -> Tensor:
        """`take` of `pool` numbers in random order, for each of `count` pairs: (count, take)."""
        if take > pool:  # all of them, and some twice
            device = self.generator.device
            size = (count, take - pool)
            more = torch.randint(pool, size, generator=self.generator, device=device)
            return torch.cat([self._order(count, pool, pool), more], dim=1)
        return self._uniform(count, pool).argsort(dim=1)[:, :take]


class _Clouds(NamedTuple):
    """A cloud for each of B pairs, out of K.

    Attributes:
        planes: (..., K, P) the values of the points of the K clouds: coordinates or numbers.
        row: (B,) the position of each pair's cloud among the K.
    """

    planes: Tensor
    row: Tensor

    @classmethod
    def of(cls, planes: Tensor) -> _Clouds:
        """A cloud of its own for each pair."""
        return cls(planes, torch.arange(planes.shape[-2], device=planes.device))

    @property
    def size(self) -> int:
        """The number of points in each cloud."""
        return self.planes.shape[-1]

    def gather(self, at: Tensor) -> Tensor:
        """The points with the numbers `at`, (B, N): planes (..., B, N)."""
        clouds, size = self.planes.shape[-2:]
        start = self.row * size
        flat = (at + start.unsqueeze(-1)).flatten()
        gathered = self.planes.view(-1, clouds * size).index_select(1, flat)
        return gathered.view(*self.planes.shape[:-2], *at.shape)


def _scan_planes(pairs: Sequence[ScanPair]) -> Tensor:
    """All sources, in their targets' frames, and then all targets, as planes (1, 3, 2 S, P)."""
    clouds = [pair.pose.apply(pair.source) for pair in pairs] + [pair.target for pair in pairs]
    if len({len(cloud) for cloud in clouds}) > 1:
        raise ValueError(
            "scans must all have the same number of points to be made into batches; for others, "
            "put a ProtocolDataset in a DataLoader with collate_fn=collate"
        )
    return torch.stack(clouds).permute(2, 0, 1).contiguous().unsqueeze(0)


def _rows(planes: Tensor) -> Tensor:
    """(3, B, N) as (B, N, 3), without a copy."""
    return planes.permute(1, 2, 0)
