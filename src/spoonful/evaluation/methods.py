"""Methods by name: whatever takes a `Batch` and returns a `Registration`.

A method is added in one line, from anywhere, and is then a name for `spoonful evaluate`:

>>> def no_turn(batch: Batch) -> Registration:
...     shift = batch.target.mean(1) - batch.source.mean(1)
...     return Registration(Pose(torch.eye(3).expand(len(batch), 3, 3), shift))
>>> register("no-turn", lambda: Method("no-turn", no_turn), summary="Centroids alone.")
>>> get("no-turn").run is no_turn
True
>>> unregister("no-turn")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from spoonful.batch import Batch
from spoonful.classical import presets
from spoonful.classical.contract import ClassicalMethod
from spoonful.evaluation.provenance import weights_sha256
from spoonful.geometry import Pose, kabsch
from spoonful.geometry.neighbors import nearest
from spoonful.models import polish
from spoonful.names import named
from spoonful.registration import Registration

Run = Callable[[Batch], Registration]


@dataclass(frozen=True)
class Method:
    """A method to evaluate.

    Attributes:
        name: as printed in tables.
        run: registers a batch. An `nn.Module` is put in eval mode and on the right device.
        settings: "published", "tuned", ...: which settings it runs with; "" where it has none.
        weights: the SHA-256 of its weights, or None.
        seed: the seed it was trained with, or that it draws its random choices with; or None.
        training: how it was trained, as plain values by name; empty where it was not.
    """

    name: str
    run: Run
    settings: str = ""
    weights: str | None = None
    seed: int | None = None
    training: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise `MissingExtra` if the method cannot run here."""
        check = getattr(self.run, "check", None)
        if check is not None:
            check()


class _Entry(NamedTuple):
    make: Callable[[], Method]
    summary: str


_METHODS: dict[str, _Entry] = {}


def register(name: str, make: Callable[[], Method], *, summary: str) -> None:
    """Add a method.

    Args:
        name: what users type; without ":", "@" or "/", which mark weights, settings and files.
        make: builds it when it is asked for, so that heavy imports wait until then.
        summary: one sentence on it.
    """
    if name in _METHODS:
        raise ValueError(f"there is already a method named {name!r}")
    if not name or any(mark in name for mark in ":@/\\"):
        raise ValueError(f"name must not be empty or contain ':', '@', '/' or '\\', got {name!r}")
    _METHODS[name] = _Entry(make, summary)


def unregister(name: str) -> None:
    """Remove a method again."""
    del _METHODS[name]


def names() -> tuple[str, ...]:
    """The names of all methods that need no file.

    >>> names()[:3]
    ('identity', 'truth', 'true-matches')
    """
    return tuple(_METHODS)


def summaries() -> dict[str, str]:
    """A sentence on each method, by name."""
    return {name: entry.summary for name, entry in _METHODS.items()}


def get(name: str) -> Method:
    """The method called `name`.

    >>> get("identiy")
    Traceback (most recent call last):
    ValueError: no method named 'identiy'; did you mean 'identity'? There are: identity, ...
    """
    return named(name, _METHODS, what="method").make()


def of_model(name: str, model: nn.Module, **known: Any) -> Method:
    """A model in memory as a method, with the hash of its weights.

    Args:
        name: as printed in tables.
        model: its `forward` takes a `Batch` and returns a `Registration`.
        known: `settings`, `seed`, `training` of the `Method`.
    """
    return Method(name, model, weights=weights_sha256(model), **known)


class _WithICP(nn.Module):
    """A network followed by ICP, as in `RegistrationModel.register`."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Registration:
        """Register a batch; ICP takes its pairs one after the other."""
        pose = self.model(batch).pose
        generator = torch.Generator().manual_seed(0)
        found = [
            polish(*batch.pair(row), pose.at(row), generator=generator) for row in range(len(batch))
        ]
        return Registration(Pose(*(torch.stack(parts) for parts in zip(*found, strict=True))))


def with_icp(method: Method) -> Method:
    """A network followed by ICP, as `register` does it by default; its name ends in "+icp"."""
    if not isinstance(method.run, nn.Module):
        raise ValueError(f'"+icp" is for networks, and {method.name} is none')
    return replace(method, name=f"{method.name}+icp", run=_WithICP(method.run))


def of_classical(method: ClassicalMethod, **known: Any) -> Method:
    """A classical method as a method to be measured; its settings go into results.

    Args:
        method: with its settings.
        known: further facts for `Method.training`, such as how settings were found.

    >>> of_classical(presets.published("icp")).settings
    'published'
    """
    facts = {"settings": asdict(method), **known}
    return Method(method.name, method, method.settings, training=facts)


def tuned(name: str, protocol: str | None = None) -> Method:
    """A classical method with the settings tuned for a protocol; see `presets.tuned`."""
    found = presets.tuned(name, protocol)
    return of_classical(found.build(), search=dict(found.search))


def identity(batch: Batch) -> Registration:
    """No motion: the errors before registration.

    >>> identity(Batch(torch.zeros(2, 5, 3), torch.zeros(2, 4, 3))).pose.rotation.shape
    torch.Size([2, 3, 3])
    """
    points = batch.source
    return Registration(Pose.identity(len(batch), dtype=points.dtype, device=points.device))


def truth(batch: Batch) -> Registration:
    """The true pose: the Chamfer distances of a perfect result."""
    return Registration(_true_pose(batch))


def true_matches(batch: Batch) -> Registration:
    """Kabsch on true neighbours: as good as point matches allow. It looks at the true pose.

    Under the true pose, source and target points that are each other's nearest are matched. If the
    clouds share points, these are the exact matches, and the error is rounding. Otherwise it is the
    best that matching and solving for the pose can reach.
    """
    pose = _true_pose(batch)
    moved = pose.apply(batch.source)
    there = nearest(moved, batch.target, mask=batch.target_mask).index
    back = nearest(batch.target, moved, mask=batch.source_mask).index
    mutual = back.gather(1, there) == torch.arange(moved.shape[1], device=moved.device)
    if batch.source_mask is not None:
        mutual &= batch.source_mask
    matches = batch.target.gather(1, there.unsqueeze(-1).expand(-1, -1, 3))
    weights: Tensor = mutual.to(moved.dtype)
    found = kabsch(batch.source, matches, mask=mutual)
    return Registration(found, matches=matches, weights=weights)


def _true_pose(batch: Batch) -> Pose:
    if batch.pose is None:
        raise ValueError("this method looks at the true pose, but batch.pose is None")
    return batch.pose


for _name, _run, _summary in (
    ("identity", identity, "No motion: the errors before anything is done."),
    ("truth", truth, "The true pose: the Chamfer distances of a perfect answer."),
    ("true-matches", true_matches, "Kabsch on true neighbours: looks at the truth, a lower bound."),
):
    register(_name, lambda name=_name, run=_run: Method(name, run), summary=_summary)  # type: ignore[misc]
for _name, _summary in presets.SUMMARIES.items():
    register(
        _name,
        lambda name=_name: of_classical(presets.published(name)),  # type: ignore[misc]
        summary=_summary,
    )
