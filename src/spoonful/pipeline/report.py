"""Write a registration as an HTML page: before, after, matches, residuals, numbers."""

from __future__ import annotations

import math
import os
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.neighbors import Index
from spoonful.pipeline.alignment import Alignment, Deviation, answered, share_text, turn_of
from spoonful.view import (
    CloudLayer,
    ColorScale,
    Fact,
    LinkLayer,
    PoseStop,
    Table,
    Verdict,
    View,
    write_page,
)
from spoonful.view.layers import Up, sample

# More lines than this hide one another.
LINES = 150
# Points of the target that distances are measured to; far more than are shown.
MEASURED = 5_000_000
# Turns by fewer degrees than this are shown as none.
SHOWN = 0.0005


def write_report(
    path: str | os.PathLike[str],
    alignment: Alignment,
    *,
    names: Sequence[str] = ("source", "target"),
    title: str = "",
    unit: str = "",
    command: str | Sequence[str] = "",
    up: Up = "z",
    max_points: int = 50_000,
) -> Path:
    """Write one self-contained HTML file that shows a registration.

    It works offline. It shows both clouds before and after, the matches, the distance of each
    source point to the target as a colour, a slider over the poses, the numbers and the warnings.
    Two clouds of 50,000 points take about 2 MB.

    Args:
        path: the file to write, atomically; its folder is created if needed.
        alignment: the result of `register`.
        names: the names of source and target, such as those of the files.
        title: the heading; "" makes one from the names.
        unit: of the clouds' coordinates, such as "m" or "mm"; "" if it is not known.
        command: the command that made this page, as one string or as a list of arguments.
        up: the axis that points up initially.
        max_points: larger clouds are subsampled to this many points; the numbers are of all points.

    Returns:
        The path of the file.
    """
    source, target = alignment.source, alignment.target
    stops = _stops(alignment.poses, alignment.pose)
    kept = sample(len(source), max_points)
    seen = source.select(kept)
    residuals = _residuals(seen.points, target.points, stops, 4 * alignment.radius)
    first, last = _apart(names)
    layers = [
        CloudLayer(
            first, seen.points, seen.normals, residuals, seen.colors, moves=True, total=len(source)
        ),
        CloudLayer(last, target.points, target.normals, colors=target.colors),
    ]
    links, views = [], [View("Before", stops[0][0]), View("After", stops[-1][0])]
    if len(alignment.matches.source):
        links = [LinkLayer("matches", *alignment.matches[:2], visible=False)]
        views.append(View("Matches", stops[-1][0], links=True, apart=True))
    views.append(View("Residuals", stops[-1][0], color_by="values"))
    notes = [note for note in (alignment.reason, alignment.units_hint, *alignment.notes) if note]
    if not unit:
        notes.append("The files' unit is not known: --unit m shows lengths in metres.")
    return write_page(
        path,
        title=title or f"{first} onto {last}",
        subtitle=f"method: {alignment.method}",
        verdict=verdict(alignment),
        layers=layers,
        poses=[
            PoseStop(name, pose, _caption(distance, alignment.radius, unit))
            for (name, pose), distance in zip(stops, residuals, strict=True)
        ],
        links=links,
        views=views,
        facts=facts(alignment, unit),
        warnings=alignment.warnings,
        notes=notes,
        tables=_tried(alignment),
        scale=ColorScale("residual", unit, low=0.0, high=_alarming(residuals[-1], alignment)),
        command=command,
        up=up,
        max_points=max_points,
        max_lines=LINES,
    )


def show(alignment: Alignment, **options: Any) -> Path:
    """Write the report to a temporary file and open it in the browser.

    Args:
        alignment: what `register` returned.
        options: as for `write_report`.

    Returns:
        The page, in case there is no browser here. It stays until the system tidies up.
    """
    folder = Path(tempfile.mkdtemp(prefix="spoonful-"))
    page = write_report(folder / "registration.html", alignment, **options)
    webbrowser.open(page.as_uri())
    return page


def frame(alignment: Alignment) -> str:
    """The report as an HTML frame for a notebook, about a megabyte: at most 10,000 points."""
    with tempfile.TemporaryDirectory() as folder:
        page = write_report(Path(folder) / "page.html", alignment, max_points=10_000)
        text = page.read_text(encoding="utf-8").replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe sandbox="allow-scripts" width="100%" height="600" srcdoc="{text}"></iframe>'


def verdict(alignment: Alignment) -> Verdict:
    """The verdict, confident or doubtful, with a sentence."""
    if not answered(alignment):
        return Verdict("No alignment found", False, "the source was not moved")
    sure = f"estimated {share_text(alignment.confidence)} likely to be right"
    if alignment.confident:
        return Verdict("Confident", True, sure)
    return Verdict("Doubtful", False, f"{sure}: look before you use it")


def scale_text(alignment: Alignment) -> str:
    """The scale that was found, with its standard deviation as a percentage."""
    deviation = alignment.scale_deviation
    if deviation is None or not math.isfinite(deviation):
        return f"{alignment.scale:.6g}"
    return f"{alignment.scale:.6g} (standard deviation {100 * deviation:.2g} %)"


