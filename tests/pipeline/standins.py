"""Stand-ins for registration in tests of the code around it: quick, and countable."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import torch

from spoonful.geometry import Pose, kabsch
from spoonful.pipeline import Alignment, Candidate, Matches, as_cloud
from spoonful.pipeline.confidence import notes_of
from spoonful.pipeline.runner import Request

IDENTITY = [[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]]


def quick(pair: Request) -> dict[str, Any]:
    """Log the pair and the process, in the folder of the source; then do what the id says."""
    parent = multiprocessing.parent_process()  # not the server that forked this process
    # A file of its own for each process: no line is torn by another's.
    with open(Path(pair.source).parent / f"{os.getpid()}.log", "a") as log:
        log.write(f"{pair.id} {os.getpid()} {parent.pid if parent else 0}\n")
    if pair.id.startswith("wrong"):
        raise ValueError("this pair is wrong")
    if pair.id.startswith("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if pair.id.startswith("hang"):
        time.sleep(60)
    if pair.id.startswith("slow"):
        time.sleep(0.02)
    sure = not pair.id.startswith("doubtful")
    threads = [os.environ.get("OMP_NUM_THREADS", "")]
    return {
        "status": "confident" if sure else "doubtful",
        "method": "quick",
        "seconds": 0.0,
        "confidence": 0.9 if sure else 0.1,
        "T_target_source": IDENTITY,
        "warnings": threads,
    }


def reporting(pair: Request) -> dict[str, Any]:
    """As `quick`, with a page."""
    row = quick(pair)
    Path(pair.report).write_text(f"the page of {pair.id}")
    return row


def aligned(source: object, target: object, **options: Any) -> Alignment:
    """Registration of clouds whose points correspond, which is quick and exact.

    The result is doubtful where they do not. `method="icp"` adds a warning, to have one.
    """
    began = time.perf_counter()
    one, two = as_cloud(source, name="source"), as_cloud(target, name="target")
    count = min(len(one), len(two))
    pose = kabsch(one.points[:count], two.points[:count])
    gap = (pose.apply(one.points[:count]) - two.points[:count]).norm(dim=1)
    radius = options.get("voxel") or 0.05 * float(two.points.std())
    inlier = gap <= radius
    ratio = float(inlier.double().mean())
    start = options.get("init") or Pose.identity(dtype=torch.float64)
    half = Pose(pose.rotation, pose.translation + radius)
    near = inlier.nonzero()[:, 0]
    return Alignment(
        pose=pose,
        method=options.get("method", "auto"),
        reason="The points correspond.",
        candidates=(Candidate("pairs", ratio, 0.01, pose),),
        poses={"start": start, "global": half, "refined": half, "final": pose},
        inlier_ratio=ratio,
        rmse=float(gap[inlier].square().mean().sqrt()) if len(near) else math.nan,
        radius=radius,
        overlap=ratio,
        confidence=ratio,
        warnings=("This is a warning.",) if options.get("method") == "icp" else (),
        seconds=time.perf_counter() - began,
        units_hint="",
        matches=Matches(one.points[near], two.points[near], torch.ones(len(near))),
        source=one,
        target=two,
        voxel=radius,
        notes=notes_of({"the source": one, "the target": two}),
    )


def log(folder: Path) -> list[tuple[str, int, int]]:
    """What was done: the pair's id, the process that did it and the one that started that."""
    lines = [line.split() for path in folder.glob("*.log") for line in path.read_text().split("\n")]
    return [(line[0], int(line[1]), int(line[2])) for line in lines if len(line) == 3]
