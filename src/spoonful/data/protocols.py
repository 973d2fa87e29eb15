"""The experiments by name: small frozen cards that say exactly how pairs of clouds are made.

A card is data. `spoonful.data.items` makes a card's test items, number by number as the published
loaders make them, and `spoonful.data.pairs` makes its training pairs, whole batches on a device.
Every result is printed with the card's `hash`, so two results with the same hash were measured
under the same rules.

>>> card = get("rpm-crop")
>>> card.sizes, card.noise.sigma, card.hash
((717, 717), 0.01, '...')
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, Self

import torch
from torch import Tensor

from spoonful.data.corpus import Corpus
from spoonful.metrics import Convention
from spoonful.names import named

Split = Literal["train", "validation", "test"]

Sampling = Literal["first", "shared", "independent", "disjoint", "given"]
"""Which of a shape's points the two clouds are made of:

- "first": the first points of the file, the same for both clouds;
- "shared": points drawn at random, the same for both clouds;
- "independent": each cloud draws its own, so that some are in both;
- "disjoint": no point is in both, as if the surface had been sampled twice;
- "given": the two clouds are different scans to begin with.
"""


@dataclass(frozen=True)
class Noise:
    """Gaussian noise on coordinates, clipped.

    Attributes:
        on: "source" alone; "both" clouds, independently; or the same noise in both ("shared").
        when: "always", or at "test" time alone.
        sigma: its standard deviation.
        clip: no coordinate moves further than this.
    """

    on: Literal["source", "both", "shared"]
    when: Literal["always", "test"] = "always"
    sigma: float = 0.01
    clip: float = 0.05


@dataclass(frozen=True)
class PoseDistribution:
    """Random motions `R_x(a) R_y(b) R_z(c)`, then a translation.

    Attributes:
        moves: which cloud the motion is applied to. If it is the "target", the motion is the true
            pose; if it is the "source", the true pose is its inverse.
        kind: "euler": each angle is uniform in [0, max_degrees]. These are not uniform rotations.
        max_degrees: see `kind`.
        max_translation: each coordinate is uniform in [-max_translation, max_translation].
    """

    moves: Literal["source", "target"]
    kind: Literal["euler"] = "euler"
    max_degrees: float = 45.0
    max_translation: float = 0.5


@dataclass(frozen=True)
class Trap:
    """Something in the published code that surprises.

    Attributes:
        name: a short name for it.
        what: what the published code does.
        kept: whether this card does the same.
        why: the reason for keeping it, or for not.
    """

    name: str
    what: str
    kept: bool
    why: str


@dataclass(frozen=True)
class Protocol:
    """The rules by which the pairs of one experiment are made and measured.

    Attributes:
        name: as given to `get`.
        summary: one sentence on it.
        recipe: whose order of steps, and of random numbers: "dcp" (pose, shuffle; float64) or
            "rpmnet" (crop, pose, resample, noise, shuffle; float32).
        points: how many points a cloud has before it is cropped.
        sampling: which points those are, in test items.
        pose: the distribution of the motions.
        metrics: whose convention the pose errors of the published tables follow.
        train_sampling: `sampling` in training, where it is another; None: the same.
        noise: the noise, or None.
        crop: the fractions of source and target that random half-spaces keep, or None.
        categories: "all", or "halves": the first half of the categories, rounded up, is for
            training, the second half for test.
        seeding: numpy's legacy generator is seeded with the item's number, "once" an item or again
            for "each step".
        min_overlap: for scans, the least overlap of a pair; None for shapes.
        traps: what surprises in the published code, and whether it is kept.
        revision: raised when the code behind a card makes other items from the same card.
    """

    name: str
    summary: str
    recipe: Literal["dcp", "rpmnet"]
    points: int
    sampling: Sampling
    pose: PoseDistribution
    metrics: Convention
    train_sampling: Sampling | None = None
    noise: Noise | None = None
    crop: tuple[float, float] | None = None
    categories: Literal["all", "halves"] = "all"
    seeding: Literal["once", "each step"] = "once"
    min_overlap: float | None = None
    traps: tuple[Trap, ...] = ()
    revision: int = 1

    @property
    def hash(self) -> str:
        """Ten hexadecimal digits that change with anything on the card but its prose."""
        content = asdict(self)
        del content["summary"]
        content["traps"] = {trap.name: trap.kept for trap in self.traps}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of points of a source and of a target."""
        source, target = self.crop or (1.0, 1.0)
        return math.ceil(source * self.points), math.ceil(target * self.points)

    def sampling_for(self, split: Split) -> Sampling:
        """The sampling of the clouds of `split`."""
        return self.train_sampling or self.sampling if split == "train" else self.sampling

    def with_noise(self, sigma: float) -> Self:
        """The card with test noise of this standard deviation, clipped at 5 times of it.

        Noise is on the clouds that the card's own noise is on. A card without noise gets it on the
        source (recipe "dcp") or on both clouds ("rpmnet").

        >>> get("dcp-clean").with_noise(0.02).noise
        Noise(on='source', when='test', sigma=0.02, clip=0.1)
        """
        if not sigma >= 0:
            raise ValueError(f"noise must be a standard deviation >= 0, got {sigma}")
        own = self.noise or Noise(on="source" if self.recipe == "dcp" else "both", when="test")
        noise = replace(own, sigma=sigma, clip=5 * sigma) if sigma else None
        return replace(self, noise=noise)

    def noise_for(self, split: Split) -> Noise | None:
        """The noise of `split`; noise at "test" time is in neither training nor validation."""
        if self.noise is not None and self.noise.when == "test" and split != "test":
            return None
        return self.noise

    def members(self, corpus: Corpus, split: Split) -> Tensor:
        """The numbers of the shapes of `corpus` that the card allows in `split`, (S,) int64.

        Validation is a part of the training shapes (`split_validation`), so it has the training
        categories.

        >>> labels = torch.tensor([0, 1, 2, 2])
        >>> corpus = Corpus("toy", torch.zeros(4, 8, 3), None, labels, ("car", "cup", "hat"))
        >>> get("dcp-unseen").members(corpus, "train")
        tensor([0, 1])
        """
        allowed = torch.ones_like(corpus.labels, dtype=torch.bool)
        if self.categories == "halves":
            half = (len(corpus.categories) + 1) // 2
            allowed = corpus.labels >= half if split == "test" else corpus.labels < half
        found = allowed.nonzero().squeeze(-1)
        if len(found) == 0:
            raise ValueError(
                f"protocol {self.name} takes the {'last' if split == 'test' else 'first'} half of "
                f"the categories for {split}, and none of the {len(corpus)} shapes of corpus "
                f"{corpus.name!r} is in it"
            )
        return found

    def select(self, corpus: Corpus, split: Split) -> Corpus:
        """The shapes of `corpus` that the card allows in `split`."""
        return corpus if self.categories == "all" else corpus.select(self.members(corpus, split))

    def check(self, data: Corpus | Sequence[object]) -> None:
        """Raise a `ValueError` unless this card's pairs can be made from `data`."""
        if isinstance(data, Corpus):
            if self.sampling == "given":
                raise ValueError(
                    f"protocol {self.name} takes pairs of scans, got the shapes of {data.name!r}"
                )
            need = self.points * (2 if self.sampling == "disjoint" else 1)
            if data.points.ndim != 3 or data.points.shape[1] < need:
                raise ValueError(
                    f"protocol {self.name} needs shapes of at least {need} points, but the points "
                    f"of corpus {data.name!r} have shape {tuple(data.points.shape)}"
                )
        elif self.sampling != "given":
            raise ValueError(
                f"protocol {self.name} takes a Corpus of shapes, got a {type(data).__name__}"
            )
        if len(data) == 0:
            raise ValueError(f"protocol {self.name} cannot make pairs: the data is empty")

    def describe(self) -> str:
        """The card as text, for people.

        >>> print(get("dcp-noise").describe())
        dcp-noise (...)
        Noise on the source alone, at test time; trained without.
          points      1024 and 1024, the first of each shape
          noise       Gaussian, sigma 0.01 clipped at 0.05, on the source alone, at test time alone
          ...
        """
        lines = [f"{self.name} ({self.hash})", self.summary]
        lines += [f"  {key:<11} {text}" for key, text in self._rows()]
        lines += ["traps of the published code"] if self.traps else []
        for trap in self.traps:
            kept = "kept" if trap.kept else "not kept"
            lines.append(f"  {trap.name}: {trap.what} [{kept}: {trap.why}]")
        return "\n".join(lines)

    def _rows(self) -> list[tuple[str, str]]:
        samples = {
            "first": "the first of each shape",
            "shared": "drawn once for both clouds",
            "independent": "drawn for each cloud",
            "disjoint": "drawn twice, none in both clouds",
            "given": "as the scans have them",
        }
        clouds = {
            "source": "on the source alone",
            "both": "on both clouds",
            "shared": "the same on both clouds",
        }
        rows = [("points", f"{self.sizes[0]} and {self.sizes[1]}, {samples[self.sampling]}")]
        if self.train_sampling:
            rows += [("", f"in training {samples[self.train_sampling]}")]
        if noise := self.noise:
            when = ", at test time alone" if noise.when == "test" else ""
            size = f"Gaussian, sigma {noise.sigma:g} clipped at {noise.clip:g}"
            rows += [("noise", f"{size}, {clouds[noise.on]}{when}")]
        if self.crop:
            source, target = self.crop
            rows += [("crop", f"half-spaces that keep {source:.0%} and {target:.0%}")]
        if self.min_overlap:
            rows += [("overlap", f"at least {self.min_overlap:.0%}")]
        pose = self.pose
        angles = f"Euler angles in [0, {pose.max_degrees:g}] degrees"
        shift = f"translations within {pose.max_translation:g} an axis"
        halves = "the first half for training, the second for test"
        return [
            *rows,
            ("pose", f"{angles}, {shift}, applied to the {pose.moves}"),
            ("categories", halves if self.categories == "halves" else "all"),
            ("seed", f"the item's number, {self.seeding}"),
            ("errors", f"in the convention of {self.metrics}"),
        ]