def facts(alignment: Alignment, unit: str = "") -> list[Fact]:
    """The numbers of a registration, in the order in which they are read."""
    turn = turn_of(alignment.pose.rotation)
    shift = alignment.pose.translation
    near, rated = _length(alignment.radius, unit), math.isfinite(alignment.rmse)
    axis = axis_text(turn.axis) if turn.axis and turn.degrees >= SHOWN else "none"
    pose = [
        Fact("Rotation", turn.degrees, "°"),
        Fact("Axis", axis),
        Fact("Translation", vector_text(shift.tolist(), alignment.radius), unit),
    ]
    if text := precision_text(alignment, unit):
        pose.append(Fact("Precision (1 sigma)", text))
    rows = [
        *(pose if answered(alignment) else []),
        Fact(f"Inliers within {near}", f"{alignment.inlier_ratio:.1%}"),
        Fact("Inlier RMSE", alignment.rmse, unit) if rated else Fact("Inlier RMSE", "none"),
        Fact("RMSE to surface", alignment.surface.rmse if rated else "none", unit if rated else ""),
        Fact(
            "Median to surface",
            alignment.surface.median if rated else "none",
            unit if rated else "",
        ),
        Fact("Overlap", f"{alignment.overlap:.0%}"),
        Fact("Confidence", share_text(alignment.confidence)),
        Fact("Method", alignment.method),
        Fact("Source points", len(alignment.source)),
        Fact("Target points", len(alignment.target)),
        Fact("Unit of the files", unit or "not known"),
        Fact("Time", alignment.seconds, "s"),
    ]
    if alignment.scale_deviation is not None and answered(alignment):
        rows.insert(0, Fact("Scale", scale_text(alignment)))
    if alignment.voxel:
        rows.insert(-4, Fact("Voxels", alignment.voxel, unit))
    return rows


def axis_text(axis: Sequence[float]) -> str:
    """A direction as text.

    >>> axis_text((0.0186, -0.9997, 0.0))
    '0.019, -1.000, 0.000'
    """
    return ", ".join(f"{round(value, 3) + 0.0:.3f}" for value in axis)


def vector_text(values: Sequence[float], least: float = 0.0) -> str:
    """Three numbers as text, all with the decimals that the largest needs, or `least`.

    >>> vector_text((0.5, -1.25, 1e-9)), vector_text((0.03684, -0.00025, 0.038))
    ('0.500, -1.250, 0.000', '0.03684, -0.00025, 0.03800')
    >>> vector_text((1e-9, -2e-9, 0), least=0.05)
    '0.00000, 0.00000, 0.00000'
    """
    largest = max(least, *(abs(value) for value in values))
    digits = 3 - math.floor(math.log10(largest)) if largest > 0 else 0
    decimals = min(max(digits, 2), 12)
    return ", ".join(f"{round(value, decimals) + 0.0:.{decimals}f}" for value in values)


def precision_text(alignment: Alignment, unit: str) -> str:
    """The standard deviations of turn and shift; "" if there is no pose, or they are not known."""
    if not answered(alignment) or alignment.deviation is None:
        return ""
    return deviation_text(alignment.deviation, unit)


def deviation_text(deviation: Deviation, unit: str) -> str:
    """Standard deviations for reading.

    >>> deviation_text(Deviation(0.08421, 0.004812), "m"), deviation_text(Deviation(0.0, 0.5), "")
    ('0.084° and 0.0048 m', '0.5')
    """
    degrees, length = deviation
    parts = [f"{degrees:.2g}°"] if degrees else []
    return " and ".join([*parts, f"{length:.2g} {unit}".rstrip()])


def _length(value: float, unit: str) -> str:
    return Fact("", value, unit).shown()


def _apart(names: Sequence[str]) -> tuple[str, str]:
    """Two different names, also if both files have the same name."""
    first, last = names
    return (first, last) if first != last else (f"{first} (source)", f"{last} (target)")


def _stops(poses: Mapping[str, Pose], final: Pose) -> list[tuple[str, Pose]]:
    """The intermediate poses, without repetitions; the last one is the result."""
    stops = [*poses.items()]
    if not stops or not _same(stops[-1][1], final):
        stops.append(("final", final))
    kept = [stops[0]]
    for stop in stops[1:]:
        if _same(kept[-1][1], stop[1]) and len(kept) > 1:
            kept[-1] = stop
        else:
            kept.append(stop)
    return kept


def _same(a: Pose, b: Pose) -> bool:
    return bool(torch.equal(a.matrix(), b.matrix()))


def _residuals(
    source: Tensor, target: Tensor, stops: Sequence[tuple[str, Pose]], most: float
) -> Sequence[Tensor]:
    """For each pose, (N,) distances of the moved points to the target, or `most` if it is less."""
    index = Index(target[sample(len(target), MEASURED)].to(torch.float64))
    rows = []
    for _, pose in stops:
        moved = pose.to(torch.float64).apply(source.to(torch.float64))
        # Bounded, because a search among millions of points that are all far takes minutes.
        rows.append(index.nearest(moved, reach=most).squared_distance.sqrt().clamp_max(most))
    return torch.stack(rows)  # type: ignore[return-value]  # a tensor is a sequence of its rows


def _caption(distance: Tensor, radius: float, unit: str) -> str:
    share = float((distance <= radius).double().mean())
    return f"{share:.0%} within {_length(radius, unit)}"


def _alarming(residuals: Tensor, alignment: Alignment) -> float:
    """The upper end of the colour scale: most of the overlap is below it, errors are visible."""
    share = 0.9 * max(alignment.inlier_ratio, 0.5)
    end = min(float(residuals.quantile(share)), alignment.radius)
    return max(end, 0.05 * alignment.radius)  # an exact fit is calm, not all rounding error


def _tried(alignment: Alignment) -> list[Table]:
    """The best score of each method that was tried, if there were several."""
    best = {c.name: c for c in reversed(alignment.candidates)}
    rows = [(c.name, round(c.score, 4), round(c.seconds, 2)) for c in alignment.candidates]
    rows = [row for row, c in zip(rows, alignment.candidates, strict=True) if best[c.name] is c]
    return [Table("What was tried", ("method", "best score", "s"), rows)] if len(rows) > 1 else []
