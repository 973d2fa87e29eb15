"""The embedded dataset: CAD-like solids made on the spot, from nothing but a seed.

32 categories, each a recipe that turns random numbers into a solid: parts that are turned, swept
and extruded, joined and cut. The points are spread evenly by area over the outer surface of the
union, with outward normals. Every cloud is centred and has its farthest point at distance 1, like
ModelNet40's. Categories are in alphabetical order, as ModelNet40's are, and the first half is
"seen", the second "unseen" where a protocol asks for that.

A shape is fixed by (seed, split, category, number): it is the same on every machine, and does
not change when more shapes are asked for. Coordinates and normals are multiples of 2^-20.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.data.corpus import Corpus
from spoonful.data.synthetic import chance, skin
from spoonful.data.synthetic.shapes import RECIPES
from spoonful.data.synthetic.solids import Solid
from spoonful.geometry.checks import check_choice, check_count

CATEGORIES: tuple[str, ...] = tuple(RECIPES)
SPLITS = ("train", "test")
PER_CATEGORY = {"train": 40, "test": 10}

_GRID = 2.0**20
_AT_ONCE = 8


def load(
    split: str = "train",
    *,
    per_category: int | None = None,
    points: int = 2048,
    seed: int = 0,
) -> Corpus:
    """Make the shapes of one split.

    Args:
        split: "train" or "test"; their shapes have nothing in common but the recipes.
        per_category: how many shapes of each category; by default 40 for training (1280 in
            all) and 10 for test (320).
        points: points of each shape.
        seed: another seed is another dataset.

    Returns:
        A `Corpus`, category by category.

    >>> corpus = load("test", per_category=1, points=64)
    >>> corpus.points.shape, len(corpus.categories)
    (torch.Size([32, 64, 3]), 32)
    >>> corpus.categories[int(corpus.labels[16])]
    'gear'
    """
    check_choice("split", split, SPLITS)
    number = PER_CATEGORY[split] if per_category is None else per_category
    check_count("per_category", number)
    wanted = [(category, index) for category in CATEGORIES for index in range(number)]
    # A few shapes at a time: enough to keep torch busy, few enough to stay in the cache.
    made = [
        _clouds(wanted[start : start + _AT_ONCE], split, points, seed)
        for start in range(0, len(wanted), _AT_ONCE)
    ]
    return Corpus(
        name=f"synthetic/{split}" if seed == 0 else f"synthetic-{seed}/{split}",
        points=torch.cat([positions for positions, _ in made]),
        normals=torch.cat([normals for _, normals in made]),
        labels=torch.arange(len(CATEGORIES)).repeat_interleave(number),
        categories=CATEGORIES,
    )


def cloud(
    category: str, index: int, *, split: str = "train", points: int = 2048, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """One shape: points (P, 3), centred with their farthest at 1, and unit normals (P, 3).

    >>> positions, normals = cloud("teapot", 3, points=256)
    >>> positions.norm(dim=-1).max()
    tensor(1.0000)
    """
    positions, normals = _clouds([(category, index)], split, points, seed)
    return positions[0], normals[0]


def solid(category: str, index: int, *, split: str = "train", seed: int = 0) -> Solid:
    """The solid of a shape, in its own units, from which any number of points can be sampled.

    >>> points, normals = skin.sample([solid("gear", 0)], 100, [chance.keys(5)])
    >>> points.shape
    torch.Size([1, 100, 3])
    """
    if category not in RECIPES:
        raise ValueError(f"no category {category!r}; there are: {', '.join(CATEGORIES)}")
    return RECIPES[category](chance.Sampler(chance.keys(*_key(category, index, split, seed), 0)))


def _key(category: str, index: int, split: str, seed: int) -> tuple[int, ...]:
    if index < 0 or seed < 0:
        raise ValueError(f"index and seed must not be negative, got {index} and {seed}")
    # The name, not its position: a category that is added later leaves the others as they are.
    return seed, SPLITS.index(split), int.from_bytes(category.encode()[:8], "big"), index


def _clouds(
    wanted: list[tuple[str, int]], split: str, points: int, seed: int
) -> tuple[Tensor, Tensor]:
    """Points and normals (S, P, 3) of some shapes, given as (category, index)."""
    check_count("points", points, least=2)
    solids = [solid(category, index, split=split, seed=seed) for category, index in wanted]
    keys = [chance.keys(*_key(category, index, split, seed), 1) for category, index in wanted]
    positions, normals = skin.sample(solids, points, keys)
    # The mean is summed in integers, because the order of a floating-point sum is a machine's
    # own; the final grid swallows the last bits that a square root may differ in.
    total = (positions * 2.0**32).round().to(torch.int64).sum(dim=1, keepdim=True)
    positions = positions - total.to(torch.float64) / (2.0**32 * points)
    x, y, z = positions.unbind(-1)
    radius = (x * x + y * y + z * z).sqrt().amax(dim=1)
    return _on_grid(positions / radius[:, None, None]), _on_grid(normals)


def _on_grid(values: Tensor) -> Tensor:
    return ((values * _GRID).round() / _GRID).to(torch.float32)
