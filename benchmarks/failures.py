"""Draw three simulated pairs that `register` gets wrong: docs/failures.png.

    python benchmarks/failures.py

Each row is a pair from above, in the frame of the target: as it should be, and as it was found.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from spoonful.data.simulate import Simulated, simulate
from spoonful.geometry import Pose
from spoonful.pipeline import register

PICTURE = Path(__file__).parents[1] / "docs" / "failures.png"
PAIRS = (
    ("corridor", "lidar", 4, "a corridor with doors at regular steps"),
    ("room", "camera", 2, "little overlap, most of it one wall"),
    ("room", "camera", 5, "two views of a room that share nothing"),
)
SOURCE, TARGET = "#d55e00", "#0072b2"


def upright(made: Simulated, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    """Both scans in the scene's frame, with the source moved by a pose between the scans."""
    place = made.poses.at(1)
    moved = place.apply(pose.apply(made.clouds[0].points))
    return moved.numpy(), place.apply(made.clouds[1].points).numpy()


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    figure, axes = plt.subplots(len(PAIRS), 2, figsize=(8, 2.6 * len(PAIRS)), squeeze=False)
    for row, (kind, sensor, seed, what) in zip(axes, PAIRS, strict=True):
        made = simulate(kind, sensor, seed=seed)
        found = register(*made.clouds)
        off = found.pose.inverse().compose(made.pose(0, 1))
        cosine = (float(off.rotation.diagonal().sum()) - 1) / 2
        degrees = math.degrees(math.acos(min(1.0, max(-1.0, cosine))))
        print(f"{kind} {sensor} {seed}: {degrees:.0f} degrees off, {found.confidence:.2f}")
        verdict = "confident" if found.confident else "doubtful"
        said = f"found: {found.confidence:.2f}, {verdict}"
        for axis, pose, title in (
            (row[0], made.pose(0, 1), f"{what}: true pose"),
            (row[1], found.pose, said),
        ):
            for points, color in zip(upright(made, pose), (SOURCE, TARGET), strict=True):
                # Without floor and ceiling.
                low, high = np.percentile(points[:, 2], [2, 98])
                inner = (points[:, 2] > low + 0.15) & (points[:, 2] < high - 0.15)
                axis.scatter(*points[inner][::3, :2].T, s=0.4, color=color, linewidths=0)
            axis.set_title(title, fontsize=8, loc="left")
            axis.set_aspect("equal")
            axis.axis("off")
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)
    print(f"wrote {PICTURE} ({PICTURE.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
