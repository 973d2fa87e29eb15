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

import functools
import math
import os
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from spoonful.batch import Batch
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Protocol
from spoonful.geometry import Pose
from spoonful.geometry.euler import rotation_from_euler

if TYPE_CHECKING:
    from spoonful.data.scans import ScanPair

# Pairs that are made at once; smaller batches are cut from them.
BLOCK = 192
# What is drawn ahead where random numbers are reused: half-spaces of each shape, noise.
CROPS_AHEAD = 16
NOISE_AHEAD = 1 << 22


class PairGenerator:
    """The training pairs of a protocol, in batches.

    Every pair is distributed as the card says, like the items of `ProtocolDataset` with
    `split="train"`: the categories are those of training, and noise for the test is left out.

    Args:
        protocol: the card.
        data: the training shapes, on the device that is to make the pairs; or a list of scan
            pairs, all of the same number of points, where the protocol is one of scans.
        batch_size: pairs in a batch; items that do not fill a last batch sit an epoch out.
        generator: the random numbers, on the data's device. None: a new one with seed 0.
        normals: whether to bring normals, where the shapes have them.
        reuse: whether different pairs may share random numbers other than those of their poses.
            The distribution of a pair is the same either way. With reuse, 16 half-spaces are
            found ahead for each shape, each with its points in a random order, and a pair gets
            two of them and reads on from a random place; without a crop, all sources that are
            made at once (some 200) read from one random order, and all targets from another; and
            noise is read from a table of 4 million numbers. None: reuse on a CPU, where it is
            many times faster; not on an accelerator, where it gains little.

    On a CPU with several threads (`torch.get_num_threads`) an epoch is made ahead, each thread at
    a block of pairs of its own; the pairs do not depend on their number.

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
        reuse: bool | None = None,
    ) -> None:
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
        self.protocol = protocol
        self.data = data
        self.batch_size = batch_size
        self.generator = generator
        self.reuse = planes.device.type == "cpu" if reuse is None else reuse
        self._planes, self._labels, self._sizes = planes, labels, sizes
        self._sampling = protocol.sampling_for("train")
        self._noise = protocol.noise_for("train")
        self._memory = _Memory(planes.device)
        self._ahead: _Ahead | None = None
        self._table: Tensor | None = None
        if self.reuse:
            self._draw_ahead(_Chance(generator, reuse=True))

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return len(self.data) // self.batch_size

    def __iter__(self) -> Iterator[Batch]:
        """One epoch: the items of the data in random order, none of them twice."""
        chance = _Chance(self.generator, self.reuse)
        order = chance.permutation(len(self.data))[: len(self) * self.batch_size]
        motion, pose = self._motion(chance, len(order))
        size = max(1, BLOCK // self.batch_size) * self.batch_size
        parts = [slice(first, first + size) for first in range(0, len(order), size)]
        chances = chance.split(len(parts))
        tasks = [
            _Task(order[part], motion.at(part), pose.at(part), own)
            for part, own in zip(parts, chances, strict=True)
        ]
        for block in self._blocks(tasks):
            yield from _split(block, self.batch_size)

    def pairs(self, index: Tensor) -> Batch:
        """A pair of each of the items at `index`, (B,) int64 on the data's device."""
        chance = _Chance(self.generator, self.reuse)
        return self._make(_Task(index, *self._motion(chance, len(index)), chance))

    def _blocks(self, tasks: Sequence[_Task]) -> Iterator[Batch]:
        """Make the blocks, in their order; on a CPU, several ahead, each in a thread of its own."""
        threads = torch.get_num_threads() if self._planes.device.type == "cpu" else 1
        if threads == 1 or len(tasks) == 1:
            yield from map(self._make, tasks)
            return
        waiting: deque[Future[Batch]] = deque()
        for task in tasks:
            waiting.append(_workers(threads).submit(self._make, task))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _make(self, task: _Task) -> Batch:
        index, motion, pose, chance = task
        body = self._body(index, chance)
        # Both clouds at once: what the second gathers is then in the cache already.
        planes = body.gather(self._choose(body, index, chance), self._memory)
        source, target = planes.split(self._sizes, dim=-1)
        moves = self.protocol.pose.moves
        source = self._finish(source, motion if moves == "source" else None, chance)
        target = self._finish(target, motion if moves == "target" else None, chance)
        return Batch(
            source=_rows(source[0]),
            target=_rows(target[0]),
            source_normals=_rows(source[1]) if len(source) > 1 else None,
            target_normals=_rows(target[1]) if len(target) > 1 else None,
            pose=pose,
            label=None if self._labels is None else self._labels[index],
            index=index,
        )

    def _motion(self, chance: _Chance, count: int) -> tuple[Pose, Pose]:
        """Motions of one cloud of each pair, and the poses that are then the true ones."""
        pose = self.protocol.pose
        angles, shift = chance.uniform(2, count, 3)
        motion = Pose(
            rotation_from_euler(angles * pose.max_degrees, "zyx", degrees=True),
            (2 * shift - 1) * pose.max_translation,
        )
        return motion, motion.inverse() if pose.moves == "source" else motion

    def _body(self, index: Tensor, chance: _Chance) -> _Clouds:
        """What both clouds of each pair are made of: the shape, or one sample of it."""
        shapes = _Clouds(self._planes, index)
        if self._sampling != "shared":
            return shapes
        order = chance.order(len(index), shapes.size, self.protocol.points)
        planes = shapes.gather(order, self._memory)
        if self._noise is not None and self._noise.on == "shared":
            planes[0] += self._jitter(planes[0].shape, chance)
        return _Clouds.of(planes)

    def _choose(self, body: _Clouds, index: Tensor, chance: _Chance) -> Tensor:
        """Which points of the body each source, and then each target has: (B, N + M)."""
        count, points = len(index), self.protocol.points
        if self._ahead is not None:
            return self._ahead.draw(index, chance)
        if self.protocol.crop is not None:
            sizes = zip(self.protocol.crop, self.protocol.sizes, strict=True)
            return torch.cat([_cropped(body, keep, take, chance) for keep, take in sizes], dim=1)
        if self._sampling == "given":
            # The targets lie behind all the sources.
            behind = body.size * len(self.data)
            first, second = (chance.order(count, body.size, body.size) for _ in range(2))
            return torch.cat([first, second + behind], dim=1)
        if self._sampling == "disjoint":
            return chance.order(count, body.size, 2 * points)
        pool = body.size if self._sampling == "independent" else points
        return torch.cat([chance.order(count, pool, points) for _ in range(2)], dim=1)

    def _finish(self, planes: Tensor, motion: Pose | None, chance: _Chance) -> Tensor:
        """Move and jitter clouds (1 or 2, 3, B, N): their points and perhaps normals."""
        noise = None
        if self._noise is not None and self._noise.on == "both":
            noise = self._jitter(planes[0].shape, chance)
        if motion is None:
            if noise is not None:
                planes[0] += noise
            return planes
        shift = motion.translation.T.unsqueeze(-1)
        x, y, z = motion.rotation.permute(2, 1, 0).unsqueeze(-1)  # columns of R, (3, B, 1) each
        turned = self._memory.empty(*planes.shape)
        if noise is None:
            turned[0] = shift
        else:
            torch.add(noise, shift, out=turned[0])
        turned[0].addcmul_(x, planes[0, 0])
        torch.mul(x, planes[1:, None, 0], out=turned[1:])
        return turned.addcmul_(y, planes[:, None, 1]).addcmul_(z, planes[:, None, 2])

    def _jitter(self, shape: torch.Size, chance: _Chance) -> Tensor:
        """Clipped Gaussian noise, not to be written to."""
        assert self._noise is not None
        amount = shape.numel()
        if self._table is not None and amount <= len(self._table):
            first = int(chance.integers(len(self._table) - amount + 1, 1))
            return self._table[first : first + amount].view(shape)
        noise = chance.normal(*shape)
        return noise.mul_(self._noise.sigma).clamp_(-self._noise.clip, self._noise.clip)

    def _draw_ahead(self, chance: _Chance) -> None:
        """Find half-spaces of every shape, and fill the table of noise."""
        crop = self.protocol.crop
        if crop is not None and crop[0] == crop[1] and self._sampling != "shared":
            self._ahead = _Ahead.find(self._planes, crop[0], self.protocol.sizes[0], chance)
        if self._noise is not None:
            self._table = self._jitter(torch.Size([NOISE_AHEAD]), chance)


