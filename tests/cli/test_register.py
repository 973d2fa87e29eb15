"""`spoonful register`: what it prints, writes and refuses. The registration itself stands in."""

from __future__ import annotations

import functools
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from pipeline.standins import aligned, quick
from spoonful.cli import batch
from spoonful.cli.answer import show
from spoonful.cli.app import run
from spoonful.cli.serve import listen
from spoonful.data import synthetic
from spoonful.data.clouds import Cloud, Mesh, read, read_cloud, read_mesh, write_cloud, write_mesh
from spoonful.geometry import Pose
from spoonful.geometry.exact import rotate
from spoonful.metrics import rotation_error_degrees
from spoonful.pipeline import Alignment, auto, runner
from spoonful.pipeline.alignment import AS_GIVEN
from spoonful.pipeline.batches import register_pairs
from spoonful.pipeline.posefile import read_pose, read_similarity, write_pose
from view.helpers import Page, box, turn

TRUTH = turn(40, "y", (1.0, -2.0, 0.5))


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "register", aligned)


@pytest.fixture
def scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a source that has normals and colours, and a target."""
    monkeypatch.chdir(tmp_path)
    target = box()
    generator = torch.Generator().manual_seed(1)
    normals = torch.nn.functional.normalize(torch.randn(600, 3, generator=generator), dim=1)
    colors = torch.randint(256, (600, 3), generator=generator).to(torch.uint8)
    source = TRUTH.inverse().apply(target).float()
    write_cloud(tmp_path / "my source [1].ply", Cloud(source, normals, colors))
    write_cloud(tmp_path / "target.pcd", Cloud(target.float()))
    write_cloud(tmp_path / "other.xyz", Cloud(target[torch.randperm(600, generator=generator)]))
    return tmp_path


PAIR = ["my source [1].ply", "target.pcd"]


@pytest.mark.slow
def test_it_prints_the_pose_and_all_its_measures(scans: Path, capsys: Any) -> None:
    assert run(["register", *PAIR, "--unit", "m", "--method", "icp"]) == 0
    out, err = capsys.readouterr()
    rows = [line.split() for line in out.splitlines()[1:5]]
    printed = torch.tensor([[float(cell) for cell in row] for row in rows])
    torch.testing.assert_close(printed, TRUTH.matrix().float(), atol=1e-5, rtol=0)
    assert out.startswith("T_target_source")
    assert re.search(r"rotation +40\.000° about 0\.000, 1\.000, 0\.000", out)
    assert re.search(r"translation +1\.000, -2\.000, 0\.500 m", out)
    assert re.search(r"inliers +100\.0% of the source within 0\.\d+ m, RMSE ", out)
    assert len(re.findall(r"^surface +RMSE .* m, median .* m from these points", out, re.M)) == 1
    assert re.search(r"overlap +100%", out)
    assert re.search(r"confidence +over 99%: confident", out)
    assert re.search(r"time +\d+\.\d\d s", out)
    assert re.search(r"method +icp: The points correspond\.", out)
    assert re.search(r"warning +This is a warning\.", out)
    assert err == ""


def test_a_terminal_shows_the_stages(scans: Path) -> None:
    write_cloud("big.las", Cloud(box().repeat(200, 1)))
    told: list[tuple[str, int, int]] = []
    request = runner.Request("big.las", "target.pcd", output="out.las", report="out.html")
    runner.run(request, lambda *now: told.append(now))
    assert list(dict.fromkeys(name for name, _, _ in told)) == [
        "reading the source", "reading the target", "registering", "writing: aligned",
        "writing: report",
    ]  # fmt: skip
    assert ("reading the source", 65_536, 120_000) in told
    assert ("writing: aligned", 120_000, 120_000) in told


@pytest.mark.slow
def test_the_real_registration_finds_the_pose_of_two_partial_scans(
    scans: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "register", auto.register)
    whole = synthetic.cloud("airplane", 0, split="test", points=6000)[0]
    generator = torch.Generator().manual_seed(0)
    half = [whole[whole[:, axis].argsort()[:4200]] for axis in (0, 1)]
    one, two = (part[torch.randperm(4200, generator=generator)[:3000]] for part in half)
    write_cloud("one.ply", Cloud(TRUTH.inverse().apply(one.double())))
    write_cloud("two.ply", Cloud(two))
    words = ["register", "one.ply", "two.ply", "--json", "--report", "r.html", "-o", "a.ply"]
    code = run(words)
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert (code, err) == (0, "")
    found = Pose.from_matrix(torch.tensor(result["T_target_source"], dtype=torch.float64))
    assert float(rotation_error_degrees(found.rotation, TRUTH.rotation)) < 2
    torch.testing.assert_close(found.translation, TRUTH.translation, atol=0.03, rtol=0)
    assert [view["name"] for view in Page(Path("r.html")).payload["views"]] == [
        "Before", "After", "Matches", "Residuals",
    ]  # fmt: skip


def test_points_that_are_not_finite_are_counted(scans: Path, capsys: Any) -> None:
    given = read_cloud(PAIR[0])
    holes = torch.tensor([[torch.nan, 0, 0], [0, torch.inf, 0]])
    write_cloud("holes.ply", Cloud(torch.cat([given.points, holes])))
    said = "left out for NaN or infinite coordinates: 2 points of the source"
    words = ["register", "holes.ply", "target.pcd", "--scale", "1", "--report", "r.html"]
    assert run(words) == 0
    assert re.search(f"^note +{said}$", capsys.readouterr().out, re.MULTILINE)
    assert said in Page(Path("r.html")).text
    assert run([*words, "--json", "--pose", "p.json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == [said]
    assert json.loads(Path("p.json").read_text())["notes"] == [said]
    assert run(["register", *PAIR]) == 0
    assert "note " not in capsys.readouterr().out


def test_json_is_all_there_is_on_standard_output(scans: Path, capsys: Any) -> None:
    assert run(["register", *PAIR, "--json", "--pose", "p.json", "--unit", "mm"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err == ""
    assert result["source"] == PAIR[0]
    assert result["unit"] == "mm"
    assert result["confident"] is True
    assert result["rotation_degrees"] == pytest.approx(40, abs=1e-4)
    assert result["rotation_axis"] == pytest.approx([0, 1, 0], abs=1e-5)
    assert result["written"] == {"pose": "p.json"}
    expected = {"overlap", "inlier_ratio", "rmse", "radius", "confidence", "seconds", "warnings"}
    assert expected <= set(result)


def test_a_doubtful_result_is_printed_and_exits_with_3(scans: Path, capsys: Any) -> None:
    assert run(["register", PAIR[0], "other.xyz"]) == 3
    assert re.search(r"confidence .* doubtful", capsys.readouterr().out)
    # Without a single inlier there is no RMSE either, and NaN is no JSON.
    words = ["register", PAIR[0], "other.xyz", "--voxel", "1e-9"]
    assert run([*words, "--json", "--pose", "p.json", "--report", "r.html"]) == 3
    result = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (result["confident"], result["rmse"]) == (False, None)
    assert json.loads(Path("p.json").read_text(), parse_constant=pytest.fail)["rmse"] is None
    assert run(words) == 3
    assert "nan" not in capsys.readouterr().out + Page(Path("r.html")).text.lower()


@pytest.mark.slow
def test_a_doubtful_result_suggests_what_to_do_next(scans: Path, capsys: Any) -> None:
    def advice(*words: str) -> str:
        assert run(["register", PAIR[0], *words]) == 3
        return re.findall(r"^next +(.*)", capsys.readouterr().out, re.MULTILINE)[0]

    assert advice("other.xyz").startswith("look at it with --report page.html; --init")
    assert advice("other.xyz", "--report", "r.html").startswith("look at r.html; --init")
    assert advice("other.xyz", "--method", "icp").startswith("icp starts from where the clouds lie")
    for factor, said in (
        (1000, "1000"),
        (1 / 1000, "0.001"),
        (25.4, "25.4"),
        (1 / 25.4, "0.03937"),
    ):
        # A target so much larger wants a source so much larger.
        write_cloud("far.xyz", Cloud(read_cloud("other.xyz").points * factor))
        assert f"--scale {said}" in advice("far.xyz")
    assert run(["register", *PAIR]) == 0
    assert "next" not in capsys.readouterr().out


def test_a_source_in_another_unit_is_brought_to_the_targets(scans: Path, capsys: Any) -> None:
    given = read_cloud(PAIR[0])
    write_cloud("mm.ply", Cloud(given.points * 1000, given.normals, given.colors))
    words = ["register", "mm.ply", "target.pcd", "--scale", "0.001", "--report", "r.html"]
    assert run([*words, "-o", "aligned.ply", "--pose", "p.json"]) == 0
    assert re.search(r"^scale +0\.001: the source is multip", capsys.readouterr().out, re.MULTILINE)
    torch.testing.assert_close(read_cloud("aligned.ply").points.double(), box(), atol=1e-5, rtol=0)
    torch.testing.assert_close(read_pose("p.json").matrix(), TRUTH.matrix(), atol=1e-5, rtol=0)
    assert json.loads(Path("p.json").read_text())["source_scale"] == 0.001
    assert "--scale 0.001" in Page(Path("r.html")).text
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["source_scale"] == 0.001


@pytest.mark.parametrize("suffix", [".ply", ".pcd", ".npz", ".csv", ".las"])
def test_the_moved_cloud_keeps_colours_and_turned_normals(scans: Path, suffix: str) -> None:
    assert run(["register", *PAIR, "-o", f"new folder/aligned{suffix}"]) == 0
    before, after = read_cloud(PAIR[0]), read_cloud(f"new folder/aligned{suffix}")
    torch.testing.assert_close(after.points.double(), box(), atol=1e-5, rtol=0)
    assert after.normals is not None
    assert before.normals is not None
    turned = rotate(TRUTH.rotation, before.normals.double())
    torch.testing.assert_close(after.normals.double(), turned, atol=1e-5, rtol=0)
    assert after.colors is not None
    assert torch.equal(after.colors, before.colors)
    assert [path.name for path in Path("new folder").iterdir()] == [f"aligned{suffix}"]


@pytest.mark.slow
def test_a_mesh_stays_a_mesh(scans: Path) -> None:
    corners = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    faces = torch.tensor([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    colors = torch.arange(12, dtype=torch.uint8).reshape(4, 3)
    write_mesh("source.stl", Mesh(corners, faces))
    write_mesh("colored.ply", Mesh(corners, faces, colors))
    write_mesh("target.obj", Mesh(TRUTH.apply(corners.double()), faces))
    assert run(["register", "source.stl", "target.obj", "-o", "aligned.ply"]) == 0
    mesh = read_mesh("aligned.ply")
    triangles = TRUTH.apply(corners.double())[faces].mean(1)
    found = mesh.vertices.double()[mesh.faces].mean(1)
    torch.testing.assert_close(found.sort(0).values, triangles.sort(0).values, atol=0.05, rtol=0)
    assert run(["register", "source.stl", "target.obj", "-o", "aligned.xyz"]) == 0
    assert len(read_cloud("aligned.xyz")) > 2048
    for words in (["colored.ply", "target.obj"], ["colored.ply", "target.obj", "--scale", "1.0"]):
        assert run(["register", *words, "-o", "aligned.obj"]) in (0, 3)
        found = read_mesh("aligned.obj")
        assert found.colors is not None
        assert torch.equal(found.colors[found.faces], colors[faces])


def test_a_small_cloud_brought_to_map_coordinates_keeps_its_digits(
    scans: Path, capsys: Any
) -> None:
    far = torch.tensor([500_123.0, 5_400_321.0, 120.0], dtype=torch.float64)
    write_cloud("map.xyz", Cloud(box() + far))
    assert run(["register", PAIR[0], "map.xyz", "-o", "aligned.ply"]) == 0
    # A point that is near one scan is far from the other.
    assert "--origin" not in capsys.readouterr().out
    after = read_cloud("aligned.ply").points
    assert after.dtype == torch.float64
    torch.testing.assert_close(after, box() + far, atol=1e-5, rtol=0)


def test_map_coordinates_survive_to_a_tenth_of_a_millimetre(scans: Path, capsys: Any) -> None:
    far = torch.tensor([512_345.678, 5_403_210.987, 412.3], dtype=torch.float64)
    about = Pose(TRUTH.rotation, TRUTH.translation + far - TRUTH.rotation @ far)
    write_cloud("source.ply", Cloud(about.inverse().apply(box() + far)))
    write_cloud("target.las", Cloud(box() + far))
    words = ["register", "source.ply", "target.las", "-o", "moved.ply", "--pose", "p.json"]
    assert run(words) == 0
    assert "--origin auto" in capsys.readouterr().out
    torch.testing.assert_close(read_cloud("moved.ply").points, box() + far, atol=1e-4, rtol=0)
    again = read_pose("p.json").apply(read_cloud("source.ply").points)
    torch.testing.assert_close(again, box() + far, atol=1e-4, rtol=0)
    assert run([*words, "--origin", "auto", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["origin"] == [512_300, 5_403_200, 400]
    assert json.loads(Path("p.json").read_text())["T_about_origin"] == result["T_about_origin"]
    origin = torch.tensor(result["origin"], dtype=torch.float64)
    local = Pose.from_matrix(torch.tensor(result["T_about_origin"], dtype=torch.float64))
    assert float(local.translation.abs().max()) < 1000
    moved = local.apply(read_cloud("source.ply").points - origin) + origin
    torch.testing.assert_close(moved, box() + far, atol=1e-4, rtol=0)
    # In float32, as viewers have it, the pose about the origin is still right to a millimetre.
    single = local.to(torch.float32).apply((read_cloud("source.ply").points - origin).float())
    torch.testing.assert_close(single.double() + origin, box() + far, atol=1e-3, rtol=0)
    assert run([*words, "--origin", "512000,5403000,0"]) == 0
    out = capsys.readouterr().out
    assert "T_about_origin, with (512000, 5403000, 0) subtracted from both files" in out


def test_a_written_pose_can_be_started_from(scans: Path, capsys: Any) -> None:
    assert run(["register", *PAIR, "--pose", "out/pose.json"]) == 0
    torch.testing.assert_close(
        read_pose("out/pose.json").matrix(), TRUTH.matrix(), atol=1e-5, rtol=0
    )
    about = json.loads(Path("out/pose.json").read_text())
    assert about["format"] == "spoonful-pose"
    assert about["source"] == PAIR[0]
    capsys.readouterr()
    assert run(["register", *PAIR, "--init", "out/pose.json", "--json"]) == 0
    start = json.loads(capsys.readouterr().out)["poses"]["start"]
    torch.testing.assert_close(start, about["T_target_source"])


@pytest.mark.parametrize(
    ("options", "voxel"),
    [
        (["--voxel", "5mm"], 0.005),
        (["--voxel", "0.05m"], 0.05),
        (["--voxel", "0.05"], 0.05),
        (["--voxel", "5 mm", "--unit", "mm"], 5.0),
        (["--voxel", "2", "--unit", "mm"], 2.0),
        (["--voxel", "1in", "--unit", "cm"], 2.54),
    ],
)
def test_lengths_have_units(scans: Path, capsys: Any, options: list[str], voxel: float) -> None:
    assert run(["register", *PAIR, "--json", *options]) in (0, 3)
    assert json.loads(capsys.readouterr().out)["voxel"] == pytest.approx(voxel)


def test_the_page_says_which_command_made_it(scans: Path) -> None:
    words = ["register", *PAIR, "--voxel", "5cm", "--report", "a page.html", "--seed", "3"]
    assert run(words) == 0
    page = Page(Path("a page.html"))
    assert (
        "spoonful register 'my source [1].ply' target.pcd --method auto --voxel 5cm "
        "--report 'a page.html' --seed 3"
    ) in page.text
    assert [layer["name"] for layer in page.payload["layers"]] == PAIR


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give two files, SOURCE and TARGET; .* spoonful batch"),
        ([PAIR[0]], "give two files"),
        ([PAIR[0], "nope.ply"], "nope.ply: no such file"),
        ([PAIR[0], "."], r"\. is a folder: give the name of a file"),
        ([PAIR[0], "empty.ply"], "empty.ply: the file is empty"),
        ([PAIR[0], "notes.doc"], "notes.doc: cannot tell the format from '.doc'; known are .ply"),
        ([PAIR[0], "torn [red].ply"], r"torn \[red\].ply: not a readable PLY file: .*truncated"),
        ([*PAIR, "--method", "magic"], "--method must be one of auto, .* got 'magic'"),
        ([*PAIR, "--voxel", "five"], "--voxel must be a length such as 5mm"),
        ([*PAIR, "--voxel", "0"], "--voxel must be more than 0"),
        ([*PAIR, "--unit", "parsec"], "--unit must be one of um, mm"),
        ([*PAIR, "--device", "gpu"], "--device must be cpu, cuda or auto, got 'gpu'"),
        ([*PAIR, "--up", "north"], "--up must be one of x, y, z"),
        ([*PAIR, "--init", "nope.json"], "nope.json: no such file"),
        ([*PAIR, "--init", "scaled.json"], "scaled.json: not a pose: .* scales by 2"),
        ([*PAIR, "-o", "aligned.foo"], "aligned.foo: cannot tell the format"),
        ([*PAIR, "-o", "aligned.stl"], "aligned.stl: STL holds triangles"),
        ([*PAIR, "-o", "."], r"-o \. is a folder"),
        ([*PAIR, "-o", PAIR[0]], "-o .* would overwrite the input my source"),
        ([*PAIR, "-o", "link.pcd"], "-o link.pcd would overwrite the input target.pcd"),
        ([*PAIR, "--report", "target.pcd"], "--report .* would overwrite the input"),
        ([*PAIR, "--pose", "x", "--report", "./x"], "--report and --pose name the same file"),
        ([*PAIR, "--report", "other.ply"], "--report must end in .html, got other.ply"),
        ([*PAIR, "-o", "target.pcd/a.ply"], r"-o .*: .*target\.pcd is a file, not a folder"),
        ([*PAIR, "--origin", "here"], "--origin must be auto or three numbers X,Y,Z, got 'here'"),
        ([*PAIR, "--scale", "0"], "--scale must be a number above 0"),
        ([*PAIR, "--scale", "automatic"], "--scale must be .* or auto, got 'automatic'"),
        ([*PAIR, "--up", "north"], "--up must be one of .*auto, got 'north'"),
        ([*PAIR, "--scale", "inf"], "--scale must be a number above 0 and finite"),
        ([*PAIR, "c.ply"], "unexpected argument c.ply: .* spoonful batch pairs.csv --out results"),
        (["batch", "nope.csv", "--out", "r"], "nope.csv: no such file"),
        (["batch", "pairs.csv", "--out", "r", "--method", "magic"], "--method must be one of"),
        (["batch", "pairs.csv", "--out", "r", "--timeout", "soon"], "--timeout: a duration reads"),
        (["batch", "pairs.csv", "--out", "r", "--timeout", "0"], "--timeout must be above 0"),
        (["batch", "pairs.csv", "--out", "target.pcd"], "target.pcd is a file"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    scans: Path, capsys: Any, arguments: list[str], message: str
) -> None:
    Path("empty.ply").touch()
    Path("notes.doc").write_text("hello")
    Path("torn [red].ply").write_bytes(Path(PAIR[0]).read_bytes()[:400])
    Path("scaled.json").write_text("[[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]]")
    Path("pairs.csv").write_text("source,target\na.ply,b.ply\n")
    os.link("target.pcd", "link.pcd")
    before = {path: path.read_bytes() for path in scans.iterdir()}
    assert run(arguments if arguments[:1] == ["batch"] else ["register", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert re.search(f"^error: .*{message}", err), err
    assert {path: path.read_bytes() for path in scans.iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("bad", [False, True])
def test_a_table_of_pairs(
    scans: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, bad: bool
) -> None:
    standing_in = functools.partial(register_pairs, task=quick)
    monkeypatch.setattr(batch, "register_pairs", standing_in)
    names = ["a", "b", "wrong", "doubtful"] if bad else ["a", "b"]
    lines = [f"{name},{PAIR[0]},target.pcd" for name in names]
    Path("pairs.csv").write_text("\n".join(["id,source,target", *lines]))
    words = ["batch", "pairs.csv", "--out", "results", "--workers", "1"]
    assert run(words) == (3 if bad else 0)
    out, err = capsys.readouterr()
    assert err == ""
    assert f"{len(names)} pairs: 2 confident" in out
    assert ("wrong: this pair is wrong" in out) == bad
    assert ("doubtful: doubtful, 10% likely right; " in out) == bad
    assert Path("results/results.csv").read_text().count("\n") == 1 + len(names)
    assert run([*words, "--json"]) == (3 if bad else 0)
    told = json.loads(capsys.readouterr().out)
    assert (told["failed"], "index" in told) == (int(bad), False)
    assert run([*words, "--reports"]) == (3 if bad else 0)
    page = Path("results/reports/index.html")
    said = capsys.readouterr().out
    for path in (Path("results/results.csv"), Path("results/results.json"), page):
        assert f"wrote {path}\n" in said
    assert f"{len(names)} pairs registered" in page.read_text()
    assert run([*words, "--reports", "--json"]) == (3 if bad else 0)
    assert json.loads(capsys.readouterr().out)["index"] == str(page)


def test_scales_that_differ_name_the_option(
    scans: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warned(*clouds: object, **options: Any) -> Alignment:
        return replace(aligned(*clouds, **options), warnings=("scales differ: by 7 times",))

    monkeypatch.setattr(runner, "register", warned)
    assert run(["register", *PAIR]) == 0
    assert re.search("^next .*--scale FACTOR", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("size", "given", "said"),
    [(1000, "0.1", "0.001"), (1000, "1", "0.001"), (1 / 0.3048, "1", "0.3048"), (1, "0.01", "1")],
)
def test_a_suggested_scale_replaces_the_given_one(
    scans: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, size: float, given: str, said: str
) -> None:
    def doubted(*clouds: object, **options: Any) -> Alignment:
        return replace(aligned(*clouds, **options), confidence=0.1, overlap=0.1)

    monkeypatch.setattr(runner, "register", doubted)
    write_cloud("other unit.xyz", Cloud(read_cloud(PAIR[0]).points * size))
    assert run(["register", "other unit.xyz", "target.pcd", "--scale", given]) == 3
    assert f"differ, use --scale {said} to convert" in capsys.readouterr().out


@pytest.fixture
def twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registration that finds the scale 2, and takes its options seriously."""

    def register(source: Any, target: Any, **options: Any) -> Alignment:
        assert (options["scale"], options["up"]) == ("auto", "-y")
        assert options["init"] is None or float(options["init"].scale) == pytest.approx(2)
        found = aligned(replace(source, points=2 * source.points), target, **options)
        return replace(found, scale=2.0, scale_deviation=0.004)

    monkeypatch.setattr(runner, "register", register)


