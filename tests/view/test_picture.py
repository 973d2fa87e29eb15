from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from spoonful.extras import MissingExtra
from spoonful.geometry import Pose
from spoonful.view import CloudLayer, PoseStop, write_picture
from view.helpers import turn

image = pytest.importorskip("matplotlib.image")

ORANGE, BLUE = (0.835, 0.369, 0.0), (0.0, 0.447, 0.698)


def pixels(path: Path) -> torch.Tensor:
    return torch.tensor(image.imread(path))[..., :3]


def count(picture: torch.Tensor, color: tuple[float, float, float]) -> int:
    return int(((picture - torch.tensor(color)).abs().amax(-1) < 0.1).sum())


@pytest.fixture
def arguments(pair: dict[str, Any]) -> dict[str, Any]:
    return {"layers": pair["layers"], "poses": [pair["poses"][0], pair["poses"][-1]]}


def test_both_clouds_are_in_both_panels(tmp_path: Path, arguments: dict[str, Any]) -> None:
    picture = pixels(write_picture(tmp_path / "new" / "pair.png", **arguments, title="A pair"))
    height, width, _ = picture.shape
    assert width > height
    for panel in (picture[:, : width // 2], picture[:, width // 2 :]):
        assert count(panel, ORANGE) > 200
        assert count(panel, BLUE) > 200


def test_the_target_is_at_the_same_place_in_every_panel(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    arguments["layers"][0] = replace(arguments["layers"][0], visible=False)
    picture = pixels(write_picture(tmp_path / "pair.png", **arguments, dpi=100))
    width = picture.shape[1]
    # Below the names of the poses and above the legend.
    body = slice(80, -50)
    torch.testing.assert_close(
        picture[body, : width // 2], picture[body, width // 2 :], atol=0.02, rtol=0
    )
    assert count(picture, ORANGE) == 0


def test_a_near_point_covers_a_far_one_of_either_cloud(tmp_path: Path) -> None:
    # The view of up="z" comes from +x, -y, +z: the second cloud is behind, or in front.
    patch = torch.rand(4000, 3, generator=torch.Generator().manual_seed(0)) * 0.2
    towards = torch.tensor([0.62, -0.66, 0.42])
    seen = []
    for side in (-1.0, 1.0):
        layers = [CloudLayer("a", patch, moves=True), CloudLayer("b", patch + side * towards)]
        path = write_picture(
            tmp_path / "depth.png", layers=layers, poses=[PoseStop("", Pose.identity())]
        )
        seen.append(pixels(path))
    orange_in_front, blue_in_front = seen
    assert count(orange_in_front, ORANGE) > 4 * count(blue_in_front, ORANGE)


def test_no_global_state_of_pyplot_is_touched(tmp_path: Path, arguments: dict[str, Any]) -> None:
    loaded = "matplotlib.pyplot" in sys.modules
    write_picture(tmp_path / "pair.png", **arguments)
    assert ("matplotlib.pyplot" in sys.modules) == loaded


@pytest.mark.parametrize("number", [0, 5])
def test_the_number_of_panels_is_bounded(
    tmp_path: Path, arguments: dict[str, Any], number: int
) -> None:
    arguments["poses"] = [PoseStop(str(i), turn(i)) for i in range(number)]
    with pytest.raises(ValueError, match=f"one to four.*got {number}"):
        write_picture(tmp_path / "pair.png", **arguments)


def test_a_single_point_and_hidden_layers(tmp_path: Path) -> None:
    layers = [CloudLayer("a", [[1.0, 2, 3]]), CloudLayer("b", [[0.0, 0, 0]], visible=False)]
    poses = [PoseStop("", Pose.identity())]
    write_picture(tmp_path / "point.png", layers=layers, poses=poses)
    with pytest.raises(ValueError, match="no visible layer"):
        write_picture(tmp_path / "none.png", layers=layers[1:], poses=poses)


def test_a_missing_matplotlib_is_named(
    tmp_path: Path, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"matplotlib: pip install 'spoonful\[plot\]'"):
        write_picture(tmp_path / "pair.png", **arguments)
