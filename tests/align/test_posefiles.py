"""Poses of many scans from the texts of other programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from spoonful.align.posefiles import read_poses
from spoonful.geometry import Pose, random_rotation

transform = pytest.importorskip("scipy.spatial.transform")
NAMES = ["a", "b c"]


@pytest.fixture(scope="module")
def truth() -> dict[str, Pose]:
    generator = torch.Generator().manual_seed(0)
    found = {}
    for name in NAMES:
        rotation = random_rotation(generator=generator, dtype=torch.float64)
        shift = torch.randn(3, generator=generator, dtype=torch.float64)
        found[name] = Pose(rotation, shift)
    return found


def quaternion(pose: Pose) -> list[float]:
    """A unit quaternion x, y, z, w."""
    found: list[float] = transform.Rotation.from_matrix(pose.rotation.numpy()).as_quat().tolist()
    return found


def spaced(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)


def rows(pose: Pose, count: int) -> str:
    return "\n".join(spaced(*row) for row in pose.matrix()[:count].tolist())


def tum(truth: dict[str, Pose]) -> str:
    lines = [
        spaced(k, *pose.translation, *quaternion(pose)) for k, pose in enumerate(truth.values())
    ]
    return "# time x y z qx qy qz qw\n" + "\n".join(lines)


def g2o(truth: dict[str, Pose]) -> str:
    # In another order, with comments that name the vertices.
    lines = []
    for k, (name, pose) in enumerate(reversed(truth.items())):
        place = spaced(*pose.translation, *quaternion(pose))
        lines += [f"# {k} {name}", f"VERTEX_SE3:QUAT {k} {place}"]
    return "\n".join([*lines, "EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 1"])


def colmap(truth: dict[str, Pose]) -> str:
    lines = ["# Image list"]
    for k, (name, pose) in enumerate(truth.items()):
        inverse = pose.inverse()
        x, y, z, w = quaternion(inverse)
        lines += [
            f"{k} {spaced(w, x, y, z, *inverse.translation)} 1 {name}.jpg",
            "1.5 2.5 -1 3 4 7",
        ]
    return "\n".join(lines)


FORMATS = {
    "KITTI": lambda truth: "\n".join(rows(p, 3).replace("\n", " ") for p in truth.values()),
    "4x4": lambda truth: "\n\n".join(rows(pose, 4) for pose in truth.values()),
    "TUM": tum,
    "g2o": g2o,
    "COLMAP": colmap,
    "poses.json": lambda truth: json.dumps(
        {"scans": {n: {"group": 1, "T_group_scan": p.matrix().tolist()} for n, p in truth.items()}}
    ),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_format_gives_the_poses_that_were_written(
    tmp_path: Path, truth: dict[str, Pose], kind: str
) -> None:
    file = tmp_path / "poses.txt"
    file.write_text(FORMATS[kind](truth))
    found = read_poses(file, NAMES)
    for name in NAMES:
        torch.testing.assert_close(found[name].matrix(), truth[name].matrix(), atol=1e-9, rtol=0)


@pytest.mark.parametrize("line", ["{} {}", "# {k} {}\nVERTEX_SE3:QUAT {k} {}"])
def test_a_pose_may_be_named_by_the_file_of_its_scan(
    tmp_path: Path, truth: dict[str, Pose], line: str
) -> None:
    file = tmp_path / "poses.txt"
    place = [spaced(*pose.translation, *quaternion(pose)) for pose in truth.values()]

    def write(*names: str) -> None:
        lines = (line.format(name, place[k], k=k) for k, name in enumerate(names))
        file.write_text("\n".join(lines))

    write("scans/b.1.ply", "a")
    found = read_poses(file, ["a", "b.1"])
    for name, pose in zip(("b.1", "a"), truth.values(), strict=True):
        torch.testing.assert_close(found[name].matrix(), pose.matrix(), atol=1e-9, rtol=0)
    write("c.ply", "d")
    with pytest.raises(ValueError, match=r"no pose for a, b\.1"):
        read_poses(file, ["a", "b.1"])


def test_a_folder_has_a_text_for_each_scan(tmp_path: Path, truth: dict[str, Pose]) -> None:
    for name, pose in truth.items():
        (tmp_path / f"{name}.txt").write_text(rows(pose, 4))
    found = read_poses(tmp_path, NAMES)
    assert float((found["b c"].matrix() - truth["b c"].matrix()).abs().max()) < 1e-9
    with pytest.raises(ValueError, match="no pose for d, e"):
        read_poses(tmp_path, [*NAMES, "d", "e"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no poses"),
        ("1 0 0 0 0 1 0 0 0 0 1 0", "1 poses, and there are 2 scans"),
        ("1 0 0 0 0 2 0 0 0 0 1 0\n" * 2, "rigid motion"),
        ("0 0 0 0 0 0 0 3\n" * 2, "unit quaternion"),
        ("1 2 3\n4 5 6", "3 numbers per line"),
        ("hello\nworld", "not poses of KITTI"),
        ("{}", r"not a poses\.json"),
        ("VERTEX_SE3:QUAT 0 0 0", "quaternion"),
        ("0 1 0 0 0 0 0 0 1 a.jpg\n\n1 1 0 0 0 5 0 0 1 a.png\n\n", "two different poses for a"),
    ],
)
def test_missing_and_contradictory_poses_are_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "poses.txt"
    file.write_text(text)
    with pytest.raises(ValueError, match=words):
        read_poses(file, NAMES)


def test_poses_of_several_groups_are_refused_because_of_their_frames(tmp_path: Path) -> None:
    file = tmp_path / "poses.json"
    matrix = Pose.identity().matrix().tolist()
    scans = {name: {"group": k, "T_group_scan": matrix} for k, name in enumerate(NAMES, start=1)}
    file.write_text(json.dumps({"scans": scans}))
    assert set(read_poses(file, NAMES[:1])) == {"a"}
    with pytest.raises(ValueError, match="not in group 1: b c"):
        read_poses(file, NAMES)
