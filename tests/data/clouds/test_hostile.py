"""Files that are broken, or meant to break something: one clear error, little memory, no wait."""

from __future__ import annotations

import functools
import importlib.util
import io
import os
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from data.clouds.seeds import gltf_tree, seeds
from spoonful.data.clouds import (
    FORMATS,
    Cloud,
    CloudFileError,
    Mesh,
    read_cloud,
    read_mesh,
    write_cloud,
    write_mesh,
)
from spoonful.data.clouds import meshes as mesh_formats

pytest.importorskip("laspy")  # one of the files is made with it

KIB, MIB = 1 << 10, 1 << 20
TRILLION = 10**12


@pytest.fixture(scope="module", autouse=True)
def _libraries_are_loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Their memory is not the file's: read one good file of every kind before measuring."""
    for name, (suffix, good) in seeds().items():
        path = tmp_path_factory.mktemp("good") / f"{name}{suffix}"
        path.write_bytes(good)
        assert len(read_cloud(path)) > 0


@contextmanager
def frugal(allowed: int) -> Iterator[None]:
    """Fail if the block holds more bytes at once than allowed, or computes for ten seconds."""
    tracemalloc.start()
    began = time.process_time()
    try:
        yield
        took, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= allowed, f"{peak / MIB:.1f} MiB held, {allowed / MIB:.1f} MiB allowed"
    assert took <= 10, f"{took:.1f} s of computing"


def refusal(path: Path, data: bytes) -> str:
    """What read_cloud says about a file, which must name the file and cost next to nothing."""
    path.write_bytes(data)
    with frugal(4 * MIB), pytest.raises(CloudFileError) as caught:
        read_cloud(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def good(name: str) -> bytes:
    return seeds()[name][1]


# The file is not there, not a file, or not ours to read.


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.ply"):
        read_cloud(tmp_path / "nowhere.ply")


def test_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder.ply").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder\.ply"):
        read_cloud(tmp_path / "folder.ply")


def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    path = tmp_path / "secret.ply"
    path.write_bytes(good("ply-ascii"))
    path.chmod(0)
    user = os.geteuid()
    if user == 0:
        # Root may read everything; the test is about everyone else.
        os.seteuid(65534)
    try:
        with pytest.raises(PermissionError, match=r"secret\.ply"):
            read_cloud(path)
    finally:
        os.seteuid(user)


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ply")
    with pytest.raises(CloudFileError, match=r"pipe\.ply: not a regular file"):
        read_cloud(tmp_path / "pipe.ply")


# The file is something else.


READABLE = [s for s in FORMATS if s != ".e57" or importlib.util.find_spec("e57")]


@pytest.mark.parametrize("suffix", READABLE)
def test_an_empty_file_is_refused(suffix: str, tmp_path: Path) -> None:
    assert "the file is empty" in refusal(tmp_path / f"empty{suffix}", b"")


@pytest.mark.parametrize("suffix", READABLE)
def test_rubbish_is_refused(suffix: str, tmp_path: Path) -> None:
    rubbish = np.random.default_rng(0).bytes(64 * KIB)
    refusal(tmp_path / f"rubbish{suffix}", rubbish)


@pytest.mark.parametrize("suffix", READABLE)
def test_a_wrong_extension_is_noticed(suffix: str, tmp_path: Path) -> None:
    name = "las-cloud" if suffix == ".ply" else "ply-binary_little_endian"
    message = refusal(tmp_path / f"wrong{suffix}", good(name))
    assert f"it begins like a {name[:3].upper()} file" in message


def test_an_unknown_extension_lists_the_known_ones(tmp_path: Path) -> None:
    message = refusal(tmp_path / "cloud.doc", b"1 2 3")
    assert "cannot tell the format from '.doc'; known are .ply, .pcd" in message
    assert "from a name without extension; " in refusal(tmp_path / "cloud", b"1 2 3")


def test_a_cloud_that_lies_on_its_side_is_not_three_points(tmp_path: Path) -> None:
    wide = npy("(3, 500)", body=bytes(3 * 500 * 8))
    assert "(3, 500), not (N, 3): is it transposed?" in refusal(tmp_path / "wide.npy", wide)


