"""Build pairs of real scans by which nothing in Spoonful was chosen, from public packages.

    pip install ouster-sdk
    python benchmarks/more_pairs.py FOLDER
    python benchmarks/scans.py --data FOLDER --sets pairs --turns 3

Downloads 220 MB into FOLDER/downloads, checks each file's SHA-256, and writes `NAME.npz` and
`index.json` into FOLDER/pairs, in the format that `benchmarks/scans.py` reads. `more_pairs.json`
lists the packages and, for each pair, its files, its licence, its true pose and where that comes
from. Clouds of more than 60,000 points are thinned at random; `--seed 1` thins them otherwise.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import tempfile
import urllib.request
from pathlib import Path

import numpy as np

from spoonful.data.clouds import Cloud, read
from spoonful.data.fetch import verify

MOST = 60_000
# Focal lengths, principal point and unit of depth.
KINECT = (585.0, 585.0, 320.0, 240.0, 1.0)
FAR = 65.0  # metres; the Kinect's files have 65.535 if nothing was measured
SR300 = (476.0536, 476.0535, 311.4846, 246.2832, 0.000125)


def fetched(url: str, sha256: str, folder: Path) -> Path:
    """The file at `url`, downloaded unless it is in the folder."""
    path = folder / url.rpartition("/")[2]
    if not path.exists():
        print(f"downloading {url}", flush=True)
        part, _ = urllib.request.urlretrieve(url, path.with_suffix(".part"))
        Path(part).rename(path)
    verify(path, sha256, url)
    return path


def opened(path: Path) -> tarfile.TarFile:
    """A tar archive, or the one with the files of a Debian package, its last member."""
    if path.suffix != ".deb":
        return tarfile.open(path)
    with path.open("rb") as stream:
        stream.seek(8)  # each member has a header of 60 bytes, with its size
        while header := stream.read(60):
            size = int(header[48:58])
            data = stream.read(size + size % 2)
    return tarfile.open(fileobj=io.BytesIO(data))


def backprojected(depth: np.ndarray, camera: tuple[float, ...]) -> np.ndarray:
    fx, fy, cx, cy, unit = camera
    row, column = np.nonzero(depth)
    z = depth[row, column] * unit
    return np.stack([(column - cx) / fx * z, (row - cy) / fy * z, z], axis=1)


def lidar_scans(path: Path) -> list[np.ndarray]:
    """The scans of an OSF file, each in the coordinates of its sensor."""
    from ouster.sdk import core, open_source

    found = []
    for frames in open_source(str(path)):
        for frame in frames:
            if frame is not None:
                points = core.XYZLut(frame.sensor_info, use_extrinsics=False)(frame)
                found.append(points[frame.field(core.ChanField.RANGE) > 0])
    return found


def points_of(path: Path, number: int, seed: int) -> np.ndarray:
    """The points of a file; `number` chooses the scan if a file has several."""
    if path.suffix == ".osf":
        points = lidar_scans(path)[number]
    elif path.suffix == ".depth":
        depth = np.fromfile(path, "<f4").reshape(480, 640)
        points = backprojected(np.where(depth < FAR, depth, 0), KINECT)
    elif path.suffix == ".bin":
        points = backprojected(np.fromfile(path, "<u2", offset=8).reshape(480, 640), SR300)
    else:
        shape = read(path)  # range scans with faces are meshes
        points = (shape.points if isinstance(shape, Cloud) else shape.vertices).numpy()
    if len(points) > MOST:
        kept = np.random.default_rng(seed).choice(len(points), MOST, replace=False)
        points = points[np.sort(kept)]
    return points.astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0, help="of the random thinning")
    arguments = parser.parse_args()
    folder, seeds = arguments.folder, (2 * arguments.seed, 2 * arguments.seed + 1)
    for name in ("downloads", "pairs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    listed = json.loads(Path(__file__).with_suffix(".json").read_text())
    with tempfile.TemporaryDirectory() as scratch:
        for name, package in listed["packages"].items():
            wanted = {
                f"{package['folder']}/{pair[end][0]}"
                for pair in listed["pairs"].values()
                for end in ("src", "ref")
                if pair["package"] == name
            }
            path = fetched(package["url"], package["sha256"], folder / "downloads")
            with opened(path) as archive:
                archive.extractall(scratch, [archive.getmember(n) for n in wanted], filter="data")
        for name, pair in listed["pairs"].items():
            root = Path(scratch) / listed["packages"][pair["package"]]["folder"]
            files = (pair.pop("src"), pair.pop("ref"))
            src, ref = (points_of(root / f, k, s) for (f, k), s in zip(files, seeds, strict=True))
            np.savez_compressed(
                folder / "pairs" / f"{name}.npz", src=src, ref=ref, T=np.array(pair.pop("T"))
            )
            pair["n"] = [len(src), len(ref)]
    (folder / "pairs" / "index.json").write_text(json.dumps(listed["pairs"], indent=1))
    print(f"wrote {len(listed['pairs'])} pairs to {folder / 'pairs'}")


if __name__ == "__main__":
    main()