class _Task(NamedTuple):
    """What a block of pairs is made from: shapes (B,), motions, true poses, random numbers."""

    shapes: Tensor
    motion: Pose
    pose: Pose
    chance: _Chance


class _Clouds(NamedTuple):
    """A cloud for each of B pairs, out of K.

    Attributes:
        planes: (..., K, P) whatever the points of the K clouds have: coordinates, numbers.
        row: (B,) which of the K each pair has.
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

    def gather(self, at: Tensor, memory: _Memory | None = None) -> Tensor:
        """The points with the numbers `at`, (B, N): planes (..., B, N), in `memory` if given."""
        clouds, size = self.planes.shape[-2:]
        start = self.row * size
        if clouds * size < 1 << 31:
            start = start.int()  # half the memory to write and to read
        flat = (at + start.unsqueeze(-1)).flatten()
        planes = self.planes.view(-1, clouds * size)
        out = None if memory is None else memory.empty(len(planes), len(flat))
        gathered = torch.index_select(planes, 1, flat, out=out)
        return gathered.view(*self.planes.shape[:-2], *at.shape)


class _Memory:
    """Memory for float32 tensors; on a CPU, used again as soon as no tensor refers to it.

    The system takes large blocks back when they are freed and gives them out page by page, which
    takes longer than to fill them with clouds.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._free: dict[int, list[bytearray]] = {}

    def empty(self, *shape: int) -> Tensor:
        if self._device.type != "cpu":
            return torch.empty(shape, device=self._device)
        size = 4 * math.prod(shape)
        free = self._free.setdefault(size, [])
        try:
            block = free.pop()
        except IndexError:
            block = bytearray(size)
        loan = memoryview(block)  # the tensor's storage keeps it; with the last view it goes
        weakref.finalize(loan, free.append, block).atexit = False
        return torch.frombuffer(loan, dtype=torch.float32).view(shape)


