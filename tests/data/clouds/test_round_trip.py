"""What is written is read back: positions, normals, colours, triangles, in every format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from data.clouds.seeds import (
    POLYGONS,
    STL_TEXT,
    gltf_tree,
    mixed_polygons,
    small_cloud,
    tetrahedron,
)
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

WRITABLE = [
    pytest.param(suffix, encoding, id=f"{suffix[1:]}-{encoding or 'default'}")
    for suffix, kind in FORMATS.items()
    for encoding in kind.encodings or (None,)
    if suffix != ".stl" and kind.write
]
WITHOUT_NORMALS = {".off", ".gltf", ".glb"}
WITHOUT_COLORS = {".off", ".npy"}
UTM = torch.tensor([512_345.678, 5_403_210.987, 412.3], dtype=torch.float64)


def survey(count: int = 300) -> Cloud:
    """A hundred metres of ground, where coordinates have seven digits before the point."""
    generator = torch.Generator().manual_seed(7)
    points = UTM + 100 * torch.rand(count, 3, generator=generator, dtype=torch.float64)
    normals = torch.nn.functional.normalize(
        torch.randn(count, 3, generator=generator, dtype=torch.float64), dim=-1
    )
    return Cloud(points, normals, torch.randint(0, 256, (count, 3), dtype=torch.uint8))


@pytest.mark.parametrize(("suffix", "encoding"), WRITABLE)
def test_large_coordinates_keep_their_digits(
    suffix: str, encoding: str | None, tmp_path: Path
) -> None:
    cloud = survey()
    write_cloud(tmp_path / f"survey{suffix}", cloud, encoding=encoding)
    back = read_cloud(tmp_path / f"survey{suffix}")
    assert back.points.dtype == torch.float64
    # float32 would lose 3 cm; LAS and glTF lose a fraction of the extent, the others nothing.
    loss = {".las": 1e-6, ".laz": 1e-6, ".gltf": 1e-5, ".glb": 1e-5}.get(suffix, 0.0)
    assert (back.points - cloud.points).abs().max() <= loss


@pytest.mark.parametrize(("suffix", "encoding"), WRITABLE)
def test_normals_and_colors_come_back_where_the_format_has_them(
    suffix: str, encoding: str | None, tmp_path: Path
) -> None:
    cloud = survey()
    write_cloud(tmp_path / f"survey{suffix}", cloud, encoding=encoding)
    back = read_cloud(tmp_path / f"survey{suffix}")
    assert (back.normals is None) == (suffix in WITHOUT_NORMALS)
    assert (back.colors is None) == (suffix in WITHOUT_COLORS)
    if back.normals is not None:
        torch.testing.assert_close(back.normals, cloud.normals, atol=1e-7, rtol=0)
    if back.colors is not None:
        assert torch.equal(back.colors, cloud.colors)


@pytest.mark.parametrize(("suffix", "encoding"), WRITABLE)
def test_float32_positions_come_back_the_same(
    suffix: str, encoding: str | None, tmp_path: Path
) -> None:
    cloud = Cloud(torch.randn(50, 3, generator=torch.Generator().manual_seed(1)))
    write_cloud(tmp_path / f"plain{suffix}", cloud, encoding=encoding)
    back = read_cloud(tmp_path / f"plain{suffix}")
    if suffix in (".las", ".laz", ".gltf", ".glb"):
        torch.testing.assert_close(back.points.float(), cloud.points, atol=1e-6, rtol=0)
    else:
        assert torch.equal(back.points.float(), cloud.points)
    assert back.normals is None
    assert back.colors is None


@pytest.mark.parametrize(("suffix", "encoding"), WRITABLE)
def test_one_point_is_a_cloud(suffix: str, encoding: str | None, tmp_path: Path) -> None:
    write_cloud(tmp_path / f"one{suffix}", Cloud(torch.tensor([[1.0, 2, 3]])), encoding=encoding)
    assert read_cloud(tmp_path / f"one{suffix}").points.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("suffix", [s for s, kind in FORMATS.items() if kind.meshes])
def test_triangles_come_back(suffix: str, tmp_path: Path) -> None:
    mesh = tetrahedron()
    for encoding in FORMATS[suffix].encodings or (None,):
        write_mesh(tmp_path / f"mesh{suffix}", mesh, encoding=encoding)
        back = read_mesh(tmp_path / f"mesh{suffix}")
        torch.testing.assert_close(
            back.vertices[back.faces].float(), mesh.vertices[mesh.faces], atol=1e-6, rtol=0
        )


@pytest.mark.parametrize("suffix", [".ply", ".obj", ".gltf", ".glb"])
def test_the_colors_of_vertices_come_back(suffix: str, tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    colors = torch.randint(0, 256, (4, 3), generator=generator, dtype=torch.uint8)
    mesh = replace(tetrahedron(), colors=colors)
    for encoding in FORMATS[suffix].encodings or (None,):
        write_mesh(tmp_path / f"mesh{suffix}", mesh, encoding=encoding)
        back = read_mesh(tmp_path / f"mesh{suffix}")
        assert back.colors is not None
        assert torch.equal(back.colors[back.faces], colors[mesh.faces])
        assert torch.equal(back.vertices[back.faces].float(), mesh.vertices[mesh.faces])
    assert read_cloud(tmp_path / f"mesh{suffix}").colors is None
    write_mesh(tmp_path / f"mesh{suffix}", tetrahedron())
    assert read_mesh(tmp_path / f"mesh{suffix}").colors is None


def test_vertices_that_are_dropped_take_their_colors_along(tmp_path: Path) -> None:
    mesh = tetrahedron()
    vertices = mesh.vertices.clone()
    vertices[0] = torch.nan
    colors = torch.arange(12, dtype=torch.uint8).reshape(4, 3)
    write_mesh(tmp_path / "mesh.ply", Mesh(vertices, mesh.faces, colors))
    back = read_mesh(tmp_path / "mesh.ply", drop_nonfinite=True)
    assert back.colors is not None
    assert torch.equal(back.colors, colors[1:])


def test_colors_that_are_not_those_of_the_vertices_are_refused() -> None:
    mesh = tetrahedron()
    with pytest.raises(ValueError, match=r"colors must have the shape of vertices, \(4, 3\)"):
        replace(mesh, colors=torch.zeros(3, 3, dtype=torch.uint8))
    with pytest.raises(TypeError, match=r"colors must be uint8, got torch\.float32"):
        replace(mesh, colors=torch.zeros(4, 3))


def test_binary_ply_of_both_byte_orders_is_written(tmp_path: Path) -> None:
    point = Cloud(torch.tensor([[1.0, 2, 3]]))
    for encoding, order in (("binary_little_endian", "<"), ("binary_big_endian", ">")):
        write_cloud(tmp_path / "point.ply", point, encoding=encoding)
        body = (tmp_path / "point.ply").read_bytes().partition(b"end_header\n")[2]
        assert np.frombuffer(body, dtype=f"{order}f4").tolist() == [1, 2, 3]


def test_a_mesh_is_sampled_with_the_normals_of_its_triangles(tmp_path: Path) -> None:
    write_mesh(tmp_path / "mesh.off", tetrahedron())
    cloud = read_cloud(tmp_path / "mesh.off")
    assert len(cloud) == 2048
    assert len(read_cloud(tmp_path / "mesh.off", points=77)) == 77
    on_slant = (cloud.points.sum(-1) - 1).abs() < 1e-9
    slant = torch.full((3,), 3**-0.5, dtype=torch.float64)
    torch.testing.assert_close(cloud.normals[on_slant], slant.expand(int(on_slant.sum()), 3))
    # The slanted side has sqrt(3)/2 of the area, the three others 1/2 each.
    share = (3**0.5 / 2) / (3**0.5 / 2 + 1.5)
    assert abs(on_slant.double().mean() - share) < 0.03


def test_the_same_file_gives_the_same_cloud(tmp_path: Path) -> None:
    write_mesh(tmp_path / "mesh.ply", tetrahedron())
    first, second = (read_cloud(tmp_path / "mesh.ply") for _ in range(2))
    assert torch.equal(first.points, second.points)
    other = read_cloud(tmp_path / "mesh.ply", generator=torch.Generator().manual_seed(1))
    assert not torch.equal(first.points, other.points)


def test_points_of_a_cloud_are_a_random_subset(tmp_path: Path) -> None:
    write_cloud(tmp_path / "cloud.ply", small_cloud())
    whole, part = read_cloud(tmp_path / "cloud.ply"), read_cloud(tmp_path / "cloud.ply", points=5)
    assert len(part) == 5
    assert {tuple(p) for p in part.points.tolist()} <= {tuple(p) for p in whole.points.tolist()}
    assert len(read_cloud(tmp_path / "cloud.ply", points=99)) == len(whole)


@pytest.mark.parametrize("data", [POLYGONS, mixed_polygons()], ids=["text", "binary"])
def test_ply_polygons_of_mixed_sizes_become_triangles(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "mixed.ply").write_bytes(data)
    mesh = read_mesh(tmp_path / "mixed.ply")
    assert sorted(sorted(f) for f in mesh.faces.tolist()) == [
        [0, 1, 2],
        [0, 1, 4],
        [0, 2, 3],
        [1, 2, 4],
    ]


def test_ply_elements_after_the_vertices_are_not_needed(tmp_path: Path) -> None:
    # The range scans of the Stanford bunny have a grid whose lists are empty or of length one.
    header = b"""ply
