"""Align all scans of a folder: read, describe, register pairs, solve the graph, write.

Finished scans and pairs are kept in `work/` of the output folder. Run the same command again after
a kill to resume it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
import os
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from spoonful.align.candidates import (
    BEFORE,
    best,
    comparable,
    in_sequence,
    similar,
    suitable_grids,
)
from spoonful.align.graph import CONFIDENT, Edge, Solution, disagreement, parts, solve
from spoonful.align.inputs import find_scan, list_scans, scan_names
from spoonful.align.pairs import LEAST, PairJob, register_described
from spoonful.align.posefiles import read_poses, same
from spoonful.align.scales import PairScale, ScaleJob, compare_scales, solve_scales
from spoonful.align.scans import (
    DescribeJob,
    ReadJob,
    describe_scan,
    load_surface,
    read_scan,
)
from spoonful.align.surfaces import Surface, refine
from spoonful.align.surfaces import covariances as surface_covariances
from spoonful.extras import require
from spoonful.files import check_folder
from spoonful.geometry import Pose
from spoonful.locking import locked
from spoonful.pipeline.alignment import Deviation
from spoonful.pipeline.batches import cores, run_jobs, stamp
from spoonful.pipeline.cluster import connected
from spoonful.pipeline.gravity import UP
from spoonful.pipeline.parts import PARTS, Job, Row
from spoonful.version import __version__

WORK = "work"
ORDERS = ("any", "sequence")
# All pairs of so many scans are tried; of more, for each scan those with the most similar ones.
_ALL_PAIRS = 30
_SIMILAR = 8
# If more than this share of the confident pairs contradict the others, places look alike.
_CONTRADICT = 0.2
# Then only pairs with this overlap are used.
_MUCH = 0.75
# Pairs at least this confident are seldom wrong: a few that contradict are enough.
_SURE = 0.95
# Usual times of one core, for the plan only.
_SCAN_SECONDS = 1.0
_PAIR_SECONDS = 0.7

Progress = Callable[[str, int, int], None]
J = TypeVar("J", bound=Job)


@dataclass(frozen=True)
class PairResult:
    """The result of registering one pair.

    Attributes:
        source: name of the scan that was moved.
        target: name of the other scan.
        pose: `T_target_source`, between the files' frames.
        covariance: (6, 6) of a small turn and shift about the source's centre.
        confidence: the probability that the pose is right, without regard to other pairs.
        overlap: the part of the smaller scan that lies on the other one.
        rmse: of the distances to the surface, in the files' unit.
        status: "kept", "rejected" (it contradicts the others), "unused" (too doubtful), or
            "between groups".
        off: its disagreement with the result, in standard deviations; None between groups.
    """

    source: str
    target: str
    pose: Pose
    covariance: Tensor
    confidence: float
    overlap: float
    rmse: float
    status: str
    off: float | None


@dataclass(frozen=True)
class Aligned:
    """Aligned scans in groups, each group in one frame.

    Attributes:
        files: the file of each scan, by the scan's name.
        groups: names of the scans of each group, the largest group first. Each group has the frame
            of its first scan.
        poses: for each scan the pose that maps the scaled scan into its group's frame.
        scales: for each scan its scale factor; 1 unless `scale` is "auto".
        covariances: for each scan the (6, 6) covariance of its pose, of a small turn (radians) and
            shift about its centroid, in its own axes; zero for the first of a group.
        centers: for each scan its centroid, scaled, in its own frame.
        surfaces: for each scan of a pair that was registered, the file with its description.
        pairs: all pairs that were registered.
        unreadable: the files that could not be read, and why.
        copies: files with the same content as another file, and the name of that scan.
        skipped: the number of pairs not tried because the scans differ too much in size.
        spacing: half the median edge of the grids, in the files' unit.
        doubts: the reasons to doubt the result, one sentence each.
        notes: remarks on scans, such as points that were dropped, one sentence each.
        seconds: the time it took.
    """

    files: Mapping[str, Path]
    groups: list[list[str]]
    poses: Mapping[str, Pose]
    scales: Mapping[str, float]
    covariances: Mapping[str, Tensor]
    centers: Mapping[str, Tensor]
    surfaces: Mapping[str, str]
    pairs: list[PairResult]
    unreadable: Mapping[str, str]
    copies: Mapping[str, str]
    skipped: int
    spacing: float
    doubts: list[str]
    notes: list[str]
    seconds: float = field(compare=False)

    @property
    def confident(self) -> bool:
        """True if all files were read and are in one group without doubt."""
        return not self.doubts


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
    elif scans > _ALL_PAIRS:
        pairs = min(pairs, _SIMILAR * scans)
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
        raise ValueError("init and scale='auto' cannot be used together")
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
        stages = _Stages(work, workers, cluster, progress or (lambda *_: None), order, up, seed)
        return _align(stages, files, held, starts, bool(scale), began)


def _align(
    stages: _Stages,
    files: Mapping[str, Path],
    held: Path | None,
    starts: Mapping[str, Pose] | None,
    scale: bool,
    began: float,
) -> Aligned:
    scans, unreadable = _read(stages, files)
    copies = _copies(scans, held, files)
    names = [name for name in scans if name not in copies]
    first = next((k for k, name in enumerate(names) if files[name].resolve() == held), None)
    if scale:
        scans = _to_one_scale(stages, names, scans, copies, first)
    centers = {name: torch.tensor(scans[name]["center"], dtype=torch.float64) for name in scans}
    if starts is not None:
        for copy, original in copies.items():
            if not same(starts[copy], starts[original]):
                raise ValueError(
                    f"init has different poses for {copy} and {original}, which have equal content"
                )
    edges, failures, skipped, grids = _register(stages, names, scans, centers, starts)
    index = {name: k for k, name in enumerate(names)}
    stages.tell("solving", 0, 1)
    strong, solution, alike = settle(edges, index, first)
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
    usual = sorted(grids)[len(grids) // 2] if grids else min(row["apt"] for row in scans.values())
    return Aligned(
        files={name: files[name] for name in scans},
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
        doubts=[*failures, *alike, *doubts_of(groups, pairs, unreadable)],
        notes=[note for row in scans.values() for note in row.get("notes", ())],
        seconds=time.perf_counter() - began,
    )


def deviations(covariance: Tensor) -> Deviation:
    """Standard deviations of a pose along its least certain axes, from its (6, 6) covariance."""
    blocks = covariance[:3, :3], covariance[3:, 3:]
    turn, shift = (torch.linalg.eigvalsh(block)[-1].clamp_min(0).sqrt() for block in blocks)
    return Deviation(math.degrees(turn), float(shift))


def doubts_of(
    groups: Sequence[Sequence[str]], pairs: Sequence[PairResult], unreadable: Mapping[str, str]
) -> list[str]:
    """The reasons to doubt a result, one sentence each, with the scans' names."""
    found = [f"not read: {file}: {why}" for file, why in unreadable.items()]
    if len(groups) > 1:
        found.append(
            f"the scans are in {len(groups)} groups that no trusted pair connects: if they show "
            "the same object or place, add scans between them"
        )
        near = [p for p in pairs if p.status == "between groups" and p.confidence >= 0.5]
        for pair in sorted(near, key=lambda pair: -pair.confidence)[:5]:
            found.append(
                f"{pair.source} and {pair.target} may belong together (confidence "
                f"{pair.confidence:.2f}), but no other pair confirms it: look at the two with "
                "spoonful register"
            )
    # Scans that only doubtful pairs hold together.
    number = {name: k for k, name in enumerate(name for group in groups for name in group)}
    kept = [pair for pair in pairs if pair.status == "kept"]
    sure = [(number[p.source], number[p.target]) for p in kept if p.confidence >= CONFIDENT]
    part = {scan: k for k, scans in enumerate(parts(len(number), sure)) for scan in scans}
    for pair in kept:
        if part[number[pair.source]] != part[number[pair.target]]:
            found.append(
                f"only doubtful pairs connect {pair.source} and {pair.target} "
                f"(confidence {pair.confidence:.2f}): add a scan that overlaps more with both"
            )
    return found


