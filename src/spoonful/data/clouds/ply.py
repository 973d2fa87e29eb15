"""PLY: vertices with all their properties, and faces. Other elements are skipped.

The counts of the header are compared with the length of the file before anything is allocated.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spoonful.data.clouds.arrays import Arrays, columns_of, from_columns, np, text_format
from spoonful.data.clouds.limits import expect
from spoonful.data.clouds.numbers import check_corners, fans, polygons, rows_of, whole
from spoonful.data.clouds.splats import is_splats, with_splats
from spoonful.data.clouds.types import Cloud, Mesh

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENCODINGS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}

# The names of PLY's types, new and old, as struct knows them.
_TYPES = {"b": "char int8", "B": "uchar uint8", "h": "short int16", "H": "ushort uint16"}
_TYPES |= {"i": "int int32", "I": "uint uint32", "q": "int64", "Q": "uint64"}
_TYPES |= {"e": "float16", "f": "float float32", "d": "double float64"}
_CODES = {name: code for code, names in _TYPES.items() for name in names.split()}
_SIZES = {name: struct.calcsize(f"<{code}") for name, code in _CODES.items()}
_CORNERS = ("vertex_indices", "vertex_index")
# Real files have a dozen properties, Gaussian splats sixty.
_MAX_LINES = 256


class _Property(NamedTuple):
    """`property KIND NAME`, or `property list LENGTH KIND NAME`."""

    name: str
    kind: str
    length: str | None = None


@dataclass(frozen=True)
class _Element:
    """`element NAME COUNT` and its properties."""

    name: str
    count: int
    properties: list[_Property] = field(default_factory=list)

    @property
    def wanted(self) -> bool:
        return self.count > 0 and self.name in ("vertex", "face")

    @property
    def least_bytes(self) -> int:
        """The size of all rows in binary if every list is empty."""
        return self.count * sum(_SIZES[p.length or p.kind] for p in self.properties)

    @property
    def least_characters(self) -> int:
        """The size of all rows in text if every number is a digit and every polygon a triangle."""
        numbers = sum(4 if p.name in _CORNERS else 1 for p in self.properties)
        return self.count * 2 * numbers - 1


def read(data: bytes, folder: Path) -> Arrays:
    """Vertices with all their properties, and faces if there are any."""
    header = _header(data)
    vertex = next((e for e in header.elements if e.name == "vertex"), None)
    if vertex is None or not vertex.count:
        return Arrays(np.zeros((0, 3)))
    if not {"x", "y", "z"} <= {p.name for p in vertex.properties if p.length is None}:
        raise ValueError("its vertices have no x, y, z")
    if any(p.length for p in vertex.properties):
        raise ValueError("its vertices have lists, which are not read")
    take = _from_text if header.encoding == "ascii" else _from_binary
    columns, triangles = take(header, vertex.count)
    faces = triangles if triangles is not None and len(triangles) else None
    others = [e.name for e in header.elements if e.count and not e.wanted]
    arrays = from_columns(columns, faces, header=Remarks(header.remarks, others))
    return with_splats(arrays, columns) if is_splats(columns) else arrays


class Remarks(NamedTuple):
    """The parts of a PLY file besides vertices and faces.

    Attributes:
        lines: its comments, each with `comment` or `obj_info` before it.
        elements: the names of its other elements, which are not read.
    """

    lines: list[str]
    elements: list[str]


class _Header(NamedTuple):
    """The header; `line` is the number of the first line after it, `body` what follows."""

    encoding: str
    elements: list[_Element]
    remarks: list[str]
    line: int
    body: bytes


_Found = tuple["dict[str, NDArray[Any]]", "NDArray[Any] | None"]


def _header(data: bytes) -> _Header:
    end = data.find(b"end_header", 0, 1 << 20)
    if not data.startswith(b"ply") or end < 0:
        raise ValueError("it does not begin with a PLY header")
    encoding = ""
    elements: list[_Element] = []
    lines = data[:end].decode("utf-8", "replace").splitlines()[1:]
    remarks = [line for line in lines if line.split()[:1] in (["comment"], ["obj_info"])]
    described = [line for line in lines if line.split() and line not in remarks]
    if len(described) > _MAX_LINES:
        raise ValueError(f"its header has over {_MAX_LINES} lines")
    for line in described:
        match line.split():
            case ["format", name, _] if name in ENCODINGS:
                encoding = name
            case ["element", name, count] if count.isdecimal():
                elements.append(_Element(name, int(count)))
            case ["property", "list", length, kind, name] if elements and length in _CODES:
                elements[-1].properties.append(_Property(name, kind, length))
            case ["property", kind, name] if elements:
                elements[-1].properties.append(_Property(name, kind))
            case _:
                raise ValueError(f"its header has the line {line.strip()[:80]!r}")
    if not encoding:
        raise ValueError("its header does not say ascii or binary")
    for names in ([e.name for e in elements], *([p.name for p in e.properties] for e in elements)):
        if len(set(names)) < len(names):
            raise ValueError(f"its header names something twice: {' '.join(names)[:80]}")
    if any(e.count and not e.properties for e in elements):
        raise ValueError("its header has an element without properties")
    kinds = {p.kind for e in elements for p in e.properties}
    if unknown := kinds - _CODES.keys():
        raise ValueError(f"its header has the type {unknown.pop()[:80]!r}")
    newline = data.find(b"\n", end)
    body = data[newline + 1 :] if newline >= 0 else b""
    return _Header(encoding, elements, remarks, data.count(b"\n", 0, end) + 2, body)


def _from_text(header: _Header, vertices: int) -> _Found:
    """The numbers of vertices and faces, each within the range of its declared type."""
    text = header.body.replace(b"\r", b" ")
    if not text.endswith(b"\n"):
        text += b"\n"
    ends = np.append(0, np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + 1)
    columns: dict[str, NDArray[Any]] = {}
    triangles, row = None, 0
    for element in header.elements:
        first, row = row, row + element.count
        if not element.wanted:
            continue
        if row >= len(ends):
            raise ValueError(
                f"it declares {element.count} rows of {element.name}, "
                f"but only {max(0, len(ends) - 1 - first)} follow: truncated?"
            )
        part = text[ends[first] : ends[row]]
        expect(element.least_characters, len(part), _rows(element))
        rows = rows_of(part, header.line + first)
        if len(rows) < element.count:
            raise ValueError(f"it has empty lines among its rows of {element.name}")
        if element.name == "vertex":
            table = rows.table(len(element.properties))
            for i, column in enumerate(element.properties):
                limits = np.dtype(_CODES[column.kind])
                values = table[:, i]
                if limits.kind in "iu":
                    low, high = (int(n) for n in (np.iinfo(limits).min, np.iinfo(limits).max))
                    values = whole(values, rows, low, high, rows.starts + i)
                columns[column.name] = values.astype(limits)
        else:
            before = _corners_of(element)
            if any(p.length for p in element.properties[:before]):
                raise ValueError("its faces have lists before their corners, which are not read")
            triangles = polygons(rows, vertices, before)
    return columns, triangles


def _from_binary(header: _Header, vertices: int) -> _Found:
    """The bytes of vertices and faces; bytes after them are not read."""
    order = ENCODINGS[header.encoding]
    last = max(i for i, element in enumerate(header.elements) if element.wanted)
    columns: dict[str, NDArray[Any]] = {}
    triangles, at = None, 0
    for element in header.elements[: last + 1]:
        least = element.least_bytes
        expect(least, len(header.body) - at, _rows(element))
        if any(p.length for p in element.properties):
            corners, counts, at = _lists(element, header.body, at, order)
            if element.name == "face" and element.count:
                triangles = check_corners(fans(corners, counts), vertices)
            continue
        if element.name == "vertex":
            kinds = [(p.name, order + _CODES[p.kind]) for p in element.properties]
            table = np.frombuffer(header.body, np.dtype(kinds), element.count, offset=at)
            columns = {name: table[name] for name, _ in kinds}
        at += least
    return columns, triangles


def _corners_of(element: _Element) -> int:
    """The place of the corners among a face's properties."""
    for i, column in enumerate(element.properties):
        if column.name in _CORNERS and column.length:
            return i
    raise ValueError("its faces have no vertex_indices")


