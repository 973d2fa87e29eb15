"""Poses in files: read as they were written or as others write them, refused if they are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from spoonful.geometry import Pose
from spoonful.inputs import rigid_pose
from spoonful.pipeline.alignment import turn_of
from spoonful.pipeline.posefile import read_pose, write_pose
from view.helpers import turn

POSE = turn(123.456, "x", (1e6 + 1 / 3, -2.0, 1e-9))
ROWS = POSE.matrix().tolist()


def test_what_is_written_is_read_to_the_last_digit(tmp_path: Path) -> None:
    path = write_pose(tmp_path / "new" / "pose.json", POSE, source="a b.ply", note=None)
    assert torch.equal(read_pose(path).translation, POSE.translation)
    torch.testing.assert_close(read_pose(path).rotation, POSE.rotation, atol=1e-15, rtol=0)
    assert json.loads(path.read_text())["source"] == "a b.ply"
    # One row of the matrix on a line, for people.
    assert f"    {json.dumps(ROWS[0])},\n" in path.read_text()


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS[:3]),
        json.dumps([cell for row in ROWS for cell in row]),
        json.dumps({"transformation": ROWS}),
        json.dumps({"matrix": ROWS, "units": "m"}),
        "\n".join(" ".join(map(str, row)) for row in ROWS),
        "# CloudCompare\n" + "\n".join(" ".join(map(str, row)) for row in ROWS) + "\n\n",
        "\r\n".join(",".join(map(str, row)) for row in ROWS[:3]),
        "\ufeff" + json.dumps(ROWS),
        str(torch.tensor(ROWS, dtype=torch.float64).numpy()),
    ],
)
def test_poses_as_others_write_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pose"
    path.write_text(text, encoding="utf-8")
    torch.testing.assert_close(read_pose(path).matrix(), POSE.matrix(), atol=1e-6, rtol=1e-6)


def test_a_rounded_rotation_is_made_one_again() -> None:
    rough = [[round(cell, 4) for cell in row] for row in ROWS]
    R = rigid_pose(rough).rotation
    torch.testing.assert_close(R @ R.T, torch.eye(3, dtype=torch.float64), atol=1e-14, rtol=0)
    torch.testing.assert_close(R, POSE.rotation, atol=1e-4, rtol=0)


mirror = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("hello", "neither JSON nor a table of numbers"),
        ("1 2 3", "it has 3 numbers, not 16"),
        ("{", "it is not JSON"),
        ('{"pose_of": 1}', 'no "T_target_source", only pose_of'),
        ('{"T_target_source": "east"}', "must be a matrix of numbers"),
        ("[[1, 0], [0, 1]]", r"must be a 4x4 matrix, got shape \(2, 2\)"),
        ("[[1, 0, 0, 0], [0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]", "must be a matrix of numbers"),
        (json.dumps(ROWS).replace("-2.0", "NaN"), "NaN or infinite"),
        (json.dumps(ROWS).replace("-2.0", "Infinity"), "NaN or infinite"),
        (json.dumps(mirror), r"is a reflection \(determinant -1\)"),
        (json.dumps([[2 * c for c in r] for r in ROWS[:3]]), "scales by 2"),
        (json.dumps([[0] * 4] * 3), "is not a rotation"),
        ("1 0 0 0 0.2 1 0 0 0 0 1 0", "is not a rotation"),
        (json.dumps(POSE.matrix().T.tolist()), "it looks column-major: transpose it"),
        (json.dumps([*ROWS[:3], [0, 0, 0, 2]]), "must have 0 0 0 1 as its last row, got 0 0 0 2"),
        ("[" * 100_000, "it has 0 numbers"),
        ("1 " * 2_000_000, "too long for a pose"),
    ],
)
def test_what_is_no_pose_is_refused_with_a_reason(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pose.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"pose.json: not a pose: .*{message}"):
        read_pose(path)


@pytest.mark.parametrize("axis", "xyz")
@pytest.mark.parametrize("degrees", [0.0, 1e-6, 0.001, 1.0, 90.0, 179.999, 180.0])
def test_angle_and_axis_are_right_at_every_angle(degrees: float, axis: str) -> None:
    found = turn_of(turn(degrees, axis).rotation)
    assert found.degrees == pytest.approx(degrees, abs=1e-9, rel=1e-6)
    if degrees:
        expected = [float(name == axis) for name in "xyz"]
        assert found.axis == pytest.approx(expected, abs=1e-6)
    back = turn_of(turn(-degrees, axis).rotation)
    assert back.degrees == pytest.approx(degrees, abs=1e-9, rel=1e-6)


def test_a_pose_is_a_pose_in_every_precision() -> None:
    for dtype in (torch.float32, torch.float64):
        pose = rigid_pose(Pose(*(part.to(dtype) for part in POSE)).matrix())
        assert pose.rotation.dtype == torch.float64


@pytest.mark.parametrize("name", ["pose.json", "pose.txt", "pose.yaml", "pose.YML", "pose.g2o"])
def test_every_format_comes_back(tmp_path: Path, name: str) -> None:
    for pose in (POSE, Pose.identity(), Pose(torch.diag(torch.tensor([-1.0, 1, -1])), POSE[1])):
        found = read_pose(write_pose(tmp_path / name, pose, source="a.ply"))
        torch.testing.assert_close(found.matrix(), pose.matrix().double(), atol=1e-12, rtol=1e-12)


def test_other_programs_read_the_text(tmp_path: Path) -> None:
    np, yaml = pytest.importorskip("numpy"), pytest.importorskip("yaml")
    matrix = POSE.matrix().double()
    np.testing.assert_allclose(np.loadtxt(write_pose(tmp_path / "p.txt", POSE)), matrix, atol=1e-12)
    about = yaml.safe_load(write_pose(tmp_path / "p.yaml", POSE).read_text())
    assert (about["header"]["frame_id"], about["child_frame_id"]) == ("target", "source")
    assert [*about["transform"]["translation"].values()] == POSE.translation.tolist()
    gtsam = pytest.importorskip("gtsam")
    _, values = gtsam.readG2o(str(write_pose(tmp_path / "p.g2o", POSE)), True)
    np.testing.assert_allclose(values.atPose3(1).matrix(), matrix, atol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "VERTEX_SE3:QUAT 1 0 0 0 0 0 0 2",
        "VERTEX_SE3:QUAT 1 0 0 0 1",
        "VERTEX_SE3:QUAT 1 0 0 0 0 0 0 one",
        "rotation: {x: 0, y: 0, z: 0, w: nan}",
        "translation: {x: nan, y: 0, z: 0}\nrotation: {x: 0, y: 0, z: 0, w: 1}",
    ],
)
def test_damaged_text_of_other_programs_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "pose.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"pose\.yaml: not a pose"):
        read_pose(tmp_path / "pose.yaml")
