"""E57, the exchange format of terrestrial laser scanners: read by the package `e57`."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from spoonful.data.clouds.arrays import Arrays, np
from spoonful.extras import require


def read(data: bytes, folder: Path) -> Arrays:
    """The points of all scans at their poses, with colours and intensity if there are any."""
    e57 = require("e57", extra="e57", why="Reading E57 files")
    with tempfile.TemporaryDirectory(prefix="spoonful-") as place:
        path = Path(place) / "scan.e57"  # the package reads files by their name
        path.write_bytes(data)
        found = e57.read_points(str(path))
        sensor = _sensor(e57.raw_xml(str(path)))
    points = np.asarray(found.points, dtype=np.float64).reshape(-1, 3)
    colors, intensity = (np.asarray(part) for part in (found.color, found.intensity))
    fields = {"intensity": intensity.reshape(-1)} if intensity.size == len(points) else {}
    # The package makes grey of the intensity if a file has no colours.
    grey = "intensity" in fields and np.array_equal(colors, np.tile(intensity.reshape(-1, 1), 3))
    if colors.shape != points.shape or grey or not colors.any():
        colors = None
    return Arrays(points, colors=colors, fields=lambda: fields, sensor=sensor)


def _sensor(text: str | bytes) -> list[float] | None:
    """Where the scanner stood, if there is one scan, and it has a pose."""
    scans = ElementTree.fromstring(text).findall("{*}data3D/{*}vectorChild")
    place = scans[0].find("{*}pose/{*}translation") if len(scans) == 1 else None
    # A zero may be left empty.
    return None if place is None else [float(place.findtext(f"{{*}}{axis}") or 0) for axis in "xyz"]
