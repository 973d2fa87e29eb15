"""A picture of the controlled experiment: what each condition changes, with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.plots import MARKERS, PAGE, canvas, rendered, settled, styled
from training_grid.runs import BASELINE, CONDITIONS
from training_grid.tables import difference


def picture(runs: Sequence[Mapping[str, Any]], *, tests: int = 2) -> bytes:
    """A PNG file: for each model the difference to Kabsch alone, condition by condition.

    Args:
        runs: of `tables.results`.
        tests: how many tests of each model are shown: its first ones and the hardest, the last.
    """
    models = sorted({run["model"] for run in runs})
    if not models:
        raise ValueError("there are no results to draw")
    with styled("light") as theme:
        # Names that begin alike side by side.
        shown = sorted((name for name in CONDITIONS if name != BASELINE), key=_family)
        figure, axes = canvas(1, len(models), width=PAGE, height=0.19 * len(shown) + 1.0)
        for panel, model in zip(axes, models, strict=True):
            mine = [run for run in runs if run["model"] == model]
            own = [name for name in mine[0]["tests"] if "," not in name]
            names = dict.fromkeys([*own[: tests - 1], own[-1]])
            panel.axvline(0, color=theme.faint, lw=0.8)
            for place, test in enumerate(names):
                color = theme.series[place]
                for row, condition in enumerate(shown):
                    found = difference(mine, condition, test)
                    if found is None:
                        continue
                    mean, (low, high) = found.mean, found.interval
                    height = row + 0.3 * (place - (len(names) - 1) / 2)
                    panel.plot([low, high], [height] * 2, color=color, lw=1.1)
                    panel.plot(mean, height, MARKERS[place], color=color, ms=3.5)
                panel.plot([], [], MARKERS[place], color=color, label=test)
            panel.set(
                title=model,
                xlabel="difference of the mean rotation error, degrees",
                yticks=range(len(shown)),
                ylim=(len(shown) - 0.4, -0.6),
            )
            panel.set_yticklabels(shown if panel is axes[0] else [""] * len(shown))
            panel.legend(ncols=tests, loc="upper center", bbox_to_anchor=(0.5, -0.16))
            panel.grid(axis="x", color=theme.faint, lw=0.3, alpha=0.5)
        return rendered(settled(figure), "png")


def _family(condition: str) -> tuple[int, int, str]:
    """For sorting: the paper's layer, ours, other losses; then by number and name."""
    word, *rest = condition.split("-")
    families = ("published", "source", "target", "detached", "perturbed", "extent", "matches")
    digits = rest[0] if rest and rest[0].isdigit() else "0"
    return families.index(word), int(digits), condition
