from __future__ import annotations

import base64
import hashlib
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.view import CloudLayer, ColorScale, Fact, LinkLayer, PoseStop, write_page
from view.helpers import Page, box, turn

UTM = (500_123.25, 5_400_321.5, 120.0)


def shown(tmp_path: Path, **arguments: Any) -> Page:
    return Page(write_page(tmp_path / "page.html", **({"title": "t"} | arguments)))


@pytest.mark.parametrize("offset", [(0.0, 0.0, 0.0), UTM])
def test_stored_points_are_within_half_a_step(
    tmp_path: Path, target: Tensor, offset: tuple[float, float, float]
) -> None:
    points = target + torch.tensor(offset, dtype=torch.float64)
    stored = shown(tmp_path, layers=[CloudLayer("cloud", points)]).points(0)
    # Stored about the middle of the box, so that float32 is enough to draw them.
    centred = points - (points.amin(0) + points.amax(0)) / 2
    half_a_step = (points.amax(0) - points.amin(0)) / 131070
    assert bool(((stored - centred).abs() <= half_a_step * 1.01 + 1e-9).all())


@pytest.mark.parametrize("offset", [(0.0, 0.0, 0.0), UTM])
def test_stored_poses_put_the_source_where_the_true_ones_do(
    tmp_path: Path, target: Tensor, offset: tuple[float, float, float]
) -> None:
    shift = torch.tensor(offset, dtype=torch.float64)
    source = turn(70, "y", (3, 2, 1)).inverse().apply(target)
    poses = [Pose(turn(a, "y").rotation, shift + a / 20) for a in (0.0, 30.0, 70.0)]
    page = shown(
        tmp_path,
        layers=[CloudLayer("source", source, moves=True), CloudLayer("target", target + shift)],
        poses=[PoseStop(str(i), pose.matrix()) for i, pose in enumerate(poses)],
    )
    for i, pose in enumerate(poses):
        true = pose.apply(source) - (target + shift)
        stored = page.stop(i).apply(page.points(0)) - page.points(1)
        torch.testing.assert_close(stored, true, atol=1e-4, rtol=0)


def test_far_clouds_are_drawn_near_enough_to_be_seen(tmp_path: Path, target: Tensor) -> None:
    utm, near = torch.tensor(UTM, dtype=torch.float64), Pose.identity(dtype=torch.float64)
    back = Pose(near.rotation, -utm)
    page = shown(
        tmp_path,
        layers=[CloudLayer("source", target + utm, moves=True), CloudLayer("target", target)],
        poses=[PoseStop("start", near, "as given"), PoseStop("final", back)],
    )
    width = float((target.amax(0) - target.amin(0)).norm())
    starts, ends = (page.stop(i).apply(page.points(0)) for i in (0, 1))
    gap = starts.mean(0) - page.points(1).mean(0)
    torch.testing.assert_close(gap / gap.norm(), utm / utm.norm(), atol=1e-3, rtol=0)
    assert width < float(gap.norm()) < 4 * width
    assert float((ends - page.points(1)).abs().max()) < 1e-3 * width
    start, final = page.payload["stops"]
    assert start["caption"] == "as given; far clouds are drawn nearer"
    assert start["matrix"] == near.matrix().tolist()
    assert final["caption"] == ""


def test_the_matrix_is_shown_as_it_was_given(tmp_path: Path, pair: dict[str, Any]) -> None:
    stops = shown(tmp_path, **pair).payload["stops"]
    assert stops[2]["matrix"] == pair["poses"][2].pose.matrix().tolist()


def test_the_source_turns_about_its_own_middle(tmp_path: Path, pair: dict[str, Any]) -> None:
    source = shown(tmp_path, **pair).points(0)
    torch.testing.assert_close(source.amin(0), -source.amax(0), atol=1e-9, rtol=0)


def test_both_ends_of_links_are_stored_in_their_own_frames(
    tmp_path: Path, pair: dict[str, Any], target: Tensor
) -> None:
    source = pair["layers"][0].points
    page = shown(tmp_path, **pair, links=[LinkLayer("matches", source[:50], target[:50])])
    ends = [page.points(0, of="links", ends=end) for end in ("source", "target")]
    torch.testing.assert_close(page.stop(2).apply(ends[0]), ends[1], atol=1e-4, rtol=0)