class _Ahead(NamedTuple):
    """Half-spaces of every shape that were found ahead, each with its points in random order.

    Attributes:
        kept: (CROPS_AHEAD, S, K + take) the points that are kept, and the first `take` again, so
            that there are `take` in a row from any place on.
        take: how many of them a cloud has.
    """

    kept: Tensor
    take: int

    @classmethod
    def find(cls, planes: Tensor, keep: float, take: int, chance: _Chance) -> _Ahead:
        """Find half-spaces that keep the fraction `keep` of shapes given as planes (..., S, P)."""
        shapes, points = planes.shape[-2:]
        small = torch.int16 if points <= 1 << 15 else torch.int32
        found = []
        for _ in range(CROPS_AHEAD):
            for part in torch.arange(shapes, device=planes.device).split(BLOCK):
                kept = _cropped(_Clouds(planes, part), keep, None, chance)
                found.append(torch.cat([kept, kept[:, :take]], dim=1).to(small))
        return cls(torch.cat(found).view(CROPS_AHEAD, shapes, -1), take)

    def draw(self, shape: Tensor, chance: _Chance) -> Tensor:
        """Points of two different half-spaces of each `shape`, (B,): (B, 2 * take)."""
        _, shapes, length = self.kept.shape
        first, step = (
            chance.integers(CROPS_AHEAD, len(shape)),
            chance.integers(CROPS_AHEAD - 1, len(shape)),
        )
        which = torch.stack([first, (first + step + 1) % CROPS_AHEAD], dim=1)
        start = chance.integers(length - self.take, len(shape), 2)
        windows = self.kept.flatten().unfold(0, self.take, 1)
        at = (which * shapes + shape.unsqueeze(-1)) * length + start
        return windows.index_select(0, at.flatten()).view(len(shape), 2 * self.take)


