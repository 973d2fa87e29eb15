"""Training pairs made on the device that trains, whole batches at once.

The corpus stays in the device's memory. A batch is a few operations on it: choose points, gather
them, turn and shift one cloud, add noise. Nothing loops over pairs and nothing waits for the
device. Coordinates are kept apart, a plane each for x, y, z and for the normals' x, y, z, because
gathering single numbers is several times faster than gathering rows of three.

>>> from spoonful.data.protocols import get
>>> corpus = Corpus("toy", torch.rand(8, 2048, 3), None, torch.arange(8), tuple("abcdefgh"))
>>> training = PairGenerator(get("rpm-crop"), corpus, batch_size=2)
>>> for batch in training:  # an epoch: every shape of the training categories once
...     print(tuple(batch.source.shape))
(2, 717, 3)
(2, 717, 3)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from spoonful.batch import Batch
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Protocol
from spoonful.geometry import Pose
from spoonful.geometry.euler import rotation_from_euler

# Pairs that are made at once when batches are smaller than this.
BLOCK = 256
# What is drawn ahead where random numbers are reused: half-spaces of each shape, noise.
CROPS_AHEAD = 16
NOISE_AHEAD = 1 << 22


class PairGenerator:
    """The training pairs of a protocol, in batches.

    Every pair is distributed as the card says, like the items of `ProtocolDataset` with
    `split="train"`: the categories are those of training, and noise for the test is left out.

    Args:
        protocol: the card of a protocol of shapes.
        corpus: the training shapes, on the device that is to make the pairs.
        batch_size: pairs in a batch; shapes that do not fill a last batch sit an epoch out.
        generator: the random numbers, on the corpus' device. None: a new one with seed 0.
        normals: whether to bring normals, where the corpus has them.
        reuse: whether different pairs may share random numbers other than those of their poses.
            The distribution of a pair is the same either way. With reuse, all sources that are
            made at once (some 256) take their points in one random order, each from another
            place on, and all targets in a second order; 16 half-spaces are found ahead for each
            shape, of which a pair gets two; and noise is read from a table of 4 million numbers,
            from a random place on. None: reuse on a CPU, where it is many times faster; not on
            an accelerator, where it gains little.

    Batches have no `clean` shapes, which only test metrics need. Clouds are (B, N, 3) views of
    memory that is ordered (3, B, N): use `reshape` on them rather than `view`.
    """

    def __init__(
        self,
        protocol: Protocol,
        corpus: Corpus,
        *,
        batch_size: int = 32,
        generator: torch.Generator | None = None,
        normals: bool = True,
        reuse: bool | None = None,
    ) -> None:
        protocol.check(corpus)
        corpus = protocol.select(corpus, "train")
        device = corpus.points.device
        if generator is None:
            generator = torch.Generator(device).manual_seed(0)
        if generator.device.type != device.type:
            raise ValueError(
                f"generator must be on the device of corpus {corpus.name!r}, {device}, "
                f"got one on {generator.device}"
            )
        if not 1 <= batch_size <= len(corpus):
            raise ValueError(
                f"batch_size must be at least 1 and at most {len(corpus)}, the number of shapes "
                f"to train on, got {batch_size}"
            )
        self.protocol = protocol
        self.corpus = corpus
        self.batch_size = batch_size
        self.generator = generator
        self.reuse = device.type == "cpu" if reuse is None else reuse
        self._device = device
        self._sampling = protocol.sampling_for("train")
        self._noise = protocol.noise_for("train")
        both = [corpus.points, corpus.normals] if normals else [corpus.points]
        channels = torch.cat([channel for channel in both if channel is not None], dim=-1)
        self._planes = channels.permute(2, 0, 1).contiguous()
        self._crops: dict[float, Tensor] = {}
        self._table: Tensor | None = None
        if self.reuse:
            self._draw_ahead()

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return len(self.corpus) // self.batch_size

    def __iter__(self) -> Iterator[Batch]:
        """One epoch: the shapes in random order, none of them twice."""
        order = self._permutation(len(self.corpus))[: len(self) * self.batch_size]
        # Several small batches are made at once, since each operation has a cost of its own.
        several = max(1, BLOCK // self.batch_size) * self.batch_size
        for index in order.split(several):
            block = self.pairs(index)
            for first in range(0, len(block), self.batch_size):
                yield _slice(block, slice(first, first + self.batch_size))

    def pairs(self, index: Tensor) -> Batch:
        """A pair of each of the shapes at `index`, (B,) int64 on the corpus' device."""
        body = self._body(index)
        source_at, target_at = self._choose(body, index)
        motion = self._motion(len(index))
        moves = self.protocol.pose.moves
        source, source_normals = self._cloud(body, source_at, motion if moves == "source" else None)
        target, target_normals = self._cloud(body, target_at, motion if moves == "target" else None)
        return Batch(
            source=source,
            target=target,
            source_normals=source_normals,
            target_normals=target_normals,
            pose=motion.inverse() if moves == "source" else motion,
            label=self.corpus.labels[index],
            index=index,
        )

    def _body(self, index: Tensor) -> _Body:
        """What both clouds of each pair are made of: the shape, or one sample of it."""
        body = _Body(self._planes, index)
        if self._sampling != "shared":
            return body
        sample = body.gather(self._order(len(index), body.size, self.protocol.points))
        if self._noise is not None and self._noise.on == "shared":
            sample[:3] += self._jitter(sample[:3].shape)
        return _Body(sample, torch.arange(len(index), device=self._device))

    def _choose(self, body: _Body, index: Tensor) -> tuple[Tensor, Tensor]:
        """Which points of the body the sources (B, N) and the targets (B, M) have, in order."""
        count, points = len(index), self.protocol.points
        if self.protocol.crop is not None:
            views = self._views(body, index, self.protocol.crop)
            source, target = (
                view.pick(self._order(count, view.size, size))
                for view, size in zip(views, self.protocol.sizes, strict=True)
            )
            return source, target
        if self._sampling == "disjoint":
            source, target = self._order(count, body.size, 2 * points).split(points, dim=1)
            return source, target
        pool = body.size if self._sampling == "independent" else points
        return self._order(count, pool, points), self._order(count, pool, points)

    def _views(self, body: _Body, index: Tensor, keep: tuple[float, float]) -> tuple[_View, _View]:
        """The points of each body that two half-spaces keep."""
        count = len(index)
        if not self._crops or body.planes is not self._planes:
            return _View.fresh(self._crop(body, keep[0])), _View.fresh(self._crop(body, keep[1]))
        # Two different half-spaces of each shape.
        first = self._integers(CROPS_AHEAD, count)
        second = (first + 1 + self._integers(CROPS_AHEAD - 1, count)) % CROPS_AHEAD
        return (
            _View(self._crops[keep[0]], index * CROPS_AHEAD + first),
            _View(self._crops[keep[1]], index * CROPS_AHEAD + second),
        )

    def _crop(self, body: _Body, keep: float) -> Tensor:
        """The points (B, K) that lie furthest along a random direction, in no special order."""
        direction = torch.randn(3, len(body.row), 1, generator=self.generator, device=self._device)
        direction = F.normalize(direction, dim=0)
        x, y, z = (plane.index_select(0, body.row) for plane in body.planes[:3])
        height = (x * direction[0]).addcmul_(y, direction[1]).addcmul_(z, direction[2])
        kept = body.size - 1 - int((1.0 - keep) * (body.size - 1))
        return height.topk(kept, dim=1, sorted=False).indices

    def _motion(self, count: int) -> Pose:
        pose = self.protocol.pose
        uniform = torch.rand(2, count, 3, generator=self.generator, device=self._device)
        return Pose(
            rotation_from_euler(uniform[0] * pose.max_degrees, "zyx", degrees=True),
            (2 * uniform[1] - 1) * pose.max_translation,
        )

    def _cloud(self, body: _Body, at: Tensor, motion: Pose | None) -> tuple[Tensor, Tensor | None]:
        """Clouds of the body's points at `at`, moved and jittered: points, normals (B, N, 3)."""
        planes = body.gather(at)
        points, normals = planes[:3], planes[3:]
        noise = None
        if self._noise is not None and self._noise.on == "both":
            noise = self._jitter(points.shape)
        if motion is not None:
            shift = motion.translation.T.unsqueeze(-1)
            points = _turned(motion.rotation, points, shift if noise is None else shift + noise)
            normals = _turned(motion.rotation, normals) if len(normals) else normals
        elif noise is not None:
            points = points + noise
        return points.permute(1, 2, 0), normals.permute(1, 2, 0) if len(normals) else None

    def _jitter(self, shape: torch.Size) -> Tensor:
        """Clipped Gaussian noise."""
        assert self._noise is not None
        amount = shape.numel()
        if self._table is not None and amount <= len(self._table):
            first = int(self._integers(len(self._table) - amount + 1, 1))
            return self._table[first : first + amount].view(shape)
        noise = torch.randn(shape, generator=self.generator, device=self._device)
        return noise.mul_(self._noise.sigma).clamp_(-self._noise.clip, self._noise.clip)

    def _order(self, count: int, pool: int, take: int) -> Tensor:
        """`take` of `pool` numbers in random order, for each of `count` pairs: (count, take)."""
        if take > pool:  # all of them, and some twice
            more = self._integers(pool, count, take - pool)
            return torch.cat([self._order(count, pool, pool), more], dim=1)
        if self.reuse:
            # One order, entered at a different place for each pair.
            order = self._permutation(pool)
            windows = torch.cat([order, order[:take]]).unfold(0, take, 1)
            return windows.index_select(0, self._integers(pool, count))
        keys = torch.rand(count, pool, generator=self.generator, device=self._device)
        return keys.argsort(dim=1)[:, :take]

    def _permutation(self, size: int) -> Tensor:
        return torch.randperm(size, generator=self.generator, device=self._device)

    def _integers(self, end: int, *shape: int) -> Tensor:
        return torch.randint(end, shape, generator=self.generator, device=self._device)

    def _draw_ahead(self) -> None:
        """Find half-spaces of every shape, and fill the table of noise."""
        small = torch.int16 if self._planes.shape[2] <= 1 << 15 else torch.int32
        if self.protocol.crop is not None and self._sampling != "shared":
            every = torch.arange(len(self.corpus), device=self._device)
            every = every.repeat_interleave(CROPS_AHEAD)
            for keep in set(self.protocol.crop):
                parts = [
                    self._crop(_Body(self._planes, part), keep).to(small)
                    for part in every.split(256)
                ]
                self._crops[keep] = torch.cat(parts)
        if self._noise is not None:
            self._table = self._jitter(torch.Size([NOISE_AHEAD]))


