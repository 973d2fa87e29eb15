"""Before and after side by side, as a PNG for a README or a paper's draft.

The clouds are projected here rather than by matplotlib's 3D axes, which draw one cloud on top of
the other whatever their depths: a picture that hides how well two clouds lie in each other.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.extras import require
from spoonful.files import write_whole
from spoonful.geometry.exact import rotate
from spoonful.view.layers import (
    UPS,
    CloudLayer,
    PoseStop,
    Up,
    check_choice,
    check_layers,
    cloud,
    colors,
    pose_of,
    sample,
)

_TEXT, _SOFT = "#1c2127", "#5b6570"


def write_picture(
    path: str | os.PathLike[str],
    *,
    layers: Sequence[CloudLayer],
    poses: Sequence[PoseStop],
    title: str = "",
    up: Up = "z",
    max_points: int = 20_000,
    dpi: int = 160,
) -> Path:
    """Write a PNG with one panel for each pose, all from the same view and to the same scale.

    Needs the extra `plot`. Colours and the first view are those of `write_page`.

    Args:
        path: the file to write; its folder is made if need be, an old file is replaced whole.
        layers: the clouds, as for `write_page`. Values and invisible layers are left out.
        poses: one to four poses of the clouds that move; name and caption go above the panel.
        title: a line above all panels.
        up: the axis that points up.
        max_points: larger clouds are thinned at random to this many.
        dpi: pixels per inch; a panel is 4.6 inches wide.

    Returns:
        The path that was written.
    """
    check_layers(layers)
    check_choice(up, UPS, "up")
    if not 1 <= len(poses) <= 4:
        raise ValueError(f"poses must be one to four, one for each panel, got {len(poses)}")
    shown = [pair for pair in zip(layers, colors(layers), strict=True) if pair[0].visible]
    if not shown:
        raise ValueError("layers has no visible layer: there is nothing to show")
    # Clouds that move come last and are drawn a little smaller, as on a page: where two points
    # coincide both colours are seen.
    drawn = sorted(shown, key=lambda pair: pair[0].moves)
    moves = [layer.moves for layer, _ in drawn]
    tints = [_rgb(color.light) for _, color in drawn]
    points = [_thin(cloud(x.points, f"points of layer {x.name!r}"), max_points) for x, _ in drawn]
    stops = [pose_of(stop.pose, f"pose {stop.name!r}") for stop in poses]

    camera = _camera(up)
    panels = [
        [
            rotate(camera, pose.apply(p) if moving else p)
            for p, moving in zip(points, moves, strict=True)
        ]
        for pose in stops
    ]
    every = torch.cat([p for panel in panels for p in panel])
    low, high = every.amin(dim=0), every.amax(dim=0)
    middle, extent = ((low + high) / 2).tolist(), (high - low).tolist()
    half_width = 0.54 * max(extent[0], 0.8 * extent[1]) or 1.0
    half_height = 0.54 * max(extent[1], 0.6 * extent[0]) or 1.0

    # Inches. All panels share one frame, so that their scales agree.
    side, title_height, head, foot = 4.6, 0.45 if title else 0.0, 0.75, 0.45
    tall = side * half_height / half_width
    width, height = side * len(panels), title_height + head + tall + foot
    figure, agg, lines = (
        require(f"matplotlib.{module}", extra="plot", why="Drawing a picture")
        for module in ("figure", "backends.backend_agg", "lines")
    )
    # A Figure with its own canvas: pyplot would keep global state and may look for a display.
    canvas = figure.Figure(figsize=(width, height), facecolor="white")
    agg.FigureCanvasAgg(canvas)

    def write(x: float, inches_down: float, text: str, **style: Any) -> None:
        canvas.text(x, 1 - inches_down / height, text, ha="center", va="center", **style)

    for i, (panel, stop) in enumerate(zip(panels, poses, strict=True)):
        axes = canvas.add_axes((i / len(panels), foot / height, 1 / len(panels), tall / height))
        axes.set_axis_off()
        axes.set_xlim(middle[0] - half_width, middle[0] + half_width)
        axes.set_ylim(middle[1] - half_height, middle[1] + half_height)
        color = torch.cat(
            [_fade(t, p[:, 2], low[2], high[2]) for t, p in zip(tints, panel, strict=True)]
        )
        area = torch.cat(
            [
                _area(p, side * 72 / (2 * half_width)) * (0.64 if moving else 1.0)
                for p, moving in zip(points, moves, strict=True)
            ]
        )
        seen = torch.cat(panel)
        order = seen[:, 2].argsort(stable=True)  # far points first: near ones cover them
        axes.scatter(
            seen[order, 0].tolist(),
            seen[order, 1].tolist(),
            s=area[order].tolist(),
            c=color[order].tolist(),
            # A darker rim keeps neighbours of one colour apart.
            edgecolors=(0.62 * color[order]).tolist(),
            linewidths=(0.09 * area[order].sqrt()).tolist(),
        )
        across = (i + 0.5) / len(panels)
        write(across, title_height + 0.3, stop.name, size=14, weight="bold", color=_TEXT)
        write(across, title_height + 0.58, stop.caption, size=11, color=_SOFT)
    if title:
        write(0.5, 0.32, title, size=13, color=_SOFT)
    handles = [
        lines.Line2D([], [], ls="", marker="o", ms=7, color=color.light, label=layer.name)
        for layer, color in shown
    ]
    legend = {"loc": "lower center", "ncols": len(handles), "frameon": False, "fontsize": 11}
    canvas.legend(handles=handles, labelcolor=_TEXT, handletextpad=0.2, **legend)
    content = io.BytesIO()
    canvas.savefig(content, format="png", dpi=dpi)
    return write_whole(path, content.getvalue())


def _camera(up: Up) -> Tensor:
    """Rows: right, above and towards the viewer, for the view that a page opens with."""
    axis, sign = "xyz".index(up[-1]), -1.0 if up.startswith("-") else 1.0
    above = torch.zeros(3, dtype=torch.float64)
    above[axis] = sign
    towards = torch.zeros(3, dtype=torch.float64)
    towards[(axis + 1) % 3], towards[(axis + 2) % 3], towards[axis] = 0.62, -0.66, sign * 0.42
    towards = torch.nn.functional.normalize(towards, dim=0)
    right = torch.nn.functional.normalize(torch.linalg.cross(above, towards), dim=0)
    return torch.stack([right, torch.linalg.cross(towards, right), towards])


def _thin(points: Tensor, limit: int) -> Tensor:
    return points[sample(len(points), limit)]


def _rgb(color: str) -> Tensor:
    return torch.tensor([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)], dtype=torch.float64)


def _fade(tint: Tensor, depth: Tensor, far: Tensor, near: Tensor) -> Tensor:
    """(N, 3) colours that pale with distance."""
    away = ((near - depth) / (near - far).clamp_min(1e-12)).unsqueeze(1)
    return tint + (1 - tint) * 0.55 * away


def _area(points: Tensor, scale: float) -> Tensor:
    """(N,) marker areas in square points, so that neighbours on a surface nearly touch."""
    spread = float((points - points.mean(dim=0)).square().sum(dim=1).mean().sqrt())
    diameter = scale * 1.9 * spread / math.sqrt(max(len(points), 150))
    return torch.full((len(points),), min(max(diameter, 0.8), 14.0) ** 2)
