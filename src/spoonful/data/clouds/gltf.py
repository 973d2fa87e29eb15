"""glTF and GLB: read and written by trimesh, with the JSON cut down to what places points.

glTF files refer: nodes to nodes and meshes, meshes to accessors, accessors to buffers, buffers to
other files. Each reference is a chance to use the same bytes a million times over, to go round
in circles, or to leave the folder. So the JSON is cut down and checked first (`_cleaned`), and
trimesh never sees names, materials, images, cameras or extensions.
"""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from spoonful.data.clouds.arrays import Arrays, columns_of, np
from spoonful.data.clouds.limits import expect, expect_expansion
from spoonful.data.clouds.numbers import check_corners
from spoonful.data.clouds.types import Cloud, Mesh
from spoonful.extras import require

# Extensions that change how a model looks, not where it is.
_HARMLESS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_")
_BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
_NUMBERS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_TRIANGLE_FAN = 6
_GLB_HEAD = struct.Struct("<4sIIII")
_JSON_CHUNK = int.from_bytes(b"JSON", "little")


def read_gltf(data: bytes, folder: Path) -> Arrays:
    """The triangles of the default scene, or its points where it has no triangles."""
    load = require("trimesh.exchange.gltf", extra="data", why="Reading glTF files").load_gltf
    tree, files = _cleaned(json.loads(data), folder, len(data))
    return _placed(load(io.BytesIO(json.dumps(tree).encode()), files, skip_materials=True))


def read_glb(data: bytes, folder: Path) -> Arrays:
    """The same, from a file that holds its own buffers."""
    load = require("trimesh.exchange.gltf", extra="data", why="Reading glTF files").load_glb
    expect(_GLB_HEAD.size, len(data), "a GLB header")
    magic, version, _, length, kind = _GLB_HEAD.unpack_from(data)
    if magic != b"glTF" or version != 2 or kind != _JSON_CHUNK:
        raise ValueError("it does not begin with a GLB header of version 2")
    expect(length, len(data) - _GLB_HEAD.size, f"{length} bytes of JSON")
    start, end = _GLB_HEAD.size, _GLB_HEAD.size + length
    tree, files = _cleaned(json.loads(data[start:end]), folder, len(data))
    text, rest = json.dumps(tree).encode(), data[end:]
    head = _GLB_HEAD.pack(magic, version, start + len(text) + len(rest), len(text), _JSON_CHUNK)
    return _placed(load(io.BytesIO(head + text + rest), files, skip_materials=True))