@dataclass(frozen=True)
class _Stages:
    """Run jobs in processes, and keep their rows in a folder.

    Attributes:
        folder: for the rows, an absolute path.
        tell: is called with the progress.
        workers, cluster, order, up, seed: as for `align`.
    """

    folder: Path
    workers: int | None
    cluster: bool
    tell: Progress
    order: str
    up: str | None
    seed: int

    def finish(self, stage: str, jobs: Sequence[J], task: Callable[[J], Row]) -> dict[str, Row]:
        """The row of each job, by its id, if none of them failed."""
        rows = self.run(stage, jobs, task)
        for name, row in rows.items():
            if row["status"] == "failed":
                raise RuntimeError(f"{stage} {name.split()[0]} failed: {row['message']}")
        return rows

    def run(self, stage: str, jobs: Sequence[J], task: Callable[[J], Row]) -> dict[str, Row]:
        """The row of each job, by its id; only jobs without a row of this version are run.

        Raises:
            OSError: a file of the folder cannot be written, on a full disk for example.
        """
        given = ({k: v for k, v in vars(job).items() if v is not None} for job in jobs)
        rows = run_jobs(
            jobs,
            {job["id"]: _hash(__version__ + json.dumps(job)) for job in given},
            self.folder,
            task,
            workers=self.workers,
            cluster=self.cluster,
            progress=functools.partial(self.tell, stage),
        )
        for row in rows.values():
            if row["status"] == "failed" and row["message"].startswith(str(self.folder)):
                raise OSError(row["message"])
        return {job.id: rows[job.id] for job in jobs}


