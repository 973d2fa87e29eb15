"""Data by name, and methods by name or by file: what users type, turned into objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from spoonful.data import modelnet40, places
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Protocol
from spoonful.data.scans import ScanPair
from spoonful.data.threedmatch import load_pairs
from spoonful.evaluation import methods
from spoonful.evaluation.methods import Method
from spoonful.evaluation.trained import open_corpus, open_trained
from spoonful.models import DCP, RegistrationModel, RPMNet, load_published

SYNTHETIC = "synthetic"
"""The embedded corpus, for those who have no data."""

_PUBLISHED: dict[str, Callable[[], RegistrationModel]] = {
    "dcp-v1": DCP.v1,
    "dcp-v2": DCP.v2,
    "rpmnet": RPMNet,
}


class Scans(list[ScanPair]):
    """Pairs of scans, with the name of what they are from."""

    def __init__(self, name: str, pairs: Iterable[ScanPair]) -> None:
        super().__init__(pairs)
        self.name = name


def open_data(name: str, split: str = "test", protocol: Protocol | None = None) -> Corpus | Scans:
    """The data called `name`.

    Args:
        name: "synthetic" for the embedded corpus; a folder in the layout of ModelNet40's HDF5
            files, or of 3DMatch's scenes; a file of tensors; or the name of one in the folder that
            the environment variable `SPOONFUL_DATA` names, or in `~/.cache/spoonful`. "{split}"
            in it stands for the split.
        split: "train" or "test".
        protocol: the card that items are made by, which says whether they are of shapes or of
            scans; None for shapes.

    Raises:
        ValueError: there is no such data.
    """
    if protocol is None or protocol.sampling != "given":
        return open_corpus(find_data(name), split)
    if name == SYNTHETIC:
        raise ValueError(
            f"protocol {protocol.name} is of scans, and none are embedded: give a folder with them"
        )
    folder = find_data(name.replace("{split}", split))
    pairs = load_pairs(folder, min_overlap=protocol.min_overlap or 0.0, points=protocol.points)
    return Scans(f"{Path(folder).name}/{split}", pairs)


def find_data(name: str) -> str:
    """Where the data called `name` is: "synthetic", or the path of a folder or file."""
    if name == SYNTHETIC:
        return name
    path = Path(name).expanduser()
    if path.exists() or "{split}" in name:
        return str(path)
    aliases = modelnet40.NAMES if name == "modelnet40" else ()
    for folder in places.folders():
        for alias in (name, *aliases):
            if (folder / alias).exists():
                return str(folder / alias)
    looked = ", ".join(map(str, places.folders()))
    raise ValueError(
        f"no data named {name!r}: it is neither {SYNTHETIC!r}, nor a folder or file, nor in "
        f"{looked} (set {places.VARIABLE} to the folder that has your datasets)"
    )


def open_method(text: str) -> Method:
    """The method that `text` names.

    Args:
        text: a registered name ("identity", "icp"); a training run's folder or checkpoint; or
            published weights, as "dcp-v1:FILE", "dcp-v2:FILE" or "rpmnet:FILE". In front of any
            of these, "LABEL=" gives it another name in tables.

    >>> open_method("nothing=identity").name
    'nothing'
    """
    label, mark, rest = text.partition("=")
    if mark and label and not Path(text).exists():
        return replace(open_method(rest), name=label)
    if text in methods.names():
        return methods.get(text)
    kind, mark, file = text.partition(":")
    if mark and kind in _PUBLISHED:
        model = load_published(file, _PUBLISHED[kind]()).eval()
        return methods.of_model(kind, model, settings="published weights")
    if Path(text).exists():
        return open_trained(Path(text))
    if mark or os.sep in text or Path(text).suffix:
        known = ", ".join(f"{kind}:FILE" for kind in _PUBLISHED)
        raise ValueError(
            f"no checkpoint at {text!r}; published weights are named with their model: {known}"
        )
    return methods.get(text)  # says which names there are
