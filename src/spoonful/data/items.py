"""The items of a protocol, one at a time in numpy, as the published loaders make them.

Test items agree bit for bit with the loaders of Deep Closest Point (github.com/WangYueFt/dcp) and
RPM-Net (github.com/yewzijian/RPMNet). They use numpy's legacy generator in the same order. Training
items follow the same steps with random numbers that differ from epoch to epoch;
`spoonful.data.pairs` makes them fast, whole batches on a device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.data import Dataset

from spoonful.batch import Batch
from spoonful.data.collate import collate
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Noise, Protocol, Sampling, Split, check_protocol
from spoonful.extras import require
from spoonful.geometry import Pose

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import RandomState
    from numpy.typing import NDArray

    from spoonful.data.scans import ScanPair
else:
    np = require("numpy", extra="data", why="Making the items of a protocol")


class ProtocolDataset(Dataset[Batch]):
    """The pairs of a protocol as a plain `torch.utils.data.Dataset`.

    Item `i` is a `Batch` of one pair. In "test" and "validation" it depends on `i` alone; in
    "train" on `seed`, the epoch (`set_epoch`) and `i`, and never on the order of reading or on the
    number of workers.

    Args:
        protocol: the card.
        data: the corpus whose shapes are made into pairs (the card selects the categories), or a
            list of scan pairs where the protocol is one of scans.
        split: "test", "validation" or "train".
        seed: of the training items.

    >>> from spoonful.data.protocols import get
    >>> shapes = torch.rand(8, 2048, 3, generator=torch.Generator().manual_seed(0))
    >>> corpus = Corpus("toy", shapes, None, torch.arange(8), tuple("abcdefgh"))
    >>> items = ProtocolDataset(get("rpm-crop"), corpus)
    >>> len(items), items[0].source.shape, items[0].clean.shape
    (4, torch.Size([1, 717, 3]), torch.Size([1, 2048, 3]))

    In a loader of your own:

    >>> from torch.utils.data import DataLoader
    >>> loader = DataLoader(items, batch_size=2, collate_fn=collate)
    >>> next(iter(loader)).source.shape
    torch.Size([2, 717, 3])
    """

    def __init__(
        self,
        protocol: Protocol,
        data: Corpus | Sequence[ScanPair],
        *,
        split: Split = "test",
        seed: int = 0,
    ) -> None:
        check_protocol(protocol)
        protocol.check(data)
        self.protocol = protocol
        self.split: Split = split
        self.seed = seed
        self.epoch = 0
        self._labels: Tensor | None = None
        if isinstance(data, Corpus):
            chosen = protocol.select(data, split).to("cpu")
            normals = None if chosen.normals is None else chosen.normals.numpy()
            self._shapes = _Cloud(chosen.points.numpy(), normals)
            self._labels = chosen.labels
        else:
            self._scans = [_in_one_frame(pair) for pair in data]

    def set_epoch(self, epoch: int) -> None:
        """Make the training items those of another epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self._scans) if self._labels is None else len(self._labels)

    def __getitem__(self, index: int) -> Batch:
        if not -len(self) <= index < len(self):
            raise IndexError(f"no item {index}: there are {len(self)}")
        index %= len(self)
        source, target, rotation, translation, clean = self._pair(index)
        return Batch(
            source=_one(source.points),
            target=_one(target.points),
            source_normals=None if source.normals is None else _one(source.normals),
            target_normals=None if target.normals is None else _one(target.normals),
            pose=Pose(_one(rotation), _one(translation)),
            clean=None if clean is None else _one(clean),
            label=None if self._labels is None else self._labels[index : index + 1],
            index=torch.tensor([index]),
        )

    def __iter__(self) -> Iterator[Batch]:
        return (self[index] for index in range(len(self)))

    def batches(self, size: int) -> Iterator[Batch]:
        """The items in their order, `size` at a time; the last batch may be smaller."""
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        for first in range(0, len(self), size):
            yield collate([self[index] for index in range(len(self))[first : first + size]])

    def _pair(self, index: int) -> _Item:
        card = self.protocol
        if self.split == "train":
            stream = _Stream([self.seed, self.epoch, index], again=False)
        else:
            stream = _Stream(index, again=card.seeding == "each step")
        sampling, noise = card.sampling_for(self.split), card.noise_for(self.split)
        if self._labels is None:
            return _dcp_pair(card, sampling, noise, *self._scans[index], stream)
        shape = self._shapes.take(index)
        if card.recipe == "dcp":
            return _dcp_pair(card, sampling, noise, shape, shape, stream)
        return _rpmnet_pair(card, sampling, noise, shape, stream)


