"""Read clouds and meshes from files of any format."""

from __future__ import annotations

import errno
import math
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from spoonful.data.clouds.formats import FORMATS, Format, format_of, function
from spoonful.data.clouds.types import Cloud, CloudFileError, Mesh, Tell, finite_rows, quiet
from spoonful.data.normals import estimate_normals
from spoonful.data.sampling import random_points, unit
from spoonful.extras import MissingExtra

if TYPE_CHECKING:
    from spoonful.data.clouds.arrays import Arrays

# As many as the published clouds of ModelNet40 have.
DEFAULT_SAMPLES = 2048
_MAGIC = 64  # bytes that tell one format from another


def read(
    path: str | os.PathLike[str],
    *,
    drop_nonfinite: bool = False,
    fields: bool = False,
    tell: Tell = quiet,
) -> Cloud | Mesh:
    """Read a file: a `Mesh` if it has triangles, else a `Cloud`.

    The format is that of the file's extension, one of `FORMATS`. Coordinates are float32 if the
    file has float32, else float64, so that large ones (UTM) keep their digits. Normals and colours
    are read if the file has them; polygons are cut into triangles.

    A file that is truncated, declares a wrong size or has another format is refused with one
    error. The memory used is bounded by a small multiple of the file's size.

    Args:
        path: the file.
        drop_nonfinite: leave out points with NaN or infinite coordinates, which depth cameras write
            for pixels without depth, and triangles that touch one; `dropped` counts the points.
            By default they are an error.
        fields: keep all columns of the file, such as intensity and labels, and its header, so that
            `write_cloud` can write them again.
        tell: called with the number of points read so far and of all points; for las and laz.

    Raises:
        CloudFileError: the file is not what its extension says. A ValueError; the message opens
            with the file's name.
        OSError: the file cannot be read: it is missing, a folder, or not permitted.

    >>> import tempfile
    >>> from spoonful.data.clouds import write_mesh
    >>> path = Path(tempfile.mkdtemp()) / "corner.obj"
    >>> write_mesh(path, Mesh(torch.eye(3), torch.tensor([[0, 1, 2]])))
    >>> read(path).faces
    tensor([[0, 1, 2]])
    """
    path = Path(path)
    arrays, hint = _load(path, tell)
    with _blaming(path, hint=hint):
        make = _cloud if arrays.faces is None else _mesh
        return make(arrays, drop_nonfinite, fields)


def read_cloud(
    path: str | os.PathLike[str],
    *,
    points: int | None = None,
    generator: torch.Generator | None = None,
    drop_nonfinite: bool = False,
) -> Cloud:
    """Read a point cloud, or sample points of a mesh; otherwise as `read`.

    Points of a mesh are uniform by area and have the normals of their triangles.
    `Cloud.with_normals` estimates normals that are missing.

    Args:
        path: the file.
        points: how many points to take of a mesh, by default 2048; how many to keep of a cloud,
            chosen at random, by default all.
        generator: makes the random choices, on the CPU. By default the seed is fixed: the same file
            gives the same cloud every time.
        drop_nonfinite: as for `read`.

    >>> import tempfile
    >>> from spoonful.data.clouds import write_cloud
    >>> path = Path(tempfile.mkdtemp()) / "corner.xyz"
    >>> write_cloud(path, Cloud(torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])))
    >>> read_cloud(path).points
    tensor([[0., 0., 0.],
            [1., 0., 0.],
            [0., 1., 0.]], dtype=torch.float64)
    """
    if points is not None and points < 1:
        raise ValueError(f"points must be at least 1, got {points}")
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    elif generator.device.type != "cpu":
        raise ValueError(f"generator must be on the CPU, got one on {generator.device}")
    shape = read(path, drop_nonfinite=drop_nonfinite)
    if isinstance(shape, Mesh):
        with _blaming(Path(path)):
            return shape.sample(points or DEFAULT_SAMPLES, generator)
    if points is not None and points < len(shape):
        return shape.select(random_points(shape.points, points, generator).sort().values)
    return shape


def read_mesh(path: str | os.PathLike[str], *, drop_nonfinite: bool = False) -> Mesh:
    """Read a file that has triangles; otherwise as `read`, and an error if it has none."""
    shape = read(path, drop_nonfinite=drop_nonfinite)
    if isinstance(shape, Cloud):
        raise CloudFileError(f"{path}: it has no triangles")
    return shape


