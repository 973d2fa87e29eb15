"""Reading pages back, and clouds and poses to put on them."""

from __future__ import annotations

import base64
import html.parser
import json
from array import array
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.geometry import Pose

# How many pixels of the canvas are nearer to a hue (red, green, blue) than to any grey.
COUNT = """
(() => {
  spoonful.draw();
  const view = document.getElementById("canvas");
  const copy = new OffscreenCanvas(view.width, view.height).getContext("2d");
  copy.drawImage(view, 0, 0);
  const { data } = copy.getImageData(0, 0, view.width, view.height);
  const seen = { orange: 0, blue: 0, green: 0, background: 0 };
  for (let i = 0; i < data.length; i += 4) {
    const r = data[i], g = data[i + 1], b = data[i + 2];
    if (r > b + 50 && r > g + 20) seen.orange++;
    else if (b > r + 50 && b > g + 20) seen.blue++;
    else if (g > r + 30 && g > b + 15) seen.green++;
    else if (Math.max(r, g, b) - Math.min(r, g, b) < 12) seen.background++;
  }
  seen.total = data.length / 4;
  seen.corner = data[0];
  return seen;
})()
"""


class Page(html.parser.HTMLParser):
    """A written page, read back as a browser would read it."""

    def __init__(self, path: Path, *, payload: bool = True) -> None:
        super().__init__()
        self.source = path.read_text("utf-8")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside: str | None = None
        self.feed(self.source)
        self.payload: dict[str, Any] = json.loads(self.scripts[0]) if payload else {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.text += data

    def meta(self, name: str) -> str:
        for tag, attributes in self.tags:
            if tag == "meta" and name in attributes.values():
                return attributes["content"] or ""
        raise KeyError(name)

    def points(self, layer: int, *, of: str = "layers", ends: str = "points") -> Tensor:
        """A layer's stored points in float64, in the frame they are stored in."""
        box = self.payload[of][layer][ends]
        steps = torch.tensor(array("H", base64.b64decode(box["data"]))).reshape(-1, 3)
        low, step = (torch.tensor(box[k], dtype=torch.float64) for k in ("low", "step"))
        return low + step * steps

    def stop(self, index: int) -> Pose:
        """A stored pose, from the moving clouds' stored frame to the page's."""
        stop = self.payload["stops"][index]
        pair = (torch.tensor(stop[k], dtype=torch.float64) for k in ("rotation", "translation"))
        return Pose(*pair)

    def values(self, layer: int) -> list[bytes]:
        return [base64.b64decode(row) for row in self.payload["layers"][layer]["values"]]


def turn(degrees: float, axis: str = "z", shift: tuple[float, float, float] = (0, 0, 0)) -> Pose:
    """A rotation about an axis, then a shift, in float64."""
    angle = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    rotation = torch.eye(3, dtype=torch.float64)
    rotation[j, j] = rotation[k, k] = angle.cos()
    rotation[k, j], rotation[j, k] = angle.sin(), -angle.sin()
    return Pose(rotation, torch.tensor(shift, dtype=torch.float64))


def box(count: int = 600, seed: int = 0) -> Tensor:
    """Points on the surface of a box, which looks different from every side."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(count, 3, generator=generator, dtype=torch.float64) * 2 - 1
    side = torch.randint(3, (count,), generator=generator)
    rows = torch.arange(count)
    points[rows, side] = points[rows, side].sign()
    return points * torch.tensor([1.0, 0.7, 0.4], dtype=torch.float64)
