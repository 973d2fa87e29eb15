"""Make the pictures of the documentation: `python docs/pictures.py`.

Registers the two example scans as a user would. docs/snap.gif shows the source on its way from the
pose in its file to the pose that `register` found, from above, without floor and ceiling.
docs/register.png is the report in a browser (needs Chromium).
"""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import sync_playwright

from spoonful import register
from spoonful.pipeline import Alignment
from spoonful.pipeline.alignment import turn_of
from spoonful.pipeline.report import write_report

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from view.chromium import Chromium  # noqa: E402

SIZE, FINER = (760, 420), 3  # pixels; drawn this many times as large, then reduced
SOURCE, TARGET, TEXT = (213, 94, 0), (0, 114, 178), (70, 78, 88)
HEIGHTS = (-1.2, 1.5)  # metres: what lies between floor and ceiling
FRAMES = [0.0] * 14 + [i / 22 for i in range(1, 22)] + [1.0] * 30
SECONDS = 0.05  # per frame


def main() -> None:
    """Write both pictures beside this file."""
    folder = files("spoonful") / "examples"
    found = register(str(folder / "room-2.ply"), str(folder / "room-1.ply"))
    write_page_picture(found, HERE / "register.png")
    write_moving_picture(found, HERE / "snap.gif")


def write_page_picture(found: Alignment, path: Path) -> None:
    """Write the report, open it, cut the ceiling off and take a picture."""
    names = "room-2.ply", "room-1.ply"
    command = "spoonful register room-2.ply room-1.ply --unit m --report report.html"
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as driver,
        Chromium(driver.chromium) as browser,
    ):
        page = write_report(f"{folder}/r.html", found, names=names, unit="m", command=command)
        browser.open(page, width=1280, height=800)
        browser.evaluate(
            "(input => { input.value = 0.42; input.dispatchEvent(new Event('input')); })"
            "([...document.querySelectorAll('#layers .row input')].at(-1))"
        )
        browser.evaluate("document.getElementById('canvas').focus()")
        for key in ["ArrowUp"] * 4 + ["+"] * 2:
            browser.key(key)
        browser.evaluate("document.activeElement.blur()")
        browser.settle()
        path.write_bytes(browser.page.screenshot())  # with the panel
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def write_moving_picture(found: Alignment, path: Path) -> None:
    """Draw the source on its way."""
    source, target = (
        points[(points[:, 2] > HEIGHTS[0]) & (points[:, 2] < HEIGHTS[1])]
        for points in (found.source.points.double().numpy(), found.target.points.double().numpy())
    )
    turn = turn_of(found.pose.rotation)
    rotation, translation = found.pose.rotation.numpy(), found.pose.translation.numpy()
    center = source.mean(0)
    moved_center = rotation @ center + translation

    def on_the_way(share: float) -> np.ndarray:
        """The source when it has made this share of its turn and of its shift."""
        eased = share * share * (3 - 2 * share)
        partial = about(np.asarray(turn.axis), np.radians(turn.degrees) * eased)
        return (source - center) @ partial.T + center + eased * (moved_center - center)

    # The frame shows the middle 98 % of both scans at the end.
    both = np.concatenate([on_the_way(1.0), target])[:, :2]
    low, high = np.percentile(both, [1, 99], axis=0)
    scale = 0.9 * min(SIZE[0] / (high - low)[0], SIZE[1] / (high - low)[1])
    frames = [frame(target, on_the_way(share), (low + high) / 2, scale, share) for share in FRAMES]
    palette = Image.new("P", (1, 1))
    palette.putpalette([value for color in shades() for value in color])
    images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in frames]
    duration = round(1000 * SECONDS)
    images[0].save(path, save_all=True, append_images=images[1:], duration=duration, loop=0)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    """The rotation about an axis, by Rodrigues' formula."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def shades() -> list[tuple[int, ...]]:
    """White, and six steps from it to each of the colours that are drawn."""
    steps = [i / 6 for i in range(1, 7)]
    mixes = (
        tuple(round(255 + (value - 255) * step) for value in color)
        for color in (SOURCE, TARGET, TEXT)
        for step in steps
    )
    return [(255, 255, 255), *mixes]


def frame(
    target: np.ndarray, source: np.ndarray, middle: np.ndarray, scale: float, share: float
) -> Image.Image:
    """One image: both clouds seen from above, and a caption."""
    width, height = (side * FINER for side in SIZE)
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    radius = 1.1 * FINER
    points = np.concatenate([target, source])
    tints = [TARGET] * len(target) + [SOURCE] * len(source)
    flat = (points[:, :2] - middle) * scale * FINER * [1, -1] + [width / 2, height / 2]
    for i in torch.randperm(len(flat), generator=torch.Generator().manual_seed(0)).tolist():
        x, y = flat[i]
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=tints[i])
    font = ImageFont.truetype(font_manager.findfont("DejaVu Sans"), 15 * FINER)
    caption = "as scanned" if share == 0 else "spoonful register" if share < 1 else "registered"
    draw.text((12 * FINER, height - 30 * FINER), caption, fill=TEXT, font=font)
    return image.resize(SIZE, Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main()