@pytest.mark.parametrize(
    ("suffix", "data"),
    [
        (".ply", b"ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nend_header\n"),
        (".pcd", good("pcd-binary").replace(b"POINTS 20", b"POINTS 0")),
        (".obj", b"# nothing here\n"),
        (".off", b"OFF\n0 0 0\n"),
        (".stl", bytes(84)),
        (".xyz", b"# nothing here\n\n"),
        (".csv", b"x,y,z\n"),
        (".npy", good("npy-cloud")[:128].replace(b"(20, 6)", b"(0, 6) ")),
        (".las", good("las-cloud")[:107] + bytes(4) + good("las-cloud")[111:]),
        (".gltf", gltf_tree(meshes=[], accessors=[], nodes=[{}])),
    ],
)
def test_zero_points_are_refused(suffix: str, data: bytes, tmp_path: Path) -> None:
    assert refusal(tmp_path / f"none{suffix}", data).endswith("it holds no points")


# The file is not whole.


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (suffix, _) in seeds().items()
        # Without counts, a table of fewer rows is as good as any other.
        if suffix not in (".xyz", ".txt", ".asc", ".csv", ".obj")
    ],
)
def test_a_truncated_file_is_refused(name: str, tmp_path: Path) -> None:
    suffix, data = seeds()[name]
    for cut in (len(data) - 12, len(data) // 2, 30):
        refusal(tmp_path / f"cut{suffix}", data[:cut])


# The file promises more than it holds.


def pcd(encoding: str, points: int, count: int = 1, body: bytes = b"") -> bytes:
    header = f"VERSION 0.7\nFIELDS x y z q\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 {count}\n"
    header += f"WIDTH {points}\nHEIGHT 1\nPOINTS {points}\nDATA {encoding}\n"
    return header.encode() + body


def npy(shape: str, dtype: str = "<f8", body: bytes = bytes(64)) -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + body


def npz(member: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("points.npy", member)
    return out.getvalue()


@functools.cache
def npz_bomb() -> bytes:
    return npz(npy("(4000000, 3)", body=bytes(96_000_000)))


def patched(name: str, at: int, kind: str, value: int) -> bytes:
    data = bytearray(good(name))
    struct.pack_into(kind, data, at, value)
    return bytes(data)


def with_many_chunks() -> bytes:
    """LAZ whose chunk table claims four billion chunks."""
    data = bytearray(good("laz-cloud"))
    (start,) = struct.unpack_from("<I", data, 96)
    (table,) = struct.unpack_from("<q", data, start)
    struct.pack_into("<I", data, table + 4, 2**32 - 1)
    return bytes(data)


def with_large_layer() -> bytes:
    """LAZ whose first chunk claims a layer of four gigabytes."""
    data = bytearray(good("laz-layered"))
    (start,) = struct.unpack_from("<I", data, 96)
    struct.pack_into("<I", data, start + 8 + 36 + 4, 2**32 - 1)
    return bytes(data)


def with_json_of(length: int) -> bytes:
    return patched("glb-cloud", 12, "<I", length)


PLY = (
    "ply\nformat {} 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n"
)
LIES: dict[str, tuple[str, bytes | Callable[[], bytes]]] = {
    "ply-text": (".ply", (PLY.format("ascii", TRILLION) + "end_header\n0 0 0\n").encode()),
    "ply-binary": (
        ".ply",
        (PLY.format("binary_big_endian", TRILLION) + "end_header\n").encode() + bytes(100),
    ),
    "ply-faces": (
        ".ply",
        (
            PLY.format("binary_little_endian", 1)
            + f"element face {TRILLION}\nproperty list uchar int vertex_indices\nend_header\n"
        ).encode()
        + bytes(100),
    ),
    "ply-list": (
        ".ply",
        (
            PLY.format("binary_little_endian", 1)
            + "element face 1\nproperty list uint int vertex_indices\nend_header\n"
        ).encode()
        + bytes(12)
        + b"\xff" * 20,
    ),
    "ply-digits": (".ply", (PLY.format("ascii", "9" * 5000) + "end_header\n0 0 0\n").encode()),
    "pcd-text": (".pcd", pcd("ascii", TRILLION, body=b"0 0 0 0\n")),
    "pcd-binary": (".pcd", pcd("binary", TRILLION, body=bytes(100))),
    "pcd-compressed": (
        ".pcd",
        pcd("binary_compressed", TRILLION, body=struct.pack("<II", 50, 2**32 - 1) + bytes(50)),
    ),
    "pcd-unpacked": (
        ".pcd",
        pcd("binary_compressed", 10**8, body=struct.pack("<II", 50, 16 * 10**8) + bytes(50)),
    ),
    "pcd-count": (".pcd", pcd("binary", 1, count=TRILLION, body=bytes(100))),
    "off": (".off", f"OFF\n{TRILLION} {TRILLION} 0\n0 0 0\n".encode()),
    "stl": (".stl", bytes(80) + b"\xff\xff\xff\xff" + bytes(100)),
    "npy": (".npy", npy(f"({TRILLION}, 3)")),
    "npy-overflow": (".npy", npy("(4294967296, 4294967296, 4294967296, 3)")),
    "npy-nothing": (".npy", npy(f"({TRILLION}, 3)", dtype="|V0")),
    "npy-header": (".npy", b"\x93NUMPY\2\0" + b"\xff\xff\xff\x7f" + bytes(100)),
    "npz": (".npz", npz(npy(f"({TRILLION}, 3)"))),
    "npz-bomb": (".npz", npz_bomb),
    "las": (".las", patched("las-cloud", 107, "<I", 2**32 - 1)),
    "las-records": (".las", patched("las-cloud", 100, "<I", 2**32 - 1)),
    "las-start": (".las", patched("las-cloud", 96, "<I", 2**32 - 1)),
    "laz": (".laz", patched("laz-cloud", 107, "<I", 2**32 - 1)),
    "laz-trillions": (".laz", patched("laz-layered", 247, "<Q", TRILLION)),
    "laz-chunks": (".laz", with_many_chunks()),
    "laz-layer": (".laz", with_large_layer()),
    "glb": (".glb", with_json_of(2**32 - 1)),
    "gltf-count": (
        ".gltf",
        gltf_tree(
            accessors=[{"bufferView": 0, "componentType": 5126, "count": TRILLION, "type": "VEC3"}]
        ),
    ),
    "gltf-no-buffer": (
        ".gltf",
        gltf_tree(accessors=[{"componentType": 5126, "count": TRILLION, "type": "VEC3"}]),
    ),
    "gltf-view": (".gltf", gltf_tree(bufferViews=[{"buffer": 0, "byteLength": TRILLION}])),
    "gltf-stride": (
        ".gltf",
        gltf_tree(bufferViews=[{"buffer": 0, "byteLength": 36, "byteStride": -4}]),
    ),
}


def lie(name: str) -> tuple[str, bytes]:
    suffix, data = LIES[name]
    return suffix, data() if callable(data) else data


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n == "npz-bomb" else n for n in LIES],
)
def test_counts_are_not_believed(name: str, tmp_path: Path) -> None:
    suffix, data = lie(name)
    assert len(data) < 128 * KIB
    refusal(tmp_path / f"lie{suffix}", data)