def _cleaned(tree: Any, folder: Path, size: int) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The part of the JSON that places points, checked, and the files that it names."""
    clean = _cut_down(tree)
    files: dict[str, bytes] = {}
    for buffer in clean["buffers"]:
        uri = buffer.get("uri")
        if uri is not None and not uri.startswith("data:") and uri not in files:
            files[uri] = _beside(uri, folder)
    _check_tree(clean["nodes"], clean.get("scenes", []))
    _check_sizes(clean, size + sum(map(len, files.values())))
    return clean, files


def _cut_down(tree: Any) -> dict[str, Any]:
    """Keep what trimesh needs to place points; the order of lists, which others count on, stays."""
    if not isinstance(tree, dict) or not str(tree["asset"]["version"]).startswith("2"):
        raise ValueError("it is not glTF of version 2")
    for name in tree.get("extensionsRequired", ()):
        if not str(name).startswith(_HARMLESS):
            raise ValueError(f"it needs the glTF extension {str(name)[:80]}, which is not read")

    def each(name: str, *keys: str) -> list[dict[str, Any]]:
        return [{key: item[key] for key in keys if key in item} for item in tree.get(name, ())]

    clean: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "buffers": each("buffers", "uri", "byteLength"),
        "bufferViews": each("bufferViews", "buffer", "byteOffset", "byteLength", "byteStride"),
        "accessors": each(
            "accessors", "bufferView", "byteOffset", "count", "type", "componentType", "sparse"
        ),
        "meshes": each("meshes", "primitives"),
        "nodes": each("nodes", "children", "mesh", "matrix", "translation", "rotation", "scale"),
    }
    if scenes := each("scenes", "nodes"):
        clean |= {"scenes": scenes, "scene": tree.get("scene", 0)}
    for mesh in clean["meshes"]:
        mesh["primitives"] = [_primitive(primitive) for primitive in mesh["primitives"]]
    return clean


def _primitive(primitive: dict[str, Any]) -> dict[str, Any]:
    if primitive.get("mode") == _TRIANGLE_FAN:
        raise ValueError("it has triangle fans, which are not read")
    kept = {key: primitive[key] for key in ("indices", "mode") if key in primitive}
    attributes = primitive["attributes"].items()
    return kept | {"attributes": {k: v for k, v in attributes if k in ("POSITION", "COLOR_0")}}


def _check_sizes(clean: dict[str, Any], size: int) -> None:
    """Refuse what unpacks to too much: views of buffers, accessors of views, and so on up."""
    for view in clean["bufferViews"]:
        _whole(view, "buffer", "byteOffset", "byteLength", "byteStride")
    expect_expansion(sum(v["byteLength"] for v in clean["bufferViews"]), size, "its buffer views")

    # The accessors of each mesh, as often as it uses them.
    uses = [
        [n for p in mesh["primitives"] for n in (*p["attributes"].values(), p.get("indices", -1))]
        for mesh in clean["meshes"]
    ]
    used = {number for numbers in uses for number in numbers}
    weights = {-1: 0}
    for number, accessor in enumerate(clean["accessors"]):
        _whole(accessor, "bufferView", "byteOffset", "count", "componentType")
        if number not in used:
            # It stays, because the others are counted from the first, but empty.
            accessor.pop("bufferView", None)
            accessor |= {"count": 0, "type": "SCALAR", "componentType": 5121}
        elif "bufferView" not in accessor or "sparse" in accessor:
            raise ValueError("it has sparse or empty accessors, which are not read")
        item = _NUMBERS[accessor["type"]] * _BYTES[accessor["componentType"]]
        weights[number] = accessor["count"] * item
    expect_expansion(sum(weights[number] for number in used), size, "its accessors")
    # A hundred bytes for the use itself, which trimesh keeps a record of.
    meshes = [sum(weights[number] + 100 for number in numbers) for numbers in uses]
    expect_expansion(sum(meshes), size, "its meshes")
    placed = [meshes[node["mesh"]] for node in clean["nodes"] if "mesh" in node]
    expect_expansion(sum(placed), size, "its nodes")


def _check_tree(nodes: list[dict[str, Any]], scenes: list[dict[str, Any]]) -> None:
    """Enforce glTF's rule: a node has one parent at most, and a scene's nodes have none."""
    named = [child for node in nodes for child in node.get("children", ())]
    for scene in scenes:
        roots = scene.get("nodes", [])
        if len({*roots, *named}) < len(roots) + len(named):
            raise ValueError("its nodes are not a tree")
    if any(type(n) is not int or not 0 <= n < len(nodes) for n in named):
        raise ValueError("its nodes name children that are not there")


def _whole(item: dict[str, Any], *names: str) -> None:
    for name in names:
        value = item.get(name, 0)
        if type(value) is not int or value < 0:
            raise ValueError(f"its {name} is {str(value)[:20]}, not a count")


def _beside(uri: str, folder: Path) -> bytes:
    """A file that a glTF file names, if it lies in the same folder or below."""
    home = folder.resolve()
    path = (home / unquote(uri)).resolve()
    if "://" in uri or not path.is_relative_to(home):
        raise ValueError(f"it names {uri[:80]!r}, which is not in its folder")
    if not path.is_file():
        raise ValueError(f"it names {uri[:80]!r}, which is not there")
    return path.read_bytes()


def _placed(loaded: dict[str, Any]) -> Arrays:
    """All geometry of the scene, moved to where its nodes put it."""
    geometry = loaded["geometry"]
    parents = {edge["frame_to"]: edge for edge in loaded["graph"]}
    world: dict[str, Any] = {}

    def matrix_of(frame: str) -> Any:
        chain = []
        while frame in parents and frame not in world:
            chain.append(frame)
            frame = parents[frame]["frame_from"]
        matrix = world.get(frame, np.eye(4))
        for name in reversed(chain):
            matrix = world[name] = matrix @ parents[name]["matrix"]
        return matrix

    parts = []
    for edge in loaded["graph"] or [{"geometry": name, "frame_to": None} for name in geometry]:
        found = geometry.get(edge.get("geometry"))
        if found is None or "entities" in found:
            continue
        matrix = matrix_of(edge["frame_to"])
        vertices = np.asarray(found["vertices"], np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
        faces, colors = found.get("faces"), found.get("vertex_colors")
        if faces is not None and len(faces):
            faces = check_corners(np.asarray(faces), len(vertices)).astype(np.int64)
            if np.linalg.det(matrix[:3, :3]) < 0:
                faces = faces[:, ::-1].copy()
        else:
            faces = None
        if colors is not None:
            colors = colors[:, :3] if colors.ndim == 2 and colors.shape[1] >= 3 else None
        parts.append(Arrays(vertices, faces, colors=colors))
    return _joined(parts)


def _joined(parts: list[Arrays]) -> Arrays:
    """Several geometries as one: the meshes among them if there are any, else the clouds."""
    meshes = [part for part in parts if part.faces is not None]
    parts = meshes or parts
    if not parts:
        return Arrays(np.zeros((0, 3)))
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    colors = [part.colors for part in parts if part.colors is not None]
    return Arrays(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([m.faces + start for m, start in zip(meshes, starts, strict=False)])
        if meshes
        else None,
        colors=np.concatenate(colors) if len(colors) == len(parts) else None,
    )


def write_gltf(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """JSON with its buffer in it. Positions as in `write_glb`."""
    gltf = require("trimesh.exchange.gltf", extra="data", why="Writing glTF files")
    files = gltf.export_gltf(_scene(shape), merge_buffers=True, embed_buffers=True)
    return bytes(files["model.gltf"])


def write_glb(shape: Cloud | Mesh, encoding: str | None) -> bytes:
    """Positions and colours. float32, as the format has it, about the mean, which is a node's."""
    gltf = require("trimesh.exchange.gltf", extra="data", why="Writing glTF files")
    return bytes(gltf.export_glb(_scene(shape)))


def _scene(shape: Cloud | Mesh) -> Any:
    trimesh = require("trimesh", extra="data", why="Writing glTF files")
    columns = columns_of(shape)
    points = np.stack([columns[name] for name in "xyz"], axis=-1).astype(np.float64)
    # The node carries the large part of the coordinates, in JSON's decimal digits.
    move = np.eye(4)
    move[:3, 3] = points.mean(axis=0)
    points = points - move[:3, 3]
    colors = None if shape.colors is None else shape.colors.cpu().numpy()
    if isinstance(shape, Mesh):
        faces = shape.faces.cpu().numpy()
        part = trimesh.Trimesh(points, faces, vertex_colors=colors, process=False)
    else:
        part = trimesh.PointCloud(points, colors=colors)
    scene = trimesh.Scene()
    scene.add_geometry(part, transform=move)
    return scene
