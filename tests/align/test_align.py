"""Many scans put together: groups, wrong pairs, resuming, bad input."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from torch import Tensor

from pipeline.lumps import lumpy, off_by, view
from spoonful.data.clouds import Cloud, Mesh, read_cloud, read_mesh, write_cloud, write_mesh
from spoonful.data.simulate import simulate
from spoonful.geometry import Pose, random_rotation
from view.chromium import Chromium
from view.helpers import Page

pytest.importorskip("gtsam", reason="needs the extra align")

from spoonful.align import folder as folder_module
from spoonful.align import stages
from spoonful.align.folder import align
from spoonful.align.graph import Edge, loop_votes, solve
from spoonful.align.inputs import find_scan, list_scans, renamed, scan_names, tables_left_out
from spoonful.align.outputs import _write_scan, voxel_mean, write
from spoonful.align.pairs import covariance_of
from spoonful.align.report import write_report
from spoonful.align.result import Aligned, PairResult, doubts_of
from spoonful.align.scans import Described, DescribeJob, ReadJob, describe_scan, load, read_scan
from spoonful.align.solving import solve_pairs
from spoonful.cli.app import run
from spoonful.frame import Frame
from spoonful.locking import FolderInUse, locked
from spoonful.neighbors import Index
from spoonful.pipeline import batches, cluster, parts
from spoonful.pipeline.cluster import do_block
from spoonful.pipeline.field import Field
from spoonful.pipeline.prepare import Pair, Scan
from spoonful.pipeline.search import Description, Search

DIRECTIONS = [(1, 0, 0), (0.6, 0.8, 0), (-0.3, 0.8, 0.5), (0.5, 0.2, 0.9)]


def random_pose(generator: torch.Generator, shift: float = 3.0) -> Pose:
    rotation = random_rotation(generator=generator, dtype=torch.float64)
    return Pose(rotation, shift * torch.randn(3, generator=generator, dtype=torch.float64))


def write_views(folder: Path, count: int) -> dict[str, Pose]:
    """Views of one solid, each moved at random; the true pose of each."""
    generator = torch.Generator().manual_seed(5)
    truth = {}
    for k, direction in enumerate(DIRECTIONS[:count]):
        points = view(lumpy(4000, k), direction)
        motion = random_pose(generator)
        colors = torch.full(points.shape, 40 * k, dtype=torch.uint8)
        write_cloud(folder / f"view_{k}.ply", Cloud(motion.apply(points), colors=colors))
        truth[f"view_{k}"] = motion.inverse()
    return truth


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Pose], Aligned]:
    """Views, one with a point that is not finite, an unreadable file, a copy; and the result."""
    folder = tmp_path_factory.mktemp("views")
    truth = write_views(folder, 4)
    hole = torch.full((1, 3), torch.nan)
    first = read_cloud(folder / "view_0.ply")
    assert first.colors is not None
    write_cloud(
        folder / "view_0.ply",
        Cloud(torch.cat([first.points, hole]), colors=torch.cat([first.colors, first.colors[:1]])),
    )
    (folder / "broken.ply").write_text("this is no scan")
    (folder / "zcopy.ply").write_bytes((folder / "view_1.ply").read_bytes())
    found = align([folder], folder / "out", fixed=folder / "view_2.ply", workers=2)
    return folder, truth, found


@pytest.mark.slow
def test_views_of_one_solid_are_one_group_at_their_true_poses(
    views: tuple[Path, dict[str, Pose], Aligned],
) -> None:
    _, truth, found = views
    assert [set(group) for group in found.groups] == [{*truth, "zcopy"}]
    for name in truth:
        right = truth["view_2"].inverse().compose(truth[name])
        degrees, distance = off_by(found.poses[name], right)
        assert degrees < 2
        assert distance < 0.15  # of translations 3 from the origin


@pytest.mark.slow
def test_the_fixed_scan_stays_where_it_is(views: tuple[Path, dict[str, Pose], Aligned]) -> None:
    _, _, found = views
    assert found.groups[0][0] == "view_2"
    assert not found.covariances["view_2"].any()
    torch.testing.assert_close(found.poses["view_2"].matrix(), torch.eye(4, dtype=torch.float64))


@pytest.mark.slow
def test_unreadable_files_are_named_and_make_the_result_doubtful(
    views: tuple[Path, dict[str, Pose], Aligned],
) -> None:
    folder, _, found = views
    assert list(found.unreadable) == [str(folder / "broken.ply")]
    assert not found.confident
    assert "broken.ply" in found.doubts[0]


@pytest.mark.slow
def test_a_copy_gets_the_pose_of_its_original(
    views: tuple[Path, dict[str, Pose], Aligned],
) -> None:
    _, _, found = views
    assert found.copies == {"zcopy": "view_1"}
    assert torch.equal(found.poses["zcopy"].matrix(), found.poses["view_1"].matrix())


@pytest.mark.slow
def test_what_is_written_agrees_with_the_poses(
    views: tuple[Path, dict[str, Pose], Aligned], tmp_path: Path
) -> None:
    folder, _, found = views
    write(found, tmp_path, spacing=0.2, graph=True)
    saved = json.loads((tmp_path / "poses.json").read_text())
    matrix = saved["scans"]["view_3"]["T_group_scan"]
    pose = Pose.from_matrix(torch.tensor(matrix, dtype=torch.float64))
    text = (tmp_path / "poses" / "view_3.txt").read_text().split()
    assert [float(word) for word in text] == pose.matrix().flatten().tolist()
    here = read_cloud(folder / "view_3.ply").points.double()
    there = read_cloud(tmp_path / "scans" / "view_3.ply").points.double()
    torch.testing.assert_close(there, pose.apply(here), atol=1e-4, rtol=0)
    merged = read_cloud(tmp_path / "merged.ply")
    assert merged.colors is not None
    assert 100 < len(merged) < 1500
    lines = (tmp_path / "graph.g2o").read_text().splitlines()
    assert sum(line.startswith("VERTEX_SE3:QUAT") for line in lines) == len(found.poses)
    kept = [pair for pair in found.pairs if pair.status == "kept"]
    assert sum(line.startswith("EDGE_SE3:QUAT") for line in lines) == len(kept)
    spread = saved["scans"]["view_3"]
    assert 0 < spread["deviation_degrees"] < 10
    assert 0 < spread["deviation"] < 0.5
    assert torch.tensor(spread["covariance"]).shape == (6, 6)


@pytest.mark.slow
def test_a_moved_mesh_that_stl_would_round_is_written_as_ply(tmp_path: Path) -> None:
    pytest.importorskip("trimesh", reason="needs the extra data")
    mesh = Mesh(torch.rand(9, 3), torch.arange(9).reshape(3, 3))
    write_mesh(tmp_path / "scan.stl", mesh)
    far = Pose(torch.eye(3), torch.full((3,), 5.4e6)).to(torch.float64)
    for pose, name in ((Pose.identity(dtype=torch.float64), "out.stl"), (far, "out.ply")):
        path, _ = _write_scan(tmp_path / "scan.stl", tmp_path / "out", pose, 1.0)
        assert path.name == name
        wanted = pose.apply(mesh.vertices.double())
        torch.testing.assert_close(read_mesh(path).vertices.double(), wanted, atol=1e-6, rtol=0)


@pytest.mark.slow
def test_files_of_an_earlier_result_do_not_stay_beside_those_of_the_last(
    views: tuple[Path, dict[str, Pose], Aligned], tmp_path: Path
) -> None:
    _, _, found = views
    gone = {"view_0", "zcopy"}
    rest = [[name for name in found.groups[0] if name not in gone]]
    last = replace(
        found,
        groups=rest,
        files={name: file for name, file in found.files.items() if name not in gone},
        poses={name: pose for name, pose in found.poses.items() if name not in gone},
        pairs=[pair for pair in found.pairs if not {pair.source, pair.target} & gone],
    )
    write(last, tmp_path / "once")
    again = tmp_path / "again"
    split = replace(found, groups=[found.groups[0][:3], found.groups[0][3:]])
    write(split, again, graph=True)
    assert (again / "merged-2.ply").exists()
    own = [again / "scans" / "mine.ply", again / "scans" / "view_0.txt", again / "notes.txt"]
    for path in own:
        path.write_text("not of align")
    write(last, again)

    def tree(folder: Path) -> set[Path]:
        return {path.relative_to(folder) for path in folder.rglob("*")}

    assert tree(again) - tree(tmp_path / "once") == {path.relative_to(again) for path in own}
    assert tree(again) > tree(tmp_path / "once")


@pytest.mark.slow
def test_the_page_moves_each_scan_from_its_file_to_its_pose(
    views: tuple[Path, dict[str, Pose], Aligned], tmp_path: Path, browser: Chromium
) -> None:
    _, truth, found = views
    page = write_report(tmp_path / "report.html", found)
    browser.open(page, fragment="#pose=0")
    spots = {name: browser.evaluate(f"spoonful.centroid({name!r})") for name in truth}
    apart = torch.tensor(spots["view_3"]) - torch.tensor(spots["view_2"])
    wanted = found.centers["view_3"] - found.centers["view_2"]
    torch.testing.assert_close(apart.double(), wanted, atol=0.15, rtol=0)
    browser.evaluate("spoonful.view('Graph')")
    spots = {name: browser.evaluate(f"spoonful.centroid({name!r})") for name in truth}
    apart = torch.tensor(spots["view_3"]) - torch.tensor(spots["view_2"])
    moved = found.poses["view_3"].apply(found.centers["view_3"][None])[0]
    wanted = moved - found.centers["view_2"]
    torch.testing.assert_close(apart.double(), wanted, atol=0.15, rtol=0)
    assert "zcopy is a copy of view_1" in browser.evaluate("document.body.innerText")
    assert browser.problems == []


@pytest.mark.slow
@pytest.mark.slow
def test_groups_in_far_frames_stand_side_by_side_on_the_page(
    views: tuple[Path, dict[str, Pose], Aligned], tmp_path: Path
) -> None:
    _, truth, found = views
    first, second = [["view_2", "view_1"], ["view_3", "view_0"]]
    utm = torch.tensor([500_123.25, 5_400_321.5, 120.0], dtype=torch.float64)
    far = {name: Pose(pose.rotation, pose.translation + utm) for name, pose in found.poses.items()}
    split = replace(found, groups=[first, second], poses=found.poses | {n: far[n] for n in second})
    page = Page(write_report(tmp_path / "report.html", split))
    centers = torch.tensor(
        [layer["stops"][-1]["translation"] for layer in page.payload["layers"]], dtype=torch.float64
    )
    assert len(centers) == len(truth)
    width = max(float((p.amax(0) - p.amin(0)).norm()) for p in map(page.points, range(4)))
    assert float(torch.cdist(centers, centers).max()) < 3 * width
    assert "drawn nearer" not in page.payload["stops"][-1]["caption"]


def test_fewer_pairs_are_tried_in_a_sequence_and_among_many_scans(
    views: tuple[Path, dict[str, Pose], Aligned], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, truth, _ = views
    files = [folder / f"{name}.ply" for name in truth]
    found = align(files, folder / "out", order="sequence", workers=1)
    assert len(found.pairs) == 5  # all but the first with the last
    monkeypatch.setattr("spoonful.align.stages.ALL_PAIRS", 3)
    monkeypatch.setattr("spoonful.align.stages.SIMILAR", 1)
    found = align(files, folder / "out", workers=1)
    assert 2 <= len(found.pairs) <= 4
    names = {name for pair in found.pairs for name in (pair.source, pair.target)}
    assert names == set(truth)


@pytest.mark.slow
def test_the_result_depends_on_neither_the_files_folder_nor_their_times(tmp_path: Path) -> None:
    found = []
    for time_written in (1e9, 2e9):
        folder = tmp_path / f"{time_written:.0f}"
        folder.mkdir()
        write_views(folder, 2)
        for file in folder.iterdir():
            os.utime(file, (time_written, time_written))
        found.append(align([folder], folder / "out", workers=1).pairs[0])
    assert torch.equal(found[0].pose.matrix(), found[1].pose.matrix())
    assert found[0].confidence == found[1].confidence


@pytest.mark.slow
def test_a_killed_run_resumes_from_its_finished_pairs(tmp_path: Path) -> None:
    write_views(tmp_path, 3)
    out = tmp_path / "out"
    code = (
        "from spoonful.align.folder import align\n"
        "if __name__ == '__main__':\n"
        f"    align([{str(tmp_path)!r}], {str(out)!r}, workers=1)\n"
    )
    script = tmp_path / "run.py"
    script.write_text(code)
    process = subprocess.Popen([sys.executable, script], start_new_session=True)
    deadline = time.monotonic() + 300
    while not (before := lines_of(out)) and time.monotonic() < deadline:
        assert process.poll() is None or lines_of(out)
        time.sleep(0.02)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = lines_of(out)
    told: list[tuple[str, int, int]] = []
    found = align([tmp_path], out, workers=1, progress=lambda *step: told.append(step))
    assert found.confident
    first = next(step for step in told if step[0] == "registering")
    assert first[1] >= before >= 1
    assert lines_of(out) == 3


@pytest.mark.slow
def test_rows_of_an_older_format_are_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_views(tmp_path, 2)

    def done_before() -> int:
        told: list[tuple[str, int, int]] = []
        align([tmp_path], tmp_path / "out", workers=1, progress=lambda *step: told.append(step))
        return next(done for stage, done, _ in told if stage == "registering")

    assert (done_before(), done_before()) == (0, 1)
    monkeypatch.setattr(stages, "_FORMAT", stages._FORMAT + 1)
    assert done_before() == 0


def lines_of(out: Path) -> int:
    """Complete rows of registered pairs."""
    return sum(path.read_text().count('"confidence"') for path in out.glob("work/parts/*.jsonl"))


def in_another_folder(
    jobs: Sequence[Any], keys: Mapping[str, str], folder: Path, task: Any, timeout: float | None
) -> Iterator[int]:
    """Run jobs as a machine of a cluster does: from copies, with another current folder."""
    copies, copied_keys, copied_folder = pickle.loads(pickle.dumps((jobs, keys, folder)))
    with TemporaryDirectory() as elsewhere, contextlib.chdir(elsewhere):
        yield do_block({copied_keys[job.id]: job for job in copies}, copied_folder, task, timeout)


@pytest.mark.slow
def test_a_cluster_finds_the_poses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # pipeline/test_batches.py has a real cluster, which starts a process for each stage.
    monkeypatch.setattr(folder_module, "connected", contextlib.nullcontext)
    monkeypatch.setattr(batches, "run_on_cluster", in_another_folder)
    here = lambda jobs, task, *_: [parts._row(job, task(job)) for job in jobs]  # noqa: E731
    monkeypatch.setattr(cluster, "run_here", here)
    truth = write_views(tmp_path, 2)
    monkeypatch.chdir(tmp_path)
    found = align(["view_0.ply", "view_1.ply"], "out", cluster=True)
    assert found.groups == [["view_0", "view_1"]]
    assert lines_of(tmp_path / "out") == 1
    right = truth["view_0"].inverse().compose(truth["view_1"])
    degrees, distance = off_by(found.poses["view_1"], right)
    assert degrees < 2
    assert distance < 0.15


def measured(
    truth: list[Pose], pairs: list[tuple[int, int]], confidence: float = 0.95
) -> list[Edge]:
    covariance = torch.eye(6, dtype=torch.float64) * 1e-4
    return [
        Edge(j, i, truth[i].inverse().compose(truth[j]), covariance, confidence) for i, j in pairs
    ]


def test_wrong_edges_are_rejected_and_do_not_move_the_poses() -> None:
    generator = torch.Generator().manual_seed(0)
    truth = [random_pose(generator) for _ in range(8)]
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    edges = measured(truth, pairs)
    wrong = set(range(0, len(pairs), 4))
    for k in wrong:
        old = edges[k]
        edges[k] = Edge(old.source, old.target, random_pose(generator), old.covariance, 0.95)
    found = solve(8, edges)
    assert found.groups == [list(range(8))]
    assert {k for k, kept in enumerate(found.kept) if not kept} == wrong
    for k in range(8):
        assert max(off_by(found.poses[k], truth[0].inverse().compose(truth[k]))) < 1e-3


def test_a_longer_loop_that_closes_confirms_its_edges() -> None:
    generator = torch.Generator().manual_seed(0)
    truth = [random_pose(generator) for _ in range(5)]
    edges = measured(truth, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (0, 4)])
    edges.append(Edge(3, 1, random_pose(generator), edges[0].covariance, 0.8))
    found = solve(5, edges)
    assert found.groups == [[0, 1, 2, 3, 4]]
    assert found.kept == [True] * 6 + [False]


@pytest.mark.slow
def test_wrong_edges_across_a_long_ring_do_not_fold_it() -> None:
    count, generator = 40, torch.Generator().manual_seed(0)
    truth = []
    for k in range(count):
        angle = 2 * math.pi * k / count
        place = 30 * torch.tensor([math.cos(angle), math.sin(angle), 0], dtype=torch.float64)
        truth.append(Pose(random_pose(generator).rotation, place))
    near = [(k, (k + step) % count) for k in range(count) for step in (1, 2)]
    edges = measured(truth, near)
    for k in range(15):
        ends = (k, k + 12 + k % 7)
        edges.append(Edge(*ends, random_pose(generator), edges[0].covariance, 0.95))
    found = solve(count, edges)
    assert found.groups == [list(range(count))]
    assert found.kept == [True] * len(near) + [False] * 15


def test_many_likely_edges_do_not_outvote_a_few_sure_ones() -> None:
    count, generator = 16, torch.Generator().manual_seed(0)
    truth = [random_pose(generator) for _ in range(count)]
    ring = [(k, (k + step) % count) for k in range(count) for step in (1, 2)]
    edges = measured(truth, ring, confidence=0.99)
    # Two places look alike: all edges between them agree on one wrong motion.
    wrong = random_pose(generator)
    for i, j in itertools.product((2, 3, 4), (10, 11, 12)):
        pose = truth[i].inverse().compose(wrong).compose(truth[j])
        edges.append(Edge(j, i, pose, edges[0].covariance, 0.75))
    found = solve(count, edges)
    assert found.kept == [True] * len(ring) + [False] * 9


def test_a_scale_that_may_be_off_moves_a_scan_that_is_met_far_from_its_centre() -> None:
    generator = torch.Generator().manual_seed(0)
    points = 4 * torch.rand(1500, 3, generator=generator)
    side = torch.arange(1500) % 3
    points[torch.arange(1500), side] = 0.0  # a corner of three planes
    normals = torch.eye(3)[side]
    away = torch.tensor([100.0, 0.0, 0.0])

    def described(shift: Tensor) -> Described:
        fine = Index(points + shift)
        scan = Scan(fine, normals, normals, fine, given=True, fine_normals=normals)
        none = Description(normals, Field(fine.points, normals))
        return Described(scan, none, fine, torch.zeros(3), 0.05, 5.0)

    source, target = described(away), described(torch.zeros(3))
    pose = Pose(torch.eye(3).double(), -away.double())
    noise, _ = covariance_of(source, target, pose, generator)
    both, _ = covariance_of(source, target, pose, generator, (0.02, 0.02))
    # The corner is 5 m from the middle of the source, and in the middle of the target.
    more = (both - noise)[3:, 3:]
    assert float(more[0, 0].sqrt()) == pytest.approx(0.1, rel=0.05)
    assert float(more[1:, 1:].abs().max()) < 1e-4
    assert float(torch.linalg.eigvalsh(both - noise)[0]) > -1e-9


@pytest.mark.slow
def test_sensors_count_in_a_pair_if_both_scans_are_in_their_coordinates(tmp_path: Path) -> None:
    points = simulate("room", "camera", scans=1, seed=4, detail=0.6).clouds[0].points
    found = []
    for name, shift in (("raw", 0.0), ("merged", 1000.0)):
        source, stored, described = (str(tmp_path / f"{name}.{end}") for end in ("ply", "a", "b"))
        write_cloud(source, Cloud(points + shift))
        read_scan(ReadJob(name, source, stored, 0))
        describe_scan(DescribeJob(name, stored, described, 0.1, False, 0, 2.0))
        found.append(load(described))
    raw, merged = found
    assert merged.scan.eye is None
    assert raw.scan.eye is not None
    torch.testing.assert_close(raw.scan.eye, -20 * points.mean(0).float(), atol=1e-3, rtol=0)
    for other, known in ((raw, True), (merged, False)):
        pair = Pair(raw.scan, other.scan, Frame(raw.center, other.center, torch.tensor(0.05)))
        search = Search(pair, raw.description, other.description)
        assert bool(search.views) == known


def test_the_first_scan_comes_first_in_its_group() -> None:
    truth = [Pose.identity(dtype=torch.float64)] * 4
    edges = measured(truth, [(0, 1), (1, 2), (2, 3)])
    assert solve(4, edges, first=2).groups == [[2, 0, 1, 3]]


def test_only_right_edges_get_votes_of_loops() -> None:
    generator = torch.Generator().manual_seed(1)
    truth = [random_pose(generator) for _ in range(4)]
    edges = measured(truth, [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)])
    last = edges[-1]
    edges[-1] = Edge(last.source, last.target, random_pose(generator), last.covariance, 0.9)
    votes = loop_votes(edges)
    assert votes.closed == [1, 1, 1, 0, 0]
    assert votes.contradicted == [False] * 5  # which of the last two is wrong cannot be told
    edges += measured(truth, [(1, 3)])
    votes = loop_votes(edges)
    assert votes.closed == [1, 2, 1, 1, 0, 1]
    assert votes.contradicted == [False, False, False, False, True, False]


def test_scans_without_a_trusted_edge_stay_in_groups_of_their_own() -> None:
    generator = torch.Generator().manual_seed(2)
    truth = [random_pose(generator) for _ in range(6)]
    edges = measured(truth, [(0, 1), (1, 2), (0, 2), (3, 4)])
    edges += measured(truth, [(2, 3)], confidence=0.75)
    found = solve(6, edges)
    assert found.groups == [[0, 1, 2], [3, 4], [5]]
    assert found.kept == [True] * 4 + [False]
    assert found.off[4] is None


def row_of(edge: Edge, *, overlap: float = 0.5, agreeing: float = 0.6) -> parts.Row:
    """The row of a registered pair; so much of its relief agrees."""
    return {
        "source": f"scan {edge.source}",
        "target": f"scan {edge.target}",
        "pose": edge.pose.matrix().tolist(),
        "covariance": edge.covariance.tolist(),
        "confidence": edge.confidence,
        "overlap": overlap,
        "relief": [1000, int(1000 * agreeing)],
        "seen": False,
    }


def test_rooms_that_look_alike_are_not_joined() -> None:
    generator = torch.Generator().manual_seed(3)
    truth = [random_pose(generator) for _ in range(8)]
    # One room fits the other in two ways.
    ways = [random_pose(generator) for _ in range(2)]
    rows = []
    for edge in measured(truth, [(i, j) for i in range(8) for j in range(i + 1, 8)]):
        one_room = (edge.source < 4) == (edge.target < 4)
        number = (edge.source + edge.target) % 2
        way = ways[number].compose(truth[edge.source])
        pose = edge.pose if one_room else truth[edge.target].inverse().compose(way)
        made = replace(edge, pose=pose)
        rows.append(row_of(made, overlap=0.9 if one_room else 0.5) | {"way": number})
    index = {f"scan {k}": k for k in range(8)}
    used, found, doubts = solve_pairs(rows, index, None)
    assert found.groups == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(used) == 12
    assert "of 28 confident pairs contradict" in doubts[0]
    # If few pairs contradict the others, it depends on how confident they are.
    other_way = [row for row in rows if row["overlap"] < 0.8 and row["way"] == 1]
    rest = [row | {"confidence": 0.99} for row in rows if row not in other_way]
    for confidence, doubted in ((0.8, False), (0.99, True)):
        few = [row | {"confidence": confidence} for row in other_way[:3]]
        _, found, doubts = solve_pairs(rest + few, index, None)
        assert len(found.groups) == 1 + doubted
        assert bool(doubts) == doubted


def test_a_part_whose_relief_agrees_little_in_several_pairs_is_not_joined_by_them() -> None:
    """As a part that is turned by half a turn: walls and floors fit, the furniture does not."""
    generator = torch.Generator().manual_seed(4)
    truth = [random_pose(generator) for _ in range(6)]
    index = {f"scan {k}": k for k in range(6)}
    inside = [
        row_of(edge) for edge in measured(truth, [*itertools.combinations(range(4), 2), (4, 5)])
    ]
    turn = random_pose(generator)
    elsewhere = truth[:4] + [turn.compose(pose) for pose in truth[4:]]
    across = [(0, 4), (1, 4), (2, 5), (3, 5)]
    wrong = [row_of(edge, agreeing=0.3) for edge in measured(elsewhere, across)]
    used, found, doubts = solve_pairs(inside + wrong, index, None)
    assert found.groups == [[0, 1, 2, 3], [4, 5]]
    assert used == inside
    assert doubts == [
        "scan 4, scan 5 are not joined with scan 0, scan 1, scan 2 and 1 more: walls and floors "
        "fit, but in 4 pairs only 30% of the other surface agrees"
    ]
    # Free space would speak against a wrong pair, if the sensors were known.
    seen = [row | {"seen": True} for row in wrong]
    assert solve_pairs(inside + seen, index, None)[1].groups == [[0, 1, 2, 3, 4, 5]]
    # One pair may have little relief by chance.
    assert solve_pairs(inside + wrong[:1], index, None)[1].groups == [[0, 1, 2, 3, 4, 5]]
    # Other pairs, which the wrong ones outvoted, then join the part in its place.
    right = [
        row_of(edge) | {"confidence": 0.8} for edge in measured(truth, [(0, 5), (1, 5), (2, 4)])
    ]
    used, found, doubts = solve_pairs(inside + wrong + right, index, None)
    assert found.groups == [[0, 1, 2, 3, 4, 5]]
    assert used == inside + right
    assert not doubts


def test_doubts_name_the_pair_between_two_groups() -> None:
    pair = PairResult(
        "b", "c", Pose.identity(), torch.eye(6), 0.75, 0.2, 0.1, "between groups", None
    )
    found = doubts_of([["a", "b"], ["c"]], [pair], {})
    assert "2 groups" in found[0]
    assert "b and c" in found[1]
    assert "0.75" in found[1]


def pair_between(ends: str, confidence: float, status: str = "kept") -> PairResult:
    source, target = ends
    facts = (confidence, 0.2, 0.1, status, 0.0)
    return PairResult(source, target, Pose.identity(), torch.eye(6), *facts)


def test_doubts_name_each_scan_that_only_doubtful_pairs_place() -> None:
    shown = {"ab": 0.9, "bc": 0.8, "da": 0.5, "bd": 0.3, "ef": 0.6}
    pairs = [pair_between(ends, confidence) for ends, confidence in shown.items()]
    one, other = doubts_of([["a", "b", "c", "d"], ["e", "f"]], pairs, {})[1:]
    assert "place d (pairs: 2, confidence at most 0.50)" in one
    assert "place f (pairs: 1, confidence at most 0.60)" in other


def test_doubts_name_the_scan_whose_pairs_contradict_its_place() -> None:
    held = [pair_between(ends, 0.99) for ends in ("ab", "bc", "ac")]
    group = [["a", "b", "c", "d"]]
    against = [pair_between("db", 0.9, "rejected"), pair_between("dc", 0.8, "rejected")]
    (doubt,) = doubts_of(group, [*held, pair_between("da", 0.95), *against], {})
    assert doubt.startswith("d may be in the wrong place")
    assert "agree: 1, that contradict: 2" in doubt
    # Much confidence outweighs a little.
    assert doubts_of(group, [*held, pair_between("da", 0.99), against[1]], {}) == []


def test_doubts_name_the_smaller_of_two_parts_that_most_pairs_do_not_join() -> None:
    """As two rooms that fit on each other: doubtful pairs say where the one really is."""
    held = [pair_between(ends, 0.99) for ends in ("ab", "bc", "ac", "cd", "ad", "ef")]
    joins = [pair_between("ea", 0.9)]
    against = [pair_between(ends, 0.48, "rejected") for ends in ("fa", "eb", "fb")]
    group = [["a", "b", "c", "d", "e", "f"]]
    (doubt,) = doubts_of(group, [*held, *joins, *against], {})
    assert doubt.startswith("e, f may be in the wrong place")
    assert doubts_of(group, [*held, *joins, against[0]], {}) == []


def test_doubts_name_pairs_whose_sizes_differ_too_much() -> None:
    pairs = [("a", "e"), ("b", "e"), ("c", "e"), ("d", "e")]
    _, doubt = doubts_of([["a", "b", "c", "d"], ["e"]], [], {}, skipped=pairs)
    assert doubt.startswith("pairs not tried: a with e, b with e, c with e and 1 more, because")
    assert doubts_of([["a", "b"]], [], {}, skipped=pairs) == []


def test_a_lone_scan_of_any_size_does_not_stop_the_output(tmp_path: Path) -> None:
    points = 1e30 * torch.rand(9, 3, dtype=torch.float64)
    write_cloud(tmp_path / "far.ply", Cloud(points))
    found = Aligned(
        files={"far": tmp_path / "far.ply"},
        groups=[["far"]],
        poses={"far": Pose.identity(dtype=torch.float64)},
        scales={"far": 1.0},
        covariances={"far": torch.zeros(6, 6, dtype=torch.float64)},
        centers={"far": points.mean(0)},
        surfaces={},
        pairs=[],
        unreadable={},
        copies={},
        skipped=[],
        spacing=0.01,
        doubts=[],
        notes=[],
        seconds=0.0,
    )
    write(found, tmp_path / "out")
    assert (tmp_path / "out" / "poses.json").exists()


def test_a_voxel_has_the_mean_point_and_colour() -> None:
    def cloud(points: Tensor, color: int) -> Cloud:
        return Cloud(points, colors=torch.full(points.shape, color, dtype=torch.uint8))

    merged = voxel_mean([cloud(torch.zeros(1, 3), 10), cloud(torch.eye(3), 30)], 5.0)
    torch.testing.assert_close(merged.points, torch.full((1, 3), 0.25).double())
    assert merged.colors is not None
    assert merged.colors.tolist() == [[25] * 3]


def test_bad_input_is_refused_with_the_name_of_what_is_wrong(tmp_path: Path) -> None:
    one = tmp_path / "one.ply"
    write_cloud(one, Cloud(torch.rand(50, 3)))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="at least two scans, got 1"):
        list_scans([one, one])
    with pytest.raises(ValueError, match="empty: the folder has no scans"):
        list_scans([tmp_path / "empty"])
    with pytest.raises(FileNotFoundError, match=r"nope\.ply"):
        list_scans([one, tmp_path / "nope.ply"])
    two = tmp_path / "two.ply"
    write_cloud(two, Cloud(torch.rand(50, 3)))
    with pytest.raises(ValueError, match=r"fixed must be one of the scans, .*there are: one, two"):
        align([one, two], tmp_path / "out", fixed=tmp_path / "three.ply")
    with pytest.raises(ValueError, match="order must be one of any, sequence"):
        align([one, two], tmp_path / "out", order="random")
    with pytest.raises(ValueError, match="scale must be None or 'auto', got '2'"):
        align([one, two], tmp_path / "out", scale="2")
    with pytest.raises(ValueError, match=r"up must be one of .* got 'w'"):
        align([one, two], tmp_path / "out", up="w")
    with pytest.raises(ValueError, match="out must not contain the scans"):
        align([one, two], tmp_path)


def test_tables_in_a_folder_are_scans_only_if_there_are_no_others(tmp_path: Path) -> None:
    tables = [tmp_path / "a.csv", tmp_path / "b.txt"]
    for path in tables:
        path.write_text("0 0 0\n1 0 0\n0 1 0\n")
    assert list_scans([tmp_path]) == tables
    assert tables_left_out([tmp_path]) == []
    scans = [tmp_path / "c.ply", tmp_path / "d.ply"]
    for path in scans:
        write_cloud(path, Cloud(torch.rand(50, 3)))
    assert list_scans([tmp_path]) == scans
    assert tables_left_out([tmp_path, scans[0]]) == tables


def test_a_table_beside_a_single_scan_is_named(tmp_path: Path) -> None:
    write_cloud(tmp_path / "a.xyz", Cloud(torch.rand(50, 3)))
    write_cloud(tmp_path / "b.csv", Cloud(torch.rand(50, 3)))
    with pytest.raises(ValueError, match=r"got 1; skipped, .* notes: b\.csv; name them"):
        list_scans([tmp_path])


def test_scans_in_a_folder_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = ["scan 1.ply", "scan 2.ply", "scan 2 (copy).ply", "scan 10.ply"]
    for name in reversed(names):
        (tmp_path / name).touch()
    assert [path.name for path in list_scans([tmp_path])] == names


def test_hidden_files_in_a_folder_are_no_scans(tmp_path: Path) -> None:
    scans = [tmp_path / "a.ply", tmp_path / "b.ply"]
    for path in scans:
        write_cloud(path, Cloud(torch.rand(50, 3)))
    for name in ("._a.ply", ".notes.txt"):  # as macOS writes them
        (tmp_path / name).write_bytes(b"\0\5\x16\7")
    assert list_scans([tmp_path]) == scans
    assert tables_left_out([tmp_path]) == []


def test_a_scan_without_a_surface_is_named_once(tmp_path: Path) -> None:
    few, same = tmp_path / "few.ply", tmp_path / "same.ply"
    write_cloud(few, Cloud(torch.rand(2, 3)))
    write_cloud(same, Cloud(torch.ones(50, 3)))
    for path, reason in (
        (few, "it needs three finite points or more, got 2"),
        (same, "it has all its 50 points in one place"),
    ):
        with pytest.raises(ValueError, match=f"{path.name}: {reason}$"):
            read_scan(ReadJob("name", str(path), str(tmp_path / "stored.pt"), 0))


def test_a_full_disk_stops_the_run_and_is_no_unreadable_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(jobs: list[ReadJob], *_: object, **__: object) -> dict[str, dict[str, str]]:
        message = "{}: No space left on device"
        return {job.id: {"status": "failed", "message": message.format(job.stored)} for job in jobs}

    for name in ("one.ply", "two.ply"):
        write_cloud(tmp_path / name, Cloud(torch.rand(50, 3)))
    monkeypatch.setattr(stages, "run_jobs", full)
    with pytest.raises(OSError, match=r"^[^ ]*out.work.scan-\w+\.pt: No space left"):
        align([tmp_path], tmp_path / "out")


def test_a_list_names_scans_relative_to_its_folder(tmp_path: Path) -> None:
    for k in (2, 10):
        write_cloud(tmp_path / f"s{k}.ply", Cloud(torch.rand(50, 3)))
    listed = tmp_path / "list.txt"
    listed.write_text("# scans\ns10.ply\n\ns2.ply\n")
    assert list_scans([listed]) == [tmp_path / "s10.ply", tmp_path / "s2.ply"]
    assert list_scans([tmp_path]) == [tmp_path / "s2.ply", tmp_path / "s10.ply"]
    for text in ("s10.ply\ngone.ply\n", "gone.ply\ns10.ply\n"):
        listed.write_text(text)
        with pytest.raises(FileNotFoundError, match=r"gone\.ply$"):
            list_scans([listed])
    cloud = tmp_path / "cloud.txt"
    cloud.write_text("x y z\n0.5 1 2\n")
    assert list_scans([cloud, tmp_path / "s2.ply"]) == [cloud, tmp_path / "s2.ply"]


@pytest.mark.slow
def test_poses_to_start_from_are_used_and_must_not_contradict(
    views: tuple[Path, dict[str, Pose], Aligned], tmp_path: Path
) -> None:
    folder, truth, _ = views
    files = [folder / f"{name}.ply" for name in (*truth, "zcopy")]
    poses = {**truth, "zcopy": truth["view_1"]}
    init = tmp_path / "poses"
    init.mkdir()
    for name, pose in poses.items():
        rows = (" ".join(map(repr, row)) for row in pose.matrix().tolist())
        (init / f"{name}.txt").write_text("\n".join(rows))
    again = align(files, tmp_path / "out", init=init, order="sequence", up="auto", workers=2)
    right = truth["view_0"].inverse().compose(truth["view_3"])
    assert off_by(again.poses["view_3"], right)[0] < 2
    (init / "zcopy.txt").write_bytes((init / "view_0.txt").read_bytes())
    with pytest.raises(ValueError, match="different poses for zcopy and view_1"):
        align(files, folder / "out", init=init, workers=1)


@pytest.mark.slow
def test_scans_of_different_scales_come_to_that_of_the_first(tmp_path: Path) -> None:
    truth = write_views(tmp_path, 2)
    big = read_cloud(tmp_path / "view_1.ply")
    write_cloud(tmp_path / "view_1.ply", Cloud(2.5 * big.points.double()))
    found = align([tmp_path], tmp_path / "out", scale="auto", up=None, workers=1)
    assert found.groups == [["view_0", "view_1"]]
    assert found.scales["view_1"] == pytest.approx(0.4, rel=0.02)
    right = truth["view_0"].inverse().compose(truth["view_1"])
    assert off_by(found.poses["view_1"], right)[0] < 2
    write(found, tmp_path / "out")
    saved = json.loads((tmp_path / "out" / "poses.json").read_text())["scans"]["view_1"]
    matrix = torch.tensor(saved["T_group_scan"])
    assert float(matrix[:3, :3].det()) == pytest.approx(found.scales["view_1"] ** 3, rel=1e-3)


def test_odd_names_become_names_of_files_and_stay_different(tmp_path: Path) -> None:
    odd = [tmp_path / "a\tb.ply", tmp_path / "a\nb.ply", tmp_path / "ü b'.ply"]
    assert list(scan_names(odd)) == ["a_b", "a_b-2", "ü b'"]


def test_files_of_one_name_are_named_with_their_scans(tmp_path: Path) -> None:
    files = [tmp_path / "s" / name for name in ("room.pcd", "room.ply", "hall.ply")]
    assert renamed(scan_names(files)) == [f"s-room is {files[0]}", f"s-room-2 is {files[1]}"]


def test_a_scan_is_found_by_any_name_that_means_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = scan_names([Path("a/s.1.ply"), Path("a/s.2.ply"), Path("b/s.2.pcd")])
    for typed in ("s.1", "s.1.ply", "a/s.1", "./a/s.1.ply", tmp_path / "a" / "s.1.ply"):
        assert find_scan(typed, files) == Path("a/s.1.ply")
    for typed in ("b/s.2", "s.2.pcd", "b-s.2"):
        assert find_scan(typed, files) == Path("b/s.2.pcd")
    with pytest.raises(ValueError, match=r"s\.2 may be a.s\.2\.ply or b.s\.2\.pcd"):
        find_scan("s.2", files)
    with pytest.raises(ValueError, match=r"got c/s\.1; there are: s\.1, a-s\.2, b-s\.2"):
        find_scan("c/s.1", files)


def test_many_scans_need_a_yes_and_a_dry_run_only_estimates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("spoonful.cli.align.MANY", 2)
    for k in range(3):
        write_cloud(tmp_path / f"{k}.ply", Cloud(torch.rand(50, 3)))
    command = ["align", str(tmp_path), "--out", str(tmp_path / "out")]
    assert run([*command, "--dry-run"]) == 0
    assert "3 scans, at most 3 pairs" in capsys.readouterr().out
    assert run(command) == 2
    assert "--yes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_process_at_a_time_writes_to_a_folder(tmp_path: Path) -> None:
    for k in range(2):
        write_cloud(tmp_path / f"{k}.ply", Cloud(torch.rand(50, 3)))
    work = tmp_path / "out" / "work"
    work.mkdir(parents=True)
    with locked(work), pytest.raises(FolderInUse):
        align([tmp_path], tmp_path / "out", workers=1)


def test_the_folder_is_held_while_the_command_writes_until_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from spoonful.cli import align as command

    def write(found: object, out: Path, **options: object) -> list[Path]:
        with pytest.raises(FolderInUse), locked(out / "work"):
            pass
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "align", lambda *files, **options: None)
    monkeypatch.setattr(command, "write", write)
    for k in range(2):
        write_cloud(tmp_path / f"{k}.ply", Cloud(torch.rand(50, 3)))
    assert run(["align", str(tmp_path), "--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err == "stopped; run the same command to resume\n"


def test_the_page_names_the_command_with_all_that_changes_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spoonful.cli import align as command

    def write(found: object, out: Path, **options: object) -> list[Path]:
        assert options["command"] == ["spoonful", *arguments]
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "align", lambda *files, **options: None)
    monkeypatch.setattr(command, "write", write)
    for k in range(2):
        write_cloud(tmp_path / f"{k}.ply", Cloud(torch.rand(50, 3)))
    out = tmp_path / "out"
    arguments = ["align", str(tmp_path), "--out", str(out), "--order", "any"]
    arguments += ["--up", "y", "--spacing", "0.2", "--unit", "mm", "--seed", "5", "--graph"]
    assert run(arguments) == 130


@pytest.mark.slow
def test_the_command_resumes_writes_and_says_what_is_doubtful(
    views: tuple[Path, dict[str, Pose], Aligned], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _, found = views
    (folder / "notes.txt").write_text("bring a ladder")
    arguments = ["align", str(folder), "--out", str(folder / "out"), "--spacing", "0.2", "--json"]
    assert run(arguments) == 3
    printed = json.loads(capsys.readouterr().out)
    assert printed["confident"] is False
    assert len(printed["pairs"]) == len(found.pairs)
    assert printed["tables_left_out"] == ["notes.txt"]
    note = "left out for NaN or infinite coordinates: 1 point of view_0"
    assert printed["notes"] == found.notes == [note]
    assert run(arguments[:-1]) == 3
    assert re.search(f"^note +{note}$", capsys.readouterr().out, re.MULTILINE)
    assert (folder / "out" / "merged.ply").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "at least two scans, got 1"),
        (["--order", "random"], "--order must be one of any, sequence"),
        (["--spacing", "wide"], "--spacing must be a length"),
        (["--unit", "parsec"], "--unit must be one of"),
    ],
)
def test_the_command_refuses_bad_input_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    scan = tmp_path / "one.ply"
    write_cloud(scan, Cloud(torch.rand(50, 3)))
    assert run(["align", str(scan), "--out", str(tmp_path / "out"), *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--fixed", "three", "--fixed must be one of the scans, got three"),
        ("--workers", "0", "--workers must be at least 1"),
        ("--out", ".", "--out must not contain the scans"),
    ],
)
def test_errors_of_the_library_name_the_option(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    option: str,
    value: str,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one.ply", "two.ply"):
        write_cloud(tmp_path / name, Cloud(torch.rand(50, 3)))
    assert run(["align", "one.ply", "two.ply", "--out", "out", option, value]) == 2
    assert words in capsys.readouterr().err
