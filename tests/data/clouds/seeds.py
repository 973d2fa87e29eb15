"""One small good file of every kind, and ways to spoil it."""

from __future__ import annotations

import functools
import importlib.util
import io
import json
import struct
import tempfile
from pathlib import Path

import torch
from hypothesis import strategies as st

from data.clouds.e57_file import e57_file
from spoonful.data.clouds import FORMATS, Cloud, Mesh, write_cloud, write_mesh

POLYGONS = b"""ply
format ascii 1.0
comment triangles and a square
element vertex 5
property float x
property float y
property float z
element face 3
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
1 1 0
0 1 0
0 0 1
3 0 1 4
4 0 1 2 3
3 1 2 4
"""
STL_TEXT = b"""solid corner
facet normal 0 0 1
 outer loop
  vertex 0 0 0
  vertex 1 0 0
  vertex 0 1 0
 endloop
endfacet
endsolid corner
"""
PTS = b"3\n1.5 2 3 -1200 10 20 30\n4 5 6 800 40 50 60\n7 8 9 2047 70 80 90\n"
# Two by two pixels, one of them empty, moved by (100, 0, 0) and turned by 90 degrees about z.
PTX = b"""2
2
100 0 0
1 0 0
0 1 0
0 0 1
0 1 0 0
-1 0 0 0
0 0 1 0
100 0 0 1
1 0 0 0.5 10 20 30
0 0 0 0.5 0 0 0
0 2 0 0.25 40 50 60
0 0 3 1 70 80 90
"""


def small_cloud() -> Cloud:
    generator = torch.Generator().manual_seed(0)
    # Eighths: numbers with so many zeros that PCD's compression makes them smaller.
    points = torch.randint(-40, 40, (20, 3), generator=generator) / 8.0
    normals = torch.nn.functional.normalize(
        torch.randint(-3, 4, (20, 3), generator=generator) + 0.5, dim=-1
    )
    colors = torch.randint(0, 256, (20, 3), generator=generator, dtype=torch.uint8)
    return Cloud(points.double(), normals.double(), colors)


def tetrahedron() -> Mesh:
    vertices = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    return Mesh(vertices, torch.tensor([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))


def mixed_polygons() -> bytes:
    """A binary PLY with a triangle, a square and another triangle: lists of unequal length."""
    header = POLYGONS.partition(b"end_header\n")[0].replace(b"ascii", b"binary_little_endian")
    vertices = torch.tensor([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]])
    body = vertices.numpy().tobytes()
    for face in ((0, 1, 4), (0, 1, 2, 3), (1, 2, 4)):
        body += struct.pack(f"<B{len(face)}i", len(face), *face)
    return header + b"end_header\n" + body


def layered_laz() -> bytes:
    """LAZ of point format 7, whose compression is another than that of the older formats."""
    import laspy

    cloud = small_cloud()
    record = laspy.LasData(laspy.LasHeader(version="1.4", point_format=7))
    record.header.scales = [1e-6] * 3
    record.x, record.y, record.z = cloud.points.numpy().T
    out = io.BytesIO()
    record.write(out, do_compress=True, laz_backend=laspy.LazBackend.Lazrs)
    return out.getvalue()


def gltf_tree(**changes: object) -> bytes:
    """A glTF file of one triangle, with its buffer in it; `changes` replace parts of the JSON."""
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "translation": [1, 2, 3]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [
            {
                "byteLength": 36,
                "uri": "data:application/octet-stream;base64,"
                "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA",
            }
        ],
    }
    return json.dumps(tree | changes).encode()


@functools.cache
def seeds() -> dict[str, tuple[str, bytes]]:
    """Good files: by a name of their own, their extension and contents."""
    files = {
        "ply-polygons-text": (".ply", POLYGONS),
        "ply-polygons-binary": (".ply", mixed_polygons()),
        "stl-text": (".stl", STL_TEXT),
        "laz-layered": (".laz", layered_laz()),
        "gltf-tree": (".gltf", gltf_tree()),
        "xyz-bare": (".xyz", b"# x y z\n0 0 0\n1 0 0\n0 1 0\n"),
        "pts-cloud": (".pts", PTS),
        "ptx-cloud": (".ptx", PTX),
    }
    if importlib.util.find_spec("e57"):
        points = small_cloud().points.tolist()
        files["e57-cloud"] = (".e57", e57_file(points, [i / 20 for i in range(20)]))
    with tempfile.TemporaryDirectory() as folder:
        for suffix, kind in FORMATS.items():
            if not kind.write:
                continue
            path = Path(folder) / f"seed{suffix}"
            for encoding in kind.encodings or (None,):
                name = f"{suffix[1:]}-{encoding or 'cloud'}"
                if suffix != ".stl":
                    write_cloud(path, small_cloud(), encoding=encoding)
                    files[name] = (suffix, path.read_bytes())
                if kind.meshes:
                    write_mesh(path, tetrahedron(), encoding=encoding)
                    files[f"{name}-mesh"] = (suffix, path.read_bytes())
    return files


_NUMBERS = [b"0", b"-1", b"1e400", b"nan", b"1000000000000", b"4294967295", b"9" * 30]
_WORDS = [bytes(8), b"\xff" * 4, b"\xff" * 8, b"\x7f\xff\xff\xff", struct.pack("<I", 10**9)]


@st.composite
def spoiled(draw: st.DrawFn, good: bytes) -> bytes:
    """The file with a few bytes changed, cut out, put in, repeated, or its end missing."""
    data = bytearray(good)
    # Where headers are, damage does more.
    place = st.one_of(
        st.sampled_from(range(len(good) + 1)), st.sampled_from(range(min(len(good), 300)))
    )
    for _ in range(draw(st.integers(1, 4))):
        at = min(draw(place), len(data))
        length = draw(st.integers(0, 12))
        match draw(st.integers(0, 6)):
            case 0:
                data[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case 1:
                data[at : at + length] = draw(st.binary(max_size=12))
            case 2:
                word = draw(st.sampled_from(_WORDS))
                data[at : at + len(word)] = word
            case 3:
                # A number of the text around here becomes another.
                while at < len(data) and not 48 <= data[at] <= 57:
                    at += 1
                end = at
                while end < len(data) and 48 <= data[end] <= 57:
                    end += 1
                data[at:end] = draw(st.sampled_from(_NUMBERS))
            case 4:
                del data[at:]
            case 5:
                data[at:at] = data[at : at + 40 * length]
            case 6:
                del data[at : at + 10 * length]
    return bytes(data)