def test_two_50k_clouds_with_everything_stay_under_3_mb(tmp_path: Path) -> None:
    source, target = box(50_000), box(50_000, seed=1)
    path = write_page(
        tmp_path / "page.html",
        title="large",
        layers=[
            CloudLayer("source", source, normals=source, values=torch.rand(6, 50_000), moves=True),
            CloudLayer("target", target, normals=target),
        ],
        poses=[PoseStop(str(i), turn(10 * i)) for i in range(6)],
        links=[LinkLayer("matches", source, target)],
    )
    assert path.stat().st_size < 2_400_000


def test_large_clouds_are_thinned_and_the_page_says_so(tmp_path: Path, target: Tensor) -> None:
    values = torch.arange(600.0)
    page = shown(
        tmp_path,
        layers=[CloudLayer("scan", target, normals=target, values=values)],
        links=[LinkLayer("matches", target, target)],
        max_points=100,
        max_lines=10,
    )
    assert page.payload["layers"][0]["total"] == 600
    assert page.payload["links"][0]["total"] == 600
    assert len(page.points(0)) == len(page.values(0)[0]) == 100
    assert len(page.points(0, of="links", ends="source")) == 10
    some = shown(tmp_path, layers=[CloudLayer("scan", target[:50], total=600)])
    assert some.payload["layers"][0]["total"] == 600


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, pair: dict[str, Any]) -> None:
    first = write_page(tmp_path / "a.html", **pair, max_points=100).read_bytes()
    assert write_page(tmp_path / "b.html", **pair, max_points=100).read_bytes() == first


HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=pwned=1>\"'&lt;<!--"


def test_text_stays_text_wherever_it_stands(tmp_path: Path, pair: dict[str, Any]) -> None:
    plain = shown(tmp_path, **pair, facts=[Fact("a", 1)], notes=["n"], warnings=["w"])
    pair["layers"] = [replace(layer, name=layer.name + HOSTILE) for layer in pair["layers"]]
    pair["poses"] = [replace(p, name=HOSTILE + p.name, caption=HOSTILE) for p in pair["poses"]]
    pair["title"] = HOSTILE
    page = shown(
        tmp_path,
        **pair,
        facts=[Fact(HOSTILE, HOSTILE, HOSTILE)],
        notes=[HOSTILE],
        warnings=[HOSTILE],
        subtitle=HOSTILE,
        command=["spoonful", HOSTILE],
        links=[LinkLayer(HOSTILE, [[0, 0, 0]], [[0, 0, 0]])],
    )
    assert len(page.scripts) == 2
    assert not any(tag == "img" or "onerror" in a for tag, a in page.tags)
    assert {tag for tag, _ in page.tags} == {tag for tag, _ in plain.tags} | {"p", "section", "h2"}
    assert page.text.count(HOSTILE) >= 7
    assert page.payload["stops"][0]["caption"] == HOSTILE


def test_names_that_are_not_unicode_can_be_shown(tmp_path: Path, target: Tensor) -> None:
    name = os.fsdecode(b"scan\xff\x1b[31m\x00.ply")
    page = shown(tmp_path, title=name, layers=[CloudLayer(name, target)], command=[name])
    assert "\x00" not in page.source
    assert "\x1b" not in page.source
    assert page.payload["layers"][0]["name"].startswith("scan?")