class _Chance:
    """Random numbers, on the device of `generator`."""

    def __init__(self, generator: torch.Generator, reuse: bool) -> None:
        self._generator, self._reuse = generator, reuse

    def split(self, count: int) -> list[_Chance]:
        """Random numbers for `count` tasks, which do not depend on the order of the tasks.

        On an accelerator tasks are done in order, and a new seed would mean waiting for it.
        """
        if self._generator.device.type != "cpu":
            return [self] * count
        seeds = self.integers(1 << 62, count).tolist()
        return [_Chance(torch.Generator().manual_seed(seed), self._reuse) for seed in seeds]

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self._generator, device=self._generator.device)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self._generator, device=self._generator.device)

    def integers(self, end: int, *shape: int) -> Tensor:
        return torch.randint(end, shape, generator=self._generator, device=self._generator.device)

    def permutation(self, size: int) -> Tensor:
        return torch.randperm(size, generator=self._generator, device=self._generator.device)

    def order(self, count: int, pool: int, take: int) -> Tensor:
        """`take` of `pool` numbers in random order, for each of `count` pairs: (count, take)."""
        if take > pool:  # all of them, and some twice
            more = self.integers(pool, count, take - pool)
            return torch.cat([self.order(count, pool, pool), more], dim=1)
        if self._reuse:
            # One order, entered at another place by each pair.
            order = self.permutation(pool).int()
            windows = torch.cat([order, order[:take]]).unfold(0, take, 1)
            return windows.index_select(0, self.integers(pool, count))
        return self.uniform(count, pool).argsort(dim=1)[:, :take]


def _cropped(clouds: _Clouds, keep: float, take: int | None, chance: _Chance) -> Tensor:
    """Of the points that lie furthest along a random direction, `take` (or all) in random order.

    Args:
        clouds: B clouds.
        keep: the fraction of the points that lie in the half-space.
        take: how many of them to draw, or None for all.
        chance: the random numbers.

    Returns:
        (B, take) numbers of points.
    """
    direction = F.normalize(chance.normal(3, len(clouds.row), 1), dim=0)
    x, y, z = (plane.index_select(0, clouds.row) for plane in clouds.planes[0])
    height = (x * direction[0]).addcmul_(y, direction[1]).addcmul_(z, direction[2])
    # Those above the (1 - keep) quantile, as the published loader has them.
    count = clouds.size - 1 - int((1.0 - keep) * (clouds.size - 1))
    kept = height.topk(count, dim=1, sorted=False).indices
    order = chance.order(len(kept), count, count if take is None else take)
    return _Clouds.of(kept).gather(order)


@functools.cache
def _workers(count: int) -> ThreadPoolExecutor:
    """Threads that make blocks, each by itself.

    Were they to start threads of torch's for every operation, they would be in each other's way.
    """
    pool = ThreadPoolExecutor(
        count, "spoonful-pairs", initializer=torch.set_num_threads, initargs=(1,)
    )
    all_there = threading.Barrier(count + 1)
    for _ in range(count):
        pool.submit(all_there.wait)
    all_there.wait()
    # A thread that is started later takes the number that was set last, in whatever thread.
    torch.set_num_threads(torch.get_num_threads())
    return pool


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_workers.cache_clear)


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


def _split(batch: Batch, size: int) -> Iterator[Batch]:
    """The pairs of a batch, `size` at a time."""
    assert batch.pose is not None
    cut = {
        field.name: value.split(size)
        for field in fields(batch)
        if isinstance(value := getattr(batch, field.name), Tensor)
    }
    cut["pose"] = map(Pose, *(values.split(size) for values in batch.pose))
    for parts in zip(*cut.values(), strict=True):
        yield Batch(**dict(zip(cut, parts, strict=True)))