def test_a_lie_is_called_by_its_number(tmp_path: Path) -> None:
    said = {
        "ply-binary": "it declares 1000000000000 rows of vertex, at least 12000000000000 bytes, "
        "but only 100 follow: truncated?",
        "stl": "it declares 4294967295 triangles",
        "npy": "it declares an array of shape (1000000000000, 3)",
        "npz-bomb": "would unpack to 96000128 bytes, over 100 times the file",
        "pcd-count": "it declares 1000000000003 numbers for each point",
        "las-records": "it declares 4294967295 records before its points",
        "off": "it declares 1000000000000 vertices and 1000000000000 faces",
        "glb": "it declares 4294967295 bytes of JSON",
    }
    for name, words in said.items():
        suffix, data = lie(name)
        assert words in refusal(tmp_path / f"lie{suffix}", data)


# The file refers to itself, or to what is not its business.


def nodes(children: list[list[int]]) -> bytes:
    return gltf_tree(nodes=[{"children": c, "mesh": 0} if c else {"mesh": 0} for c in children])


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (nodes([[1], [0]]), "its nodes are not a tree"),
        (nodes([[1, 1], [2, 2], [3, 3], []]), "its nodes are not a tree"),
        (nodes([[-1], []]), "children that are not there"),
        (
            gltf_tree(
                meshes=[{"primitives": [{"attributes": {"POSITION": 0}}] * 500}],
                nodes=[{"mesh": 0}] * 500,
                scenes=[{"nodes": list(range(500))}],
            ),
            "its nodes would unpack to",
        ),
        (gltf_tree(extensionsRequired=["KHR_draco_mesh_compression"]), "needs the glTF extension"),
        (b"[" * 100_000, "recursion"),
        (b"[]", "it is not glTF of version 2"),
        (gltf_tree(asset={"version": "1.0"}), "it is not glTF of version 2"),
    ],
    ids=["cycle", "doubling", "backwards", "instances", "draco", "nesting", "list", "old"],
)
def test_gltf_that_goes_in_circles_is_refused(tree: bytes, words: str, tmp_path: Path) -> None:
    assert words in refusal(tmp_path / "tree.gltf", tree)


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.bin",
        "%2e%2e/secret.bin",
        "a/../../secret.bin",
        "link.bin",
        "http://127.0.0.1:9/secret.bin",
        "file:///etc/passwd",
        "/etc/passwd",
    ],
)
def test_gltf_does_not_leave_its_folder(uri: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(36))
    (home / "link.bin").symlink_to(tmp_path / "secret.bin")
    message = refusal(home / "a.gltf", gltf_tree(buffers=[{"uri": uri, "byteLength": 36}]))
    assert "is not in its folder" in message


