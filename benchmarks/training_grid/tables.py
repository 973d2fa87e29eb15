"""Tables of finished runs: means over seeds, and differences to Kabsch alone."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spoonful.evaluation.bootstrap import LEVEL
from training_grid.runs import BASELINE, CONDITIONS
from training_grid.student import Difference, Group, holm, paired, welch

# Where a table goes in a page.
_MARKS = ("<!-- experiment -->", "<!-- end -->")

Run = Mapping[str, Any]


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


def table(
    runs: Sequence[Run], *, against: Sequence[str] = (BASELINE,), only: Sequence[str] = ()
) -> str:
    """Markdown: for each model, mean and spread over seeds, and differences to Kabsch alone.

    Args:
        runs: of `results`.
        against: the conditions to compare with. A single one is compared seed by seed; the runs
            of several are pooled and compared by Welch's test.
        only: the conditions to show, without the tests on another corpus; all if empty.
            Corrections count all comparisons.
    """
    if not runs:
        raise ValueError("there are no results in these folders")
    models = sorted({run["model"] for run in runs})
    parts = [
        _table_of([run for run in runs if run["model"] == model], against, only) for model in models
    ]
    return "\n\n".join(parts)


def put_into(text: str, path: str | Path) -> None:
    """Put a table into a file, between its lines `<!-- experiment -->` and `<!-- end -->`."""
    path = Path(path)
    before, mark, rest = path.read_text(encoding="utf-8").partition(_MARKS[0])
    _, end, after = rest.partition(_MARKS[1])
    if not mark or not end:
        raise ValueError(f"{path} must have lines {_MARKS[0]} and {_MARKS[1]} to put it between")
    path.write_text(f"{before}{mark}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def difference(
    runs: Sequence[Run],
    condition: str,
    test: str,
    *,
    against: Sequence[str] = (BASELINE,),
    level: float = LEVEL,
) -> Difference | None:
    """The change of a test's mean rotation error by a condition, in degrees.

    Args:
        runs: of one model.
        condition: of `CONDITIONS`.
        test: a name of their tests.
        against: see `table`.
        level: of the confidence interval.

    Returns:
        None without runs to compare with.
    """
    errors = errors_of(runs, condition, test)
    if len(against) > 1:
        pooled = [error for name in against for error in errors_of(runs, name, test).values()]
        if condition in against or not (errors and pooled):
            return None
        return welch(Group.of(pooled), Group.of([*errors.values()]), level)
    base = errors_of(runs, against[0], test)
    common = sorted(errors.keys() & base.keys())
    if condition in against or not common:
        return None
    return paired([errors[seed] - base[seed] for seed in common], level)


def errors_of(runs: Sequence[Run], condition: str, test: str) -> dict[int, float]:
    """The mean rotation error of each run of a condition, by seed."""
    return {
        run["seed"]: statistics.fmean(run["tests"][test]["items"]["rotation_degrees"])
        for run in runs
        if run["condition"] == condition
    }


def spread(values: Iterable[float | None], digits: int = 2) -> str:
    """Mean and standard deviation.

    >>> spread([1.0, 2.0, 3.0]), spread([1.0])
    ('2.00 ± 1.00', '1.00')
    """
    kept = [value for value in values if value is not None]
    if not kept:
        return "-"
    mean = f"{statistics.fmean(kept):.{digits}f}"
    return mean if len(kept) == 1 else f"{mean} ± {statistics.stdev(kept):.{digits}f}"


def _table_of(runs: Sequence[Run], against: Sequence[str], only: Sequence[str]) -> str:
    conditions = dict.fromkeys(run["condition"] for run in runs)
    tests = list(runs[0]["tests"])
    found = {
        (name, test): difference(runs, name, test, against=against)
        for name in conditions
        for test in tests
    }
    compared = [key for key, value in found.items() if value is not None]
    stands = dict(zip(compared, holm([found[key].p for key in compared]), strict=True))  # type: ignore[union-attr]
    parts = [_heading(runs, [found[key] for key in compared], sum(stands.values()), against)]  # type: ignore[misc]
    # Those of another corpus have its name after a comma, and a table of their own.
    for some in ([t for t in tests if "," not in t], [t for t in tests if "," in t]):
        if not some:
            continue
        own = "," not in some[0]
        if only and not own:
            continue
        titles = [f"{name} ({runs[0]['tests'][name]['count']} pairs)" for name in some]
        titles += ["match error", "extent ratio", "rho"] if own else []
        lines = [f"| training | seeds | {' | '.join(titles)} |", f"|---|---|{'---|' * len(titles)}"]
        for name in only or conditions:
            mine = [run for run in runs if run["condition"] == name]
            cells = []
            for test in some:
                cell = spread(errors_of(runs, name, test).values())
                value = found[name, test]
                if value is not None:
                    cell += f"<br>{_difference(value, stands[name, test])}"
                cells.append(cell)
            if own:
                cells += _behaviour(mine, some[0])
            lines.append(f"| {name} | {len(mine)} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _heading(
    runs: Sequence[Run], compared: Sequence[Difference], stand: int, against: Sequence[str]
) -> str:
    data, points = runs[0]["config"]["data"], runs[0]["config"]["data"]["points"]
    steps = " or ".join(str(count) for count in sorted({run["steps"] for run in runs}))
    size = "" if points is None else f" of {points} points"
    to = (
        "to Kabsch alone with the same seed"
        if tuple(against) == (BASELINE,)
        else f"to all runs of {', '.join(against)}"
    )
    text = (
        f"**{runs[0]['model']}**: {steps} steps of {data['batch_size']} pairs{size} on "
        f"{data['corpus']}. Rotation error in degrees, mean ± standard deviation over seeds; below "
        f"it the difference {to}, with its 95 % interval (Student's t over seeds) if there is more "
        "than one seed."
    )
    if any(value.p == value.p for value in compared):
        decided = sum(value.decided for value in compared)
        text += (
            f" Of {len(compared)} differences, {decided} exclude zero (!); without any effect, "
            f"about {0.05 * len(compared):.2g} would. With Holm's correction for that number, "
            f"{stand} do (!!)."
        )
    return text


def _difference(value: Difference, stands: bool) -> str:
    low, high = value.interval
    mark = " !!" if stands else " !" if value.decided else ""
    limits = "" if low != low else f" [{low:+.2f}, {high:+.2f}]{mark}"
    return f"{value.mean:+.2f}{limits}"


def _behaviour(runs: Sequence[Run], test: str) -> list[str]:
    """Match error, extent ratio and rho; rho is that of the target form in rows of that form."""
    target = runs[0]["config"]["refine"]["mode"] == "target"
    values = (
        ("correspondence", 3, "mean"),
        ("extent_ratio", 2, "median"),
        ("rho_target" if target else "rho_source", 2, "median"),
    )
    return [
        spread([run["tests"][test][name][kind] for run in runs], digits)
        for name, digits, kind in values
    ]
