"""One HTML file that shows a registration in 3D, opened from disk, with nothing to fetch.

Positions are stored as 16-bit steps of each cloud's bounding box. So they are off by at most
1/131070 of the box's side per axis: a tenth of a millimetre for a cloud 13 metres wide. Normals
take 8 bits per axis. Values take 8 bits on a quadratic scale, which is finest at the low end. A
cloud of 50,000 points is 400 KB of base64, its normals 200 KB.

Boxes are stored relative to the middle of the data, computed in float64. So clouds in map
coordinates keep their precision on a graphics card, which uses float32.
"""

from __future__ import annotations

import base64
import json
import math
import os
import shlex
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spoonful.files import write_whole
from spoonful.geometry import Pose
from spoonful.geometry.checks import check_choice
from spoonful.version import __version__
from spoonful.view.layers import (
    UPS,
    CloudLayer,
    ColorScale,
    Fact,
    GraphLayer,
    LinkLayer,
    PoseStop,
    Table,
    Up,
    Verdict,
    View,
    check_layers,
    cloud,
    colors,
    number,
    pose_of,
    sample,
    scalars,
    shade,
)
from spoonful.view.markup import asset, clean, escaped, policy

COLORINGS = ("cloud", "values", "colors")
# Moving clouds are drawn at most so many widths from the middle of the others. If one file has map
# coordinates and the other a scanner's own, both would be dots.
_REACH = 3.0


def write_page(
    path: str | os.PathLike[str],
    *,
    title: str,
    layers: Sequence[CloudLayer],
    poses: Sequence[PoseStop] = (),
    links: Sequence[LinkLayer | GraphLayer] = (),
    views: Sequence[View] = (),
    verdict: Verdict | None = None,
    facts: Sequence[Fact] = (),
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    tables: Sequence[Table] = (),
    scale: ColorScale | None = None,
    color_by: str = "cloud",
    subtitle: str = "",
    command: str | Sequence[str] = "",
    up: Up = "z",
    max_points: int = 50_000,
    max_lines: int = 1_000,
) -> Path:
    """Write one self-contained HTML file with clouds to turn and a slider over the source's poses.

    Between two poses the slider turns the source along the shortest arc about its own middle. The
    same input gives the same bytes. Text is escaped, and the page's
    security policy runs no script but the viewer and lets nothing be fetched.

    Args:
        path: the file to write; its folder is created, and an existing file is replaced.
        title: the page's heading.
        layers: the clouds, at least one, with different names.
        poses: the poses of those that move (`CloudLayer.moves`), in the order of the slider.
        links: lines between matched points, or between clouds.
        views: buttons above the clouds, each a pose, a colouring and whether lines are shown. The
            page opens with the one that fits the last pose, or the colouring of `color_by`.
        verdict: the result in a word.
        facts: rows of the table of numbers.
        warnings: sentences that the reader must not miss.
        notes: further sentences.
        tables: further tables, closed at first.
        scale: what the layers' values mean and the range of their colours.
        color_by: "cloud", "values" or "colors", the colouring at first; the reader can switch.
        subtitle: a line under the title.
        command: what made this page, as one string or as a list of arguments.
        up: the axis that points up at first: "z", "y", "-y", ...
        max_points: larger clouds are thinned at random to this many, and the legend says so.
        max_lines: the same for lines.

    Returns:
        The path that was written.

    Raises:
        ValueError, TypeError: something cannot be shown; the message names it.

    >>> import tempfile
    >>> points = torch.rand(100, 3)
    >>> pose = Pose(torch.eye(3), torch.tensor([0.5, 0.0, 0.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_page(
    ...         f"{folder}/pair.html",
    ...         title="A pair",
    ...         layers=[CloudLayer("source", points, moves=True), CloudLayer("target", points)],
    ...         poses=[PoseStop("before", pose), PoseStop("after", Pose.identity())],
    ...         facts=[Fact("Rotation error", 0.31, "°")],
    ...     )
    ...     page.stat().st_size < 700_000
    True
    """
    check_layers(layers)
    check_choice("up", up, UPS)
    check_choice("color_by", color_by, COLORINGS)
    for sentences, name in ((notes, "notes"), (warnings, "warnings")):
        if isinstance(sentences, str):
            raise TypeError(f"{name} must be a list of sentences, got one string")
    for limit, name in ((max_points, "max_points"), (max_lines, "max_lines")):
        if limit < 1:
            raise ValueError(f"{name} must be at least 1, got {limit}")
    payload = _payload(layers, poses, links, scale, max_points, max_lines)
    payload |= {"up": up, "color_by": color_by}
    payload["views"] = [_view(view, poses) for view in views]
    if color_by == "values" and payload["scale"] is None:
        raise ValueError("color_by is 'values', but no layer has values")
    if color_by == "colors" and all(layer.colors is None for layer in layers):
        raise ValueError("color_by is 'colors', but no layer has colors")

    script, style = asset("viewer.js"), asset("base.css") + asset("style.css")
    command = command if isinstance(command, str) else shlex.join(command)
    page = Template(asset("template.html")).substitute(
        policy=policy(script, style, "img-src data: blob:", "form-action 'none'"),
        generator=f"Spoonful {__version__}",
        title=escaped(title),
        names=escaped(", ".join(layer.name for layer in layers)),
        style=style,
        subtitle=f'<p class="subtitle">{escaped(subtitle)}</p>\n' if subtitle else "",
        verdict=_verdict(verdict),
        warnings=_list("warnings", warnings),
        facts=_table(facts),
        tables="".join(_details(table) for table in tables),
        notes=_list("notes", notes),
        view_keys=_view_keys(len(views)),
        command=_command(command),
        footer=f"Spoonful {__version__}, shown with three.js",
        payload=_json(payload),
        script=script,
    )
    return write_whole(path, page.encode())