def test_items(protocol: Protocol, data: Corpus | Sequence[ScanPair]) -> ProtocolDataset:
    """The test items of a protocol, bit for bit those of the published loaders.

    Args:
        protocol: the card.
        data: the test corpus (the card selects the categories), or a list of scan pairs.

    Returns:
        The items, made when they are asked for: `items[3]`, or `for batch in items.batches(16)`.
    """
    return ProtocolDataset(protocol, data, split="test")


test_items.__test__ = False  # type: ignore[attr-defined]  # a name that pytest would collect


class _Cloud(NamedTuple):
    """Points (N, 3) with their normals; or many such clouds, (S, N, 3)."""

    points: NDArray[Any]
    normals: NDArray[Any] | None

    def take(self, index: Any) -> _Cloud:
        return _Cloud(self.points[index], None if self.normals is None else self.normals[index])


class _Item(NamedTuple):
    source: _Cloud
    target: _Cloud
    rotation: NDArray[Any]
    translation: NDArray[Any]
    clean: NDArray[Any] | None


class _Stream:
    """The random numbers of an item; with `again`, every step of a recipe starts them anew."""

    def __init__(self, seed: int | list[int], again: bool) -> None:
        self._seed, self._again = seed, again
        self._state = np.random.RandomState(seed)

    def step(self) -> RandomState:
        if self._again:
            self._state = np.random.RandomState(self._seed)
        return self._state


def _dcp_pair(
    card: Protocol,
    sampling: Sampling,
    noise: Noise | None,
    source: _Cloud,
    target: _Cloud,
    stream: _Stream,
) -> _Item:
    """Deep Closest Point: draw a pose, move the target in float64, shuffle both clouds."""
    rng = stream.step()
    angles = rng.uniform(size=3) * np.pi / (180.0 / card.pose.max_degrees)
    rotation = _rotation(*angles)
    reach = card.pose.max_translation
    translation = rng.uniform(-reach, reach, size=3)
    if sampling == "first":
        source, target = source.take(slice(card.points)), target.take(slice(card.points))
    elif sampling == "disjoint":
        order = rng.permutation(len(source.points))
        source = source.take(order[: card.points])
        target = target.take(order[card.points : 2 * card.points])
    target = _Cloud(
        _turned(rotation, target.points.astype(np.float64)) + translation,
        None if target.normals is None else _turned(rotation, target.normals.astype(np.float64)),
    )
    source = source.take(rng.permutation(len(source.points)))
    target = target.take(rng.permutation(len(target.points)))
    if noise is not None:
        source = _jittered(source, noise, rng)
    return _Item(source, target, rotation, translation, clean=None)


def _rpmnet_pair(
    card: Protocol, sampling: Sampling, noise: Noise | None, shape: _Cloud, stream: _Stream
) -> _Item:
    """RPM-Net: crop both clouds, move the source in float32, resample, jitter, shuffle."""
    body = shape
    if sampling == "first":
        body = shape.take(slice(card.points))
    elif sampling == "shared":
        body = _resampled(shape, card.points, stream.step())
    clean = body.points if card.crop is None else shape.points
    if noise is not None and noise.on == "shared":
        body = _jittered(body, noise, stream.step())

    source = target = body
    if card.crop is not None:
        rng = stream.step()
        source, target = _cropped(source, card.crop[0], rng), _cropped(target, card.crop[1], rng)

    rng = stream.step()
    angles = rng.uniform(size=3) * np.pi * card.pose.max_degrees / 180.0
    reach = card.pose.max_translation
    rotation = _rotation(*angles).astype(np.float32)
    translation = rng.uniform(-reach, reach, size=3).astype(np.float32)
    source = _Cloud(
        _turned_with_fma(rotation, source.points) + translation,
        None if source.normals is None else _turned_with_fma(rotation, source.normals),
    )

    if card.crop is not None or sampling == "independent":
        rng = stream.step()
        source, target = (
            _resampled(cloud, size, rng)
            for cloud, size in zip((source, target), card.sizes, strict=True)
        )
    if noise is not None and noise.on == "both":
        source, target = _jittered(source, noise, rng), _jittered(target, noise, rng)
    target = target.take(rng.permutation(len(target.points)))
    source = source.take(rng.permutation(len(source.points)))
    # The motion brought the source here; the pose takes it back.
    back = rotation.T
    return _Item(source, target, back, _turned_with_fma(back, -translation[None])[0], clean)


