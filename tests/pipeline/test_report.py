"""The report: small, whole, and in a real browser it shows what it says."""

from __future__ import annotations

import re
import webbrowser
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from pipeline.standins import aligned
from spoonful.geometry import Pose
from spoonful.pipeline import Alignment
from spoonful.pipeline.alignment import AS_GIVEN
from spoonful.pipeline.report import show, write_report
from spoonful.view import CloudLayer, PoseStop, Table, View, write_page
from view.chromium import Chromium
from view.helpers import COUNT, Page, box, turn

TRUTH = turn(70, "z", (1.5, -0.5, 0.25))


@pytest.fixture(scope="module")
def found() -> Alignment:
    target = box(3000)
    result = aligned(TRUTH.inverse().apply(target), target, method="icp")
    half = turn(35, "z", (0.75, -0.25, 0.1))
    return replace(
        result,
        poses={"start": result.poses["start"], "refined": half, "final": result.pose},
    )


@pytest.fixture(scope="module")
def page(found: Alignment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(path, found, names=("a.ply", "b.ply"), unit="m", command="spoonful x")


def centroid(browser: Chromium, name: str) -> Tensor:
    return torch.tensor(browser.evaluate(f"spoonful.centroid('{name}')"), dtype=torch.float64)


@pytest.mark.slow
def test_two_clouds_of_fifty_thousand_take_less_than_3_mb(tmp_path: Path) -> None:
    target = box(60_000)
    normals = torch.nn.functional.normalize(target, dim=1)
    result = aligned(TRUTH.inverse().apply(target), target)
    clouds = {
        name: replace(getattr(result, name), normals=normals) for name in ("source", "target")
    }
    path = write_report(tmp_path / "r.html", replace(result, **clouds), unit="m")
    assert path.stat().st_size < 3_000_000
    assert [layer["total"] for layer in Page(path).payload["layers"]] == [60_000, 60_000]


def test_it_has_the_numbers_the_warnings_and_the_command(page: Path) -> None:
    text = Page(page).text
    for said in (
        "a.ply onto b.ply", "Confident", "over 99%", "This is a warning.", "The points correspond.",
        "spoonful x", "70°", "0.000, 0.000, 1.000", "1.500, -0.500, 0.250", "Inliers within",
        "Inlier RMSE", "Overlap", "Time",
    ):  # fmt: skip
        assert said in text, said


def test_a_doubtful_result_says_so_first(found: Alignment, tmp_path: Path) -> None:
    doubtful = replace(found, confidence=0.2)
    text = Page(write_report(tmp_path / "r.html", doubtful)).text
    assert "Doubtful" in text
    assert "estimated 20% likely to be right: look before you use it" in text


def test_without_an_answer_the_page_says_so(found: Alignment, tmp_path: Path) -> None:
    none = replace(found, confidence=0.01, method=AS_GIVEN, pose=Pose.identity(dtype=torch.float64))
    text = Page(write_report(tmp_path / "r.html", none)).text
    assert "No alignment found" in text
    assert "Rotation" not in text


def test_the_precision_is_that_of_the_result_with_its_condition(
    found: Alignment, tmp_path: Path
) -> None:
    spread = torch.tensor([0.0, 0, 0, 1e-6, 1e-6, 4e-6], dtype=torch.float64).diag()
    text = Page(write_report(tmp_path / "r.html", replace(found, covariance=spread), unit="m")).text
    assert "Precision (1 sigma)" in text
    assert "0.002 m" in text
    assert "Precision" not in Page(write_report(tmp_path / "r.html", found)).text


def test_units_are_shown_or_said_to_be_unknown(found: Alignment, tmp_path: Path) -> None:
    assert "not known" in Page(write_report(tmp_path / "r.html", found)).text
    assert "not known" not in Page(write_report(tmp_path / "r.html", found, unit="mm")).text


def test_each_method_that_was_tried_has_one_row(found: Alignment, tmp_path: Path) -> None:
    first = found.candidates[0]
    many = tuple(first._replace(name=name) for name in ("a", "b", "a", "a"))
    text = Page(write_report(tmp_path / "r.html", replace(found, candidates=many))).source
    rows = [text.count(f"<tr><td>{name}</td>") for name in "ab"]
    assert rows == [1, 1]
    same = replace(found, candidates=many[2:])
    assert "What was tried" not in Page(write_report(tmp_path / "r.html", same)).text


def test_residuals_are_those_of_each_pose(page: Path, found: Alignment) -> None:
    stored = Page(page)
    first, *_, last = stored.values(0)
    assert max(last) == 0  # the points correspond
    assert sum(value == 255 for value in first) > len(first) / 2
    assert [stop["name"] for stop in stored.payload["stops"]] == ["start", "refined", "final"]
    assert stored.payload["stops"][-1]["caption"].startswith("100% within")


def test_poses_that_change_nothing_are_one_stop(found: Alignment, tmp_path: Path) -> None:
    pose = found.pose
    same = {"start": Pose.identity(dtype=torch.float64), "global": pose, "refined": pose}
    stops = Page(
        write_report(tmp_path / "r.html", replace(found, poses=same | {"final": pose}))
    ).payload["stops"]
    assert [stop["name"] for stop in stops] == ["start", "final"]
    # A source that was right from the start still has a before and an after.
    still = dict.fromkeys(("start", "final"), pose)
    stops = Page(write_report(tmp_path / "r.html", replace(found, poses=still))).payload["stops"]
    assert [stop["name"] for stop in stops] == ["start", "final"]


def test_clouds_of_one_name_and_no_matches_can_be_shown(found: Alignment, tmp_path: Path) -> None:
    none = type(found.matches)(*(part[:0] for part in found.matches))
    path = write_report(tmp_path / "r.html", replace(found, matches=none), names=("a.ply", "a.ply"))
    payload = Page(path).payload
    assert [layer["name"] for layer in payload["layers"]] == ["a.ply (source)", "a.ply (target)"]
    assert [view["name"] for view in payload["views"]] == ["Before", "After", "Residuals"]


def test_a_notebook_shows_the_numbers_and_the_report(found: Alignment, tmp_path: Path) -> None:
    html = replace(found, warnings=("<script>x</script>",))._repr_html_()
    numbers, frame = html.split("<iframe ")
    assert "Confident" in numbers
    assert "1.500000" in numbers
    assert "<script>" not in numbers
    (page,) = re.findall('srcdoc="([^"]*)"', frame)
    (tmp_path / "page.html").write_text(unescape(page))
    layers = Page(tmp_path / "page.html").payload["layers"]
    assert [layer["name"] for layer in layers] == ["source", "target"]
    assert len(html) < 1_500_000


def test_show_opens_the_page(found: Alignment, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    path = show(found)
    assert opened == [path.as_uri()]
    path.unlink()
    path.parent.rmdir()


points = torch.zeros(4, 3)
still = [PoseStop("still", torch.eye(4))]
layer = CloudLayer("a", points, moves=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"views": [View("x", "there")]}, "pose of view 'x' must be one of still, got 'there'"),
        (
            {"views": [View("x", color_by="mood")]},
            "color_by of view 'x' must be 'cloud', 'values' or 'colors', got 'mood'",
        ),
        ({"tables": [Table("t", ("a", "b"), [(1,)])]}, "'t' must have 2 cells in each row, got 1"),
        ({"color_by": "colors"}, "no layer has colors"),
        ({"layers": [replace(layer, colors=points[:2])]}, r"colors of layer 'a' .*\(4, 3\)"),
        ({"layers": [replace(layer, colors=points + 300)]}, "must be from 0 to 255"),
    ],
)
def test_what_a_page_cannot_show_is_named(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    arguments = {"layers": [layer], **arguments}
    with pytest.raises(ValueError, match=message):
        write_page(tmp_path / "p.html", title="t", poses=still, **arguments)


class TestInABrowser:
    def test_clouds_can_be_seen_as_they_were_scanned(
        self, browser: Chromium, found: Alignment, tmp_path: Path
    ) -> None:
        green = torch.tensor([0, 200, 40], dtype=torch.uint8).expand(len(found.source), 3)
        scanned = replace(found, source=replace(found.source, colors=green))
        browser.open(write_report(tmp_path / "r.html", scanned))
        assert browser.evaluate(COUNT)["green"] < 100
        browser.evaluate("document.querySelectorAll('input[name=colour]')[2].click()")
        seen = browser.evaluate(COUNT)
        assert seen["green"] > 1000
        assert seen["orange"] == 0
        assert browser.problems == []

    def test_each_view_shows_what_its_name_says(self, browser: Chromium, page: Path) -> None:
        browser.open(page)
        checked = "document.querySelector('#views input:checked')?.closest('label').innerText"
        lines = "[...document.querySelectorAll('.layer input')].at(-1).checked"
        coloured = "document.querySelector('.legend').offsetHeight > 0"
        assert browser.evaluate(checked) == "After"
        for key, (name, pose, has_lines, by_value) in enumerate(
            [
                ("Before", 0, False, False),
                ("After", 2, False, False),
                ("Matches", 2, True, False),
                ("Residuals", 2, False, True),
            ],
            start=1,
        ):
            browser.key(str(key)) if key % 2 else browser.evaluate(f"spoonful.view('{name}')")
            browser.settle()
            assert browser.evaluate("spoonful.pose") == pose
            assert browser.evaluate(checked) == name
            assert browser.evaluate(lines) == has_lines
            assert browser.evaluate(coloured) == by_value
            gap = (centroid(browser, "a.ply") - centroid(browser, "b.ply")).norm()
            # Matches are shown with the source beside the target, and only there.
            assert (float(gap) < 0.01) == (name in ("After", "Residuals"))
        assert browser.problems == []
        assert browser.requests == [page.resolve().as_uri()]

    def test_the_slider_moves_the_source(
        self, browser: Chromium, page: Path, found: Alignment
    ) -> None:
        browser.open(page, fragment="#pose=0")
        offset = centroid(browser, "b.ply") - found.target.points.mean(0)
        for i, pose in enumerate(found.poses.values()):
            browser.evaluate(
                "(input => { input.valueAsNumber = "
                f"{i}; input.dispatchEvent(new Event('input'));"
                " })(document.querySelector('.track input'))"
            )
            true = pose.apply(found.source.points).mean(0) + offset
            torch.testing.assert_close(centroid(browser, "a.ply"), true, atol=1e-4, rtol=0)
        browser.evaluate("spoonful.pose = 0.5")
        assert browser.evaluate("document.querySelector('#views input:checked')") is None

    def test_pictures_differ_from_view_to_view_in_light_and_dark(
        self, browser: Chromium, page: Path
    ) -> None:
        seen = set()
        for dark in (False, True):
            browser.open(page, dark=dark, width=500, height=300)
            for name in ("Before", "After", "Matches", "Residuals"):
                browser.evaluate(f"spoonful.view('{name}')")
                seen.add(browser.screenshot())
        assert len(seen) == 8

    def test_on_a_phone_views_fit_and_a_finger_turns(self, browser: Chromium, page: Path) -> None:
        browser.open(page, width=360, height=740, scale=2, phone=True)
        assert browser.evaluate("document.documentElement.scrollWidth") <= 360
        views, buttons = (
            browser.evaluate(f"(({{top, bottom, right}}) => [top, bottom, right])"
                             f"(document.getElementById('{name}').getBoundingClientRect())")
            for name in ("views", "buttons")
        )  # fmt: skip
        assert views[2] <= 360
        assert views[1] <= buttons[0]  # one under the other
        home = torch.tensor(browser.evaluate("spoonful.camera()"))
        browser.drag((100, 250), (200, 280), touch=True)
        browser.settle()
        assert float((torch.tensor(browser.evaluate("spoonful.camera()")) - home).norm()) > 0.1
        assert browser.problems == []

    def test_reset_brings_the_source_back(self, browser: Chromium, page: Path) -> None:
        browser.open(page)
        home = torch.tensor(browser.evaluate("spoonful.camera()"))
        browser.evaluate("spoonful.view('Matches')")
        browser.evaluate("document.getElementById('reset').click()")
        browser.settle()
        gap = (centroid(browser, "a.ply") - centroid(browser, "b.ply")).norm()
        assert float(gap) < 0.01
        torch.testing.assert_close(
            torch.tensor(browser.evaluate("spoonful.camera()")), home, atol=0.05, rtol=0
        )