class _Frames(NamedTuple):
    """The origins of stored coordinates, near the data."""

    pivot: Tensor  # (3,) in the source's frame: the centre of rotation of moving clouds
    origin: Tensor  # (3,) in the target's frame: the middle of the page
    reach: float  # clouds that are farther from the middle are drawn at this distance

    def stop(self, pose: Pose) -> dict[str, Any]:
        """A pose between the two frames: it takes the pivot to `translation`."""
        shift = self._shift(pose)
        nearer = min(1.0, self.reach / max(float(shift.norm()), 1e-300))
        return {
            "rotation": pose.rotation.tolist(),
            "translation": (nearer * shift).tolist(),
            "matrix": pose.matrix().tolist(),  # as the user knows it
        }

    def far(self, pose: Pose) -> bool:
        """True if the clouds are drawn nearer than they are."""
        return float(self._shift(pose).norm()) > self.reach

    def _shift(self, pose: Pose) -> Tensor:
        return pose.apply(self.pivot[None])[0] - self.origin


def _payload(
    layers: Sequence[CloudLayer],
    poses: Sequence[PoseStop],
    links: Sequence[LinkLayer | GraphLayer],
    scale: ColorScale | None,
    max_points: int,
    max_lines: int,
) -> dict[str, Any]:
    """The data that the viewer reads."""
    own = [_own_poses(layer, len(poses)) for layer in layers]
    one = bool(poses) and not any(own)
    if one and not links and not any(layer.moves for layer in layers):
        raise ValueError("poses are given, but no layer has moves=True")
    stops = [pose_of(stop.pose, f"pose {stop.name!r}") for stop in poses]
    points = [cloud(layer.points, f"points of layer {layer.name!r}") for layer in layers]
    values = [
        None
        if layer.values is None
        else scalars(layer.values, len(p), len(poses), f"values of layer {layer.name!r}")
        for layer, p in zip(layers, points, strict=True)
    ]
    ends = [_ends(link) for link in links if isinstance(link, LinkLayer)]
    colormap = _colormap(values, scale)

    still = Pose.identity(dtype=torch.float64)
    placed = [path[-1].apply(p) if path else p for p, path in zip(points, own, strict=True)]
    fixed = [p for p, layer in zip(placed, layers, strict=True) if layer.poses or not layer.moves]
    moving = [p for p, layer in zip(points, layers, strict=True) if layer.moves]
    moving = moving or [source for source, _ in ends] or fixed
    pivot = _middle(moving)
    origin = _middle(fixed) if fixed else (stops or [still])[-1].apply(pivot[None])[0]
    width = max(
        float((p.amax(0) - p.amin(0)).norm()) for p in map(torch.cat, (moving, fixed or moving))
    )
    frames = _Frames(pivot, origin, _REACH * width or math.inf)
    around = [
        frames._replace(pivot=_middle([p])) if path else frames
        for p, path in zip(points, own, strict=True)
    ]
    far = [
        any(
            frame.far((path or stops)[i])
            for frame, path, layer in zip(around, own, layers, strict=True)
            if path or layer.moves
        )
        for i in range(len(poses))
    ]

    packed, packed_links = [], []
    for layer, frame, p, v, path, color in zip(
        layers, around, points, values, own, colors(layers), strict=True
    ):
        keep = sample(len(p), max_points)
        normals = _like_points(layer, "normals", p)
        packed.append(
            {
                "name": clean(layer.name),
                "color": color,
                "moves": bool(layer.moves or path),
                "stops": [frame.stop(pose) for pose in path] or None,
                "visible": bool(layer.visible),
                "total": max(len(p), layer.total or 0),
                "points": _pack(p[keep] - (frame.pivot if layer.moves or path else origin)),
                "normals": None if normals is None else _pack_normals(normals[keep]),
                "values": None if v is None else [_pack_values(row[keep], colormap) for row in v],
                "colors": _colors(layer, p, keep),
            }
        )
    number = {
        layer.name: k for k, (layer, path) in enumerate(zip(layers, own, strict=True)) if path
    }
    for i, link in enumerate(links):
        tint = link.color or ("green", "pink")[i % 2]
        lines: dict[str, Any] = {
            "name": clean(link.name),
            "color": shade(tint, f"color of links {link.name!r}"),
            "visible": bool(link.visible),
        }
        if isinstance(link, GraphLayer):
            for name in {name for pair in link.pairs for name in pair}:
                check_choice(f"links {link.name!r}", name, number)
            lines["pairs"] = [[number[name] for name in pair] for pair in link.pairs]
            lines["total"] = len(link.pairs)
        else:
            source, target = _ends(link)
            keep = sample(len(source), max_lines)
            lines["source"] = _pack(source[keep] - frames.pivot)
            lines["target"] = _pack(target[keep] - frames.origin)
            lines["total"] = len(source)
        packed_links.append(lines)
    named = zip(poses or [PoseStop("", still)], stops or [still], strict=True)
    return {
        "layers": packed,
        "links": packed_links,
        "scale": None if colormap is None else colormap.legend(),
        "moving": bool(poses),
        "one": one,  # pose for all clouds that move
        "stops": [
            {"name": clean(stop.name), "caption": _caption(stop, apart), **frames.stop(pose)}
            for (stop, pose), apart in zip(named, far or [False], strict=True)
        ],
    }


