"""Classical methods by name, each with the settings it was published with, or tuned ones.

Tuned settings are files in the folder `tuned`, one for a method and a protocol. Each says how it
was found: by a search on training pairs alone, which `spoonful tune` repeats.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from spoonful.classical.contract import ClassicalMethod
from spoonful.names import named

FOLDER = Path(__file__).parent / "tuned"
FORMAT = "spoonful.tuned/1"

# Each method's module and class; it is imported when it is first used.
_WHERE = {
    "icp": ("icp", "ICP"),
    "fgr": ("fgr", "FGR"),
    "goicp": ("goicp", "GoICP"),
    "rpm": ("rpm", "RPM"),
    "small_gicp": ("small_gicp", "SmallGICP"),
    "kiss-matcher": ("kiss_matcher", "KISSMatcher"),
}

SUMMARIES = {
    "icp": "Iterative closest point, batched.",
    "fgr": "Fast global registration on FPFH features.",
    "goicp": "Go-ICP: branch and bound over all poses.",
    "rpm": "Robust point matching: soft matches, annealed.",
    "small_gicp": "Generalised ICP, by small_gicp.",
    "kiss-matcher": "KISS-Matcher: global, stands many wrong matches.",
}
"""A sentence on each method, by name."""


@dataclass(frozen=True)
class Tuned:
    """Tuned settings, and how they were found.

    Attributes:
        method: the method's name.
        settings: the values of its fields, by name.
        search: how they were found: the protocol and its hash, the data, the seed, the number of
            trials and of items, the scores of the published and of the tuned settings, ...
    """

    method: str
    settings: Mapping[str, Any]
    search: Mapping[str, Any] = field(default_factory=dict)

    def build(self) -> ClassicalMethod:
        """The method with these settings."""
        cls = kind(self.method)
        known = {each.name for each in fields(cls)}
        if strange := sorted(set(self.settings) - known):
            raise ValueError(f"{self.method} has no setting {strange[0]!r}")
        return cls(**{**self.settings, "settings": "tuned"})

    def as_json(self) -> str:
        """The file's text."""
        content = {"format": FORMAT, "method": self.method, "settings": dict(self.settings)}
        return json.dumps({**content, "search": dict(self.search)}, indent=1) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Tuned:
        """Read a file that `spoonful tune` wrote.

        Raises:
            ValueError: it is not such a file.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} holds no tuned settings: {error}") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            seen = content.get("format") if isinstance(content, dict) else None
            raise ValueError(f"{path} holds no tuned settings: its format is {seen!r}")
        return cls(content["method"], content["settings"], content["search"])


def names() -> tuple[str, ...]:
    """The names of all methods.

    >>> names()[:3]
    ('icp', 'fgr', 'goicp')
    """
    return tuple(_WHERE)


def kind(name: str) -> type[ClassicalMethod]:
    """The class of the method called `name`.

    >>> kind("icq")
    Traceback (most recent call last):
    ValueError: no classical method named 'icq'; did you mean 'icp'? There are: icp, ...
    """
    module, cls = named(name, _WHERE, what="classical method")
    found: type[ClassicalMethod] = getattr(
        importlib.import_module(f"spoonful.classical.{module}"), cls
    )
    return found


def published(name: str) -> ClassicalMethod:
    """A method with the settings that it was published with, or that its library ships with.

    >>> published("icp").settings
    'published'
    """
    cls = kind(name)
    make = getattr(cls, "published", cls.default)
    found: ClassicalMethod = make()
    return found


def tuned(name: str, protocol: str | None = None) -> Tuned:
    """The tuned settings of a method.

    Args:
        name: of the method.
        protocol: the protocol they are for. If it has none, those of its family are taken
            ("rpm-jitter" takes those of "rpm-crop"), else any.

    Raises:
        ValueError: there are none for the method.
    """
    kind(name)
    there = tuned_on(name)
    if not there:
        raise ValueError(
            f"there are no tuned settings of {name}; find some with `spoonful tune {name}`"
        )
    family = (protocol or "").split("-")[0]
    alike = [of for of in there if of.split("-")[0] == family]
    chosen = protocol if protocol in there else (alike or there)[0]
    return Tuned.load(FOLDER / f"{name}@{chosen}.json")


def tuned_on(name: str) -> tuple[str, ...]:
    """The protocols that a method has tuned settings for."""
    return tuple(
        path.stem.removeprefix(f"{name}@") for path in sorted(FOLDER.glob(f"{name}@*.json"))
    )
