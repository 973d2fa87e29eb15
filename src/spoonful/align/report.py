"""Write the aligned scans as an HTML page: start and end, the graph, residuals, groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from spoonful.align.result import Aligned, deviations
from spoonful.align.scans import load_surface
from spoonful.geometry import Pose
from spoonful.neighbors import Index
from spoonful.pipeline.alignment import Deviation
from spoonful.pipeline.report import deviation_text
from spoonful.view import (
    CloudLayer,
    ColorScale,
    Fact,
    GraphLayer,
    PoseStop,
    Table,
    Verdict,
    View,
    write_page,
)
from spoonful.view.layers import Up, sample

# A page of more scans, or more points, is slow.
SCANS = 200
POINTS = 400_000
# Kept pairs with this confidence are drawn as sure.
SURE = 0.9
# Of so many nearest points one must belong to another scan.
_NEAREST = 8


def write_report(
    path: str | Path,
    found: Aligned,
    *,
    unit: str = "",
    command: str | Sequence[str] = "",
    up: Up = "z",
) -> Path:
    """Write one self-contained HTML file that shows up to `SCANS` scans of registered pairs.

    It shows each scan with a check box, a slider from the files' frames to the result, the pairs
    as lines between scans, and the distance of each point to the other scans as a colour. Groups
    stand side by side.

    Args:
        path: the file to write.
        found: what `align` returned.
        unit: of the files' coordinates; "" if it is not known.
        command: the command that made this page.
        up: the axis that points up at first.
    """
    shown = [name for group in found.groups for name in group if name in found.surfaces][:SCANS]
    surfaces = {name: load_surface(found.surfaces[name]) for name in shown}
    most = POINTS // max(1, len(shown))
    layers: list[CloudLayer] = []
    typical: dict[str, float] = {}
    row = torch.zeros(3, dtype=torch.float64)  # the lowest corner of the next group
    for k, group in enumerate(found.groups, start=1):
        members = [name for name in group if name in surfaces]
        if not members:
            continue
        ends = {name: _about(found, name) for name in members}
        placed = [ends[name].apply(surfaces[name].grid.points.double()) for name in members]
        turned = [surfaces[name].normals.double() @ ends[name].rotation.mT for name in members]
        residuals = _residuals(placed, turned, 2 * found.spacing)
        everything = torch.cat(placed)
        low, high = everything.amin(0), everything.amax(0)
        aside = row - low if layers else torch.zeros_like(low)
        row = low + aside  # all groups begin at the same y and z: their frames may be far apart
        row[0] = high[0] + aside[0] + 0.2 * (high - low).max()
        for name, residual in zip(members, residuals, strict=True):
            matched = residual[residual.isfinite()]
            if len(matched):
                typical[name] = float(matched.median())
            surface, keep = surfaces[name], sample(len(residual), most)
            center = found.centers[name]
            layers.append(
                CloudLayer(
                    name if len(found.groups) == 1 else f"{name} (group {k})",
                    surface.grid.points[keep].double() + center,
                    surface.normals[keep],
                    residual[keep].nan_to_num(0.0),
                    poses=[
                        Pose.identity(dtype=torch.float64),
                        Pose(found.poses[name].rotation, found.poses[name].translation + aside),
                    ],
                )
            )
    return write_page(
        path,
        title=f"{len(found.poses)} scans in {_counted(len(found.groups), 'group')}",
        verdict=Verdict("Confident", True, "all scans are in one group, without doubt")
        if found.confident
        else Verdict("Doubtful", False, "look before you use it"),
        layers=layers,
        poses=[
            PoseStop("start", Pose.identity(), "as in the files"),
            PoseStop(
                "aligned",
                Pose.identity(),
                "the groups side by side" if len(found.groups) > 1 else "in one frame",
            ),
        ],
        links=_edges(found, dict(zip(shown, (layer.name for layer in layers), strict=True))),
        views=[
            View("Start", "start"),
            View("Aligned", "aligned"),
            View("Graph", "aligned", links=True),
            View("Residuals", "aligned", color_by="values"),
        ],
        facts=_facts(found, typical, unit),
        warnings=found.doubts,
        notes=_notes(found, len(shown)),
        tables=_tables(found, typical, unit),
        scale=ColorScale("residual", unit, low=0.0, high=found.spacing),
        command=command,
        up=up,
        max_points=most,
    )


def _about(found: Aligned, name: str) -> Pose:
    """The pose of a scan whose points are about its centroid."""
    pose = found.poses[name]
    return Pose(pose.rotation, pose.apply(found.centers[name][None])[0])


def _residuals(points: Sequence[Tensor], normals: Sequence[Tensor], reach: float) -> list[Tensor]:
    """For each scan (N,) distances of its points to planes of other scans; NaN beyond `reach`."""
    every, facing = torch.cat(list(points)), torch.cat(list(normals))
    owner = torch.arange(len(points)).repeat_interleave(torch.tensor([len(p) for p in points]))
    if len(points) == 1:
        return [points[0].new_full((len(points[0]),), torch.nan)]
    # About the middle, so that float32 is enough.
    middle = every.mean(0)
    near = Index((every - middle).float()).k_nearest((every - middle).float(), _NEAREST)
    other = owner[near.index] != owner[:, None]
    partner = near.index[torch.arange(len(every)), other.int().argmax(-1)]
    gap = every - every[partner]
    far = ~other.any(-1) | (gap.norm(dim=-1) > reach)
    distance = (gap * facing[partner]).sum(-1).abs().masked_fill(far, torch.nan)
    return list(distance.split([len(p) for p in points]))


def _edges(found: Aligned, names: dict[str, str]) -> list[GraphLayer]:
    """The pairs as lines, in three colours."""
    kinds = {
        f"kept, confidence {SURE:.0%} and more": ("green", "kept", SURE, 2.0),
        f"kept, below {SURE:.0%}": ("yellow", "kept", 0.0, SURE),
        "rejected": ("pink", "rejected", 0.0, 2.0),
    }
    layers = []
    for kind, (color, status, least, below) in kinds.items():
        pairs = [
            (names[pair.source], names[pair.target])
            for pair in found.pairs
            if pair.status == status and least <= pair.confidence < below
            and {pair.source, pair.target} <= names.keys()
        ]  # fmt: skip
        if pairs:
            layers.append(GraphLayer(kind, pairs, color, visible=False))
    return layers


def _facts(found: Aligned, typical: dict[str, float], unit: str) -> list[Fact]:
    counts = {
        status: sum(pair.status == status for pair in found.pairs)
        for status in ("kept", "rejected", "between groups", "unused")
    }
    facts = [Fact("Scans", len(found.poses)), Fact("Groups", len(found.groups))]
    facts += [Fact(f"Pairs {status}", count) for status, count in counts.items()]
    spread = [deviations(found.covariances[name]) for name in found.poses]
    if typical:
        facts.append(Fact("Median residual", sorted(typical.values())[len(typical) // 2], unit))
        worst = Deviation(*(max(values) for values in zip(*spread, strict=True)))
        facts.append(Fact("Precision at worst (1 sigma)", deviation_text(worst, unit)))
    return [*facts, Fact("Time", found.seconds, "s")]


def _notes(found: Aligned, shown: int) -> list[str]:
    notes = [
        "Residual: distance to the nearest other scan's surface; 0 where there is none.",
        "Kept pairs agree with the result, rejected ones contradict it, and unused ones are too "
        "doubtful, alone or together.",
    ]
    notes += [f"{name} is a copy of {original}." for name, original in found.copies.items()]
    notes += found.notes
    left = len(found.poses) - len(found.copies) - shown
    if left:
        why = f"the page has up to {SCANS} scans of registered pairs"
        notes.append(f"{_counted(left, 'scan')} not shown: {why}.")
    return notes


def _tables(found: Aligned, typical: dict[str, float], unit: str) -> list[Table]:
    of = f", {unit}" if unit else ""
    scans: list[tuple[float | int | str, ...]] = []
    for k, group in enumerate(found.groups, start=1):
        for name in group:
            spread = deviations(found.covariances[name])
            residual = typical.get(name, "none")
            scans.append((name, k, found.scales[name], residual, spread.degrees, spread.length))
    pairs = [
        (pair.source, pair.target, pair.status, round(pair.confidence, 3), round(pair.overlap, 3))
        for pair in sorted(found.pairs, key=lambda pair: -pair.confidence)
    ]
    columns = ("scan", "group", "scale", f"residual{of}", "± turn, °", f"± shift{of}")
    return [
        Table("All scans", columns, scans),
        Table("All pairs", ("source", "target", "status", "confidence", "overlap"), pairs[:2000]),
    ]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
