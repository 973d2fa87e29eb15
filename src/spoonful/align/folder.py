"""Align all scans of a folder: read, describe, register pairs, solve the graph, write.

Finished scans and pairs are kept in `work/` of the output folder. Run the same command again after
a kill to resume it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.align.candidates import BEFORE
from spoonful.align.graph import Solution, disagreement
from spoonful.align.inputs import find_scan, list_scans, renamed, scan_names
from spoonful.align.posefiles import read_poses, same
from spoonful.align.result import Aligned, PairResult, doubts_of
from spoonful.align.scans import load_surface
from spoonful.align.solving import edge_of, solve_pairs
from spoonful.align.stages import (
    ALL_PAIRS,
    SIMILAR,
    Progress,
    Stages,
    copies_of,
    read_all,
    register_all,
    to_one_scale,
)
from spoonful.align.surfaces import Surface, refine
from spoonful.align.surfaces import covariances as surface_covariances
from spoonful.extras import require
from spoonful.files import check_folder
from spoonful.geometry import Pose
from spoonful.locking import locked
from spoonful.pipeline.batches import cores
from spoonful.pipeline.cluster import connected
from spoonful.pipeline.gravity import UP
from spoonful.pipeline.parts import PARTS, Row

WORK = "work"
ORDERS = ("any", "sequence")
# Usual times of one core, for the plan only.
_SCAN_SECONDS = 1.0
_PAIR_SECONDS = 0.7


class Plan(NamedTuple):
    """An estimate of the work, made before files are read.

    Attributes:
        scans: how many files there are.
        pairs: how many pairs will be tried, at most.
        hours: an estimate of the time on this many processes.
    """

    scans: int
    pairs: int
    hours: float


def plan(scans: int, order: str = "any", workers: int | None = None) -> Plan:
    """Estimate the work for a number of scans.

    >>> plan(20, workers=2).pairs, plan(10_000, workers=2).pairs
    (190, 80000)
    """
    pairs = scans * (scans - 1) // 2
    if order == "sequence":
        pairs = min(pairs, BEFORE * scans)
    elif scans > ALL_PAIRS:
        pairs = min(pairs, SIMILAR * scans)
    seconds = (scans * _SCAN_SECONDS + pairs * _PAIR_SECONDS) / (workers or cores())
    return Plan(scans, pairs, seconds / 3600)


def align(
    inputs: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    order: str = "any",
    fixed: str | os.PathLike[str] | None = None,
    init: str | os.PathLike[str] | None = None,
    scale: str | None = None,
    up: str | None = None,
    workers: int | None = None,
    cluster: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Aligned:
    """Find the poses of all scans, in one group or several.

    Args:
        inputs: files, folders or lists of files; see `list_scans`.
        out: the folder whose `work/` keeps finished scans and pairs.
        order: "any" tries all pairs; "sequence" each scan with the two before it.
        fixed: the scan whose frame its group gets, with or without its folder and extension; None
            takes the first of each group.
        init: a file or folder with an initial pose for each scan, see `read_poses`. Each pair is
            also tried from these poses, and if there are many scans, nearby ones are paired.
        scale: "auto" first estimates the scale of each scan, relative to `fixed` or to the first
            scan that it is connected with. None does not scale.
        up: the axis that points up in all scans, such as "z", or "auto" for the largest floor of
            each: only poses that hardly tilt a scan are considered. None considers all.
        workers: number of processes, with one thread each; None takes one per core.
        cluster: run on a Ray cluster whose machines share the scans and the folder.
        seed: random seed.
        progress: called with the stage, the number of its finished parts, and of all its parts.

    Returns:
        `Aligned`. `spoonful.align.outputs.write` writes it to files.

    Raises:
        ValueError: fewer than two scans; `fixed` not among them; an unknown `order`; `init` lacks
            a scan or contradicts itself.
        FolderInUse: another process writes to the folder.
    """
    began = time.perf_counter()
    require("gtsam", extra="align", why="Aligning several scans")
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    if scale not in (None, "auto"):
        raise ValueError(f"scale must be None or 'auto', got {scale!r}")
    if up is not None and up not in UP:
        raise ValueError(f"up must be one of {', '.join(UP)}, got {up!r}")
    if scale and init is not None:
        raise ValueError(
            "init and scale='auto' cannot be used together: leave one out, or scale the files"
        )
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    paths = list_scans(inputs)
    files = scan_names(paths)
    held = None if fixed is None else find_scan(fixed, files).resolve()
    starts = None if init is None else read_poses(init, list(files))
    check_folder("out", Path(out))
    inside = [path for path in paths if Path(out).resolve() in path.resolve().parents]
    if inside:
        raise ValueError(f"out must not contain the scans, and {inside[0]} is in {out}")
    work = Path(out).resolve() / WORK
    (work / PARTS).mkdir(parents=True, exist_ok=True)
    with connected() if cluster else contextlib.nullcontext(), locked(work):
        stages = Stages(work, workers, cluster, progress or (lambda *_: None), order, up, seed)
        return _align(stages, files, held, starts, bool(scale), began)


def _align(
    stages: Stages,
    files: Mapping[str, Path],
    held: Path | None,
    starts: Mapping[str, Pose] | None,
    scale: bool,
    began: float,
) -> Aligned:
    scans, unreadable = read_all(stages, files)
    copies = copies_of(scans, held, files)
    names = [name for name in scans if name not in copies]
    first = next((k for k, name in enumerate(names) if files[name].resolve() == held), None)
    if scale:
        scans = to_one_scale(stages, names, scans, copies, first)
    centers = {name: torch.tensor(scans[name]["center"], dtype=torch.float64) for name in scans}
    if starts is not None:
        for copy, original in copies.items():
            if not same(starts[copy], starts[original]):
                raise ValueError(
                    f"init has different poses for {copy} and {original}, which have equal content"
                )
    edges, failures, skipped, grids = register_all(stages, names, scans, centers, starts)
    index = {name: k for k, name in enumerate(names)}
    stages.tell("solving", 0, 1)
    strong, solution, reasons = solve_pairs(edges, index, first)
    growth = {index[name]: scans[name].get("growth", 0.0) for name in names}
    solution, spread = _refined(solution, strong, index, growth)
    stages.tell("solving", 1, 1)
    groups = [[names[k] for k in group] for group in solution.groups]
    for copy, original in copies.items():
        next(group for group in groups if original in group).append(copy)
    poses, covariances = {}, {}
    for group in groups:
        for name in group:
            original = copies.get(name, name)
            pose = solution.poses[index[original]]
            poses[name] = _placed(pose, centers[original], centers[group[0]])
            covariances[name] = spread[index[original]]
    pairs = _results(edges, strong, solution, centers)
    files = {name: files[name] for name in scans}
    usual = sorted(grids)[len(grids) // 2] if grids else min(row["apt"] for row in scans.values())
    return Aligned(
        files=files,
        groups=groups,
        poses=poses,
        scales={name: row.get("scale") or 1.0 for name, row in scans.items()},
        covariances=covariances,
        centers=centers,
        surfaces={row[end]: file for row in edges for end, file in row["files"].items()},
        pairs=pairs,
        unreadable=unreadable,
        copies=copies,
        skipped=skipped,
        spacing=usual / 2,
        doubts=[*failures, *reasons, *doubts_of(groups, pairs, unreadable, skipped)],
        notes=[*(note for row in scans.values() for note in row.get("notes", ())), *renamed(files)],
        seconds=time.perf_counter() - began,
    )


def _refined(
    solution: Solution,
    rows: Sequence[Row],
    index: Mapping[str, int],
    growth: Mapping[int, float],
) -> tuple[Solution, dict[int, Tensor]]:
    """The solution with each group fitted on the surfaces of its kept pairs, and covariances."""
    poses = list(solution.poses)
    spread: dict[int, Tensor] = {}
    surfaces: dict[str, Surface] = {}
    for group in solution.groups:
        pairs = []
        for row, kept in zip(rows, solution.kept, strict=True):
            i, j = index[row["source"]], index[row["target"]]
            if kept and i in group:
                source, target = row["files"]["source"], row["files"]["target"]
                for file in (source, target):
                    if file not in surfaces:
                        surfaces[file] = load_surface(file)
                pairs.append((i, j, surfaces[source], surfaces[target]))
        fitted = refine({scan: poses[scan] for scan in group}, pairs)
        spread |= surface_covariances(fitted, pairs, growth)
        for scan, pose in fitted.items():
            poses[scan] = pose
    off = [
        None if old is None else disagreement(edge_of(row, index), poses)
        for row, old in zip(rows, solution.off, strict=True)
    ]
    return replace(solution, poses=poses, off=off), spread


def _results(
    rows: Sequence[Row], used: Sequence[Row], solution: Solution, centers: Mapping[str, Tensor]
) -> list[PairResult]:
    """All registered pairs with their status; `used` are those of the solution's edges."""
    of = {(row["source"], row["target"]): k for k, row in enumerate(used)}
    found = []
    for row in rows:
        k = of.get((row["source"], row["target"]))
        if k is None:
            status, off = "unused", None
        elif solution.off[k] is None:
            status, off = "between groups", None
        else:
            status, off = ("kept" if solution.kept[k] else "rejected"), solution.off[k]
        pose = Pose.from_matrix(torch.tensor(row["pose"], dtype=torch.float64))
        found.append(
            PairResult(
                row["source"],
                row["target"],
                _placed(pose, centers[row["source"]], centers[row["target"]]),
                torch.tensor(row["covariance"], dtype=torch.float64),
                row["confidence"],
                row["overlap"],
                row["rmse"],
                status,
                off,
            )
        )
    return found


def _placed(pose: Pose, source: Tensor, target: Tensor) -> Pose:
    """Convert a pose between centred scans to one between their files."""
    return Pose(pose.rotation, pose.translation + target - pose.rotation @ source)
