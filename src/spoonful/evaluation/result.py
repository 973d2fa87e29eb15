"""The result of an evaluation: every item's errors, and all it takes to know where they are from.

A result is one JSON file. The errors of the items are in it, so that statistics, intervals and
comparisons follow from the file alone; the statistics are in it too, for other readers. JSON has
no infinite numbers: they are written as the strings "inf", "-inf" and "nan".
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import torch
from torch import Tensor

from spoonful.evaluation.bootstrap import (
    LEVEL,
    RESAMPLES,
    STATISTICS,
    Interval,
    interval,
    replicate,
)
from spoonful.files import json_ready, write_whole
from spoonful.metrics import Summary, summarize
from spoonful.names import named

FORMAT = "spoonful.result/1"
_CSV_HEAD = (
    *("method", "settings", "protocol", "protocol_hash", "data", "data_fingerprint"),
    *("weights_sha256", "seed", "category", "metric", "items", "not_finite"),
)


@dataclass(frozen=True)
class Timing:
    """The time a method took, without making items and measuring errors.

    Attributes:
        batch_size: pairs at a time.
        processes: how many shared the items.
        pairs: how many were registered.
        seconds: spent in the method, summed over the processes.
        single: seconds for a batch of one pair, the median of a few; NaN if it was not measured.
    """

    batch_size: int
    processes: int
    pairs: int
    seconds: float
    single: float = math.nan

    @property
    def pairs_per_second(self) -> float:
        """Throughput in batches, of all processes together."""
        return self.pairs * self.processes / self.seconds if self.seconds > 0 else math.inf


@dataclass(frozen=True)
class Data:
    """The data that items were made from.

    Attributes:
        name: of the corpus, as "synthetic/test".
        fingerprint: of its contents.
        items: how many items the protocol makes of it.
    """

    name: str
    fingerprint: str
    items: int


class Statistics(NamedTuple):
    """A metric over some items: its `Summary`, and intervals by the names of its statistics."""

    summary: Summary
    intervals: Mapping[str, Interval]


@dataclass(frozen=True)
class Result:
    """The result of `evaluate` for one method.

    Attributes:
        method: its name.
        settings: which settings it ran with, as "published" or "tuned"; "" where it has none.
        protocol: the protocol's name.
        protocol_hash: the hash of its card.
        data: what the items were made from.
        index: (K,) the numbers of the items, ascending.
        labels: (K,) the positions of their categories in `categories`, or None.
        categories: the names of the categories.
        errors: metrics by the names of `PoseErrors`: (K,) or, by axis, (K, 3), float64.
        failures: items without a finite pose; their errors are infinite.
        weights: the SHA-256 of the weights, or None.
        seed: that the method was trained or run with, or None.
        training: how it was trained, by name.
        timing: how long it took.
        versions: of the libraries.
        machine: what it ran on.
        created: when, in UTC.
    """

    method: str
    protocol: str
    protocol_hash: str
    data: Data
    index: Tensor
    errors: Mapping[str, Tensor]
    settings: str = ""
    labels: Tensor | None = None
    categories: tuple[str, ...] = ()
    failures: int = 0
    weights: str | None = None
    seed: int | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    timing: Timing | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str | int] = field(default_factory=dict)
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def __post_init__(self) -> None:
        for name, values in self.errors.items():
            if len(values) != len(self.index):
                raise ValueError(
                    f"errors must be of the {len(self.index)} items in index, "
                    f"but {name} has {len(values)}"
                )
        if self.labels is not None and len(self.labels) != len(self.index):
            raise ValueError(f"labels must have {len(self.index)} items, got {len(self.labels)}")

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, metric: str) -> Statistics:
        """The statistics of a metric over all items."""
        return named(metric, self.statistics, what="metric")

    @cached_property
    def statistics(self) -> dict[str, Statistics]:
        """Statistics of every metric over all items, with intervals."""
        return _statistics(self.errors)

    @cached_property
    def by_category(self) -> dict[str, dict[str, Statistics]]:
        """Statistics of every metric for each category; empty if there are no categories."""
        if self.labels is None:
            return {}
        found = {}
        for label in self.labels.unique().tolist():
            chosen = self.labels == label
            some = {name: values[chosen] for name, values in self.errors.items()}
            found[self.categories[label]] = _statistics(some)
        return found

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, in the order of the file; numbers may still be infinite."""
        return {
            "format": FORMAT,
            "method": self.method,
            "settings": self.settings,
            "protocol": {"name": self.protocol, "hash": self.protocol_hash},
            "data": asdict(self.data),
            "weights_sha256": self.weights,
            "seed": self.seed,
            "training": dict(self.training),
            "failures": self.failures,
            "timing": None if self.timing is None else asdict(self.timing),
            "versions": dict(self.versions),
            "machine": dict(self.machine),
            "created": self.created,
            "bootstrap": {"resamples": RESAMPLES, "level": LEVEL, "seed": 0, "over": "items"},
            "statistics": {name: _plain(found) for name, found in self.statistics.items()},
            "by_category": {
                category: {name: _plain(found) for name, found in metrics.items()}
                for category, metrics in self.by_category.items()
            },
            "items": {
                "index": self.index.tolist(),
                "label": None if self.labels is None else self.labels.tolist(),
                "categories": list(self.categories),
                "errors": {name: values.tolist() for name, values in self.errors.items()},
            },
        }

    def save(self, path: str | Path) -> Path:
        """Write the file, whole or not at all."""
        return write_whole(path, strict_json(self.as_dict()))

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a file that `save` wrote.

        Raises:
            ValueError: it is not such a file.
        """
        path = Path(path)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a result: it is not JSON ({error})") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            seen = content.get("format") if isinstance(content, dict) else None
            raise ValueError(f"{path} is not a result: its format is {seen!r}, not {FORMAT!r}")
        try:
            return cls._from_plain(content)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is a damaged result: {error!r}") from error

    @classmethod
    def _from_plain(cls, content: dict[str, Any]) -> Result:
        items, timing = content["items"], content["timing"]
        errors = {
            name: torch.tensor(_numbers(values), dtype=torch.float64)
            for name, values in items["errors"].items()
        }
        return cls(
            method=content["method"],
            settings=content["settings"],
            protocol=content["protocol"]["name"],
            protocol_hash=content["protocol"]["hash"],
            data=Data(**content["data"]),
            index=torch.tensor(items["index"], dtype=torch.int64),
            labels=None if items["label"] is None else torch.tensor(items["label"]),
            categories=tuple(items["categories"]),
            errors=errors,
            failures=content["failures"],
            weights=content["weights_sha256"],
            seed=content["seed"],
            training=content["training"],
            timing=None if timing is None else Timing(**{k: _number(v) for k, v in timing.items()}),
            versions=content["versions"],
            machine=content["machine"],
            created=content["created"],
        )


def write_csv(results: Sequence[Result], to: str | Path | TextIO) -> None:
    """Write all statistics of some results as a CSV table, one row per metric and category.

    Args:
        results: one or more.
        to: the file's path, or an open file.
    """
    if isinstance(to, (str, Path)):
        buffer = io.StringIO(newline="")
        write_csv(results, buffer)
        write_whole(to, buffer.getvalue())
        return
    writer = csv.writer(to, lineterminator="\n")
    spans = [f"{name}{end}" for name in STATISTICS for end in ("", "_low", "_high")]
    writer.writerow([*_CSV_HEAD, *spans, "max", "seconds_single_pair", "pairs_per_second"])
    for result in results:
        head = [result.method, result.settings, result.protocol, result.protocol_hash]
        head += [result.data.name, result.data.fingerprint, result.weights or ""]
        head += ["" if result.seed is None else str(result.seed)]
        times = ["", ""]
        if result.timing is not None:
            times = [repr(result.timing.single), repr(result.timing.pairs_per_second)]
        for category, metrics in {"all": result.statistics, **result.by_category}.items():
            for name, (summary, intervals) in metrics.items():
                numbers = [
                    number
                    for statistic in STATISTICS
                    for number in (getattr(summary, statistic), *intervals[statistic])
                ]
                counts = [summary.count, summary.nonfinite]
                row = [*head, category, name, *counts, *map(repr, (*numbers, summary.max))]
                writer.writerow(row + times)


def strict_json(value: Any, indent: int | None = None) -> str:
    """JSON that every reader takes: numbers that are not finite become strings.

    >>> print(strict_json({"mean": math.inf}), end="")
    {"mean":"inf"}
    """
    separators = (",", ":") if indent is None else None
    plain = json_ready(value, words=True)
    return json.dumps(plain, allow_nan=False, separators=separators, indent=indent) + "\n"


def _statistics(errors: Mapping[str, Tensor]) -> dict[str, Statistics]:
    replicates = replicate(errors)
    return {
        name: Statistics(
            summarize(values),
            {statistic: interval(some) for statistic, some in replicates[name].items()},
        )
        for name, values in errors.items()
    }


def _plain(found: Statistics) -> dict[str, Any]:
    summary, intervals = found
    plain: dict[str, Any] = {"count": summary.count, "not_finite": summary.nonfinite}
    for name in STATISTICS:
        plain[name] = getattr(summary, name)
        plain[f"{name}_interval"] = list(intervals[name])
    return {**plain, "max": summary.max}


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value


def _numbers(values: Iterable[Any]) -> list[Any]:
    return [_numbers(value) if isinstance(value, list) else _number(value) for value in values]