def test_a_scale_that_is_found_is_printed_written_and_applied(
    scans: Path, capsys: Any, twice: None
) -> None:
    write_cloud("half.ply", Cloud(read_cloud(PAIR[0]).points / 2))
    words = ["register", "half.ply", "target.pcd", "--scale", "auto", "--up", "-y"]
    assert run([*words, "-o", "moved.ply", "--pose", "p.json", "--report", "r.html"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^scale +2 \(standard deviation 0\.4 %", out, re.MULTILINE)
    assert "next" not in out
    target = read_cloud("target.pcd").points
    torch.testing.assert_close(read_cloud("moved.ply").points, target, rtol=0, atol=1e-5)
    record = json.loads(Path("p.json").read_text())
    assert (record["scale"], record["scale_deviation"]) == (2.0, 0.004)
    linear = torch.tensor(record["T_target_source"])[:3, :3]
    assert float(torch.linalg.det(linear)) == pytest.approx(8)
    page = Page(Path("r.html"))
    assert page.payload["up"] == "-y"
    assert "--scale auto" in page.text
    assert run([*words, "--init", "p.json", "--origin", "0,0,1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    about = torch.tensor(record["T_about_origin"]).double()
    moved = (read_cloud("half.ply").points.double() - torch.tensor([0, 0, 1])) @ about[:3, :3].mT
    here = moved + about[:3, 3] + torch.tensor([0, 0, 1])
    torch.testing.assert_close(here, target.double(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["p.yaml", "p.g2o"])
def test_a_format_without_a_scale_is_refused(
    scans: Path, capsys: Any, twice: None, name: str
) -> None:
    write_cloud("half.ply", Cloud(read_cloud(PAIR[0]).points / 2))
    words = ["register", "half.ply", "target.pcd", "--scale", "auto", "--up", "-y"]
    assert run([*words, "--pose", name]) != 0
    assert re.search(f"{name}: .*cannot hold a scale", capsys.readouterr().err)
    assert run([*words, "--pose", "p.txt"]) == 0
    assert float(read_similarity("p.txt").scale) == pytest.approx(2)


def test_names_cannot_steer_the_terminal(scans: Path, capsys: Any) -> None:
    assert run(["register", PAIR[0], "no\x1b[2Jfile.ply"]) == 2
    assert capsys.readouterr().err == "error: no?[2Jfile.ply: no such file\n"


def test_columns_of_a_scan_are_kept_or_named(scans: Path, capsys: Any) -> None:
    given = read_cloud(PAIR[0])
    label = torch.arange(len(given)).to(torch.int32).numpy()
    write_cloud("labelled.ply", replace(given, fields={"label": label}))
    words = ["register", "labelled.ply", "target.pcd"]
    for suffix in (".ply", ".pcd"):
        assert run([*words, "-o", f"aligned{suffix}"]) == 0
        assert "not kept" not in capsys.readouterr().out
        kept = read(f"aligned{suffix}", fields=True).fields["label"]
        assert kept.tolist() == label.tolist()
    assert run([*words, "-o", "aligned.obj"]) == 0
    assert re.search(r"^not kept +label \(aligned.obj\)$", capsys.readouterr().out, re.MULTILINE)
    assert run([*words, "-o", "aligned.obj", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_kept"] == ["label"]


def test_a_new_folder_is_named(scans: Path, capsys: Any) -> None:
    assert run(["register", *PAIR, "-o", "new/aligned.ply", "--pose", "new/pose.json"]) == 0
    assert len(re.findall("^note +made the folder new$", capsys.readouterr().out, re.M)) == 1


def test_help_fits_a_screen(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["register", "--help"]) == 0
    assert capsys.readouterr().out.count("\n") <= 40


def test_ctrl_c_is_no_traceback(scans: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "register", interrupted)
    assert run(["register", *PAIR, "-o", "aligned.ply"]) == 130
    assert capsys.readouterr().err == "stopped\n"
    assert not Path("aligned.ply").exists()


def test_a_failed_write_leaves_no_part_and_loses_no_result(
    scans: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", no_space)
    before = set(scans.iterdir())
    assert run(["register", *PAIR, "-o", "aligned.ply"]) == 2
    assert set(scans.iterdir()) == before
    out, err = capsys.readouterr()
    assert out.startswith("T_target_source")
    assert err == "error: aligned.ply: no space left\n"
    assert run(["register", *PAIR, "-o", "aligned.ply", "--json"]) == 2
    result = json.loads(capsys.readouterr().out)
    assert (result["confident"], result["written"]) == (True, {})


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(
    scans: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "register", lambda *_, **__: pytest.fail("worked in vain"))
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    assert run(["register", *PAIR, "--report", "new/r.html"]) == 2
    assert "--report new/r.html: no permission to write in" in capsys.readouterr().err


def test_help_shows_examples(capsys: Any) -> None:
    for name in ("register", "batch", "serve"):
        assert run([name, "--help"]) == 0
        assert f"spoonful {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0 lets other machines connect; add --allow-network"),
        (["--host", "example.org"], "lets other machines connect"),
        (["--max-mb", "0"], "--max-mb must be at least 1"),
        (["--port", "99999"], "cannot listen on 127.0.0.1, port 99999"),
        (["--timeout", "soon"], "--timeout: a duration reads"),
        (["--timeout", "0"], "--timeout must be above 0"),
        (["--workers", "0"], "--workers must be at least 1"),
    ],
)
def test_serve_refuses_what_is_not_safe_or_not_possible(
    capsys: Any, arguments: list[str], message: str
) -> None:
    pytest.importorskip("uvicorn")
    assert run(["serve", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_port_that_is_taken_is_named_with_a_way_out() -> None:
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(OSError, match="the port is in use; --port 0"):
            listen("127.0.0.1", taken.getsockname()[1])


def test_the_pose_that_is_written_is_a_pose(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rigid motion"):
        write_pose(tmp_path / "p.json", Pose(2 * torch.eye(3), torch.zeros(3)))


def test_without_an_answer_no_pose_is_printed() -> None:
    points = torch.rand(50, 3, dtype=torch.float64)
    none = replace(aligned(points, points), method=AS_GIVEN, confidence=0.01)
    console = Console(file=io.StringIO())
    show(console, none, "m", {})
    text = console.file.getvalue()
    assert text.startswith("no alignment found")
    assert "rotation" not in text


def test_a_turn_that_nothing_holds_has_no_precision() -> None:
    points = torch.rand(50, 3, dtype=torch.float64)
    spread = torch.tensor([1e12, 0, 0, 1e-6, 1e-6, 1e-6], dtype=torch.float64).diag()
    console = Console(file=io.StringIO(), width=200)
    show(console, replace(aligned(points, points), covariance=spread), "m", {})
    assert "precision" not in console.file.getvalue()


def test_the_precision_of_a_round_object_has_no_turn() -> None:
    points = torch.rand(50, 3, dtype=torch.float64)
    spread = torch.tensor([0.0, 0, 0, 1e-6, 1e-6, 1e-6], dtype=torch.float64).diag()
    ball = replace(aligned(points, points), covariance=spread, free_axes=3)
    console = Console(file=io.StringIO(), width=200)
    show(console, ball, "m", {})
    said = "precision   0.001 m (1 sigma, without free axes)"
    assert said in console.file.getvalue()