def _rotation(x: float, y: float, z: float) -> NDArray[Any]:
    """`R_x R_y R_z`, in float64."""
    (cx, sx), (cy, sy), (cz, sz) = ((np.cos(angle), np.sin(angle)) for angle in (x, y, z))
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return np.asarray(about_x @ about_y @ about_z)


def _turned(rotation: NDArray[Any], points: NDArray[Any]) -> NDArray[Any]:
    """`R p` for each row p, without a BLAS, whose rounding depends on the machine."""
    x, y, z = points[:, 0:1], points[:, 1:2], points[:, 2:3]
    return np.asarray(x * rotation[:, 0] + y * rotation[:, 1] + z * rotation[:, 2])


def _turned_with_fma(rotation: NDArray[Any], points: NDArray[Any]) -> NDArray[Any]:
    """`R p` in float32 as a matrix product rounds it where multiply-add is one instruction.

    The published items were made by such a product. Its second and third product are not rounded
    before they are added; in float64 they are exact, so this rounds alike on every machine.
    """
    total = points[:, 0:1] * rotation[:, 0]
    for k in (1, 2):
        product = points[:, k : k + 1].astype(np.float64) * rotation[:, k].astype(np.float64)
        total = (product + total).astype(np.float32)
    return np.asarray(total)


def _cropped(cloud: _Cloud, keep: float, rng: RandomState) -> _Cloud:
    """The points in a random half-space that is shifted to hold the fraction `keep` of them."""
    azimuth, height = rng.uniform(0.0, 2 * np.pi), rng.uniform(-1.0, 1.0)
    inclination = np.arccos(height)
    radius = np.sin(inclination)
    normal = [radius * np.cos(azimuth), radius * np.sin(azimuth), np.cos(inclination)]
    # The centroid shifts all heights alike, yet it rounds them, and that can turn near-ties.
    centred = (cloud.points - cloud.points.mean(axis=0)).astype(np.float64)
    heights = centred[:, 0] * normal[0] + centred[:, 1] * normal[1] + centred[:, 2] * normal[2]
    # All above the (1 - keep) quantile: those higher than the sorted value just below it.
    below = int((1.0 - keep) * (len(heights) - 1))
    return cloud.take(heights > np.partition(heights, below)[below])


def _resampled(cloud: _Cloud, count: int, rng: RandomState) -> _Cloud:
    """`count` of the points in random order; all of them and some twice, if there are fewer."""
    size = len(cloud.points)
    index = rng.choice(size, min(count, size), replace=False)
    if count > size:
        index = np.concatenate([index, rng.choice(size, count - size, replace=True)])
    return cloud.take(index)


def _jittered(cloud: _Cloud, noise: Noise, rng: RandomState) -> _Cloud:
    steps = rng.normal(0.0, noise.sigma, size=cloud.points.shape).clip(-noise.clip, noise.clip)
    return _Cloud((cloud.points + steps).astype(np.float32), cloud.normals)


def _in_one_frame(pair: ScanPair) -> tuple[_Cloud, _Cloud]:
    """Both scans of a pair in the target's frame; a protocol's pose then moves the source."""
    source = pair.pose.apply(pair.source)
    return _Cloud(source.cpu().numpy(), None), _Cloud(pair.target.cpu().numpy(), None)


def _one(array: NDArray[Any]) -> Tensor:
    """A float32 tensor with a leading dimension of one, in memory of its own."""
    return torch.from_numpy(array.astype(np.float32, order="C"))[None]
