"""Print a registration as text, on a terminal or in a pipe."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from spoonful.pipeline.alignment import Alignment, answered, share_text, turn_of
from spoonful.pipeline.confidence import PART, SCALES_DIFFER, unit_ratio
from spoonful.pipeline.prepare import size_of
from spoonful.pipeline.proposers import LOCAL
from spoonful.pipeline.report import (
    SHOWN,
    axis_text,
    precision_text,
    scale_text,
    vector_text,
)
from spoonful.view.layers import Fact

# Columns for the name at the start of a line.
WIDTH = 12


def show(
    console: Console,
    found: Alignment,
    unit: str,
    written: dict[str, Path],
    scale: float | None = None,
) -> None:
    """Print a result."""
    if answered(found):
        console.print("T_target_source", style="bold")
        for row in matrix_lines(found.transform.tolist()):
            console.print(f"  {row}")
    else:
        console.print("no alignment found: the source was not moved")
    turn = turn_of(found.pose.rotation)
    near, spread, off, middle = (
        Fact("", value, unit).shown().replace("\N{NO-BREAK SPACE}", " ")
        for value in (found.radius, found.rmse, *found.surface)
    )
    rated = f", RMSE {spread}" if math.isfinite(found.rmse) else ""
    about = f" about {axis_text(turn.axis)}" if turn.axis and turn.degrees >= SHOWN else ""
    shift = vector_text(found.pose.translation.tolist(), found.radius)
    word = "confident" if found.confident else "doubtful"
    pose = [
        ("rotation", f"{turn.degrees:.3f}°{about}"),
        ("translation", f"{shift} {unit}".rstrip()),
    ]
    lines = [
        *(pose if answered(found) else []),
        ("inliers", f"{found.inlier_ratio:.1%} of the source within {near}{rated}"),
        ("overlap", f"{found.overlap:.0%}"),
        ("confidence", f"{share_text(found.confidence)}: {word}"),
        ("points", f"{len(found.source):,} of the source, {len(found.target):,} of the target"),
        ("time", f"{found.seconds:.2f} s"),
        ("method", f"{found.method}: {found.reason}" if found.reason else found.method),
    ]
    if rated:
        surface = f"RMSE {off}, median {middle} from these points to the target's surface"
        lines.insert(3, ("surface", surface))
    if precision := precision_text(found, unit):
        kind = "1 sigma, without free axes" if found.free_axes else "1 sigma"
        lines.insert(2, ("precision", f"{precision} ({kind})"))
    if scale is not None:
        lines.insert(0, ("scale", f"{scale:g}: the source is multiplied by it, then moved"))
    if answered(found) and found.scale_deviation is not None:
        lines.insert(0, ("scale", f"{scale_text(found)}: a part of T_target_source"))
    console.print()
    for name, text in lines:
        color = ("green" if found.confident else "yellow") if name == "confidence" else ""
        line(console, name, text, "dim", color)
    for warning in found.warnings:
        line(console, "warning", warning, "bold yellow")
    for note in found.notes:
        line(console, "note", note, "dim")
    for name, path in written.items():
        console.print(Text.assemble((f"{'wrote':{WIDTH}}", "dim"), printable(f"{path} ({name})")))


def show_local(console: Console, record: dict[str, Any]) -> None:
    """Print the pose about a local origin."""
    place = ", ".join(f"{value:.12g}" for value in record["origin"])
    console.print(f"\nT_about_origin, with ({place}) subtracted from both files", style="bold")
    for row in matrix_lines(record["T_about_origin"]):
        console.print(f"  {row}")


def next_step(
    found: Alignment, method: str, *, started: bool, page: Path | None, scale: float | None = None
) -> str:
    """Advice for the user; "" if the result is confident and the scales agree.

    Args:
        found: the result.
        method: the method that was asked for.
        started: true if a pose to start from was given.
        page: the report, if one was written.
        scale: the factor that the source was multiplied by, if one was given.
    """
    sizes = size_of(found.source.points), size_of(found.target.points)
    # No units are guessed if the scale was searched for.
    ratio = unit_ratio(sizes) if found.scale_deviation is None else None
    factor = ""
    if ratio is not None:
        factor = f"{(scale or 1.0) * (1 / ratio if sizes[0] > sizes[1] else ratio):.6g}"
    if factor and found.overlap < PART and not found.confident:
        return f"if the files' units differ, use --scale {factor} to convert the source"
    if any(warning.startswith(SCALES_DIFFER) for warning in found.warnings):
        either = f"--scale {factor or 'FACTOR'}, or find the factor with --scale auto"
        return f"if the files' units differ, multiply the source with {either}"
    if found.confident:
        return ""
    look = "look at it with --report page.html" if page is None else f"look at {page}"
    if started:
        return look
    if method in LOCAL:
        return (
            f"{method} starts from where the clouds lie: --method auto searches everywhere, "
            "--init pose.json gives a rough pose"
        )
    return f"{look}; --init pose.json gives a rough pose to start from"


def line(console: Console, name: str, text: str, style: str, color: str = "") -> None:
    """Print a name and a text, wrapped and indented on a terminal."""
    text = wrapped(console, " " * WIDTH, text, indent=WIDTH).lstrip()
    console.print(Text.assemble((f"{name:{WIDTH}}", style), (text, color)))


def printable(text: str) -> str:
    r"""Replace control characters, which a terminal would obey, with a question mark.

    >>> printable("scan\x1b[2J.ply")
    'scan?[2J.ply'
    """
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def wrapped(console: Console, opening: str, text: str, *, indent: int) -> str:
    """`opening` and `text`, on a terminal broken between words at its width."""
    opening, text = printable(opening), printable(text)
    if not console.is_terminal:
        return f"{opening}{text}"
    return textwrap.fill(
        text,
        max(console.width, indent + 30),
        initial_indent=opening,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def matrix_lines(matrix: Sequence[Sequence[float]]) -> list[str]:
    """A 4x4 matrix in columns.

    >>> for line in matrix_lines([[1, 0, 0, 12.5], [0, 1, 0, -3], [0, 0, 1, 0], [0, 0, 0, 1]]):
    ...     print(line)
    1.0000000  0.0000000  0.0000000  12.50000
    0.0000000  1.0000000  0.0000000  -3.00000
    0.0000000  0.0000000  1.0000000   0.00000
    0.0000000  0.0000000  0.0000000   1.00000

    A small scale gets more decimals, and so do map coordinates, which a turn moves far:

    >>> print(matrix_lines([[0.001, 0, 0, 0], [0, 0.001, 0, 0], [0, 0, 0.001, 0], [0, 0, 0, 1]])[0])
    0.0010000000  0.0000000000  0.0000000000  0.000000
    >>> print(matrix_lines([[1, 0, 0, 5.4e6], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])[0])
    1.0000000000  0.0000000000  0.0000000000  5400000.000
    """
    largest = max(abs(row[3]) for row in matrix[:3])
    power = math.floor(math.log10(largest)) if largest > 0 else 0
    digits = 6 - power
    scale = math.hypot(*(row[0] for row in matrix[:3]))
    linear = 7 + max(0, power - 3) + max(0, -round(math.log10(scale)))
    decimals = [linear, linear, linear, min(max(digits, 3), 9)]
    cells = [
        [f"{round(v, d) + 0.0:.{d}f}" for v, d in zip(r, decimals, strict=True)] for r in matrix
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(4)]
    return ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