def _load(path: Path, tell: Tell) -> tuple[Arrays, str]:
    """The file's arrays, and a hint for error messages about them."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        # A pipe would block, a device might never end.
        raise CloudFileError(f"{path}: not a regular file")
    kind = format_of(path)
    with path.open("rb") as file:
        data = file.read(_MAGIC if kind.stream else -1)
    if not data:
        raise CloudFileError(f"{path}: the file is empty")
    hint = _hint(kind, data)
    opening = f"not a readable {kind.name} file: "
    with _blaming(path, opening, hint), warnings.catch_warnings():
        # Overflow and similar warnings: the results are checked below.
        warnings.simplefilter("ignore")
        # NumPy warns if it stops before the end of the text: refuse half a cloud.
        warnings.filterwarnings("error", message="string or file could not be read")
        given = (path, tell) if kind.stream else (data, path.parent)
        arrays: Arrays = function(kind, kind.read)(*given)
    return arrays, hint


def _hint(kind: Format, data: bytes) -> str:
    """` (it begins like a PLY file)` if a file has another format than its name says."""
    if kind.magic and data.startswith(kind.magic):
        return ""
    for other in FORMATS.values():
        if other.magic and other is not kind and data.startswith(other.magic):
            return f" (it begins like a {other.name} file)"
    return ""


@contextmanager
def _blaming(path: Path, opening: str = "", hint: str = "") -> Iterator[None]:
    """Convert all errors of a parser to one error that names the file."""
    try:
        yield
    except (CloudFileError, MissingExtra, MemoryError):
        raise
    except BaseException as error:
        # Ctrl-C and exit pass through. A panic of Rust code, which PyO3 derives from BaseException
        # too, is the file's fault.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise CloudFileError(f"{path}: {opening}{reason}{hint}") from error


def _positions(arrays: Arrays, drop_nonfinite: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The points (V, 3), and which of them are finite, (V,) bool; an error if others may not go."""
    shape = tuple(arrays.vertices.shape)
    if len(shape) != 2 or shape[1] != 3:
        raise ValueError(f"its points have shape {shape}, not (N, 3)")
    if shape[0] == 0:
        raise ValueError("it holds no points")
    vertices = _tensor(arrays.vertices)
    finite = finite_rows(vertices)
    bad = int((~finite).sum())
    if bad and not drop_nonfinite:
        raise ValueError(
            f"{bad} of its {len(vertices)} points have NaN or infinite coordinates; "
            "drop_nonfinite=True leaves them out"
        )
    return vertices, finite


def _tensor(array: Any) -> torch.Tensor:
    """float32 for floats of at most 32 bits, else float64; in memory of its own, in this order."""
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    dtype, own = "float32" if small else "float64", array.flags.owndata and array.flags.writeable
    return torch.from_numpy(array.astype(dtype, order="C", copy=not own))


def _cloud(arrays: Arrays, drop_nonfinite: bool, fields: bool) -> Cloud:
    from spoonful.data.clouds.arrays import to_bytes

    points, finite = _positions(arrays, drop_nonfinite)
    if not bool(finite.any()):
        raise ValueError("none of its points is finite")
    rows = slice(None) if bool(finite.all()) else finite
    normals = colors = None
    if arrays.normals is not None:
        if tuple(arrays.normals.shape) != tuple(points.shape):
            raise ValueError(f"it has normals of shape {tuple(arrays.normals.shape)}")
        normals = _tensor(arrays.normals).to(points.dtype)[rows]
    if arrays.colors is not None:
        if tuple(arrays.colors.shape) != tuple(points.shape):
            raise ValueError(f"it has colours of shape {tuple(arrays.colors.shape)}")
        colors = torch.from_numpy(to_bytes(arrays.colors))[rows]
    points = points[rows]
    normals = None if normals is None else _unit_normals(points, normals)
    more = _fields(arrays, finite) if fields else {}
    if arrays.weights is not None:
        more["weights"] = torch.from_numpy(arrays.weights)[finite]
    if arrays.sensor is not None and all(map(math.isfinite, arrays.sensor)):
        more["sensor"] = torch.tensor(arrays.sensor, dtype=torch.float64)
    return Cloud(points, normals, colors, dropped=len(finite) - len(points), **more)


def _fields(arrays: Arrays, finite: torch.Tensor) -> dict[str, Any]:
    """All columns of the points that are kept, in the machine's byte order, and the header."""
    rows = slice(None) if bool(finite.all()) else finite.numpy()
    columns = {
        name: column.astype(column.dtype.newbyteorder("="), copy=not column.flags.owndata)[rows]
        for name, column in arrays.fields().items()
    }
    return {"fields": columns, "header": arrays.header}


def _unit_normals(points: torch.Tensor, normals: torch.Tensor) -> torch.Tensor | None:
    """Normals made unit. Those that cannot be are estimated, None if no normal can be."""
    largest = normals.abs().amax(-1, keepdim=True)
    good = ((largest > 0) & largest.isfinite()).squeeze(-1)
    if not bool(good.any()):
        return None
    normals = unit(normals)
    if not bool(good.all()):
        if len(points) < 3:
            return None
        normals = normals.where(good.unsqueeze(-1), estimate_normals(points))
    return normals


def _mesh(arrays: Arrays, drop_nonfinite: bool, fields: bool) -> Mesh:
    from spoonful.data.clouds.arrays import to_bytes

    vertices, finite = _positions(arrays, drop_nonfinite)
    assert arrays.faces is not None
    faces = torch.from_numpy(arrays.faces)
    colors = None if arrays.colors is None else torch.from_numpy(to_bytes(arrays.colors))
    if not bool(finite.all()):
        moved_to = finite.cumsum(0) - 1
        faces = moved_to[faces[finite[faces].all(-1)]]
        vertices = vertices[finite]
        colors = None if colors is None else colors[finite]
    if len(faces) == 0:
        raise ValueError("it has no triangles")
    more = _fields(arrays, finite) if fields else {}
    return Mesh(vertices, faces, colors, dropped=len(finite) - len(vertices), **more)