def test_gltf_names_the_buffer_it_misses(tmp_path: Path) -> None:
    tree = gltf_tree(buffers=[{"uri": "gone.bin", "byteLength": 36}])
    assert "it names 'gone.bin', which is not there" in refusal(tmp_path / "a.gltf", tree)


def test_a_broken_gltf_is_not_replaced_by_its_neighbour(tmp_path: Path) -> None:
    # trimesh falls back to a file called model.gltf.
    (tmp_path / "model.gltf").write_bytes(gltf_tree())
    refusal(tmp_path / "other.gltf", b"{")


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    out = io.BytesIO()
    np.save(out, np.array([[print, print, print]], dtype=object), allow_pickle=True)
    assert "it holds object, not real numbers" in refusal(tmp_path / "a.npy", out.getvalue())


@pytest.mark.parametrize(
    ("suffix", "data", "words"),
    [
        (".off", b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n", "vertices"),
        (".obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "vertices 0 to 8 of 3"),
        (".ply", good("ply-ascii-mesh").replace(b"3 0 2 1", b"3 0 2 9"), "vertices 0 to 9 of 4"),
        (".ply", good("ply-ascii-mesh").replace(b"3 0 2 1", b"3 0 -2 1"), "vertices -2 to 3 of 4"),
        (".obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", "line 4 names vertex 0"),
        (".obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2.7\n", "line 4 has 2.7, not a whole number"),
        (".obj", b"v 0 0 0\nv 1 0\nv 0 1 0\nf 1 2 3\n", "line 2 has 2 numbers, fewer than 3"),
        (".off", b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2.7\n", "line 6 has 2.7, not a whole"),
        (".off", b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n4 0 1 2\n", "line 6 has fewer numbers than"),
        (".off", b"OFF\n3 1 0\n0 0 0\n1 0 0\n2 0 0\n3 0 1 2\n", "area above 0"),
        (".stl", good("stl-text").replace(b"1 0 0", b"1,0 0 0"), "line 5 has '1,0', not a number"),
        (".xyz", b"1 2 3\r\n# no\r\n4 5\r\n", "line 3 has 2 numbers, not 3"),
        (".csv", b"x,y,z\n1,2,3\n4,5,six\n", "line 3 has 'six', not a number"),
        (".csv", b"x;y;z\n1,000.5;2;3\n", "line 2 has '1,000.5', not a number; write"),
        (".csv", b"P1,1,2,3\nP2,4,5,6\n", "line 1 has 'P1', not a number"),
        (".csv", b"a,b,c\n1,2,3\n", "there are no columns x, y, z, only a, b, c; rename them"),
        (".npy", npy("(4, 2)"), "rows of at least 3 numbers, this has shape (4, 2)"),
        (".npz", npz(b"hello"), "magic"),
        (".csv", b"x,y,z,X\n1,2,3,4\n", "it has 2 columns named 'x'"),
        (".pcd", pcd("ascii", 3, body=b"0 0 0 0\n" * 4), "it declares 3 points, but holds 4"),
        (".pcd", pcd("ascii", 2, body=b"0 0 0 0\n" * 2).replace(b"HEIGHT 1", b"HEIGHT 2"), "2 x 2"),
        (".asc", b"ncols 2\nnrows 1\n5 6\n", "it is an ESRI grid of heights: export it as points"),
        (".pts", b"3\n0 0 0\n1 1 1\n", "it declares 3 points, but only 2 follow"),
        (".pts", b"2\n0 0 0\n1 1\n", "line 3 has 2 numbers, not 3"),
        (".ptx", b"2\n2.5\n" + b"0 0 0\n" * 9, "line 2 has 2.5, not a whole number"),
    ],
)
def test_the_error_says_what_is_wrong(suffix: str, data: bytes, words: str, tmp_path: Path) -> None:
    assert words in refusal(tmp_path / f"bad{suffix}", data)


TYPED = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
TYPED += "property float z\nproperty {} q\nelement face 1\nproperty list uchar int vertex_indices\n"
TYPED += "end_header\n0 0 0 1\n1 0 0 {}\n0 1 0 1\n3 0 1 {}\n"


@pytest.mark.parametrize(
    ("kind", "value"),
    [("uchar", "300"), ("short", "70000"), ("uint", "-5"), ("uchar", "2.7"), ("int", "nan")],
)
def test_a_number_that_its_type_cannot_hold_is_refused_with_its_line(
    kind: str, value: str, tmp_path: Path
) -> None:
    text = TYPED.format(kind, value, 2)
    assert f"line 12 has {value}, not a whole" in refusal(tmp_path / "a.ply", text.encode())


def test_a_corner_that_is_no_whole_number_is_refused_with_its_line(tmp_path: Path) -> None:
    text = TYPED.format("uchar", 7, 2.7)
    assert "line 14 has 2.7, not a whole" in refusal(tmp_path / "a.ply", text.encode())
    binary = (
        PLY.format("binary_little_endian", 3)
        + "element face 1\nproperty list uchar float vertex_indices\nend_header\n"
    ).encode() + struct.pack("<9fB3f", *range(9), 3, 0, 1, 1.7)
    assert "not whole" in refusal(tmp_path / "b.ply", binary)


@pytest.mark.parametrize(
    ("suffix", "advice"),
    [(".rcp", "export it as E57 or PTS"), (".FLS", "E57"), (".gz", "unpack"), (".step", "STL")],
)
def test_an_unknown_format_says_what_to_export(suffix: str, advice: str, tmp_path: Path) -> None:
    assert advice in refusal(tmp_path / f"scan{suffix}", b"x")


@pytest.mark.slow
def test_a_long_polygon_and_many_faces_are_read_in_bounded_memory(tmp_path: Path) -> None:
    size = 4 * MIB
    corners = b"v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    for name, faces in (
        ("long", b"f" + b" 1 2 3" * (size // 6)),
        ("many", b"f 1 2 3\n" * (size // 8)),
    ):
        path = tmp_path / f"{name}.obj"
        path.write_bytes(corners + faces)
        with frugal(48 * size):
            assert len(read_mesh(path).faces) >= size // 8


# Memory and time grow with the file, whatever is in it.

ROWS = 64 * KIB
DENSE = {
    "ply": (
        ".ply",
        (PLY.format("ascii", ROWS // 6) + "end_header\n").encode() + b"0 0 0\n" * (ROWS // 6),
    ),
    "ply-blank": (".ply", (PLY.format("ascii", 1) + "end_header\n0 0 0\n").encode() + b"\n" * ROWS),
    "ply-lists": (
        ".ply",
        (
            PLY.format("binary_little_endian", 3)
            + f"element face {ROWS // 5}\nproperty list uchar uchar vertex_indices\nend_header\n"
        ).encode()
        + struct.pack("<9f4B", 0, 0, 0, 1, 0, 0, 0, 1, 0, 3, 0, 1, 2)
        + b"\x04\0\1\2\0" * (ROWS // 5),
    ),
    "obj": (".obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n" + b"f 1 2 3\nf 1 2 3 1\n" * (ROWS // 18)),
    "obj-groups": (
        ".obj",
        b"v 0 0 0\nv 1 0 0\nv 0 1 0\n" + b"usemtl a_1\nf 1 2 3\n" * (ROWS // 19),
    ),
    "off": (".off", f"OFF\n{ROWS // 6} 0 0\n".encode() + b"0 0 0\n" * (ROWS // 6)),
    "off-comments": (".off", b"OFF\n1 0 0\n0 0 0\n" + b"#" * ROWS),
    "stl": (
        ".stl",
        b"solid a_1\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendsolid\n" * (ROWS // 60),
    ),
    "xyz": (".xyz", b"0 0 0\n" * (ROWS // 6)),
    "csv": (".csv", b"x,y,z" + b",a" * (ROWS // 4) + b"\n0,0,0" + b",0" * (ROWS // 4)),
    "pcd": (".pcd", pcd("ascii", ROWS // 8, body=b"0 0 0 0\n" * (ROWS // 8))),
    "gltf-chain": (
        ".gltf",
        gltf_tree(
            nodes=[{"children": [i + 1]} for i in range(ROWS // 24)] + [{"mesh": 0}],
        ),
    ),
    "gltf-instances": (
        ".gltf",
        gltf_tree(nodes=[{"mesh": 0}] * (ROWS // 20), scenes=[{"nodes": list(range(ROWS // 20))}]),
    ),
    "gltf-names": (".gltf", gltf_tree(nodes=[{"name": "a_1", "mesh": 0}] * (ROWS // 30))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DENSE)
def test_memory_is_a_small_multiple_of_the_file(name: str, tmp_path: Path) -> None:
    suffix, data = DENSE[name]
    path = tmp_path / f"dense{suffix}"
    path.write_bytes(data)
    with frugal(MIB + 128 * len(data)):
        cloud = read_cloud(path)
    assert cloud.points.isfinite().all()


@pytest.mark.parametrize(
    "name", ["ply-binary_little_endian", "pcd-binary", "npy-cloud", "las-cloud", "stl-cloud-mesh"]
)
def test_memory_of_binary_files_is_a_few_times_their_size(name: str, tmp_path: Path) -> None:
    suffix = seeds()[name][0]
    path = tmp_path / f"large{suffix}"
    if suffix == ".stl":
        faces = torch.arange(30_000).reshape(-1, 3)
        write_mesh(path, Mesh(torch.rand(30_000, 3), faces))
    else:
        write_cloud(path, Cloud(torch.rand(40_000, 3)))
    with frugal(MIB + 12 * path.stat().st_size):
        read_cloud(path)


# What is not the file's fault is not blamed on it.


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_interrupts_pass_through(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(data: bytes, folder: Path) -> None:
        raise error

    monkeypatch.setattr(mesh_formats, "read_off", interrupted)
    (tmp_path / "a.off").write_bytes(good("off-cloud"))
    with pytest.raises(error):
        read_cloud(tmp_path / "a.off")


def test_nonsense_in_a_parser_is_blamed_on_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        pass

    def panics(data: bytes, folder: Path) -> None:
        raise PanicException

    monkeypatch.setattr(mesh_formats, "read_off", panics)
    assert refusal(tmp_path / "a.off", good("off-cloud")).endswith("PanicException")