def _read(stages: _Stages, files: Mapping[str, Path]) -> tuple[dict[str, Row], dict[str, str]]:
    """A row for each scan that could be read, and the reasons why others could not."""
    jobs, seed = [], stages.seed
    for name, path in files.items():
        stored = stages.folder / f"scan-{_hash(f'{path.resolve()} {stamp(path)} {seed}')}.pt"
        file = path.resolve() if stages.cluster else path
        jobs.append(ReadJob(name, str(file), str(stored), seed))
    rows = stages.run("reading", jobs, read_scan)
    # Most messages begin with the file already.
    unreadable = {
        str(files[job.id]): rows[job.id]["message"].removeprefix(f"{job.source}: ")
        for job in jobs
        if rows[job.id]["status"] == "failed"
    }
    scans = {
        job.id: rows[job.id] | {"stored": job.stored}
        for job in jobs
        if rows[job.id]["status"] != "failed"
    }
    if len(scans) < 2:
        reasons = "; ".join(f"{file}: {why}" for file, why in unreadable.items())
        raise ValueError(f"at least two scans must be readable, got {len(scans)}: {reasons}")
    return scans, unreadable


def _copies(
    scans: Mapping[str, Row], held: Path | None, files: Mapping[str, Path]
) -> dict[str, str]:
    """Scans with the same content as another one, which is the first or the fixed one."""
    originals: dict[str, str] = {}
    for name in sorted(scans, key=lambda name: files[name].resolve() != held):
        originals.setdefault(scans[name]["digest"], name)
    return {
        name: originals[row["digest"]]
        for name, row in scans.items()
        if originals[row["digest"]] != name
    }


def _register(
    stages: _Stages,
    names: Sequence[str],
    scans: Mapping[str, Row],
    centers: Mapping[str, Tensor],
    starts: Mapping[str, Pose] | None,
) -> tuple[list[Row], list[str], int, list[float]]:
    """The rows of all pairs that were registered, and a sentence for each that failed.

    Also how many pairs were not tried, and the edges of the grids.
    """
    given = all(scans[name]["normals"] for name in names)
    if stages.order == "sequence":
        pairs = in_sequence(len(names))
    elif len(names) <= _ALL_PAIRS:
        pairs = list(itertools.combinations(range(len(names)), 2))
    elif starts is not None:
        places = torch.stack([starts[name].apply(centers[name][None])[0] for name in names])
        pairs = best(-torch.cdist(places, places), _SIMILAR)
    else:
        own = dict(zip(names, suitable_grids([(scans[name],) * 2 for name in names]), strict=True))
        described = _describe(stages, {(name, own[name]) for name in names}, scans, given)
        pairs = similar(
            {name: described[name, own[name]] for name in names},
            _SIMILAR,
            functools.partial(stages.finish, "comparing"),
        )
    rows = {(i, j): (scans[names[i]], scans[names[j]]) for i, j in pairs}
    tried = [pair for pair in pairs if comparable(*rows[pair])]
    edges = dict(zip(tried, suitable_grids([rows[pair] for pair in tried]), strict=True))
    needed = {(names[k], edge) for pair, edge in edges.items() for k in pair}
    described = _describe(stages, needed, scans, given)
    jobs = [
        PairJob(
            f"{names[j]}\t{names[i]}",
            described[names[j], edge],
            described[names[i], edge],
            stages.seed,
            None
            if starts is None
            else starts[names[i]].inverse().compose(starts[names[j]]).matrix().tolist(),
            stages.up,
            (scans[names[j]]["growth"], scans[names[i]]["growth"])
            if "growth" in scans[names[j]]
            else None,
        )
        for (i, j), edge in edges.items()
    ]
    done = stages.run("registering", jobs, register_described)
    found, failures = [], []
    for name, row in done.items():
        source, target = name.split("\t")
        if row["status"] == "failed":
            failures.append(f"{source} and {target} were not registered: {row['message']}")
        else:
            files = {end: row[end] for end in ("source", "target")}
            found.append(row | {"source": source, "target": target, "files": files})
    return found, failures, len(pairs) - len(edges), list(edges.values())


