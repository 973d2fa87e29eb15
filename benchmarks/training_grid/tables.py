"""Tables of finished runs: means over seeds, and paired differences to Kabsch alone."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.evaluation.bootstrap import Interval
from training_grid.runs import BASELINE, CONDITIONS

# Where a table goes in a page.
_MARKS = ("<!-- experiment -->", "<!-- end -->")


def results(folders: Iterable[str | Path]) -> list[dict[str, Any]]:
    """The files of finished runs, in the order of models, conditions and seeds.

    A run that is in several folders is taken from the first.
    """
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        for path in sorted(Path(folder).glob("*-seed*.json")):
            found.setdefault(path.stem, json.loads(path.read_text()))
    order = {name: rank for rank, name in enumerate(CONDITIONS)}
    return sorted(
        found.values(),
        key=lambda run: (run["model"], order.get(run["condition"], len(order)), run["seed"]),
    )


def table(runs: Sequence[Mapping[str, Any]], *, resamples: int = 1000) -> str:
    """Markdown: for each model, mean and spread over seeds, and differences to Kabsch alone.

    The difference is of the mean rotation error in degrees, paired by seed and test pair, with a
    95 % interval: seeds and pairs are both drawn again, so it covers both kinds of chance as far
    as so few seeds can tell. "!" marks intervals without zero.
    """
    if not runs:
        raise ValueError("there are no results in these folders")
    parts = []
    for model in sorted({run["model"] for run in runs}):
        mine = [run for run in runs if run["model"] == model]
        parts.append(_table_of(model, mine, resamples))
    return "\n\n".join(parts)


def put_into(text: str, path: str | Path) -> None:
    """Put a table into a file, between its lines `<!-- experiment -->` and `<!-- end -->`."""
    path = Path(path)
    before, mark, rest = path.read_text(encoding="utf-8").partition(_MARKS[0])
    _, end, after = rest.partition(_MARKS[1])
    if not mark or not end:
        raise ValueError(f"{path} must have lines {_MARKS[0]} and {_MARKS[1]} to put it between")
    path.write_text(f"{before}{mark}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def _table_of(model: str, runs: Sequence[Mapping[str, Any]], resamples: int) -> str:
    by_condition: dict[str, dict[int, Mapping[str, Any]]] = {}
    for run in runs:
        by_condition.setdefault(run["condition"], {})[run["seed"]] = run
    steps = sorted({run["steps"] for run in runs})
    data = runs[0]["config"]["data"]
    parts = [
        f"**{model}**: {' or '.join(map(str, steps))} steps of {data['batch_size']} pairs"
        f"{_size(runs[0])} on {data['corpus']}. Rotation error in degrees, mean ± standard "
        "deviation over seeds; below it the paired difference to Kabsch alone and its 95 % "
        "interval."
    ]
    tests = list(runs[0]["tests"])
    # Those of another corpus have its name after a comma, and a table of their own.
    for some in ([t for t in tests if "," not in t], [t for t in tests if "," in t]):
        if not some:
            continue
        titles = [f"{name} ({runs[0]['tests'][name]['count']} pairs)" for name in some]
        own = "," not in some[0]
        titles += ["match error", "extent ratio", "rho"] if own else []
        lines = [
            f"| training | seeds | {' | '.join(titles)} |",
            f"|---|---|{'---|' * len(titles)}",
        ]
        for condition, seeds in by_condition.items():
            base = {} if condition == BASELINE else by_condition.get(BASELINE, {})
            cells = [_compared(seeds, base, name, resamples) for name in some]
            for value, digits, kind in (
                ("correspondence", 3, "mean"),
                ("extent_ratio", 2, "median"),
                ("rho_source", 2, "median"),
            )[: 3 if own else 0]:
                found = [run["tests"][some[0]][value][kind] for run in seeds.values()]
                cells.append(_spread(found, digits))
            lines.append(f"| {condition} | {len(seeds)} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _compared(
    seeds: Mapping[int, Mapping[str, Any]],
    base: Mapping[int, Mapping[str, Any]],
    test: str,
    resamples: int,
) -> str:
    """A test's mean and spread over seeds, and its paired difference to `base` if there is one."""
    means = [run["tests"][test]["rotation_degrees"]["mean"] for run in seeds.values()]
    cell = _spread(means, 2)
    found = _difference(seeds, base, test, resamples)
    if found is None:
        return cell
    mean, (low, high) = found
    mark = " !" if low > 0 or high < 0 else ""
    return f"{cell}<br>{mean:+.2f} [{low:+.2f}, {high:+.2f}]{mark}"


def difference(
    runs: Sequence[Mapping[str, Any]], condition: str, test: str, *, resamples: int = 1000
) -> tuple[float, Interval] | None:
    """How much a condition changes the mean error of a test, against Kabsch alone.

    Args:
        runs: of one model.
        condition: of `CONDITIONS`.
        test: a name of their tests.
        resamples: for the interval; see `paired`.

    Returns:
        The mean difference and its interval, in degrees; None without seeds in common.
    """
    of = {
        name: {run["seed"]: run for run in runs if run["condition"] == name}
        for name in (condition, BASELINE)
    }
    return _difference(of[condition], of[BASELINE], test, resamples)


def _difference(
    seeds: Mapping[int, Mapping[str, Any]],
    base: Mapping[int, Mapping[str, Any]],
    test: str,
    resamples: int,
) -> tuple[float, Interval] | None:
    common = sorted(seeds.keys() & base.keys())
    if not common:
        return None
    errors = [
        [
            torch.tensor(some[s]["tests"][test]["items"]["rotation_degrees"])
            for some in (seeds, base)
        ]
        for s in common
    ]
    return paired([a - b for a, b in errors], resamples=resamples)


def _size(run: Mapping[str, Any]) -> str:
    """Of its clouds, before they are cropped, if it is not the protocol's own."""
    points = run["config"]["data"]["points"]
    return "" if points is None else f" of {points} points"


def _spread(values: Sequence[float | None], digits: int) -> str:
    kept = [value for value in values if value is not None]
    if not kept:
        return "-"
    mean = f"{statistics.mean(kept):.{digits}f}"
    return mean if len(kept) == 1 else f"{mean} ± {statistics.stdev(kept):.{digits}f}"


def paired(
    differences: Sequence[Tensor], *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[float, Interval]:
    """The mean of paired differences over seeds and items, and its bootstrap interval.

    Args:
        differences: for each seed (K,), of the same K items.
        resamples: how often seeds, and items, are drawn again with replacement.
        level: of the interval.
        seed: of the draws.

    >>> mean, (low, high) = paired([torch.tensor([1.0, 1.2]), torch.tensor([0.8, 1.0])])
    >>> round(mean, 3), low < mean < high
    (1.0, True)
    """
    values = torch.stack([each.double() for each in differences])
    seeds, items = values.shape
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(seeds, (resamples, seeds), generator=generator)
    chosen = torch.nn.functional.one_hot(drawn, seeds).double().mean(1)  # (resamples, seeds)
    means = torch.empty(resamples, dtype=torch.float64)
    for i in range(resamples):
        which = torch.randint(items, (items,), generator=generator)
        means[i] = chosen[i] @ values[:, which].mean(1)
    tail = (1 - level) / 2
    low, high = torch.quantile(means, torch.tensor([tail, 1 - tail], dtype=torch.float64)).tolist()
    return float(values.mean()), Interval(low, high)
