"""Columns besides positions, normals and colours: kept where the format allows, else named."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.clouds.e57_file import e57_file
from data.clouds.seeds import PTS, PTX, small_cloud
from spoonful.data.clouds import Cloud, CloudFileError, Mesh, lost, read, write_cloud, write_mesh
from spoonful.geometry import Pose
from spoonful.pipeline.shapes import moved, scaled
from view.helpers import turn

laspy = pytest.importorskip("laspy")

UTM = np.array([512_345.678, 5_403_210.987, 412.3])
POSE = turn(30, "z", (1.5, -2.25, 0.125))
PLACE = torch.from_numpy(UTM)
# The same about the survey's place.
THERE = Pose(POSE.rotation, POSE.translation + PLACE - POSE.rotation @ PLACE)
COUNT = 50


def survey(path: Path, *, offset: Any = UTM) -> Any:
    """A LAS 1.4 file of point format 7 with times, classes, an own dimension and a CRS."""
    header = laspy.LasHeader(version="1.4", point_format=7)
    header.offsets, header.scales = offset, [0.0005, 0.0005, 0.001]
    header.system_identifier = "a scanner"
    header.add_extra_dim(laspy.ExtraBytesParams("reflectance", "f4"))
    header.vlrs.append(laspy.VLR("LASF_Projection", 2112, "WKT", b'PROJCS["UTM 32N"]\0'))
    generator = np.random.default_rng(0)
    record = laspy.LasData(header, laspy.ScaleAwarePointRecord.zeros(COUNT, header=header))
    record.x, record.y, record.z = (UTM + 100 * generator.random((COUNT, 3))).T
    record.intensity = generator.integers(0, 65536, COUNT)
    record.classification = generator.integers(0, 20, COUNT)
    record.return_number = generator.integers(1, 6, COUNT)
    record.gps_time = 3e8 + generator.random(COUNT)
    record.red, record.green, record.blue = generator.integers(0, 65536, (3, COUNT))
    record["reflectance"] = generator.random(COUNT)
    record.write(str(path))
    return laspy.read(str(path))


@pytest.mark.parametrize("before", [".las", ".laz"])
@pytest.mark.parametrize("after", [".las", ".laz"])
def test_las_keeps_every_dimension_and_only_moves_points(
    tmp_path: Path, before: str, after: str
) -> None:
    given = survey(tmp_path / f"a{before}")
    shape = moved(read(tmp_path / f"a{before}", fields=True), THERE)
    assert lost("b.las", shape) == []
    write_cloud(tmp_path / f"b{after}", shape)
    found = laspy.read(str(tmp_path / f"b{after}"))
    assert found.header.point_format == given.header.point_format
    assert found.header.version == given.header.version
    assert found.header.system_identifier == "a scanner"
    assert found.header.scales.tolist() == given.header.scales.tolist()
    assert found.header.offsets.tolist() == given.header.offsets.tolist()
    assert [(v.user_id, v.record_id) for v in found.vlrs] == [
        (v.user_id, v.record_id) for v in given.vlrs
    ]
    (crs,) = found.vlrs.get("WktCoordinateSystemVlr")
    assert crs.string == 'PROJCS["UTM 32N"]'
    for name in given.point_format.dimension_names:
        if name not in ("X", "Y", "Z"):
            assert np.array_equal(found[name], given[name]), name
    true = THERE.apply(torch.from_numpy(np.ascontiguousarray(given.xyz)))
    # Half a step of the file's coordinates.
    torch.testing.assert_close(
        torch.from_numpy(np.ascontiguousarray(found.xyz)), true, atol=0.0005 + 1e-9, rtol=0
    )


def test_positions_come_first_in_tables_of_las_points(tmp_path: Path) -> None:
    survey(tmp_path / "a.las")
    shape = read(tmp_path / "a.las", fields=True)
    for name in ("b.csv", "b.ply"):
        write_cloud(tmp_path / name, shape)
        found = read(tmp_path / name, fields=True)
        assert list(found.fields)[:4] == ["x", "y", "z", "intensity"]
        assert "gps_time" in found.fields


def test_las_steps_are_scaled_with_the_points(tmp_path: Path) -> None:
    given = survey(tmp_path / "a.las")
    write_cloud(tmp_path / "b.las", scaled(read(tmp_path / "a.las", fields=True), 0.001))
    found = laspy.read(str(tmp_path / "b.las"))
    assert np.allclose(found.xyz, given.xyz / 1000, atol=1e-9, rtol=0)


def test_a_las_offset_that_no_longer_fits_is_named(tmp_path: Path) -> None:
    survey(tmp_path / "a.las")
    far = moved(read(tmp_path / "a.las", fields=True), turn(0, "z", (9e6, 0, 0)))
    assert lost("b.las", far) == ["offset of LAS coordinates"]
    write_cloud(tmp_path / "b.las", far)
    back = read(tmp_path / "b.las")
    assert isinstance(back, Cloud)
    torch.testing.assert_close(back.points, far.points, atol=0.001, rtol=0)


def labelled(encoding: str) -> Cloud:
    cloud = small_cloud()
    count = len(cloud)
    fields = {
        "x": None, "y": None, "z": None,
        "intensity": np.linspace(0, 1, count, dtype=np.float32),
        "label": np.arange(count, dtype=np.int32) - 3,
        "time": 1e9 + np.arange(count) / 7,
    }  # fmt: skip
    return Cloud(cloud.points.float(), colors=cloud.colors, fields=fields)


@pytest.mark.parametrize(
    ("suffix", "encoding"),
    [
        (".ply", "binary_little_endian"),
        (".ply", "binary_big_endian"),
        (".ply", "ascii"),
        (".pcd", "binary"),
        (".pcd", "binary_compressed"),
        (".pcd", "ascii"),
        (".csv", None),
    ],
)
def test_all_columns_come_back(tmp_path: Path, suffix: str, encoding: str | None) -> None:
    given = labelled(suffix)
    write_cloud(tmp_path / f"a{suffix}", given, encoding=encoding)
    shape = read(tmp_path / f"a{suffix}", fields=True)
    assert list(shape.fields)[:6] == ["x", "y", "z", "intensity", "label", "time"]
    shape = moved(shape, POSE)
    assert lost(f"b{suffix}", shape) == []
    write_cloud(tmp_path / f"b{suffix}", shape, encoding=encoding)
    after = read(tmp_path / f"b{suffix}", fields=True)
    for name in ("intensity", "label", "time"):
        values = after.fields[name].astype(given.fields[name].dtype)
        assert np.array_equal(values, given.fields[name]), name
        if suffix != ".csv":
            assert after.fields[name].dtype == given.fields[name].dtype
    assert isinstance(after, Cloud)
    assert torch.equal(after.colors, given.colors)
    torch.testing.assert_close(after.points.double(), POSE.apply(given.points.double()))


def test_columns_go_from_one_format_to_another_or_are_named(tmp_path: Path) -> None:
    survey(tmp_path / "a.laz")
    shape = read(tmp_path / "a.laz", fields=True)
    write_cloud(tmp_path / "b.ply", shape)
    found = read(tmp_path / "b.ply", fields=True).fields
    assert np.array_equal(found["gps_time"], shape.fields["gps_time"])
    assert np.array_equal(found["classification"], shape.fields["classification"])
    assert lost("b.ply", shape) == ["LAS records with the coordinate system"]
    assert {"intensity", "gps_time", "reflectance"} <= set(lost("b.obj", shape))
    assert lost("b.npy", small_cloud()) == ["colors"]
    assert lost("b.las", labelled("")) == ["intensity", "label", "time"]
    with pytest.raises(CloudFileError, match=r"b\.e57: E57 is read but not written; choose \.ply"):
        write_cloud(tmp_path / "b.e57", small_cloud())


def test_only_stl_loses_the_digits_of_map_coordinates() -> None:
    near = Mesh(torch.rand(9, 3, dtype=torch.float64), torch.arange(9).reshape(3, 3))
    far = replace(near, vertices=near.vertices + 5.4e6)
    assert lost("b.stl", near) == []
    assert lost("b.stl", far) == ["digits of large coordinates"]
    for suffix in (".ply", ".obj", ".off", ".gltf", ".glb"):
        assert lost(f"b{suffix}", far) == []


def test_columns_without_a_name_are_kept_or_named_as_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.xyz"
    path.write_text("0 0 0 1 2 3 900\n1 0 0 4 5 6 901\n0 1 0 7 8 9 902\n")
    cloud = read(path, fields=True)
    assert lost("b.xyz", cloud) == ["column_7"]
    assert lost("b.csv", cloud) == []
    write_cloud(tmp_path / "b.csv", cloud)
    assert (
        (tmp_path / "b.csv")
        .read_text()
        .startswith("x,y,z,red,green,blue,column_7\n0,0,0,1,2,3,900")
    )


def test_surveyors_names_are_coordinates(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("Point,Northing,Easting,Height\n7,2,1,3\n8,5,4,6\n")
    cloud = read(path, fields=True)
    assert isinstance(cloud, Cloud)
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    write_cloud(tmp_path / "b.csv", cloud)
    assert (tmp_path / "b.csv").read_text().startswith("Point,y,x,z\n7,2,1,3")
    path.write_text("Easting,Northing,Elevation,Height\n1,2,3,4\n")
    with pytest.raises(CloudFileError, match="2 columns named 'z'"):
        read(path)


@pytest.mark.parametrize(
    "names",
    [
        "X [mm];Y [mm];Z [mm];T [C]",
        '"x (m)";"y (m)";"z (m)";"T [C]"',
        "X_m;Y_m;Z_m;T [C]",
        "Easting [m];Northing [m];Height [m];T [C]",
        "x[m]\ty [m]\tz (m)\tT",
        "x [m] y [m] z [m] T",
    ],
)
def test_a_unit_after_a_name_is_ignored(tmp_path: Path, names: str) -> None:
    path = tmp_path / "points.csv"
    separator = next((mark for mark in ";\t" if mark in names), " ")
    path.write_text(f"{names}\n" + separator.join("1234") + "\n" + separator.join("5678"))
    cloud = read(path, fields=True)
    assert isinstance(cloud, Cloud)
    assert cloud.points.tolist() == [[1, 2, 3], [5, 6, 7]]
    assert list(cloud.fields)[3] == ("T [C]" if "C" in names else "T")


def test_plain_names_come_before_names_with_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("z (raw),x,y,z\n9,1,2,3\n")
    cloud = read(path, fields=True)
    assert cloud.points.tolist() == [[1, 2, 3]]
    assert cloud.fields["z (raw)"].tolist() == [9]


@pytest.mark.parametrize(
    ("comment", "names"),
    [
        ("# time x y z", ["time", "x", "y", "z"]),
        ("# exported today\n#Time,X,Y,Z\n", ["Time", "X", "Y", "Z"]),
        ("# x y z are in metres", ["x", "y", "z", "column_4"]),
        ("# x y z", ["x", "y", "z", "column_4"]),
    ],
)
def test_a_comment_with_all_names_names_the_columns(
    tmp_path: Path, comment: str, names: list[str]
) -> None:
    path = tmp_path / "points.txt"
    path.write_text(f"{comment}\n0.5 1 2 3\n0.5 4 5 6\n")
    cloud = read(path, fields=True)
    assert list(cloud.fields) == names
    first = 1 if names[3].lower() == "z" else 0
    assert cloud.points[0].tolist() == [0.5, 1, 2, 3][first : first + 3]


def test_an_empty_cell_is_a_missing_number(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",x,y,z,label\n0,1,2,3,\n1,4, ,6,5\n2,7,8,9,6\n")
    cloud = read(path, drop_nonfinite=True, fields=True)
    assert cloud.points.tolist() == [[1, 2, 3], [7, 8, 9]]
    assert np.array_equal(cloud.fields["label"], [np.nan, 6], equal_nan=True)


def test_points_that_are_dropped_take_their_columns_along(tmp_path: Path) -> None:
    given = labelled("")
    points = given.points.clone()
    points[4] = torch.nan
    write_cloud(tmp_path / "a.pcd", Cloud(points, fields=given.fields))
    shape = read(tmp_path / "a.pcd", drop_nonfinite=True, fields=True)
    assert shape.fields["label"].tolist() == np.delete(given.fields["label"], 4).tolist()
    assert isinstance(shape, Cloud)
    few = shape.select(torch.tensor([3, 1]))
    assert few.fields["label"].tolist() == [0, -2]


def test_a_pcd_field_of_several_numbers_and_an_organised_cloud_come_back(tmp_path: Path) -> None:
    header = b"VERSION 0.7\nFIELDS x y z _ q\nSIZE 4 4 4 1 4\nTYPE F F F U F\nCOUNT 1 1 1 4 3\n"
    header += b"WIDTH 2\nHEIGHT 2\nVIEWPOINT 1 0 0 1 0 0 0\nPOINTS 4\nDATA ascii\n"
    rows = b"".join(b"%d 0 0 0 0 0 0 %d 8 9\n" % (i, i) for i in range(4))
    (tmp_path / "a.pcd").write_bytes(header + rows)
    shape = read(tmp_path / "a.pcd", fields=True)
    assert lost("b.pcd", shape) == []
    assert lost("b.ply", shape) == ["rows of 2 points", "sensor position"]
    write_cloud(tmp_path / "b.pcd", shape)
    content = (tmp_path / "b.pcd").read_bytes()
    assert b"FIELDS x y z q\n" in content
    assert b"COUNT 1 1 1 3\nWIDTH 2\nHEIGHT 2\nVIEWPOINT 1 0 0 1 0 0 0\n" in content
    back = read(tmp_path / "b.pcd", fields=True)
    assert back.fields["q__0000"].tolist() == [0, 1, 2, 3]


def test_the_viewpoint_of_a_pcd_file_moves_with_its_points(tmp_path: Path) -> None:
    header = b"VERSION 0.7\nFIELDS x y z\nSIZE 8 8 8\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 1\nHEIGHT 1\n"
    (tmp_path / "a.pcd").write_bytes(
        header + b"VIEWPOINT 1 2 3 0.5 0.5 -0.5 0.5\nPOINTS 1\nDATA ascii\n4 5 6\n"
    )
    shape = read(tmp_path / "a.pcd", fields=True)
    half_turn = Pose(
        torch.diag(torch.tensor([-1.0, -1, 1]).double()), torch.tensor([1.0, 0, 0]).double()
    )
    write_cloud(tmp_path / "b.pcd", moved(scaled(shape, 2.0), half_turn))
    back = read(tmp_path / "b.pcd", fields=True)
    assert back.points.tolist() == [[-7, -10, 12]]
    # The product of the quaternions (0, 0, 0, 1) and (1, 1, -1, 1) / 2, with the sign changed.
    assert back.header.viewpoint == pytest.approx((-1, -4, 6, 0.5, -0.5, -0.5, -0.5))
    text = (tmp_path / "a.pcd").read_bytes()
    (tmp_path / "a.pcd").write_bytes(text.replace(b"VIEWPOINT 1", b"VIEWPOINT nan"))
    write_cloud(tmp_path / "b.pcd", moved(read(tmp_path / "a.pcd", fields=True), half_turn))
    assert b"VIEWPOINT 0 0 0 1 0 0 0\n" in (tmp_path / "b.pcd").read_bytes()


def test_a_mesh_keeps_the_columns_of_its_vertices_and_turns_their_normals(tmp_path: Path) -> None:
    text = b"ply\nformat ascii 1.0\ncomment made by hand\nelement vertex 3\nproperty float x\n"
    text += b"property float y\nproperty float z\nproperty float nx\nproperty float ny\n"
    text += b"property float nz\nproperty float quality\nelement face 1\n"
    text += b"property list uchar int vertex_indices\nelement camera 1\nproperty int id\n"
    text += b"end_header\n0 0 0 1 0 0 5\n1 0 0 1 0 0 6\n0 1 0 1 0 0 7\n3 0 1 2\n9\n"
    (tmp_path / "a.ply").write_bytes(text)
    shape = moved(read(tmp_path / "a.ply", fields=True), turn(90, "z"))
    assert lost("b.ply", shape) == ["PLY element camera"]
    write_mesh(tmp_path / "b.ply", shape)
    back = read(tmp_path / "b.ply", fields=True)
    assert back.fields["quality"].tolist() == [5, 6, 7]
    assert np.allclose(back.fields["ny"], 1)
    assert b"comment made by hand\n" in (tmp_path / "b.ply").read_bytes()


def test_scanners_text_files(tmp_path: Path) -> None:
    (tmp_path / "a.pts").write_bytes(PTS)
    shape = read(tmp_path / "a.pts", fields=True)
    assert isinstance(shape, Cloud)
    assert shape.points.tolist() == [[1.5, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert shape.colors.tolist() == [[10, 20, 30], [40, 50, 60], [70, 80, 90]]
    assert shape.fields["intensity"].tolist() == [-1200, 800, 2047]
    (tmp_path / "a.ptx").write_bytes(PTX + PTX)
    shape = read(tmp_path / "a.ptx", fields=True)
    assert isinstance(shape, Cloud)
    one = [[100, 1, 0], [98, 0, 0], [100, 0, 3]]
    assert shape.points.tolist() == one + one
    assert shape.fields["intensity"].tolist()[:3] == [0.5, 0.25, 1]
    (tmp_path / "a.asc").write_text("1 2 3\n4 5 6\n")
    assert len(read(tmp_path / "a.asc").points) == 2


def test_e57_scans_lie_at_their_poses(tmp_path: Path) -> None:
    pytest.importorskip("e57")
    points = small_cloud().points
    intensity = [i / 20 for i in range(20)]
    (tmp_path / "a.e57").write_bytes(e57_file(points.tolist(), intensity, (512345.5, 0, 1)))
    shape = read(tmp_path / "a.e57", fields=True)
    assert isinstance(shape, Cloud)
    move = torch.tensor([512345.5, 0, 1], dtype=torch.float64)
    torch.testing.assert_close(shape.points, points + move, atol=1e-9, rtol=0)
    assert shape.colors is None
    assert np.allclose(shape.fields["intensity"], intensity)
    assert shape.sensor.tolist() == move.tolist()


def test_a_file_of_one_scan_says_where_its_sensor_was(tmp_path: Path) -> None:
    (tmp_path / "one.ptx").write_bytes(PTX)
    (tmp_path / "two.ptx").write_bytes(PTX + PTX)
    assert read(tmp_path / "one.ptx").sensor.tolist() == [100, 0, 0]
    assert read(tmp_path / "two.ptx").sensor is None
    cloud = Cloud(torch.rand(4, 3), sensor=torch.tensor([1, 2, 3.5]))
    for suffix, known in ((".pcd", True), (".ply", False)):
        write_cloud(tmp_path / f"a{suffix}", cloud)
        back = read(tmp_path / f"a{suffix}").sensor
        assert (back is not None and back.tolist() == [1, 2, 3.5]) == known
    assert (lost("a.ply", cloud), lost("a.pcd", cloud)) == (["sensor position"], [])
    write_cloud(tmp_path / "a.pcd", Cloud(torch.rand(4, 3)))
    assert read(tmp_path / "a.pcd").sensor is None
    half_turn = Pose(torch.diag(torch.tensor([-1.0, -1, 1]).double()), torch.ones(3).double())
    assert moved(scaled(cloud, 2.0), half_turn).sensor.tolist() == [-1, -3, 8]
    with pytest.raises(ValueError, match="sensor must be three finite numbers"):
        Cloud(torch.rand(4, 3), sensor=torch.ones(2))


@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_las_is_read_and_written_in_portions(tmp_path: Path, suffix: str) -> None:
    cloud = Cloud(torch.rand(300_000, 3, dtype=torch.float64))
    told: list[tuple[int, int]] = []
    peaks = []
    for work in (
        lambda: write_cloud(tmp_path / f"a{suffix}", cloud, tell=lambda *now: told.append(now)),
        lambda: read(tmp_path / f"a{suffix}", tell=lambda *now: told.append(now)),
    ):
        tracemalloc.start()
        work()
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    assert peaks[0] < 8  # a portion
    assert peaks[1] < 18  # the points, 7 MB, and a portion
    half = len(told) // 2
    assert told[:half] == told[half:]
    assert told[0] == (65_536, 300_000)
    assert told[-1] == (300_000, 300_000)
