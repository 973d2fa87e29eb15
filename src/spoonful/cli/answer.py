"""A registration told to people, on a terminal or in a pipe."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from spoonful.pipeline import Alignment
from spoonful.pipeline.doubt import PART, unit_ratio
from spoonful.pipeline.prepare import size_of
from spoonful.pipeline.proposers import LOCAL
from spoonful.pipeline.report import SHOWN, axis_text, share_text, turn_of, vector_text
from spoonful.view.layers import Fact

# Of the names before what is printed.
WIDTH = 12


def show(
    console: Console,
    found: Alignment,
    unit: str,
    written: dict[str, Path],
    scale: float | None = None,
) -> None:
    """Print a result for people."""
    console.print("T_target_source", style="bold")
    for row in matrix_lines(found.transform.tolist()):
        console.print(f"  {row}")
    turn = turn_of(found.pose.rotation)
    near, spread = (
        Fact("", value, unit).shown().replace("\N{NO-BREAK SPACE}", " ")
        for value in (found.radius, found.rmse)
    )
    rated = f", RMSE {spread}" if math.isfinite(found.rmse) else ""
    about = f" about {axis_text(turn.axis)}" if turn.axis and turn.degrees >= SHOWN else ""
    shift = vector_text(found.pose.translation.tolist(), found.radius)
    word = "confident" if found.confident else "doubtful"
    lines = [
        ("rotation", f"{turn.degrees:.3f}°{about}"),
        ("translation", f"{shift} {unit}".rstrip()),
        ("inliers", f"{found.inlier_ratio:.1%} of the source within {near}{rated}"),
        ("overlap", f"{found.overlap:.0%}"),
        ("confidence", f"{share_text(found.confidence)}: {word}"),
        ("points", f"{len(found.source):,} of the source, {len(found.target):,} of the target"),
        ("time", f"{found.seconds:.2f} s"),
        ("method", f"{found.method}: {found.reason}" if found.reason else found.method),
    ]
    if scale is not None:
        lines.insert(0, ("scale", f"{scale:g}: the source is multiplied by it, then moved"))
    console.print()
    for name, text in lines:
        color = ("green" if found.confident else "yellow") if name == "confidence" else ""
        line(console, name, text, "dim", color)
    for warning in found.warnings:
        line(console, "warning", warning, "bold yellow")
    for note in found.notes:
        line(console, "note", note, "dim")
    for name, path in written.items():
        console.print(Text.assemble((f"{'wrote':{WIDTH}}", "dim"), f"{path} ({name})"))


def next_step(found: Alignment, method: str, *, started: bool, page: Path | None) -> str:
    """What to do about a doubtful result; nothing for a confident one.

    Args:
        found: the result.
        method: what was asked for.
        started: whether a pose to start from was given.
        page: the report, if one was written.
    """
    if found.confident:
        return ""
    sizes = size_of(found.source.points), size_of(found.target.points)
    ratio = unit_ratio(sizes)
    if ratio is not None and found.overlap < PART:
        factor = 1 / ratio if sizes[0] > sizes[1] else ratio
        return f"if the files' units differ, --scale {factor:.6g} brings the source to the target's"
    look = "look at it with --report page.html" if page is None else f"look at {page}"
    if started:
        return look
    if method in LOCAL:
        return (
            f"{method} starts from where the clouds lie: --method auto searches everywhere, "
            "--init pose.json says about where the source belongs"
        )
    return f"{look}; --init pose.json says about where the source belongs"


def line(console: Console, name: str, text: str, style: str, color: str = "") -> None:
    """A name and what there is to say, below each other on a terminal where it is long."""
    if console.is_terminal:
        room = max(console.width - WIDTH, 30)
        text = f"\n{' ' * WIDTH}".join(
            textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        )
    console.print(Text.assemble((f"{name:{WIDTH}}", style), (text, color)))


def matrix_lines(matrix: Sequence[Sequence[float]]) -> list[str]:
    """A 4x4 matrix in columns.

    >>> for line in matrix_lines([[1, 0, 0, 12.5], [0, 1, 0, -3], [0, 0, 1, 0], [0, 0, 0, 1]]):
    ...     print(line)
    1.0000000  0.0000000  0.0000000  12.50000
    0.0000000  1.0000000  0.0000000  -3.00000
    0.0000000  0.0000000  1.0000000   0.00000
    0.0000000  0.0000000  0.0000000   1.00000
    """
    largest = max(abs(row[3]) for row in matrix[:3])
    digits = 6 - (math.floor(math.log10(largest)) if largest > 0 else 0)
    decimals = [7, 7, 7, min(max(digits, 3), 9)]
    cells = [
        [f"{round(v, d) + 0.0:.{d}f}" for v, d in zip(r, decimals, strict=True)] for r in matrix
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(4)]
    return ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