def _to_one_scale(
    stages: _Stages,
    names: Sequence[str],
    scans: Mapping[str, Row],
    copies: Mapping[str, str],
    first: int | None,
) -> dict[str, Row]:
    """The rows of scans, converted to one scale."""
    pairs = (
        in_sequence(len(names))
        if stages.order == "sequence"
        else list(itertools.combinations(range(len(names)), 2))
    )
    if len(pairs) > _ALL_PAIRS**2:
        raise ValueError(f"scale='auto' is for up to {_ALL_PAIRS} scans, or for order='sequence'")
    files = [scans[name]["stored"] for name in names]
    jobs = [ScaleJob(f"{names[j]}\t{names[i]}", files[j], files[i], stages.seed) for i, j in pairs]
    rows = stages.run("comparing scales", jobs, compare_scales).values()
    found = [
        PairScale(j, i, row["scale"], row["deviation"], row["confidence"])
        for (i, j), row in zip(pairs, rows, strict=True)
        if row["status"] != "failed"
    ]
    scales, deviations = solve_scales(len(names), found, first)
    solved = {name: (scales[k], deviations[k]) for k, name in enumerate(names)}
    scaled = {}
    for name, row in scans.items():
        scale, growth = solved[copies.get(name, name)]
        center = [scale * value for value in row["center"]]
        own = {"scale": scale, "apt": scale * row["apt"], "least": scale * row["least"]}
        scaled[name] = row | own | {"center": center, "growth": growth}
    return scaled


def _describe(
    stages: _Stages, needed: set[tuple[str, float]], scans: Mapping[str, Row], given: bool
) -> dict[tuple[str, float], str]:
    """The files with the descriptions of scans on grids."""
    files: dict[tuple[str, float], str] = {}
    jobs = []
    for name, edge in sorted(needed):
        stored = scans[name]["stored"]
        scale = scans[name].get("scale")
        shown = f"-{scale:.6g}" if scale else ""
        path = f"{stored.removesuffix('.pt')}-{edge:.6g}-{int(given)}{shown}.pt"
        files[name, edge] = path
        turn = zlib.crc32(f"{name} {stages.seed}".encode())
        jobs.append(DescribeJob(f"{name}\t{edge:.6g}", stored, path, edge, given, turn, scale))
    stages.finish("describing", jobs, describe_scan)
    return files


def _edge(row: Row, index: Mapping[str, int]) -> Edge:
    return Edge(
        index[row["source"]],
        index[row["target"]],
        Pose.from_matrix(torch.tensor(row["pose"], dtype=torch.float64)),
        torch.tensor(row["covariance"], dtype=torch.float64),
        row["confidence"],
    )


def settle(
    rows: Sequence[Row], index: Mapping[str, int], first: int | None
) -> tuple[list[Row], Solution, list[str]]:
    """Solve the graph of all pairs, or only of those with high overlap if too many contradict.

    Rooms that look alike give pairs that are confident and wrong. They contradict each other.

    Returns:
        The rows of the solution's edges, the solution, and a sentence if many pairs contradict it.
    """
    used = [row for row in rows if row["confidence"] >= LEAST]
    solution = solve(len(index), [_edge(row, index) for row in used], first)
    sure = [k for k, row in enumerate(used) if row["confidence"] >= CONFIDENT]
    chances = {k: used[k]["confidence"] for k in sure}
    against = {k for k in sure if not solution.kept[k] and solution.off[k] is not None}
    surest = {k: chance for k, chance in chances.items() if chance >= _SURE}
    many = len(against) > _CONTRADICT * len(sure) and _surprising(chances, against)
    if not (many or _surprising(surest, against)):
        return used, solution, []
    used = [used[k] for k in sure if used[k]["overlap"] >= _MUCH]
    solution = solve(len(index), [_edge(row, index) for row in used], first)
    doubt = (
        f"{len(against)} of {len(sure)} confident pairs contradict the others: places look alike, "
        f"and only pairs that overlap by {_MUCH:.0%} or more are used; give the scans in order "
        "with --order sequence, or rough poses with --init"
    )
    return used, solution, [doubt]


def _surprising(chances: Mapping[int, float], wrong: set[int]) -> bool:
    """True if more edges are wrong than their confidences allow."""
    expected = sum(1 - chance for chance in chances.values())
    return len(wrong & set(chances)) > expected + 2 * math.sqrt(expected) + 1


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
        None if old is None else disagreement(_edge(row, index), poses)
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


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
