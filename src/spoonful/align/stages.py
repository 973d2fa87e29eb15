"""The stages of `align` that run jobs in processes: read, scale, describe, compare and register.

Each stage keeps its finished rows in a folder, so that a run can resume.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from spoonful.align.candidates import best, comparable, in_sequence, similar, suitable_grids
from spoonful.align.pairs import PairJob, register_described
from spoonful.align.scales import PairScale, ScaleJob, compare_scales, solve_scales
from spoonful.align.scans import DescribeJob, ReadJob, describe_scan, read_scan
from spoonful.geometry import Pose
from spoonful.pipeline.batches import run_jobs, stamp
from spoonful.pipeline.parts import Job, Row
from spoonful.version import __version__

# Up to this many scans all pairs are tried; of more, each scan with this many similar ones.
ALL_PAIRS = 30
SIMILAR = 8
# Of the rows and the stored scans. Counted up when they or their meaning change, so that no older
# ones are resumed.
_FORMAT = 4

Progress = Callable[[str, int, int], None]
J = TypeVar("J", bound=Job)


@dataclass(frozen=True)
class Stages:
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
        """The row of each job, by its id; only jobs without a row of this format are run.

        Raises:
            OSError: a file of the folder cannot be written, on a full disk for example.
        """
        given = ({k: v for k, v in vars(job).items() if v is not None} for job in jobs)
        rows = run_jobs(
            jobs,
            {job["id"]: _hash(f"{__version__} {_FORMAT} {json.dumps(job)}") for job in given},
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


def read_all(stages: Stages, files: Mapping[str, Path]) -> tuple[dict[str, Row], dict[str, str]]:
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


def copies_of(
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


def register_all(
    stages: Stages,
    names: Sequence[str],
    scans: Mapping[str, Row],
    centers: Mapping[str, Tensor],
    starts: Mapping[str, Pose] | None,
) -> tuple[list[Row], list[str], list[tuple[str, str]], list[float]]:
    """The rows of all pairs that were registered, and a sentence for each that failed.

    Also the pairs that were not tried, and the edges of the grids.
    """
    given = all(scans[name]["normals"] for name in names)
    if stages.order == "sequence":
        pairs = in_sequence(len(names))
    elif len(names) <= ALL_PAIRS:
        pairs = list(itertools.combinations(range(len(names)), 2))
    elif starts is not None:
        places = torch.stack([starts[name].apply(centers[name][None])[0] for name in names])
        pairs = best(-torch.cdist(places, places), SIMILAR)
    else:
        own = dict(zip(names, suitable_grids([(scans[name],) * 2 for name in names]), strict=True))
        described = _describe(stages, {(name, own[name]) for name in names}, scans, given)
        pairs = similar(
            {name: described[name, own[name]] for name in names},
            SIMILAR,
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
    skipped = [(names[i], names[j]) for i, j in pairs if (i, j) not in edges]
    return found, failures, skipped, list(edges.values())


def to_one_scale(
    stages: Stages,
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
    if len(pairs) > ALL_PAIRS**2:
        raise ValueError(f"scale='auto' is for up to {ALL_PAIRS} scans, or for order='sequence'")
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
    stages: Stages, needed: set[tuple[str, float]], scans: Mapping[str, Row], given: bool
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


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
