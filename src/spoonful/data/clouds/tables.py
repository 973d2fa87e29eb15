"""Text tables (xyz, txt, csv) and NumPy's own files (npy, npz): read and written by NumPy."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoonful.data.clouds.arrays import (
    Arrays,
    check_names,
    columns_of,
    from_columns,
    from_table,
    np,
    text_format,
)
from spoonful.data.clouds.limits import expect, expect_expansion
from spoonful.data.clouds.numbers import no_number, rows_of, unix_lines
from spoonful.data.clouds.types import POSITION, STANDARD, Cloud, Mesh

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POINTS = ("points", "xyz", "vertices", "pos", "positions", "pcd", "data", "arr_0")
_NORMALS = ("normals", "normal")
_COLORS = ("colors", "color", "rgb")
# Surveyors' names of x, y and z.
_SURVEYED = {"easting": "x", "northing": "y", "elevation": "z", "height": "z"}
# The unit after a name: x [mm], x (m) or x_m.
_UNIT = re.compile(r"[\[(].*|_(m|cm|mm|ft)$")
# A whole word that is a number with a decimal comma.
_DECIMAL = re.compile(rb"(?<![^\s;])([-+]?\d*),(\d+(?:[eE][-+]?\d+)?)(?![^\s;])")


def read_text(data: bytes, folder: Path) -> Arrays:
    """Rows of numbers parted by spaces, tabs, commas or semicolons; `#` begins a comment.

    A first line of names (`x,y,z,nx,ny,nz,red,green,blue`; CloudCompare's `//X Y Z`) says what
    the columns are, or a comment above the numbers with as many names; without one, `from_table`
    does. Easting, northing and elevation or height are x, y and z. Units after names are ignored.
    An empty cell is NaN. Decimals may have a comma if columns are parted by something else.
    """
    if b"\0" in data:
        raise ValueError("it is not text")
    text = unix_lines(data.removeprefix(b"\xef\xbb\xbf"))
    first = re.search(rb"(?m)^[^\S\n]*([^\s#][^\n#]*)", text)
    if first is None:
        return Arrays(np.zeros((0, 3)))
    line, comments = first[1], re.findall(rb"#(.*)", text[: first.start()])
    separator = next((s for s in (b";", b",") if s in line), None)
    if separator == b"," and re.match(rb"\S*\d[ \t]+[-+.\d]", line):
        separator = None  # only spaces are between the first two numbers
    if separator != b",":
        line, text = (_DECIMAL.sub(rb"\1.\2", part) for part in (line, text))
    if separator is None:
        line = re.sub(rb"(?<=\S)[ \t]+(?=[\[(])", b"", line)  # the unit belongs to the name
    names = [word.strip(b" \t\"'") for word in line.lstrip(b"/").strip().split(separator)]
    if names[0].lower() in (b"ncols", b"nrows"):
        raise ValueError("it is an ESRI grid of heights: export it as points, .xyz or .las")
    number = 1 + text.count(b"\n", 0, first.start())
    numeric = [not name or _is_number(name) for name in names]
    named = not all(numeric)
    if named and any(_is_number(name) for name in names[:3]):
        raise no_number(number, names[numeric.index(False)])
    text = re.sub(rb"#[^\n]*", b"", text[first.end() :] if named else text)
    if named:  # CloudCompare may write the number of points below the names
        text = re.sub(rb"\A\n\d+\n", b"\n\n", text)
    table = _numbers(text, separator, number if named else 1)
    if not table.size:
        return Arrays(np.zeros((0, 3)))
    columns = table.shape[1]
    if named and columns != len(names):
        raise ValueError(f"its first line names {len(names)} columns, but it has {columns}")
    lines = [names] if named else [re.split(rb"[\s,;]+", comment.strip()) for comment in comments]
    for words in map(_words, lines):
        if named or (len(words) == columns and {*POSITION} <= {word.lower() for word in words}):
            check_names(words)
            return from_columns(dict(zip(words, table.T, strict=True)))
    return from_table(table)


def _words(names: Sequence[bytes]) -> list[str]:
    """The names of columns; if x, y and z are not among them, also without units."""
    words = [name.decode("latin-1") for name in names]
    if {*POSITION} <= {word.lower() for word in words}:
        return words
    bare = [_UNIT.sub("", word.lower()).strip() for word in words]
    if "easting" in bare:
        bare = [_SURVEYED.get(name, name) for name in bare]
    return [name if name in STANDARD else word for name, word in zip(bare, words, strict=True)]


def _numbers(text: bytes, separator: bytes | None, line: int) -> NDArray[Any]:
    """The table that text has from a line on. Empty cells are NaN; errors name the line."""
    between = separator.decode() if separator else None
    try:
        return np.loadtxt(io.BytesIO(text), delimiter=between, ndmin=2, encoding="latin-1")
    except ValueError:  # slower, but knows empty cells and lines
        if separator:
            empty = rb"(?<![^\n,])[ \t]*(?=,)|(?<=,)[ \t]*(?=\n|\Z)".replace(b",", separator)
            text = re.sub(empty, b"nan", text).replace(separator, b" ")
        return rows_of(text, line).table()


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def write_text(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """Rows `x y z`, with normals and then colours where they are known."""
    return _rows(shape, " ", "")


def write_csv(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """The same with commas, under a line of names."""
    return _rows(shape, ",", ",".join(columns_of(shape)))


def _rows(shape: Cloud | Mesh, separator: str, names: str) -> bytes:
    columns = columns_of(shape)
    out = io.BytesIO()
    np.savetxt(
        out,
        np.stack([column.astype(np.float64) for column in columns.values()], axis=-1),
        fmt=[text_format(column.dtype) for column in columns.values()],
        delimiter=separator,
        header=names,
        comments="",
    )
    return out.getvalue()


def read_npy(data: bytes, folder: Path) -> Arrays:
    """An array (N, 3) or wider, as `from_table`."""
    return from_table(_array(data))


def read_npz(data: bytes, folder: Path) -> Arrays:
    """Arrays `points` (or xyz, vertices, pos ...), `normals` and `colors` of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {Path(info.filename).stem.lower(): info for info in archive.infolist()}

        def find(names: tuple[str, ...]) -> zipfile.ZipInfo | None:
            return next((members[name] for name in names if name in members), None)

        points = find(_POINTS)
        if points is None and len(members) == 1:
            points = next(iter(members.values()))
        if points is None:
            raise ValueError(f"it has no array named points, only {', '.join(members)[:200]}")
        wanted = {"points": points, "normals": find(_NORMALS), "colors": find(_COLORS)}
        sizes = [info.file_size for info in wanted.values() if info is not None]
        expect_expansion(sum(sizes), len(data), "its arrays")
        arrays = {
            name: _array(archive.read(info)) for name, info in wanted.items() if info is not None
        }
    table = from_table(arrays["points"])
    normals, colors = (arrays.get(name, getattr(table, name)) for name in ("normals", "colors"))
    return replace(table, normals=normals, colors=colors)


def _array(data: bytes) -> NDArray[Any]:
    """One array, if its header promises real numbers and no more of them than there are."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read_header:
        raise ValueError(f"it has version {version} of NumPy's format")
    shape, _, dtype = read_header[version](stream)
    if dtype.kind not in "fiu":
        raise ValueError(f"it holds {dtype}, not real numbers")
    size = dtype.itemsize
    for side in shape:
        size *= int(side)
    expect(size, len(data) - stream.tell(), f"an array of shape {shape}")
    stream.seek(0)
    array: NDArray[Any] = np.load(stream, allow_pickle=False)
    return array


def write_npy(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """(N, 3), or (N, 6) with normals; colours do not fit."""
    columns = columns_of(shape)
    names = [name for name in columns if name not in ("red", "green", "blue")]
    out = io.BytesIO()
    np.save(out, np.stack([columns[name] for name in names], axis=-1), allow_pickle=False)
    return out.getvalue()


def write_npz(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """Arrays `points`, `normals`, `colors`, compressed."""
    assert isinstance(shape, Cloud)
    arrays = {"points": shape.points, "normals": shape.normals, "colors": shape.colors}
    out = io.BytesIO()
    np.savez_compressed(
        out, **{name: a.detach().cpu().numpy() for name, a in arrays.items() if a is not None}
    )
    return out.getvalue()
