"""PLY: read by trimesh, from the parts of the file that hold vertices and faces.

What a header declares is first compared with what follows it. trimesh is then given a file of
the vertices and faces alone, in which all faces have as many corners as the first: others are
cut into triangles here, because trimesh reads lists of unequal length in text only.
"""

from __future__ import annotations

import io
import struct
from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from spoonful.data.clouds.arrays import Arrays, columns_of, from_trimesh, np, text_format
from spoonful.data.clouds.limits import expect
from spoonful.data.clouds.types import Cloud, Mesh
from spoonful.extras import require

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
        """What all rows take in binary if every list is empty."""
        return self.count * sum(_SIZES[p.length or p.kind] for p in self.properties)

    @property
    def least_characters(self) -> int:
        """What all rows take in text if every number is a digit and every polygon a triangle."""
        numbers = sum(4 if p.name in _CORNERS else 1 for p in self.properties)
        return self.count * 2 * numbers - 1

    def lines(self) -> list[str]:
        return [f"element {self.name} {self.count}"] + [
            f"property {f'list {p.length} ' if p.length else ''}{p.kind} {p.name}"
            for p in self.properties
        ]


def read(data: bytes, folder: Path) -> Arrays:
    """Vertices with their normals and colours, and faces where there are any."""
    load = require("trimesh.exchange.ply", extra="data", why="Reading PLY files").load_ply
    encoding, elements, body = _header(data)
    vertex = next((e for e in elements if e.name == "vertex"), None)
    if vertex is None or not vertex.count:
        return Arrays(np.zeros((0, 3)))
    if not {"x", "y", "z"} <= {p.name for p in vertex.properties if p.length is None}:
        raise ValueError("its vertices have no x, y, z")
    take = _from_text if encoding == "ascii" else _from_binary
    parts = take(elements, body, ENCODINGS[encoding])
    header = ["ply", f"format {encoding} 1.0"]
    for element, _ in parts:
        header += element.lines()
    clean = "".join(f"{line}\n" for line in [*header, "end_header"]).encode()
    clean += b"".join(part for _, part in parts)
    return from_trimesh(load(io.BytesIO(clean), skip_materials=True, fix_texture=False))


def _header(data: bytes) -> tuple[str, list[_Element], bytes]:
    """The encoding, the elements, and what follows the header. Comments are skipped."""
    end = data.find(b"end_header", 0, 1 << 20)
    if not data.startswith(b"ply") or end < 0:
        raise ValueError("it does not begin with a PLY header")
    encoding = ""
    elements: list[_Element] = []
    lines = data[:end].decode("utf-8", "replace").splitlines()[1:]
    described = [line for line in lines if line.split()[:1] not in ([], ["comment"], ["obj_info"])]
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
    return encoding, elements, data[newline + 1 :] if newline >= 0 else b""


_Part = tuple[_Element, bytes]


def _from_text(elements: list[_Element], body: bytes, order: str) -> list[_Part]:
    """The lines of vertices and of faces."""
    text = body.replace(b"\r", b" ")
    if not text.endswith(b"\n"):
        text += b"\n"
    starts = np.append(0, np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + 1)
    lines, row, parts = len(starts) - 1, 0, []
    for element in elements:
        first, row = row, row + element.count
        if element.wanted:
            if row > lines:
                raise ValueError(
                    f"it declares {element.count} rows of {element.name}, "
                    f"but only {max(0, lines - first)} follow: truncated?"
                )
            part = text[starts[first] : starts[row]]
            expect(element.least_characters, len(part), _rows(element))
            if part.translate(None, b"0123456789+-.eE \t\nnNaAiIfFtTyY"):
                raise ValueError(f"its rows of {element.name} are not all numbers")
            parts.append((element, part))
    return parts


def _from_binary(elements: list[_Element], body: bytes, order: str) -> list[_Part]:
    """The bytes of vertices and of faces; what follows the last of them is never looked at."""
    last = max(i for i, element in enumerate(elements) if element.wanted)
    at, parts = 0, []
    for element in elements[: last + 1]:
        least = element.least_bytes
        expect(least, len(body) - at, _rows(element))
        if any(p.length for p in element.properties):
            element, part, at = _with_lists(element, body, at, order)
        else:
            part, at = body[at : at + least], at + least
        if element.wanted:
            parts.append((element, part))
    return parts


def _with_lists(element: _Element, body: bytes, at: int, order: str) -> tuple[_Element, bytes, int]:
    """Rows as they are where all lists are as long as the first, else as triangles alone."""
    lists = [i for i, p in enumerate(element.properties) if p.length]
    if len(lists) == 1 and element.count:
        _, kind, length = element.properties[lists[0]]
        assert length is not None
        before = sum(_SIZES[p.kind] for p in element.properties[: lists[0]])
        first = _unpack(order, length, 1, body, at + before)[0]
        row = element.least_bytes // element.count + int(first) * _SIZES[kind]
        end = at + element.count * row
        if at < end <= len(body):
            rows = np.frombuffer(body, dtype=np.uint8, count=end - at, offset=at)
            lengths = rows.reshape(element.count, row)[:, before : before + _SIZES[length]]
            if np.all(lengths == lengths[0]):
                return element, rows.tobytes(), end

    triangles = array("i")
    for _ in range(element.count):
        for name, kind, length in element.properties:
            count = 1
            if length:
                count = int(_unpack(order, length, 1, body, at)[0])
                at += _SIZES[length]
            if name in _CORNERS:
                corners = _unpack(order, kind, count, body, at)
                for second, third in pairwise(corners[1:]):
                    triangles.extend((corners[0], second, third))
            at += count * _SIZES[kind]
    rows = np.empty(len(triangles) // 3, dtype=[("length", "u1"), ("corners", order + "i4", 3)])
    rows["length"], rows["corners"] = 3, np.asarray(triangles).reshape(-1, 3)
    cut = _Element(element.name, len(rows), [_Property("vertex_indices", "int", "uchar")])
    return cut, rows.tobytes(), at


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
    columns = columns_of(shape)
    vertices = np.empty(
        len(columns["x"]), dtype=[(name, order + c.dtype.str[1:]) for name, c in columns.items()]
    )
    for name, column in columns.items():
        vertices[name] = column
    types = {"f8": "double", "f4": "float", "u1": "uchar"}
    header = ["ply", f"format {encoding} 1.0", f"element vertex {len(vertices)}"]
    header += [f"property {types[c.dtype.str[1:]]} {name}" for name, c in columns.items()]
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