def names() -> tuple[str, ...]:
    """The names of all protocols.

    >>> names()[0]
    'dcp-clean'
    """
    return tuple(_CARDS)


def get(name: str) -> Protocol:
    """The protocol called `name`.

    >>> get("dcp-clean").points
    1024
    >>> get("rpm-corp")
    Traceback (most recent call last):
    ValueError: no protocol named 'rpm-corp'; did you mean 'rpm-crop'? There are: dcp-clean, ...
    """
    return named(name, _CARDS, what="protocol")


def check_protocol(protocol: object) -> None:
    """Raise unless `protocol` is a `Protocol`; a name is not one.

    >>> check_protocol("rpm-crop")
    Traceback (most recent call last):
    TypeError: protocol must be a Protocol, got 'rpm-crop'; protocols.get(name) returns one
    """
    if not isinstance(protocol, Protocol):
        raise TypeError(
            f"protocol must be a Protocol, got {protocol!r}; protocols.get(name) returns one"
        )


def split_validation(
    count: int, fraction: float = 0.1, seed: int = 0
) -> tuple[list[int], list[int]]:
    """Split the numbers of the training items in two: to fit, and to pick a model by.

    The test set never picks a model, so validation is taken out of the training set.

    Args:
        count: how many training items there are, at least 2.
        fraction: the share for validation; each part gets at least one item.
        seed: the same seed gives the same split.

    Returns:
        `(fit, validation)`, both rising, with every number in exactly one.

    >>> fit, validation = split_validation(10, fraction=0.2)
    >>> len(fit), len(validation), sorted(fit + validation) == list(range(10))
    (8, 2, True)
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must lie between 0 and 1, got {fraction}")
    if count < 2:
        raise ValueError(f"there must be at least 2 items to split, got {count}")
    kept = min(max(round(fraction * count), 1), count - 1)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()
    return sorted(order[kept:]), sorted(order[:kept])


_FILE_ORDER = Trap(
    "file order",
    what="the corpus is read in the order in which the file system happens to list its files",
    kept=False,
    why="files are sorted, so that an item's number means the same shape on every machine",
)
_BEST_ON_TEST = Trap(
    "best on test",
    what="the best epoch is picked on the test set",
    kept=False,
    why="that makes test figures too good; validation is a part of the training set",
)
_VALIDATION_FILES = Trap(
    "validation files",
    what="validation uses the test files of the training categories",
    kept=False,
    why="validation is a part of the training set, unless data.validation_files is set",
)
_ANGLE_DIFFERENCES = Trap(
    "angle differences",
    what="rotation errors are differences of Euler angles, not angles of the difference",
    kept=True,
    why="the published figures are of that kind",
)
_SHAPE_CHAMFER = Trap(
    "modified Chamfer",
    what="the Chamfer distance is measured against the clean shape, not the other cloud",
    kept=True,
    why="the published figures are of that kind; items bring the clean shape along",
)
_RESEEDING = Trap(
    "re-seeding",
    what="at test time crop, pose and resampling each start again from the item's seed, so that "
    "crop and pose are made of the same random numbers",
    kept=True,
    why="test items are those of the published tables; training never re-seeds",
)
_NOISE_TRAPS = (
    Trap(
        "growing noise",
        what="noise is added in place to the stored corpus, and grows with every epoch",
        kept=False,
        why="an item would depend on how often it was read",
    ),
    Trap(
        "unseeded noise",
        what="noise is drawn before the item's seed is set",
        kept=False,
        why="it is drawn last instead: items repeat, with the poses and the order of dcp-clean",
    ),
    Trap(
        "common noise",
        what="both clouds get the same noise",
        kept=False,
        why="exact matches would survive; the paper puts it on the source alone",
    ),
)

_DCP = Protocol(
    name="dcp-clean",
    summary="Two copies of the same points: every point has an exact match.",
    recipe="dcp",
    points=1024,
    sampling="first",
    pose=PoseDistribution(moves="target"),
    metrics="dcp",
    traps=(_FILE_ORDER, _BEST_ON_TEST, _ANGLE_DIFFERENCES),
)
_RPM = Protocol(
    name="rpm-clean",
    summary="Two copies of the same points, on categories never seen in training.",
    recipe="rpmnet",
    points=1024,
    sampling="first",
    train_sampling="shared",
    pose=PoseDistribution(moves="source"),
    metrics="rpmnet",
    categories="halves",
    seeding="each step",
    traps=(_VALIDATION_FILES, _RESEEDING, _SHAPE_CHAMFER),
)
_RPM_CROP = replace(
    _RPM,
    name="rpm-crop",
    summary="Partial, noisy views: half-spaces keep 70 % of each cloud; no exact matches exist.",
    sampling="independent",
    train_sampling=None,
    noise=Noise(on="both"),
    crop=(0.7, 0.7),
)

_CARDS = {
    card.name: card
    for card in (
        _DCP,
        replace(
            _DCP,
            name="dcp-noise",
            summary="Noise on the source alone, at test time; trained without.",
            noise=Noise(on="source", when="test"),
            traps=(*_DCP.traps, *_NOISE_TRAPS),
        ),
        replace(
            _DCP,
            name="dcp-unseen",
            summary="As dcp-clean, on categories never seen in training.",
            categories="halves",
        ),
        _RPM,
        replace(
            _RPM,
            name="rpm-jitter",
            summary="Each cloud has its own sample of the points, and its own noise.",
            sampling="independent",
            train_sampling=None,
            noise=Noise(on="both"),
        ),
        _RPM_CROP,
        replace(
            _DCP,
            name="3dmatch-30",
            summary="Pairs of indoor scans that overlap by at least 30 %, in the unit ball.",
            sampling="given",
            min_overlap=0.3,
            traps=(_BEST_ON_TEST, _ANGLE_DIFFERENCES),
        ),
        replace(
            _DCP,
            name="dcp-twice-sampled",
            summary="Beyond the paper: two samples of the surface, so no exact matches exist.",
            sampling="disjoint",
        ),
        replace(
            _DCP,
            name="dcp-unseen-twice-sampled",
            summary="As dcp-twice-sampled, on categories never seen in training.",
            sampling="disjoint",
            categories="halves",
        ),
        replace(
            _RPM_CROP,
            name="rpm-crop-once-sampled",
            summary="Beyond the paper: as rpm-crop, but points are drawn and jittered once, before "
            "the crop, so that exact matches survive where the views overlap.",
            sampling="shared",
            noise=Noise(on="shared"),
            seeding="once",
            traps=(
                _VALIDATION_FILES,
                replace(_RESEEDING, kept=False, why="there are no published items to match"),
                _SHAPE_CHAMFER,
            ),
        ),
    )
}