format binary_big_endian 1.0
obj_info num_cols 2
comment caf\xe9
element vertex 1
property float x
property float y
property float z
element range_grid 2
property list uchar int vertex_indices
end_header
"""
    body = np.array([1, 2, 3], dtype=">f4").tobytes() + b"\0" + b"\1\0\0\0\0"
    (tmp_path / "scan.ply").write_bytes(header + body)
    assert read_cloud(tmp_path / "scan.ply").points.tolist() == [[1, 2, 3]]


def test_stl_text_is_read_whatever_its_solids_are_called(tmp_path: Path) -> None:
    (tmp_path / "two.stl").write_bytes(STL_TEXT + STL_TEXT.replace(b"corner", b"solid facet 7"))
    assert len(read_mesh(tmp_path / "two.stl").faces) == 2


def test_obj_with_groups_textures_and_polygons(tmp_path: Path) -> None:
    (tmp_path / "box.obj").write_bytes(
        b"mtllib none.mtl\r\no lid\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\n"
        b"usemtl red\nf 1/1/1 2/1/1 \\\n 3/1/1 4/1/1\ng other\nf -4//1 -3//1 -1//1\n"
    )
    mesh = read_mesh(tmp_path / "box.obj")
    assert len(mesh.faces) == 3
    assert torch.equal(
        mesh.vertices[mesh.faces[-1]][:, :2].long(), torch.tensor([[0, 0], [1, 0], [0, 1]])
    )


def test_obj_counts_backwards_from_the_line_it_stands_on(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 5 5 5\n")
    assert read_mesh(tmp_path / "a.obj").faces.tolist() == [[0, 1, 2]]


def test_off_with_its_counts_on_the_first_line(tmp_path: Path) -> None:
    # Thousands of the files of ModelNet40 begin like this.
    (tmp_path / "chair.off").write_bytes(b"OFF3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    assert read_mesh(tmp_path / "chair.off").faces.tolist() == [[0, 1, 2]]


def test_gltf_nodes_place_and_mirror_their_meshes(tmp_path: Path) -> None:
    nodes = [
        {"children": [1], "translation": [10, 0, 0]},
        {"mesh": 0, "scale": [-2, 1, 1]},
    ]
    (tmp_path / "placed.gltf").write_bytes(gltf_tree(nodes=nodes))
    mesh = read_mesh(tmp_path / "placed.gltf")
    corners = mesh.vertices[mesh.faces[0]]
    assert sorted(corners.tolist()) == [[8, 0, 0], [10, 0, 0], [10, 1, 0]]
    normal = torch.linalg.cross(corners[1] - corners[0], corners[2] - corners[0])
    assert normal[2] > 0, "a mirrored triangle keeps its outside"


def test_gltf_reads_the_buffer_beside_it(tmp_path: Path) -> None:
    triangle = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4")
    (tmp_path / "my buffer.bin").write_bytes(triangle.tobytes())
    buffers = [{"uri": "my%20buffer.bin", "byteLength": 36}]
    (tmp_path / "beside.gltf").write_bytes(gltf_tree(buffers=buffers))
    assert len(read_mesh(tmp_path / "beside.gltf").faces) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.csv", "X;Y;Z;Nx;Ny;Nz\n1;2;3;0;0;1\n4;5;6;0;1;0\n"),
        ("cloudcompare.txt", "//X Y Z R G B Nx Ny Nz\n1 2 3 9 9 9 0 0 1\n4 5 6 9 9 9 0 1 0\n"),
        ("modelnet.txt", "1,2,3,0,0,1\n4,5,6,0,1,0\n"),
        ("tabs.xyz", "# a comment\n\n1\t2\t3\t0\t0\t1 # another\r\n4\t5\t6\t0\t1\t0"),
        ("bom.csv", "\ufeffz,y,x,normal_x,normal_y,normal_z\n3,2,1,0,0,1\n6,5,4,0,1,0\n"),
        ("counted.txt", "//X,Y,Z,Nx,Ny,Nz\r\n2\r\n1,2,3,0,0,1\r\n4,5,6,0,1,0\r\n"),
        ("decimals.csv", "x;y;z;nx;ny;nz\n1,0;2;3,00;0;0;1\n4;5,0;6;0;1;0\n"),
        ("decimals.txt", "1,0\t2,0\t3,0\t0\t0\t1\n4\t5\t6\t0\t1,0\t0\n"),
        ("decimals.xyz", "1,0 2 3 0 0 1\n4 5 6 0 1,0 0\n"),
        ("spaces.csv", "1, 2, 3, 0, 0, 1\n4 ,5 ,6 ,0 ,1 ,0\n"),
    ],
)
def test_text_in_the_dialects_people_use(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    cloud = read_cloud(tmp_path / name)
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.normals is not None
    assert cloud.normals.tolist() == [[0, 0, 1], [0, 1, 0]]


def test_columns_that_are_neither_normals_nor_colors_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "more.xyz").write_text("1 2 3 0.5 0.25 7.5 12\n4 5 6 0.5 0.5 7.5 13\n")
    cloud = read_cloud(tmp_path / "more.xyz")
    assert cloud.normals is None
    assert cloud.colors is None


def test_npz_finds_its_points_by_name_or_alone(tmp_path: Path) -> None:
    points = np.arange(12, dtype=np.int16).reshape(4, 3)
    for names in ({"xyz": points, "other": points[:2]}, {"anything": points}):
        np.savez(tmp_path / "a.npz", **names)
        assert read_cloud(tmp_path / "a.npz").points.tolist() == points.tolist()


def test_normals_are_made_unit_and_holes_among_them_filled(tmp_path: Path) -> None:
    plane = torch.rand(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rows = torch.cat([plane, torch.zeros(50, 1), torch.tensor([0.0, 0, 5]).expand(50, 3)], dim=-1)
    rows[7, 3:] = 0
    rows[8, 3:] = torch.nan
    text = "x,y,z,nx,ny,nz\n" + "\n".join(",".join(map(str, row)) for row in rows.tolist())
    (tmp_path / "normals.csv").write_text(text)
    normals = read_cloud(tmp_path / "normals.csv").normals
    assert normals is not None
    torch.testing.assert_close(normals.abs(), torch.tensor([[0.0, 0, 1]]).double().expand(50, 3))


def test_depth_camera_holes_are_dropped_on_request(tmp_path: Path) -> None:
    cloud = small_cloud()
    points = cloud.points.clone()
    points[3] = torch.nan
    for suffix in (".pcd", ".ply", ".npy", ".xyz"):
        path = tmp_path / f"depth{suffix}"
        write_cloud(path, Cloud(points, cloud.normals))
        with pytest.raises(CloudFileError, match=r"1 of its 20 points have NaN .* drop_nonfinite"):
            read_cloud(path)
        kept = read_cloud(path, drop_nonfinite=True)
        assert torch.equal(kept.points, torch.cat([points[:3], points[4:]]))
        assert kept.normals is not None
        assert len(kept.normals) == 19
        assert kept.to(torch.float64).with_normals().select(torch.arange(5)).dropped == 1


def test_triangles_with_a_nan_corner_are_dropped_on_request(tmp_path: Path) -> None:
    mesh = tetrahedron()
    vertices = mesh.vertices.clone()
    vertices[3] = torch.inf
    write_mesh(tmp_path / "mesh.ply", Mesh(vertices, mesh.faces))
    with pytest.raises(CloudFileError, match="1 of its 4 points"):
        read_cloud(tmp_path / "mesh.ply")
    assert len(read_mesh(tmp_path / "mesh.ply", drop_nonfinite=True).faces) == 1
    sampled = read_cloud(tmp_path / "mesh.ply", drop_nonfinite=True)
    assert sampled.points.isfinite().all()
    assert sampled.dropped == 1


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="STL holds triangles, not points"):
        write_cloud(tmp_path / "a.stl", small_cloud())
    with pytest.raises(CloudFileError, match=r"a\.xyz: \.xyz has no triangles"):
        write_mesh(tmp_path / "a.xyz", tetrahedron())
    with pytest.raises(ValueError, match="encoding must be one of binary, binary_compressed, asc"):
        write_cloud(tmp_path / "a.pcd", small_cloud(), encoding="binary_big_endian")
    with pytest.raises(CloudFileError, match=r"cannot tell the format from '\.doc'"):
        write_cloud(tmp_path / "a.doc", small_cloud())
    with pytest.raises(ValueError, match="at least one point"):
        write_cloud(tmp_path / "a.ply", Cloud(torch.zeros(0, 3)))
    assert not list(tmp_path.iterdir()), "a refused write leaves no file"


def test_a_cloud_is_not_a_mesh(tmp_path: Path) -> None:
    write_cloud(tmp_path / "a.ply", small_cloud())
    with pytest.raises(CloudFileError, match=r"a\.ply: it has no triangles"):
        read_mesh(tmp_path / "a.ply")
