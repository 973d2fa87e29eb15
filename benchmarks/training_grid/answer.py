"""Does the layer help? The planned comparisons, their verdicts, and what the layer did in training.

The rules are those of `benchmarks/results/experiment/PLAN.md`, written before the first run.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from analysis.plots import number
from training_grid.runs import BASELINE
from training_grid.student import Difference, Group, welch
from training_grid.tables import Run, difference, errors_of, spread, table

# The planned comparisons and the level of their intervals. The first one was looked at twice.
PRIMARY = {"published-target": 0.975, "target": 0.95}
TEST = "clean"
# RMSE of the rotation in degrees over 26 trainings each, from the paper's table "initialization".
PAPER = (Group(4.264873, 1.667, 26), Group(3.311812, 1.296, 26))
# When, as a share of the run, the table of `in_training` looks.
_LOOKS = (0.0, 1 / 12, 1 / 6, 1 / 3, 2 / 3, 1.0)
_COLUMNS = {
    "extent ratio": "extent_ratio",
    "match error": "correspondence",
    "rho, source": "rho_source",
    "rho, target": "rho_target",
    "D, target": "divergence_target",
    "D, published target": "divergence_published_target",
    "pairs with D > 0.01": "acting_published_target",
    "gradient change, target": "gradient_target",
    "published target": "gradient_published_target",
}


def answer(runs: Sequence[Run]) -> str:
    """Markdown: the planned comparisons, all differences, and the layer's behaviour in training."""
    return "\n\n".join([planned(runs), table(runs), in_training(runs)])


def planned(runs: Sequence[Run]) -> str:
    """A table of the planned comparisons, with the paper's own above them."""
    found = welch(*PAPER)
    lines = [
        "| comparison (level of the interval) | runs | without | with | difference | p | "
        "difference, % | verdict |",
        "|---|---|---|---|---|---|---|---|",
        f"| the paper: DCP-v2, ModelNet40 (95 %) | 26 and 26 | {PAPER[0].mean:.2f} ± "
        f"{PAPER[0].deviation:.2f} | {PAPER[1].mean:.2f} ± {PAPER[1].deviation:.2f} | "
        f"{_limits(found)} | {number(found.p)} | {_percent(found, PAPER[0].mean)} | helps |",
    ]
    base = errors_of(runs, BASELINE, TEST)
    for name, level in PRIMARY.items():
        compared = difference(runs, name, TEST, level=level)
        if compared is None:
            continue
        errors = errors_of(runs, name, TEST)
        common = sorted(errors.keys() & base.keys())
        without = [base[seed] for seed in common]
        p = min(len(PRIMARY) * compared.p, 1.0)  # in this order NaN stays
        mean = statistics.fmean(without)
        lines.append(
            f"| `{name}` ({100 * level:g} %) | {len(common)}, paired | {spread(without)} | "
            f"{spread([errors[seed] for seed in common])} | {_limits(compared)} | {number(p)} | "
            f"{_percent(compared, mean)} | {verdict(compared, p, mean)} |"
        )
    return "\n".join(lines)


def verdict(found: Difference, p: float, without: float) -> str:
    """The plan's rule in words, for a difference to runs with the mean error `without`."""
    if math.isnan(p):
        return "one run: no verdict"
    if p < 0.05:
        return "helps" if found.mean < 0 else "harms"
    paper = PAPER[1].mean / PAPER[0].mean - 1
    if found.interval.low > paper * without:
        return "does not help as much as in the paper"
    return "undecided"


def in_training(runs: Sequence[Run]) -> str:
    """A table of what the layer does, or would do, to the matches: means over seeds."""
    lines = [
        "Medians over validation pairs, means over seeds. Rows without the layer show what it "
        "would do to their matches.",
        "",
        f"| training | step | {' | '.join(_COLUMNS)} |",
        f"|---|---|{'---|' * len(_COLUMNS)}",
    ]
    for name in dict.fromkeys(run["condition"] for run in runs):
        mine = [run for run in runs if run["condition"] == name]
        logs = [_log(run) for run in mine]
        places = [
            min(range(len(logs[0])), key=lambda i: abs(logs[0][i][0] - share * mine[0]["steps"]))
            for share in _LOOKS
        ]
        for place in dict.fromkeys(places):
            rows = [log[place] for log in logs if place < len(log)]
            cells = []
            for column in _COLUMNS.values():
                values = [values[column] for _, values in rows if values.get(column) is not None]
                cells.append(number(statistics.fmean(values)) if values else "-")
            lines.append(f"| {name} | {rows[0][0]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _log(run: Run) -> list[tuple[int, dict[str, float]]]:
    """Steps and validation errors, from the untrained network on."""
    later = [(line["step"], line["validation"]) for line in run["log"] if "validation" in line]
    return [(0, run["untrained"]), *later]


def _limits(found: Difference) -> str:
    low, high = found.interval
    return f"{found.mean:+.2f}" + ("" if math.isnan(low) else f" [{low:+.2f}, {high:+.2f}]")


def _percent(found: Difference, without: float) -> str:
    mean, low, high = (100 * value / without for value in (found.mean, *found.interval))
    return f"{mean:+.0f}" + ("" if math.isnan(low) else f" [{low:+.0f}, {high:+.0f}]")
