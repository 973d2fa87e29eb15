"""Write aligned scans: poses, moved files, merged clouds, and the graph."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.align.report import write_report
from spoonful.align.result import Aligned, PairResult, deviations
from spoonful.data.clouds import FORMATS, Cloud, Mesh, read, write_cloud, write_mesh
from spoonful.data.clouds.writing import DIGITS, lost
from spoonful.data.sampling import voxel_cells
from spoonful.files import json_ready, write_whole
from spoonful.geometry import Pose, hat
from spoonful.pipeline.inputs import as_cloud
from spoonful.pipeline.posetext import matrix_text, seven_text
from spoonful.pipeline.shapes import moved, scaled
from spoonful.view.layers import Up

FORMAT = "spoonful-poses"


def write(
    found: Aligned,
    out: str | Path,
    *,
    spacing: float | None = None,
    graph: bool = False,
    unit: str = "",
    command: str | Sequence[str] = "",
    up: Up = "z",
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Path]:
    """Write all results to a folder, each file atomically.

    `poses.json` has all poses, groups and pairs; `poses/NAME.txt` the 4x4 of each scan;
    `scans/NAME.*` each scan in its group's frame, in its own format if that can be written, else
    as PLY. `merged.ply` is the largest group as one cloud, `merged-2.ply` the second, and so on.
    `report.html` shows all of it. What an earlier result left in the folder is removed.

    Args:
        found: what `align` returns.
        out: the folder.
        spacing: edge of the voxels that have one point of a merged cloud each; None takes
            `found.spacing`.
        graph: also write `graph.g2o`.
        unit: of the files' coordinates, for the page; "" if it is not known.
        command: the command, for the page.
        up: the axis that points up on the page at first.
        progress: called with "writing", the number of finished scans, and of all.

    Returns:
        The files and folders to look at.
    """
    if spacing is not None and not 0 < spacing < math.inf:
        raise ValueError(f"spacing must be positive and finite, got {spacing}")
    folder = Path(out)
    spacing = found.spacing if spacing is None else spacing
    poses = folder / "poses.json"
    written = [poses]
    files: set[Path] = set()
    done, total = 0, len(found.poses)
    for k, group in enumerate(found.groups, start=1):
        parts = []
        for name in group:
            if progress is not None:
                progress("writing", done, total)
            done += 1
            matrix = matrix_text(_scaled(found, name))
            files.add(write_whole(folder / "poses" / f"{name}.txt", matrix))
            scan, cloud = _write_scan(
                found.files[name], folder / "scans" / name, found.poses[name], found.scales[name]
            )
            files.add(scan)
            if len(group) > 1 and name not in found.copies:
                parts.append(voxel_mean([cloud], spacing))
        if len(group) > 1:
            merged = folder / ("merged.ply" if k == 1 else f"merged-{k}.ply")
            write_cloud(merged, voxel_mean(parts, spacing))
            written.append(merged)
    if progress is not None:
        progress("writing", total, total)
    if found.surfaces:
        written.append(
            write_report(folder / "report.html", found, unit=unit, command=command, up=up)
        )
    if graph:
        written.append(write_whole(folder / "graph.g2o", g2o(found)))
    for old in _files_before(poses) - files.union(written):
        old.unlink(missing_ok=True)
    # Last, because the files to remove are known from it.
    write_whole(poses, json.dumps(summary(found), indent=1) + "\n")
    return [*written, folder / "scans", folder / "poses"]


def summary(found: Aligned) -> dict[str, Any]:
    """The content of `poses.json`."""
    number = {name: k for k, group in enumerate(found.groups, start=1) for name in group}
    whole = {
        "format": FORMAT,
        "version": 1,
        "confident": found.confident,
        "doubts": found.doubts,
        "notes": found.notes,
        "groups": [{"frame": group[0], "scans": group} for group in found.groups],
        "scans": {
            name: {
                "file": str(path),
                "group": number[name],
                "T_group_scan": _scaled(found, name).matrix().tolist(),
                "scale": found.scales[name],
                "deviation_degrees": deviations(found.covariances[name]).degrees,
                "deviation": deviations(found.covariances[name]).length,
                "covariance": found.covariances[name].tolist(),
            }
            for name, path in found.files.items()
        },
        "pairs": [_pair(pair) for pair in found.pairs],
        "pairs_not_tried": len(found.skipped),
        "unreadable": dict(found.unreadable),
        "copies": dict(found.copies),
        "spacing": found.spacing,
        "seconds": found.seconds,
    }
    ready: dict[str, Any] = json_ready(whole)
    return ready


def g2o(found: Aligned) -> str:
    """The poses and the pairs of status "kept" in the text format of g2o.

    Scales are left out: g2o has rigid poses only. Scans are numbered in the order of
    `found.files`; comments name them. Vertices are scans in their group's frame. The six numbers
    of an edge's information are shift first, then turn.
    """
    number = {name: k for k, name in enumerate(found.files)}
    lines = [f"# {k} {name}" for name, k in number.items()]
    lines += [f"VERTEX_SE3:QUAT {k} {seven_text(found.poses[name])}" for name, k in number.items()]
    for pair in found.pairs:
        if pair.status != "kept":
            continue
        # The covariance is about the source's centre c; about the file's origin v' = v + c x w.
        about = torch.eye(6, dtype=torch.float64)
        about[3:, :3] = hat(found.centers[pair.source])
        order = [3, 4, 5, 0, 1, 2]
        inverse = torch.linalg.inv(about)
        information = inverse.mT @ torch.linalg.inv(pair.covariance) @ inverse
        information = information[order][:, order]
        # g2o's turn is the vector of a unit quaternion, half the angle.
        information[:3, 3:] *= 2
        information[3:, 3:] *= 4
        upper = " ".join(f"{information[i, j]:.9g}" for i in range(6) for j in range(i, 6))
        ends = f"{number[pair.target]} {number[pair.source]}"
        lines.append(f"EDGE_SE3:QUAT {ends} {seven_text(pair.pose)} {upper}")
    return "\n".join(lines) + "\n"


def voxel_mean(clouds: Sequence[Cloud], size: float) -> Cloud:
    """The mean of the points in each cubic cell, with mean normals and colours.

    Normals and colours are kept if all clouds have them.

    >>> one = Cloud(torch.zeros(1, 3), colors=torch.full((1, 3), 10, dtype=torch.uint8))
    >>> two = Cloud(torch.full((1, 3), 0.5), colors=torch.full((1, 3), 30, dtype=torch.uint8))
    >>> both = voxel_mean([one, two], 1.0)
    >>> both.points.tolist(), both.colors.tolist()
    ([[0.25, 0.25, 0.25]], [[20, 20, 20]])
    """
    points = torch.cat([cloud.points.double() for cloud in clouds])
    low = points.amin(0)
    owner, cells = voxel_cells(points, size)
    count = owner.bincount(minlength=cells)

    def mean(parts: Sequence[Tensor]) -> Tensor:
        values = torch.cat([part.double() for part in parts])
        return values.new_zeros(cells, 3).index_add_(0, owner, values) / count[:, None]

    normals = [cloud.normals for cloud in clouds if cloud.normals is not None]
    colors = [cloud.colors for cloud in clouds if cloud.colors is not None]
    unit = torch.nn.functional.normalize
    return Cloud(
        mean([cloud.points - low for cloud in clouds]) + low,
        unit(mean(normals), dim=-1) if len(normals) == len(clouds) else None,
        mean(colors).round().to(torch.uint8) if len(colors) == len(clouds) else None,
    )


def _scaled(found: Aligned, name: str) -> Pose:
    """The pose of a scan, with its scale in the 3x3 part."""
    pose = found.poses[name]
    return Pose(found.scales[name] * pose.rotation, pose.translation)


def _files_before(poses: Path) -> set[Path]:
    """The files that were written together with an earlier `poses.json`."""
    try:
        before = json.loads(poses.read_text("utf-8"))
        if before["format"] != FORMAT:
            return set()
        groups = range(2, len(before["groups"]) + 1)
        scans = {name: Path(scan["file"]).suffix.lower() for name, scan in before["scans"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return set()
    names = ["merged.ply", *(f"merged-{k}.ply" for k in groups), "report.html", "graph.g2o"]
    for name, suffix in scans.items():
        if Path(name).name == name:
            names += [f"poses/{name}.txt", f"scans/{name}{suffix}", f"scans/{name}.ply"]
    return {poses.parent / name for name in names}


def _write_scan(file: Path, path: Path, pose: Pose, scale: float) -> tuple[Path, Cloud]:
    """Write a scan at its pose, with all its columns; the file, and its moved points as a cloud."""
    shape = read(file, drop_nonfinite=True, fields=True)
    shape = moved(shape if scale == 1 else scaled(shape, scale), pose)
    kind = FORMATS.get(file.suffix.lower())
    suffix = file.suffix.lower() if kind is not None and kind.write else ".ply"
    target = path.with_name(f"{path.name}{suffix}")
    if isinstance(shape, Mesh):
        if not FORMATS[suffix].meshes or DIGITS in lost(target, shape):
            target = path.with_name(f"{path.name}.ply")
        write_mesh(target, shape)
    else:
        write_cloud(target, shape)
    return target, as_cloud(shape, name=str(file))


def _pair(pair: PairResult) -> dict[str, Any]:
    return {
        "source": pair.source,
        "target": pair.target,
        "status": pair.status,
        "confidence": pair.confidence,
        "overlap": pair.overlap,
        "rmse": pair.rmse,
        "standard_deviations_off": pair.off,
        "T_target_source": pair.pose.matrix().tolist(),
    }