def _caption(stop: PoseStop, far: bool) -> str:
    """The caption of a stop, which says if clouds are drawn nearer than they are."""
    parts = [stop.caption, "far clouds are drawn nearer" if far else ""]
    return clean("; ".join(filter(None, parts)))


def _own_poses(layer: CloudLayer, count: int) -> list[Pose]:
    """A layer's own poses; empty if it has none."""
    if layer.poses is None:
        return []
    name = f"poses of layer {layer.name!r}"
    if len(layer.poses) != count:
        raise ValueError(f"{name} must be as many as the page's, {count}, got {len(layer.poses)}")
    return [pose_of(pose, name) for pose in layer.poses]


def _like_points(layer: CloudLayer, kind: str, points: Tensor) -> Tensor | None:
    """A layer's "normals" or "colors", as many as its points; None if it has none."""
    value = getattr(layer, kind)
    if value is None:
        return None
    name = f"{kind} of layer {layer.name!r}"
    found = cloud(value, name)
    if found.shape != points.shape:
        raise ValueError(
            f"{name} must have shape {tuple(points.shape)}, as its points have, "
            f"got {tuple(found.shape)}"
        )
    return found


def _colors(layer: CloudLayer, points: Tensor, keep: Tensor) -> str | None:
    """The colours of the points that are kept, as bytes."""
    found = _like_points(layer, "colors", points)
    if found is None:
        return None
    if float(found.amin()) < 0 or float(found.amax()) > 255:
        raise ValueError(f"colors of layer {layer.name!r} must be from 0 to 255")
    return _base64("B", found[keep].round())


def _ends(link: LinkLayer) -> tuple[Tensor, Tensor]:
    """Both ends of the lines, (M, 3) each."""
    source = cloud(link.source, f"source of links {link.name!r}")
    target = cloud(link.target, f"target of links {link.name!r}")
    if source.shape != target.shape:
        raise ValueError(
            f"links {link.name!r} must have as many source as target ends, "
            f"got {len(source):,} and {len(target):,}"
        )
    return source, target


class _Colormap(NamedTuple):
    """The range of the colours, and the value up to which the reader may extend it."""

    low: float
    high: float
    top: float
    scale: ColorScale

    def legend(self) -> dict[str, Any]:
        """The scale as the viewer reads it."""
        gap = Fact("", 0, self.scale.unit).gap
        return {
            "label": clean(self.scale.label),
            "unit": f"{gap}{clean(self.scale.unit)}",
            "low": self.low,
            "high": self.high,
            "top": self.top,
        }


def _colormap(values: Sequence[Tensor | None], scale: ColorScale | None) -> _Colormap | None:
    """The colours for all values of a page, None if there are none."""
    given = [v for v in values if v is not None]
    if not given:
        if scale is not None:
            raise ValueError("scale is given, but no layer has values")
        return None
    scale = scale or ColorScale()
    least, most = min(float(v.min()) for v in given), max(float(v.max()) for v in given)
    last = torch.cat([v[-1] for v in given]).sort().values
    low = min(least, 0.0) if scale.low is None else float(scale.low)
    high = float(last[round(0.9 * (len(last) - 1))]) if scale.high is None else float(scale.high)
    if scale.high is None:
        high = max(high, low)
    if not low <= high:
        raise ValueError(f"scale must have low <= high, got {low:g} and {high:g}")
    # A quarter of the 255 steps is for values up to `high`, however far the largest are.
    top = min(max(most, high), low + 16 * (high - low)) if high > low else max(most, high)
    return _Colormap(low, high, top, scale)


