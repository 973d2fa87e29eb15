"""Training pairs of `rpm-crop`: whole batches on a device against one item at a time.

    python benchmarks/data.py                    # or: spoonful bench data
    python benchmarks/data.py --device cuda --save

The rival is a loader in the style of the published code: one process, numpy, each item copied,
cropped, moved, resampled, jittered and shuffled by itself, then stacked into a batch. All make the
same pairs with normals from the same shapes.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _harness import machine, race, save, table
from data.corpora import blobs
from spoonful.data.collate import collate
from spoonful.data.corpus import Corpus
from spoonful.data.items import ProtocolDataset
from spoonful.data.pairs import PairGenerator
from spoonful.data.protocols import get

RIVAL = "one at a time, published style"


# The steps of a published loader, in its style. `random` has numpy's legacy random numbers.


def published_batch(
    shapes: np.ndarray, indices: Iterable[int], random: np.random.RandomState
) -> dict[str, torch.Tensor]:
    items = [published_item(shapes[index], random) for index in indices]
    return {key: torch.stack([torch.from_numpy(item[key]) for item in items]) for key in items[0]}


def published_item(shape: np.ndarray, random: np.random.RandomState) -> dict[str, np.ndarray]:
    source, target = crop(shape.copy(), random), crop(shape.copy(), random)
    motion = draw_motion(random)
    rotation, translation = motion[:, :3], motion[:, 3]
    moved = source[:, :3] @ rotation.T + translation
    source = np.concatenate([moved, source[:, 3:] @ rotation.T], axis=1)
    truth = np.concatenate([rotation.T, rotation.T @ -translation[:, None]], axis=1)
    source, target = resample(source, random), resample(target, random)
    source, target = jitter(source, random), jitter(target, random)
    return {
        "target": random.permutation(target),
        "source": random.permutation(source),
        "pose": truth,
    }


def crop(points: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    azimuth, height = random.uniform(0.0, 2 * np.pi), random.uniform(-1.0, 1.0)
    radius = np.sqrt(1 - height**2)
    normal = np.array([radius * np.cos(azimuth), radius * np.sin(azimuth), height])
    heights = np.dot(points[:, :3] - points[:, :3].mean(axis=0), normal)
    return points[heights > np.percentile(heights, 30.0)]


def draw_motion(random: np.random.RandomState) -> np.ndarray:
    x, y, z = random.uniform(size=3) * np.pi / 4
    about_x = [[1, 0, 0], [0, np.cos(x), -np.sin(x)], [0, np.sin(x), np.cos(x)]]
    about_y = [[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]]
    about_z = [[np.cos(z), -np.sin(z), 0], [np.sin(z), np.cos(z), 0], [0, 0, 1]]
    rotation = np.array(about_x) @ np.array(about_y) @ np.array(about_z)
    translation = random.uniform(-0.5, 0.5, 3)
    return np.concatenate([rotation, translation[:, None]], axis=1).astype(np.float32)


def resample(points: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    return points[random.choice(len(points), 717, replace=False)]


def jitter(points: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    points[:, :3] += np.clip(random.normal(0.0, 0.01, size=(len(points), 3)), -0.05, 0.05)
    return points


def contenders(
    corpus: Corpus, batch: int, device: str
) -> dict[str, tuple[int, Callable[[], object]]]:
    """For each name how many pairs a run makes, and the run: a batch, or an epoch of batches."""
    card = get("rpm-crop")
    items = ProtocolDataset(card, corpus, split="train")
    chosen = card.select(corpus, "train")
    shapes = torch.cat([chosen.points, chosen.normals], dim=-1).numpy()
    random = np.random.RandomState(0)
    turn = count()

    def numbers() -> list[int]:
        return [next(turn) % len(items) for _ in range(batch)]

    generator = torch.Generator(device).manual_seed(0)
    made = PairGenerator(card, corpus.to(device), batch_size=batch, generator=generator)

    return {
        RIVAL: (batch, lambda: published_batch(shapes, numbers(), random)),
        "one at a time, ProtocolDataset": (
            batch,
            lambda: collate([items[index] for index in numbers()]),
        ),
        # A whole epoch, because several batches are made at once.
        "PairGenerator": (len(made) * batch, lambda: deque(made, maxlen=1)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="spoonful bench data",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cpu", help="where PairGenerator works")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's")
    parser.add_argument("--batch", type=int, default=32, help="pairs in a batch")
    parser.add_argument("--shapes", type=int, default=4096, help="to train on; ModelNet40: 5112")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each contender")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)

    # Everything in the first half of the categories, which is the one for training.
    corpus = replace(blobs(options.shapes), categories=tuple("abcdefgh"))
    runs = contenders(corpus, options.batch, options.device)
    times = race(
        {name: run for name, (_, run) in runs.items()},
        device=options.device,
        seconds=options.seconds,
    )
    speed = {name: count / times[name] * 1e3 for name, (count, _) in runs.items()}
    rows = [
        [name, f"{per_second:,.0f}", f"{per_second / speed[RIVAL]:.1f}"]
        for name, per_second in speed.items()
    ]
    report = "\n".join(
        [
            f"# Training pairs of rpm-crop ({get('rpm-crop').hash}), with normals",
            "",
            f"{machine(options.device)}, numpy {np.__version__}",
            "",
            f"Batches of {options.batch} pairs, {options.shapes:,} shapes; medians of interleaved "
            "rounds. The rival works in one process, on one core.",
            "",
            table(["how", "pairs/s", "ratio"], rows),
            "",
        ]
    )
    print(report)
    if options.save:
        print("written:", save(f"data-{options.device}.md", report))


if __name__ == "__main__":
    main()