def test_the_page_may_fetch_nothing_and_run_nothing_but_the_viewer(
    tmp_path: Path, pair: dict[str, Any]
) -> None:
    page = shown(tmp_path, **pair)
    viewer = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    policy = page.meta("Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{viewer}';" in policy
    assert not any({"src", "href", "style"} & attributes.keys() for _, attributes in page.tags)


def test_a_command_of_arguments_can_be_pasted_into_a_shell(tmp_path: Path, target: Tensor) -> None:
    arguments = ["spoonful", "register", "my scan.ply", "it's.pcd"]
    page = shown(tmp_path, layers=[CloudLayer("cloud", target)], command=arguments)
    assert """spoonful register 'my scan.ply' 'it'"'"'s.pcd'""" in page.text


@pytest.mark.parametrize("kind", [list, torch.Tensor.half, torch.Tensor.float, torch.Tensor.int])
def test_anything_a_tensor_can_be_made_of_is_a_cloud(tmp_path: Path, kind: Any) -> None:
    points = torch.tensor([[0.0, 0, 0], [4, 0, 0], [0, 2, 0]])
    given = points.tolist() if kind is list else kind(points)
    stored = shown(tmp_path, layers=[CloudLayer("cloud", given)]).points(0)
    torch.testing.assert_close(stored - stored[0], points.double())


def test_tensors_in_a_graph_and_numpy_arrays_are_clouds(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    for points in (torch.rand(5, 3, requires_grad=True), numpy.zeros((5, 3), dtype="float32")):
        assert len(shown(tmp_path, layers=[CloudLayer("cloud", points)]).points(0)) == 5


@pytest.mark.parametrize("points", [[[1.0, 2, 3]], [[1, 1, 1]] * 4, [[0, 0, 5], [1, 1, 5]]])
def test_flat_clouds_and_single_points_can_be_shown(tmp_path: Path, points: Any) -> None:
    page = shown(tmp_path, layers=[CloudLayer("cloud", points)])
    assert bool(page.points(0).isfinite().all())


def test_values_run_from_the_low_to_the_high_end(tmp_path: Path, target: Tensor) -> None:
    values = torch.linspace(0, 2, 600)
    layers = [CloudLayer("cloud", target, values=values)]
    scale = ColorScale("residual", "mm", low=0.5, high=1.5)
    page = shown(tmp_path, layers=layers, scale=scale)
    stored = [(byte / 255) ** 2 * 1.5 + 0.5 for byte in page.values(0)[0]]
    true = values.clamp_min(0.5).tolist()
    assert max(abs(a - b) for a, b in zip(stored, true, strict=True)) < 0.01
    assert page.payload["scale"] == {
        "label": "residual",
        "unit": "\N{NO-BREAK SPACE}mm",
        "low": 0.5,
        "high": 1.5,
        "top": 2.0,
    }


def test_outliers_do_not_wash_out_the_colours(tmp_path: Path, target: Tensor) -> None:
    values = torch.full((600,), 1.0)
    values[:5] = 1e6
    page = shown(tmp_path, layers=[CloudLayer("cloud", target, values=values)])
    scale = page.payload["scale"]
    assert (scale["low"], scale["high"]) == (0, 1)
    assert (page.values(0)[0][-1] / 255) ** 2 * scale["top"] == pytest.approx(1, abs=0.05)
    assert page.values(0)[0][0] == 255


def test_values_may_differ_from_pose_to_pose(tmp_path: Path, pair: dict[str, Any]) -> None:
    values = torch.stack([torch.full((600,), v) for v in (4.0, 2.0, 1.0)])
    pair["layers"][0] = replace(pair["layers"][0], values=values)
    page = shown(tmp_path, **pair, scale=ColorScale(high=4.0))
    assert [row[0] for row in page.values(0)] == [255, 180, 128]


def test_constant_zero_values_have_the_low_colour(tmp_path: Path, target: Tensor) -> None:
    page = shown(tmp_path, layers=[CloudLayer("cloud", target, values=torch.zeros(600))])
    assert set(page.values(0)[0]) == {0}


def test_colours_are_told_apart_and_can_be_chosen(tmp_path: Path, target: Tensor) -> None:
    layers = [
        CloudLayer("a", target),
        CloudLayer("b", target, moves=True),
        CloudLayer("c", target, color="#123456"),
        CloudLayer("d", target, color="green"),
        CloudLayer("e", target),
    ]
    colors = [tuple(c["color"]) for c in shown(tmp_path, layers=layers).payload["layers"]]
    assert colors[0] == ("#0072b2", "#4aa8e8")
    assert colors[1] == ("#d55e00", "#f59a3c")
    assert colors[2] == ("#123456", "#123456")
    assert len(set(colors)) == 5


cloud = torch.zeros(4, 3)
nan = torch.tensor([[0.0, 0, 0], [0, torch.nan, 0]])
mirror = torch.diag(torch.tensor([1.0, 1, -1, 1]))
moving = [CloudLayer("source", cloud, moves=True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": []}, "layers is empty"),
        ({"layers": [CloudLayer("a", cloud), CloudLayer("a", cloud)]}, "'a' occurs twice"),
        ({"layers": [CloudLayer("a", torch.zeros(3, 4))]}, r"points of layer 'a'.*\(3, 4\)"),
        ({"layers": [CloudLayer("a", torch.zeros(1, 4, 3))]}, r"\(N, 3\), got \(1, 4, 3\)"),
        ({"layers": [CloudLayer("a", torch.zeros(0, 3))]}, "points of layer 'a' is empty"),
        ({"layers": [CloudLayer("a", nan)]}, "'a' has 1 of 2 points that are NaN or infinite"),
        (
            {"layers": [CloudLayer("a", cloud, normals=cloud[:2])]},
            r"normals of layer 'a'.*\(4, 3\)",
        ),
        ({"layers": [CloudLayer("a", cloud, values=[1.0])]}, r"values of layer 'a'.*\(4,\)"),
        ({"layers": [CloudLayer("a", cloud, values=[1, 2, 3, torch.inf])]}, "1 of 4 that are NaN"),
        ({"layers": [CloudLayer("a", cloud, color="red")]}, "color of layer 'a'.*'red'"),
        (
            {"layers": [CloudLayer("a", cloud)], "poses": [PoseStop("p", torch.eye(4))]},
            "moves=True",
        ),
        ({"layers": moving, "poses": [PoseStop("p", torch.eye(3))]}, r"pose 'p'.*\(3, 3\)"),
        ({"layers": moving, "poses": [PoseStop("p", 2 * torch.eye(3, 4))]}, "pose 'p'.*rigid"),
        ({"layers": moving, "poses": [PoseStop("p", mirror)]}, "pose 'p'.*determinant -1"),
        ({"layers": moving, "poses": [PoseStop("p", torch.full((4, 4), torch.nan))]}, "'p'.*NaN"),
        ({"layers": moving, "links": [LinkLayer("l", cloud, cloud[:3])]}, "links 'l'.*4 and 3"),
        ({"layers": moving, "scale": ColorScale()}, "scale is given, but no layer has values"),
        ({"layers": moving, "color_by": "values"}, "no layer has values"),
        ({"layers": moving, "color_by": "mood"}, "color_by must be 'cloud', 'values'"),
        ({"layers": moving, "up": "north"}, "up must be 'x', 'y', 'z'"),
        ({"layers": moving, "max_points": 0}, "max_points must be at least 1"),
        (
            {
                "layers": [CloudLayer("a", cloud, values=[1.0, 2, 3, 4])],
                "scale": ColorScale(low=2, high=1),
            },
            "low <= high, got 2 and 1",
        ),
    ],
)
def test_what_cannot_be_shown_is_named(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        shown(tmp_path, **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": [cloud]}, "CloudLayer objects, got Tensor"),
        ({"layers": [CloudLayer("a", "points")]}, "points of layer 'a' must be an array"),
        ({"layers": [CloudLayer("a", cloud.bool())]}, "real numbers, got torch.bool"),
        ({"layers": moving, "notes": "one"}, "notes must be a list"),
    ],
)
def test_what_is_of_the_wrong_kind_is_named(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        shown(tmp_path, **arguments)


def test_the_folder_is_made_and_the_file_can_be_read_by_others(
    tmp_path: Path, pair: dict[str, Any]
) -> None:
    before = os.umask(0o022)
    try:
        path = write_page(tmp_path / "new" / "folder" / "page.html", **pair)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, pair: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_page(tmp_path / "page.html", **pair)
    before = path.read_bytes()

    def no_space(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(OSError, match="no space left"):
        write_page(path, **pair | {"title": "another"})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_overwritten(tmp_path: Path, pair: dict[str, Any]) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_page(tmp_path, **pair)


@pytest.mark.slow
def test_a_page_needs_no_numpy(tmp_path: Path) -> None:
    program = """
import sys, warnings
sys.modules["numpy"] = None
warnings.simplefilter("ignore")
from spoonful.view import CloudLayer, write_page
write_page(sys.argv[1], title="t", layers=[CloudLayer("a", [[0.0, 1, 2], [3, 4, 5]])])
"""
    path = tmp_path / "page.html"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    assert Page(path).payload["layers"][0]["name"] == "a"
