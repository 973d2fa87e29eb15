"""What every format's reader hands on: plain arrays, before anyone has judged them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spoonful.data.clouds.types import Cloud, Mesh
from spoonful.extras import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

np = require("numpy", extra="data", why="Reading and writing point clouds")

_POSITION = ("x", "y", "z")
_NORMAL = (
    ("nx", "ny", "nz"),
    ("normal_x", "normal_y", "normal_z"),
    ("normalx", "normaly", "normalz"),
)
_COLOR = (("red", "green", "blue"), ("r", "g", "b"))


@dataclass(frozen=True)
class Arrays:
    """Arrays as a file has them.

    Attributes:
        vertices: (V, 3), any real dtype.
        faces: (F, 3) int64 in memory of its own, or None for a cloud.
        normals: (V, 3), not necessarily of length one, or None.
        colors: (V, 3), bytes, 16-bit numbers or fractions, or None.
    """

    vertices: NDArray[Any]
    faces: NDArray[Any] | None = None
    normals: NDArray[Any] | None = None
    colors: NDArray[Any] | None = None


def from_columns(columns: Mapping[str, NDArray[Any]]) -> Arrays:
    """Columns by their names, whatever their order and capitals: x, y, z, nx, red and so on."""
    named = {name.lower(): column for name, column in columns.items()}
    if any(name not in named for name in _POSITION):
        raise ValueError(f"there are no columns x, y, z, only {', '.join(columns) or 'nothing'}")

    def stack(choices: Iterable[tuple[str, ...]]) -> NDArray[Any] | None:
        for names in choices:
            if all(name in named for name in names):
                return np.stack([named[name] for name in names], axis=-1)
        return None

    vertices = stack([_POSITION])
    assert vertices is not None
    return Arrays(vertices, normals=stack(_NORMAL), colors=stack(_COLOR))


MOST_COLUMNS = 64  # of a table of three rows; one with more is a cloud that lies on its side


def from_table(table: NDArray[Any]) -> Arrays:
    """Columns without names: x, y, z, then normals and colours as far as the numbers show.

    Three further columns are normals when every row of them has length one (or zero), colours
    when they are whole numbers up to 255; anything else is left alone.
    """
    if table.ndim != 2 or table.shape[1] < 3:
        raise ValueError(f"a cloud has rows of at least 3 numbers, this has shape {table.shape}")
    if len(table) in (3, 6) and table.shape[1] > MOST_COLUMNS:
        raise ValueError(f"its shape is {table.shape}: is it transposed? A cloud has a row a point")
    found: dict[str, NDArray[Any]] = {}
    for start in (3, 6):
        columns = table[:, start : start + 3]
        if columns.shape[1] < 3:
            break
        length = np.linalg.norm(columns.astype(np.float64), axis=1)
        if (
            "normals" not in found
            and length.any()
            and np.all((np.abs(length - 1) < 0.05) | (length == 0))
        ):
            found["normals"] = columns
        elif "colors" not in found and np.all(
            (columns >= 0) & (columns <= 255) & (columns == np.round(columns))
        ):
            found["colors"] = columns.astype(np.uint8)
    return Arrays(table[:, :3], normals=found.get("normals"), colors=found.get("colors"))


def to_bytes(colors: NDArray[Any]) -> NDArray[Any]:
    """A copy of colours as bytes; fractions of one and 16-bit numbers are rescaled."""
    if colors.dtype == np.uint8:
        return colors.copy()
    top = float(np.nanmax(colors, initial=0.0))
    if colors.dtype.kind == "f":
        scale = 255.0 if top <= 1.0 else 1.0
    else:
        scale = 1.0 if top <= 255 else 255.0 / 65535.0
    return np.nan_to_num(np.round(colors * scale)).clip(0, 255).astype(np.uint8)


def from_trimesh(loaded: Mapping[str, Any]) -> Arrays:
    """What trimesh's loaders return: one geometry, or several by name."""
    several = loaded.get("geometry")
    parts = [loaded] if several is None else list(several.values())
    return concatenate([_part(part) for part in parts])


def concatenate(parts: list[Arrays]) -> Arrays:
    """Several geometries as one: the meshes among them if there are any, else the clouds."""
    if any(part.faces is not None for part in parts):
        parts = [part for part in parts if part.faces is not None]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Arrays(np.zeros((0, 3)))
    faces, offset = [], 0
    for part in parts:
        if part.faces is not None:
            faces.append(part.faces + offset)
        offset += len(part.vertices)
    normals = [part.normals for part in parts if part.normals is not None]
    colors = [part.colors for part in parts if part.colors is not None]
    return Arrays(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate(faces) if faces else None,
        np.concatenate(normals) if len(normals) == len(parts) else None,
        np.concatenate(colors) if len(colors) == len(parts) else None,
    )


def _part(loaded: Mapping[str, Any]) -> Arrays:
    vertices = np.asarray(loaded["vertices"])
    faces = loaded.get("faces")

    def of_vertices(name: str) -> NDArray[Any] | None:
        values = loaded.get(name)
        if values is None or np.ndim(values) != 2 or len(values) != len(vertices):
            return None
        return np.asarray(values)[:, :3]

    if faces is not None and len(faces):
        if np.ndim(faces) != 2 or np.shape(faces)[1] != 3:
            geometry = require("trimesh.geometry", extra="data", why="Reading meshes")
            faces = geometry.triangulate_quads(faces).reshape(-1, 3)
        # Checked before anything is done with them: a negative index would wrap around.
        faces = np.asarray(faces)
        if len(faces) and not (faces.min() >= 0 and faces.max() < len(vertices)):
            raise ValueError(
                f"its faces name vertices {faces.min()} to {faces.max()} of {len(vertices)}"
            )
        colors = of_vertices("vertex_colors")
        if colors is not None and colors.shape[1] < 3:
            colors = None  # whatever they are, the triangles are what is wanted
        return Arrays(vertices, faces.astype(np.int64), colors=colors)
    return Arrays(
        vertices, normals=of_vertices("vertex_normals"), colors=of_vertices("vertex_colors")
    )


def columns_of(shape: Cloud | Mesh) -> dict[str, NDArray[Any]]:
    """All that a cloud or mesh carries, by the names that `from_columns` and PLY know."""
    points = shape.points if isinstance(shape, Cloud) else shape.vertices
    blocks = {("x", "y", "z"): points}
    if isinstance(shape, Cloud) and shape.normals is not None:
        blocks[_NORMAL[0]] = shape.normals.to(points.dtype)
    if shape.colors is not None:
        blocks[_COLOR[0]] = shape.colors
    return {
        name: column
        for names, block in blocks.items()
        for name, column in zip(names, block.detach().cpu().numpy().T, strict=True)
    }


def text_format(dtype: Any) -> str:
    """How savetxt writes a number so that it is read back as the same number."""
    return {"f8": "%.17g", "f4": "%.9g"}.get(dtype.str[1:], "%d")
