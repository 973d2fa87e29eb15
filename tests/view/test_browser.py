"""The page in a real browser: it draws, moves, obeys mouse, touch and keys, and stays quiet."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from spoonful.geometry import Pose
from spoonful.view import CloudLayer, ColorScale, Fact, LinkLayer, PoseStop, write_page
from view.chromium import Chromium
from view.helpers import COUNT, box, turn


@pytest.fixture
def page(tmp_path: Path, pair: dict[str, Any]) -> Path:
    return write_page(tmp_path / "page.html", **pair)


def centroid(browser: Chromium, name: str) -> torch.Tensor:
    return torch.tensor(browser.evaluate(f"spoonful.centroid({name!r})"), dtype=torch.float64)


def camera(browser: Chromium) -> torch.Tensor:
    browser.settle()
    return torch.tensor(browser.evaluate("spoonful.camera()"))


@pytest.mark.parametrize("dark", [False, True])
def test_it_draws_both_clouds_in_silence_and_fetches_nothing(
    browser: Chromium, page: Path, dark: bool
) -> None:
    browser.open(page, dark=dark)
    seen = browser.evaluate(COUNT)
    assert seen["orange"] > 1000
    assert seen["blue"] > 1000
    assert seen["background"] > seen["total"] / 2
    assert (seen["corner"] < 128) == dark
    assert browser.problems == []
    assert browser.requests == [page.resolve().as_uri()]


def test_the_slider_moves_the_source_to_each_pose(
    browser: Chromium, page: Path, pair: dict[str, Any]
) -> None:
    browser.open(page, fragment="#pose=0")
    source, target = pair["layers"]
    offset = centroid(browser, "target") - target.points.mean(0)
    for i, stop in enumerate(pair["poses"]):
        browser.evaluate(
            "(input => { input.valueAsNumber = "
            f"{i}; input.dispatchEvent(new Event('input'));"
            " })(document.querySelector('.track input'))"
        )
        pose = stop.pose.to(torch.float64)
        true = pose.apply(source.points).mean(0) + offset
        torch.testing.assert_close(centroid(browser, "source"), true, atol=1e-4, rtol=0)
        assert (
            browser.evaluate("document.querySelector('.now').innerText")
            .split("\n")[0]
            .startswith(stop.name)
        )
        assert stop.caption in browser.evaluate("document.querySelector('.now').innerText")
    torch.testing.assert_close(
        centroid(browser, "source"), centroid(browser, "target"), atol=1e-4, rtol=0
    )


def test_what_is_drawn_moves_with_the_slider(browser: Chromium, page: Path) -> None:
    browser.open(page, fragment="#pose=0")
    before = browser.screenshot()
    browser.evaluate("spoonful.pose = 2")
    after = browser.screenshot()
    browser.evaluate("spoonful.pose = 0")
    assert browser.screenshot() == before != after


def test_between_poses_the_motion_is_rigid(browser: Chromium, tmp_path: Path) -> None:
    arm = box() * 0.1
    left = torch.tensor([-2.0, 0, 0], dtype=torch.float64)
    path = write_page(
        tmp_path / "arms.html",
        title="Two arms",
        layers=[
            CloudLayer("left", arm + left, moves=True),
            CloudLayer("right", arm - left, moves=True),
            CloudLayer("target", arm),
        ],
        poses=[PoseStop("a", Pose.identity()), PoseStop("b", turn(120, "z", (4, 0, 0)))],
    )
    browser.open(path, fragment="#pose=0.5")
    arms = centroid(browser, "right") - centroid(browser, "left")
    # A blend of the matrices would shrink the distance of 4 to 2.
    true = torch.tensor([math.cos(math.pi / 3), math.sin(math.pi / 3), 0]).double() * 4
    torch.testing.assert_close(arms, true, atol=1e-3, rtol=0)
    middle = (centroid(browser, "right") + centroid(browser, "left")) / 2
    torch.testing.assert_close(
        middle - centroid(browser, "target"),
        arm.new_tensor([2.0, 0, 0]) + 0 * middle,
        atol=0.01,
        rtol=0,
    )


@pytest.mark.parametrize("calm", [True, False])
def test_it_opens_at_rest_on_the_result(browser: Chromium, page: Path, calm: bool) -> None:
    note = "addEventListener('DOMContentLoaded', () => { first = window.spoonful?.pose })"
    browser.open(page, calm=calm, first=note)
    assert browser.evaluate("[first, spoonful.pose]") == [2, 2]
    browser.settle()
    assert browser.evaluate("spoonful.pose") == 2


def test_the_way_is_framed_before_it_is_played(browser: Chromium, tmp_path: Path) -> None:
    far = write_page(
        tmp_path / "far.html",
        title="From afar",
        layers=[CloudLayer("source", box(), moves=True), CloudLayer("target", box())],
        poses=[PoseStop("a", turn(0, "z", (30, 0, 0))), PoseStop("b", Pose.identity())],
    )
    browser.open(far, calm=True)
    near = camera(browser).norm()
    browser.evaluate("document.querySelector('.play').click()")
    assert float(camera(browser).norm()) > 3 * float(near)


def test_stray_points_do_not_shrink_the_cloud(browser: Chromium, tmp_path: Path) -> None:
    stray = torch.tensor([[500.0, 0, 0], [0, 700, 0], [0, 0, -900]], dtype=torch.float64)
    browser.open(write_page(tmp_path / "a.html", title="a", layers=[CloudLayer("a", box())]))
    alone = browser.evaluate(COUNT)["blue"]
    layers = [CloudLayer("a", torch.cat([box(), stray]))]
    browser.open(write_page(tmp_path / "b.html", title="b", layers=layers))
    assert browser.evaluate(COUNT)["blue"] > 0.5 * alone


def test_a_cut_from_above_hides_the_upper_part(browser: Chromium, page: Path) -> None:
    browser.open(page)
    whole = browser.evaluate(COUNT)
    browser.evaluate(
        "(input => { input.value = 0.7; input.dispatchEvent(new Event('input')); })"
        "([...document.querySelectorAll('#layers .row input')].at(-1))"
    )
    part = browser.evaluate(COUNT)
    assert 0 < part["orange"] + part["blue"] < 0.7 * (whole["orange"] + whole["blue"])


def test_the_play_button_goes_through_the_poses_in_order(browser: Chromium, page: Path) -> None:
    browser.open(page, fragment="#pose=0", calm=False)
    path = browser.evaluate(
        """
        new Promise(done => {
          const path = [];
          document.querySelector(".play").click();
          const look = () => {
            path.push(spoonful.pose);
            spoonful.pose < 2 ? requestAnimationFrame(look) : done(path);
          };
          look();
        })
        """
    )
    assert path == sorted(path)
    assert path[-1] == 2
    assert any(0 < pose < 2 for pose in path)


def test_keys_on_the_slider(browser: Chromium, page: Path) -> None:
    browser.open(page, fragment="#pose=0")
    browser.evaluate("document.querySelector('.track input').focus()")
    browser.key("ArrowRight")
    assert browser.evaluate("spoonful.pose") == pytest.approx(0.05)
    browser.key("PageUp")
    assert browser.evaluate("spoonful.pose") == 1
    assert "half-way" in browser.evaluate(
        "document.querySelector('.track input').getAttribute('aria-valuetext')"
    )
    browser.key("PageDown")
    assert browser.evaluate("spoonful.pose") == 0


def test_every_control_has_a_name_and_can_be_reached_with_the_tab_key(
    browser: Chromium, page: Path
) -> None:
    browser.open(page)
    for tab in range(40):
        browser.key("Tab")
        if tab and browser.evaluate("document.activeElement === document.body"):
            break
        browser.evaluate("document.activeElement.dataset.reached = 1")
    missed = browser.evaluate(
        "[...document.querySelectorAll('canvas, button, input, summary')]"
        ".filter(e => e.checkVisibility({contentVisibilityAuto: true}) && !e.dataset.reached)"
        ".map(e => e.outerHTML)"
    )
    assert missed == []
    unnamed = browser.evaluate(
        "[...document.querySelectorAll('canvas, button, input')]"
        ".filter(e => !e.textContent.trim() && !e.ariaLabel && !e.closest('label'))"
        ".map(e => e.outerHTML)"
    )
    assert unnamed == []


def test_a_check_box_hides_its_cloud(browser: Chromium, page: Path) -> None:
    browser.open(page)
    browser.evaluate("document.querySelectorAll('#layers input[type=checkbox]')[0].click()")
    seen = browser.evaluate(COUNT)
    assert seen["orange"] == 0
    assert seen["blue"] > 1000


def test_the_list_of_clouds_breaks_no_name_beside_a_long_count(
    browser: Chromium, tmp_path: Path, pair: dict[str, Any]
) -> None:
    source, target = pair["layers"]
    colors = torch.zeros(600, 3)
    source = replace(source, name="scan-1.ply", values=torch.ones(600), colors=colors)
    target = replace(target, name="scan-2.ply", total=1_204_113)
    pair["layers"] = [replace(source, total=604_113), target]
    path = write_page(tmp_path / "long.html", **pair, scale=ColorScale("residual"))
    for width in (1400, 1000):
        browser.open(path, width=width)
        parts = "[...document.querySelectorAll('.layer :is(.name, .count)')]"
        for height in browser.evaluate(f"{parts}.map(part => part.offsetHeight)"):
            assert 10 < height < 30
        room = "(list => list.clientWidth - list.scrollWidth)(document.getElementById('layers'))"
        assert browser.evaluate(room) >= 0


def test_lines_stretch_until_the_source_arrives(
    browser: Chromium, tmp_path: Path, pair: dict[str, Any]
) -> None:
    source, target = pair["layers"]
    pair["links"] = [LinkLayer("matches", source.points, target.points, color="green")]
    pair["layers"] = [replace(layer, visible=False) for layer in pair["layers"]]
    browser.open(write_page(tmp_path / "links.html", **pair), fragment="#pose=0")
    assert browser.evaluate(COUNT)["green"] > 1000
    browser.evaluate("spoonful.pose = 2")
    assert browser.evaluate(COUNT)["green"] < 100


def test_values_colour_the_cloud(browser: Chromium, tmp_path: Path, pair: dict[str, Any]) -> None:
    values = torch.ones(3, 600)
    values[2] = 0.02
    pair["layers"][0] = replace(pair["layers"][0], values=values)
    path = write_page(tmp_path / "values.html", **pair, scale=ColorScale("residual", high=1))
    browser.open(path, fragment="#pose=2")
    assert browser.evaluate(COUNT)["orange"] > 1000
    browser.evaluate("document.querySelectorAll('input[type=radio]')[1].click()")
    assert browser.evaluate(COUNT)["orange"] == 0  # near: calm
    assert browser.evaluate("document.querySelector('.legend').offsetHeight") > 0
    browser.evaluate("spoonful.pose = 0")
    assert browser.evaluate(COUNT)["orange"] > 1000  # far: red


def test_the_end_of_the_colours_can_be_chosen(
    browser: Chromium, tmp_path: Path, pair: dict[str, Any]
) -> None:
    values = torch.linspace(0, 1, 600).expand(3, 600)
    pair["layers"][0] = replace(pair["layers"][0], values=values)
    path = write_page(tmp_path / "values.html", **pair, color_by="values")
    browser.open(path)
    ends = "document.querySelector('.ends').lastChild.textContent"
    assert browser.evaluate(ends) == "0.9 (90% are nearer)"
    before = browser.evaluate(COUNT)["orange"]
    browser.evaluate(
        "(input => { input.value = 20; input.dispatchEvent(new Event('input')); })"
        "(document.querySelector('.legend input'))"
    )
    assert browser.evaluate(ends).endswith("(20% are nearer)")
    assert browser.evaluate(COUNT)["orange"] > 1.3 * before
    assert browser.evaluate("document.querySelectorAll('.histogram span').length") > 20


def test_mouse_keys_and_wheel_move_the_camera_and_reset_brings_it_back(
    browser: Chromium, page: Path
) -> None:
    browser.open(page)
    home = camera(browser)

    browser.drag((300, 300), (400, 340), touch=False)
    turned = camera(browser)
    assert float((turned - home).norm()) > 0.1
    assert float(turned.norm()) == pytest.approx(float(home.norm()), rel=0.2)

    browser.evaluate("document.getElementById('reset').click()")
    torch.testing.assert_close(camera(browser), home, atol=1e-4, rtol=0)

    browser.evaluate("document.getElementById('canvas').focus()")
    browser.key("ArrowLeft")
    assert float((camera(browser) - home).norm()) > 0.1
    browser.key("0")
    torch.testing.assert_close(camera(browser), home, atol=1e-4, rtol=0)

    browser.page.mouse.wheel(0, -200)
    browser.wait(f"Math.hypot(...spoonful.camera()) < {0.98 * float(home.norm())}")


def test_on_a_phone_a_finger_turns_it_and_nothing_hangs_over_the_edge(
    browser: Chromium, page: Path
) -> None:
    browser.open(page, width=360, height=740, scale=2, phone=True)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    assert (
        browser.evaluate("document.getElementById('timeline').getBoundingClientRect().bottom") < 740
    )
    home = camera(browser)
    browser.drag((100, 200), (200, 230), touch=True)
    assert float((camera(browser) - home).norm()) > 0.1
    assert browser.problems == []


def test_a_far_off_start_does_not_make_the_result_a_speck(
    browser: Chromium, tmp_path: Path, pair: dict[str, Any]
) -> None:
    browser.open(write_page(tmp_path / "near.html", **pair))
    near = browser.evaluate(COUNT)["blue"]
    pair["poses"][0] = PoseStop("before", turn(0, "z", (5000, 0, 0)))
    browser.open(write_page(tmp_path / "far.html", **pair))
    assert browser.evaluate(COUNT)["blue"] > near / 2


def test_map_coordinates_are_drawn_as_finely_as_small_ones(
    browser: Chromium, tmp_path: Path, pair: dict[str, Any]
) -> None:
    shots = []
    for offset in ((0, 0, 0), (500_123, 5_400_321, 120)):
        shift = torch.tensor(offset, dtype=torch.float64)
        source, target = pair["layers"]
        layers = [source, replace(target, points=target.points + shift)]
        poses = [
            replace(stop, pose=Pose(stop.pose.rotation.double(), stop.pose.translation + shift))
            for stop in pair["poses"]
        ]
        path = write_page(tmp_path / "map.html", **pair | {"layers": layers, "poses": poses})
        browser.open(path, fragment="#pose=1")
        shots.append(browser.evaluate(COUNT))
    for color in ("orange", "blue"):
        assert shots[1][color] == pytest.approx(shots[0][color], rel=0.01)


def test_hostile_text_is_shown_and_not_run(
    browser: Chromium, tmp_path: Path, pair: dict[str, Any]
) -> None:
    evil = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=1'>"
    pair["layers"] = [replace(layer, name=evil + layer.name) for layer in pair["layers"]]
    pair["poses"] = [replace(stop, name=evil, caption=evil) for stop in pair["poses"]]
    path = write_page(
        tmp_path / "evil.html",
        **pair | {"title": evil},
        facts=[Fact(evil, evil, evil)],
        notes=[evil],
        warnings=[evil],
        command=evil,
    )
    browser.open(path)
    assert browser.evaluate("window.pwned === undefined")
    assert browser.evaluate("document.title") == evil
    assert browser.evaluate("document.querySelector('.layer .name').textContent") == evil + "source"
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.problems == []


def test_one_cloud_alone_has_no_slider(browser: Chromium, tmp_path: Path) -> None:
    browser.open(write_page(tmp_path / "one.html", title="One", layers=[CloudLayer("one", box())]))
    assert browser.evaluate("document.getElementById('timeline').offsetHeight") == 0
    assert browser.evaluate(COUNT)["blue"] > 1000
    assert browser.problems == []


def test_without_webgl_the_numbers_are_still_there(
    browser: Chromium, tmp_path: Path, pair: dict[str, Any]
) -> None:
    path = write_page(tmp_path / "page.html", **pair, facts=[Fact("Overlap", 0.4125)])
    with Chromium(browser.driver, "--disable-3d-apis") as without:
        without.open(path)
        assert without.evaluate("document.documentElement.dataset.state") == "failed"
        text = without.evaluate("document.body.innerText")
    assert "needs WebGL 2" in text
    assert "0.4125" in text
