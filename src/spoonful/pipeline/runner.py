"""One registration from files to files: `run(request)`.

The command, the batch and the server all use it. It reads both files, scales the source, registers,
and writes what was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud, Mesh, lost, read, write_cloud, write_mesh
from spoonful.data.clouds.formats import format_of
from spoonful.data.clouds.splats import is_splats
from spoonful.data.clouds.types import Tell
from spoonful.geometry import Pose
from spoonful.inputs import known_device
from spoonful.pipeline.alignment import Alignment
from spoonful.pipeline.auto import METHODS, register
from spoonful.pipeline.gravity import UP
from spoonful.pipeline.lengths import UNITS, length
from spoonful.pipeline.posefile import read_pose, read_similarity
from spoonful.pipeline.report import write_report
from spoonful.pipeline.shapes import moved, scaled
from spoonful.view.layers import UPS

AUTO_SCALE = "auto"
# Modules that a worker process needs and that take seconds to import.
PRELOAD = (__name__, "scipy.spatial", "trimesh")


@dataclass(frozen=True)
class Request:
    """Two files to register, the options, and the files to write.

    Attributes:
        source: the file to move.
        target: the file that stays fixed.
        id: the unique name of the request in a batch.
        init: a file with an initial pose; "" for none.
        method: one of `METHODS`.
        voxel: voxel size of the search: a number in the files' unit, or text with a unit, "5mm";
            None chooses it automatically.
        unit: of the files, one of `UNITS`; "" if it is not known.
        scale: multiplies the source first; 0.001 for millimetres onto metres. "auto" estimates the
            scale, which is then a part of the pose.
        origin: also give the pose with this point subtracted from both files: "X,Y,Z", or "auto"
            for a point near the target; "" for none.
        up: the axis that points up in the report and in both clouds: poses that tilt the source
            are excluded; "auto" takes the largest floor of each. "" allows all poses.
        seed: random seed.
        device: "cpu", "cuda", or "auto" for CUDA if it is available.
        output: file for the moved source; "" does not write it.
        pose: file for the pose; "" does not write it.
        report: file for the page; "" does not write it.
        names: the names of both files in results, if the paths are those of uploaded copies.

    Raises:
        ValueError: an option has an invalid value; the message begins with the option's name.
    """

    source: str
    target: str
    id: str = ""
    init: str = ""
    method: str = "auto"
    voxel: float | str | None = None
    unit: str = ""
    scale: float | str | None = None
    origin: str = ""
    up: str = ""
    seed: int = 0
    device: str = "cpu"
    output: str = ""
    pose: str = ""
    report: str = ""
    names: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("method", self.method, METHODS),
            ("unit", self.unit, ("", *UNITS)),
            ("up", self.up, ("", *UP)),
        ):
            if value not in known:
                choices = ", ".join(filter(None, known))
                raise ValueError(f"{name} must be one of {choices}, got {value[:50]!r}")
        _ = self.grid, self.factor, known_device(self.device, "device")
        if self.origin not in ("", "auto"):
            point_of(self.origin)

    @property
    def grid(self) -> float | None:
        """`voxel` as a number in the files' unit; None chooses it."""
        return None if self.voxel is None else length(str(self.voxel), self.unit, "voxel")

    @property
    def factor(self) -> float | None:
        """`scale` as a number; None if it is to be found, or not given."""
        if self.scale is None or self.scale == AUTO_SCALE:
            return None
        try:
            factor = float(self.scale)
        except ValueError:
            factor = math.nan
        if not 0 < factor < math.inf:
            wanted = f"a number above 0 and finite, such as 0.001, or {AUTO_SCALE}"
            raise ValueError(f"scale must be {wanted}, got {str(self.scale)[:50]!r}")
        return factor

    @property
    def shown(self) -> tuple[str, str]:
        """The names of source and target for results."""
        return self.names or (self.source, self.target)

    def command(self) -> list[str]:
        """The arguments of the command that reproduces this result."""
        options = {"--voxel": self.voxel, "--unit": self.unit or None, "--scale": self.scale}
        if self.names is None:  # the paths are the user's own
            files = {"-o": self.output, "--pose": self.pose, "--report": self.report}
            options |= {name: path or None for name, path in files.items()}
            options["--init"] = self.init or None
        options["--origin"] = self.origin or None
        options["--up"] = self.up or None
        options["--seed"] = self.seed or None
        options["--device"] = self.device if self.device != "cpu" else None
        words = ["spoonful", "register", *self.shown, "--method", self.method]
        for name, value in options.items():
            if value is not None:
                words += [name, str(value)]
        return words


@dataclass(frozen=True)
class Outputs:
    """The result of `run` and the files that it wrote.

    Attributes:
        alignment: the result.
        record: the result as JSON, `Alignment.summary` with the files' names.
        written: the files that were written, by "aligned", "pose" and "report".
        not_kept: what the format of the aligned file could not hold, such as "intensity".
        failures: the errors of those that could not be written, by the same names.
    """

    alignment: Alignment
    record: dict[str, Any]
    written: dict[str, Path]
    not_kept: list[str]
    failures: dict[str, Exception]


