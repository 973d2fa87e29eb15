"""The arrays that every reader returns, and the columns that every writer takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spoonful.data.clouds.types import COLOR, NORMAL, POSITION, STANDARD, Cloud, Mesh
from spoonful.extras import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

np = require("numpy", extra="data", why="Reading and writing point clouds")


@dataclass(frozen=True)
class Arrays:
    """Arrays as a file has them, not yet checked.

    Attributes:
        vertices: (V, 3), any real dtype.
        faces: (F, 3) int64 in memory of its own, or None for a cloud.
        normals: (V, 3), not necessarily of length one, or None.
        colors: (V, 3), bytes, 16-bit numbers or fractions, or None.
        fields: returns all columns of the file, (V,) each, by name.
        header: what a writer of the same format can use again.
        weights: (V,) from 0 to 1, or None.
        sensor: (3,) where the sensor was, if the file has one scan and says so.
    """

    vertices: NDArray[Any]
    faces: NDArray[Any] | None = None
    normals: NDArray[Any] | None = None
    colors: NDArray[Any] | None = None
    fields: Callable[[], Mapping[str, NDArray[Any]]] = dict
    header: Any = None
    weights: NDArray[Any] | None = None
    sensor: Sequence[float] | None = None


def from_columns(
    columns: Mapping[str, NDArray[Any]], faces: NDArray[Any] | None = None, header: Any = None
) -> Arrays:
    """Find positions, normals and colours among columns by their names, in any order and case."""
    named = {name.lower(): column for name, column in columns.items()}
    if any(name not in named for name in POSITION):
        raise ValueError(
            f"there are no columns x, y, z, only {', '.join(columns) or 'nothing'}; rename them"
        )

    def stack(choices: Iterable[tuple[str, ...]]) -> NDArray[Any] | None:
        for names in choices:
            if all(name in named for name in names):
                return np.stack([named[name] for name in names], axis=-1)
        return None

    vertices = stack([POSITION])
    assert vertices is not None
    return Arrays(vertices, faces, stack(NORMAL), stack(COLOR), lambda: columns, header)


def check_names(names: Sequence[str]) -> None:
    """Raise if two columns have the name of a position, normal or colour.

    >>> check_names(["x", "y", "z", "X"])
    Traceback (most recent call last):
    ValueError: it has 2 columns named 'x'
    """
    for name, count in Counter(name.lower() for name in names).items():
        if count > 1 and name in STANDARD:
            raise ValueError(f"it has {count} columns named {name!r}")


MOST_COLUMNS = 64  # of a table of three rows; one with more is a cloud that lies on its side


def from_table(table: NDArray[Any]) -> Arrays:
    """Columns without names: x, y, z, then normals and colours as far as the numbers show.

    Three further columns are normals when every row of them has length one (or zero), colours
    when they are whole numbers up to 255; any other is named by its place, as `column_4`.
    """
    if table.ndim != 2 or table.shape[1] < 3:
        raise ValueError(f"a cloud has rows of at least 3 numbers, this has shape {table.shape}")
    if len(table) in (3, 6) and table.shape[1] > MOST_COLUMNS:
        raise ValueError(f"its shape is {table.shape}, not (N, 3): is it transposed?")
    found: dict[str, Any] = {}
    names = [*POSITION, *(f"column_{k}" for k in range(4, table.shape[1] + 1))]
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
            names[start : start + 3] = NORMAL[0]
        elif "colors" not in found and np.all(
            (columns >= 0) & (columns <= 255) & (columns == np.round(columns))
        ):
            found["colors"] = columns.astype(np.uint8)
            names[start : start + 3] = COLOR[0]
    return Arrays(table[:, :3], **found, fields=lambda: dict(zip(names, table.T, strict=True)))


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


def columns_of(shape: Cloud | Mesh, *, raw: bool = False) -> dict[str, NDArray[Any]]:
    """All columns of a cloud or mesh, in the order of the file that it was read from.

    Positions, normals and colours are named x, y, z, nx, ny, nz, red, green, blue. Positions come
    first if they were no columns of the file, as in LAS: some programs take the first three.

    Args:
        shape: the cloud or mesh.
        raw: colours as the file had them, rather than as bytes.
    """
    points = shape.points if isinstance(shape, Cloud) else shape.vertices
    blocks: list[tuple[tuple[tuple[str, ...], ...], Any]] = [((POSITION,), points)]
    if isinstance(shape, Cloud) and shape.normals is not None:
        blocks.append((NORMAL, shape.normals.to(points.dtype)))
    names = {name.lower(): name for name in shape.fields}
    if shape.colors is not None and not (raw and any(map(set(names).issuperset, COLOR))):
        blocks.append((COLOR, shape.colors))
    first = () if set(POSITION) <= set(names) else POSITION
    columns: dict[str, Any] = {**dict.fromkeys(first), **shape.fields}
    for choices, block in blocks:
        given = next((choice for choice in choices if set(choice) <= set(names)), ())
        for name in given:
            columns[names[name]] = None  # keeps its place
        renamed = dict(zip((names[name] for name in given), choices[0], strict=False))
        columns = {renamed.get(name, name): column for name, column in columns.items()}
        columns |= zip(choices[0], block.detach().cpu().numpy().T, strict=True)
    return columns


def text_format(dtype: Any) -> str:
    """The format of `savetxt` that keeps every digit of a number."""
    return {"f8": "%.17g", "f4": "%.9g"}.get(dtype.str[1:], "%d")