def _lists(
    element: _Element, body: bytes, at: int, order: str
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """The corners of all rows, how many each has, and where the rows end."""
    none = np.zeros(0, dtype=np.int64)
    lists = [i for i, p in enumerate(element.properties) if p.length]
    if len(lists) == 1 and element.count:
        # All lists are usually as long as the first.
        name, kind, length = element.properties[lists[0]]
        assert length is not None
        before = sum(_SIZES[p.kind] for p in element.properties[: lists[0]])
        first = int(_unpack(order, length, 1, body, at + before)[0])
        row = element.least_bytes // element.count + first * _SIZES[kind]
        end = at + element.count * row
        if at < end <= len(body) and first >= 0:
            fields = {
                "names": ["length", "corners"],
                "formats": [order + _CODES[length], (order + _CODES[kind], (first,))],
                "offsets": [before, before + _SIZES[length]],
                "itemsize": row,
            }
            rows = np.frombuffer(body, np.dtype(fields), element.count, offset=at)
            if np.all(rows["length"] == first):
                if name not in _CORNERS:
                    return none, none, end
                counts = np.full(element.count, first)
                return _positions(rows["corners"].ravel()), counts, end
    corners: list[Any] = []
    sizes: list[int] = []
    for _ in range(element.count):
        for name, kind, length in element.properties:
            count = 1
            if length:
                count = int(_unpack(order, length, 1, body, at)[0])
                at += _SIZES[length]
            if name in _CORNERS:
                corners.extend(_unpack(order, kind, count, body, at))
                sizes.append(count)
            at += count * _SIZES[kind]
    return _positions(np.array(corners)), np.array(sizes, dtype=np.int64), at


def _positions(corners: NDArray[Any]) -> NDArray[Any]:
    if corners.dtype.kind == "f" and not np.all(corners == np.floor(corners)):
        raise ValueError("its faces name vertices by numbers that are not whole")
    return corners.astype(np.int64)


def _unpack(order: str, kind: str, count: int, body: bytes, at: int) -> tuple[Any, ...]:
    if not 0 <= at <= at + count * _SIZES[kind] <= len(body):
        raise ValueError("it ends within a list: truncated?")
    return struct.unpack_from(f"{order}{count}{_CODES[kind]}", body, at)


def _rows(element: _Element) -> str:
    return f"{element.count} rows of {element.name}"


def write(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """Doubles for float64 and floats for float32; normals nx ny nz, colours red green blue."""
    encoding = encoding or "binary_little_endian"
    order = ENCODINGS[encoding]
    own = isinstance(shape.header, Remarks)
    columns = columns_of(shape, raw=own)
    if "red" in columns:
        columns = {name: c for name, c in columns.items() if name not in ("rgb", "rgba")}
    columns = {name: _storable(c) for name, c in columns.items()}
    vertices = np.empty(
        len(columns["x"]), dtype=[(name, order + c.dtype.str[1:]) for name, c in columns.items()]
    )
    for name, column in columns.items():
        vertices[name] = column
    types = {code: names.split()[0] for code, names in _TYPES.items()}
    header = ["ply", f"format {encoding} 1.0", *(shape.header.lines if own else ())]
    header += [f"element vertex {len(vertices)}"]
    header += [f"property {types[c.dtype.char]} {name}" for name, c in columns.items()]
    blocks = [vertices]
    if isinstance(shape, Mesh):
        faces = np.empty(
            len(shape.faces), dtype=[("length", "u1"), *((axis, order + "i4") for axis in "abc")]
        )
        faces["length"] = 3
        faces["a"], faces["b"], faces["c"] = shape.faces.cpu().numpy().T
        header += [f"element face {len(faces)}", "property list uchar int vertex_indices"]
        blocks.append(faces)
    out = io.BytesIO()
    out.write("".join(f"{line}\n" for line in [*header, "end_header"]).encode())
    for block in blocks:
        if encoding == "ascii":
            np.savetxt(
                out, block, fmt=[text_format(block.dtype[i]) for i in range(len(block.dtype))]
            )
        else:
            out.write(block.tobytes())
    return out.getvalue()


def _storable(column: NDArray[Any]) -> NDArray[Any]:
    """A column in a type that every reader of PLY knows."""
    if column.dtype.char in "bBhHiIfd":
        return column
    kinds = {"e": "float32", "?": "uint8"}
    return column.astype(kinds.get(column.dtype.char, "float64"))