class _Body(NamedTuple):
    """Clouds that pairs are made of.

    Attributes:
        planes: (C, K, P) the coordinates of K clouds, and perhaps their normals'.
        row: (B,) which of the K each pair is made of.
    """

    planes: Tensor
    row: Tensor

    @property
    def size(self) -> int:
        """Points in each cloud."""
        return self.planes.shape[2]

    def gather(self, at: Tensor) -> Tensor:
        """The points at `at`, (B, N): new planes (C, B, N)."""
        flat = at + (self.row * self.size).unsqueeze(-1)
        gathered = self.planes.flatten(1).index_select(1, flat.flatten())
        return gathered.view(-1, *flat.shape)


class _View(NamedTuple):
    """The points that half-spaces keep: row `row[b]` of `kept`, (R, K), for pair b."""

    kept: Tensor
    row: Tensor

    @classmethod
    def fresh(cls, kept: Tensor) -> _View:
        return cls(kept, torch.arange(len(kept), device=kept.device))

    @property
    def size(self) -> int:
        return self.kept.shape[1]

    def pick(self, order: Tensor) -> Tensor:
        """The kept points in this order, (B, N) of numbers below `size`."""
        flat = order + (self.row * self.size).unsqueeze(-1)
        return self.kept.flatten().index_select(0, flat.flatten()).view(flat.shape)


def _turned(rotation: Tensor, planes: Tensor, plus: Tensor | None = None) -> Tensor:
    """`R p` for planes (3, B, N) and rotations (B, 3, 3), plus something that broadcasts."""
    x, y, z = rotation.permute(2, 1, 0).unsqueeze(-1)  # the columns of R, (3, B, 1) each
    start = x * planes[0] if plus is None else torch.addcmul(plus, x, planes[0])
    return start.addcmul_(y, planes[1]).addcmul_(z, planes[2])


def _slice(batch: Batch, part: slice) -> Batch:
    """Some of the pairs of a batch."""
    cut = {
        field.name: value[part]
        for field in fields(batch)
        if isinstance(value := getattr(batch, field.name), Tensor)
    }
    pose = None if batch.pose is None else Pose(*(values[part] for values in batch.pose))
    return replace(batch, pose=pose, **cut)