def run(request: Request, tell: Callable[[str, int, int], object] | None = None) -> Outputs:
    """Read both files, register them and write the requested outputs.

    A file that cannot be written does not lose the result: see `Outputs.failures`.

    Args:
        request: what to do.
        tell: called with the name of a stage, the points done and all points; 0 if not known.

    Raises:
        ValueError, OSError: a file cannot be read, or holds nothing that can be registered.
    """

    def stage(name: str, done: int = 0, total: int = 0) -> None:
        if tell is not None:
            tell(name, done, total)

    def load(path: str, name: str, fields: bool = False) -> Cloud | Mesh:
        stage(name)
        return read(path, drop_nonfinite=True, fields=fields, tell=partial(stage, name))

    check_inputs(*(Path(path) for path in (request.source, request.target, request.init) if path))
    # The other columns of the source, such as intensity, are wanted only if it is written.
    source = load(request.source, "reading the source", fields=bool(request.output))
    target = load(request.target, "reading the target")
    output = Path(request.output)
    if output.suffix.lower() == ".stl" and isinstance(source, Cloud):
        raise ValueError(
            f"{output}: STL holds triangles, and {request.source} has none: choose .ply"
        )
    if request.factor is not None:
        source = scaled(source, request.factor)
    free = request.scale == AUTO_SCALE
    start = (read_similarity if free else read_pose)(request.init) if request.init else None
    stage("registering")
    alignment = register(
        source,
        target,
        method=request.method,
        init=start,
        voxel=request.grid,
        seed=request.seed,
        scale=AUTO_SCALE if free else None,
        up=request.up or None,
        device=request.device,
    )
    names = dict(zip(("source", "target"), request.shown, strict=True))
    about: dict[str, Any] = names | {"unit": request.unit or None}
    if request.factor is not None:
        about["source_scale"] = request.factor
    if request.origin:
        about |= about_origin(alignment, request.origin)
    not_kept: list[str] = []
    writers: dict[str, tuple[str, Callable[[str], object]]] = {
        "aligned": (
            request.output,
            partial(
                _write_moved,
                shape=source,
                found=alignment,
                not_kept=not_kept,
                tell=partial(stage, "writing: aligned"),
            ),
        ),
        "pose": (request.pose, partial(alignment.save, **about)),
        "report": (request.report, partial(_write_page, request=request, found=alignment)),
    }
    written: dict[str, Path] = {}
    failures: dict[str, Exception] = {}
    for name, (path, write) in writers.items():
        if path:
            stage(f"writing: {name}")
            try:
                write(path)
                written[name] = Path(path)
            except OSError as error:  # a full disk names no file
                failures[name] = OSError(f"{path}: {error.strerror or error}")
            except Exception as error:
                failures[name] = error
    return Outputs(alignment, alignment.summary(**about), written, not_kept, failures)


def check_inputs(*paths: Path | None) -> None:
    """Raise if a file to read is missing or a folder."""
    for path in paths:
        if path is not None and not path.exists():
            raise FileNotFoundError(f"{path}: no such file")
        if path is not None and path.is_dir():
            raise IsADirectoryError(f"{path} is a folder: give the name of a file in it")


def point_of(text: str) -> Tensor:
    """Parse "X,Y,Z"; (3,) float64.

    >>> point_of("500000, 5400000, 0").tolist()
    [500000.0, 5400000.0, 0.0]
    """
    try:
        x, y, z = (float(word) for word in text.split(","))
    except ValueError:
        x = y = z = math.nan
    if not math.isfinite(x + y + z):
        raise ValueError(f"origin must be auto or three numbers X,Y,Z, got {text[:50]!r}")
    return torch.tensor([x, y, z], dtype=torch.float64)


def about_origin(found: Alignment, origin: str) -> dict[str, Any]:
    """The pose for coordinates with `origin` subtracted from both clouds.

    "auto" takes the target's mean, rounded to hundreds.
    """
    if origin == "auto":
        point = (found.target.points.mean(0) / 100).round() * 100 + 0.0
    else:
        point = point_of(origin)
    shift = found.apply(point[None])[0] - point
    local = found.matrix_of(Pose(found.pose.rotation, shift))
    return {"origin": point.tolist(), "T_about_origin": local.tolist()}


def _write_moved(
    path: str,
    *,
    shape: Cloud | Mesh,
    found: Alignment,
    not_kept: list[str],
    tell: Tell,
) -> None:
    """Write the moved source; add the columns that the format cannot store to `not_kept`."""
    result = moved(scaled(shape, found.scale) if found.scale != 1 else shape, found.pose)
    not_kept += lost(path, result)
    if is_splats(result.fields) and "f_rest_0" in result.fields:
        not_kept.append("the turn of view-dependent colours (f_rest)")
    if isinstance(result, Mesh) and not format_of(Path(path)).meshes:
        result = moved(found.source, found.pose)
    if isinstance(result, Mesh):
        write_mesh(path, result)
    else:
        write_cloud(path, result, tell=tell)


def _write_page(path: str, *, request: Request, found: Alignment) -> None:
    write_report(
        path,
        found,
        names=[Path(name).name for name in request.shown],
        unit=request.unit,
        command=request.command(),
        up=next((axis for axis in UPS if axis == request.up), "z"),
    )