def _middle(clouds: Sequence[Tensor]) -> Tensor:
    """The middle of the box around some clouds."""
    every = torch.cat(list(clouds))
    return (every.amin(dim=0) + every.amax(dim=0)) / 2


def _pack(points: Tensor) -> dict[str, Any]:
    """(N, 3) as little-endian 16-bit steps of their box; off by at most half a step per axis."""
    low, high = points.amin(dim=0), points.amax(dim=0)
    step = (high - low) / 65535
    steps = ((points - low) / step.where(step > 0, 1.0)).round()
    return {"low": low.tolist(), "step": step.tolist(), "data": _base64("H", steps)}


def _pack_normals(normals: Tensor) -> str:
    """Unit normals as signed bytes."""
    length = normals.norm(dim=1, keepdim=True)
    return _base64("b", (normals / length.where(length > 0, 1.0) * 127).round())


def _pack_values(values: Tensor, colormap: _Colormap | None) -> str:
    """Values as bytes: the square root of their share of the range from low to top."""
    assert colormap is not None  # there is one if there are values
    width = (colormap.top - colormap.low) or 1.0
    return _base64("B", ((values - colormap.low) / width).clamp(0, 1).sqrt().mul(255).round())


def _base64(typecode: str, numbers: Tensor) -> str:
    """Whole numbers as base64, without numpy, in the byte order of every browser."""
    packed = array(typecode, numbers.flatten().to(torch.int64).tolist())
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode()


def _json(payload: dict[str, Any]) -> str:
    r"""JSON that cannot end the <script> it stands in.

    >>> _json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e")


def _list(kind: str, sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    label = kind.capitalize()
    items = "".join(f"<li>{escaped(sentence)}</li>\n" for sentence in sentences)
    return f'<ul class="{kind}" aria-label="{label}">\n{items}</ul>\n'


def _table(facts: Sequence[Fact]) -> str:
    if not facts:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escaped(fact.label)}</th><td>{escaped(number(fact.value))}'
        + (f'{fact.gap}<span class="unit">{escaped(fact.unit)}</span>' if fact.unit else "")
        + "</td></tr>\n"
        for fact in facts
    )
    return f'<table aria-label="Numbers">\n<tbody>\n{rows}</tbody>\n</table>\n'


def _view(view: View, poses: Sequence[PoseStop]) -> dict[str, Any]:
    """A view as the viewer reads it: its pose by number."""
    check_choice(f"color_by of view {view.name!r}", view.color_by, COLORINGS)
    names = [stop.name for stop in poses]
    if view.pose not in (None, *names):
        raise ValueError(
            f"pose of view {view.name!r} must be one of {', '.join(names)}, got {view.pose!r}"
        )
    return {
        "name": clean(view.name),
        "pose": None if view.pose is None else names.index(view.pose),
        "color_by": view.color_by,
        "links": bool(view.links),
        "apart": bool(view.apart),
    }


def _view_keys(count: int) -> str:
    if count == 0:
        return ""
    keys = " ".join(f"<kbd>{i + 1}</kbd>" for i in range(min(count, 9)))
    return f"<dt>View</dt><dd>the buttons on top, {keys}</dd>\n"


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    kind = "good" if verdict.good else "doubtful"
    return (
        f'<p class="verdict {kind}"><strong>{escaped(verdict.word)}</strong>'
        f"<span>{escaped(verdict.detail)}</span></p>\n"
    )


def _details(table: Table) -> str:
    """A table that opens: numbers to the right, names to the left."""
    for row in table.rows:
        if len(row) != len(table.columns):
            raise ValueError(
                f"table {table.title!r} must have {len(table.columns)} cells in each row, "
                f"got {len(row)}"
            )
    numeric = [
        all(not isinstance(row[i], str) for row in table.rows) for i in range(len(table.columns))
    ]
    kinds = [' class="number"' if is_number else "" for is_number in numeric]
    head = "".join(
        f'<th scope="col"{kind}>{escaped(name)}</th>'
        for name, kind in zip(table.columns, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}>{escaped(number(cell))}</td>" for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>\n"
        for row in table.rows
    )
    return (
        f"<details>\n<summary>{escaped(table.title)}</summary>\n"
        f'<table class="list">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n'
        "</details>\n"
    )


def _command(command: str) -> str:
    if not command:
        return ""
    return (
        '<section>\n<div class="head"><h2>Made by</h2>'
        '<button type="button" id="copy-command" class="copy" hidden>Copy</button></div>\n'
        f'<pre id="command" tabindex="0">{escaped(command)}</pre>\n</section>\n'
    )
