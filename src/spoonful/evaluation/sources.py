"""Data by name, and methods by name or by file: what users type, turned into objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spoonful.data.corpus import Corpus
from spoonful.evaluation import methods
from spoonful.evaluation.methods import Method
from spoonful.evaluation.trained import open_corpus, open_trained
from spoonful.models import DCP, RegistrationModel, RPMNet, load_published

FOLDER = "SPOONFUL_DATA"
"""The environment variable that names a folder with datasets."""

SYNTHETIC = "synthetic"
"""The embedded corpus, for those who have no data."""

_PUBLISHED: dict[str, Callable[[], RegistrationModel]] = {
    "dcp-v1": DCP.v1,
    "dcp-v2": DCP.v2,
    "rpmnet": RPMNet,
}


def open_data(name: str, split: str = "test") -> Corpus | Sequence[Any]:
    """The data called `name`.

    Args:
        name: "synthetic" for the embedded corpus; a folder in the layout of ModelNet40's HDF5
            files; a file of tensors, "{split}" in its name standing for the split; or the name of
            either in the folder that the environment variable `SPOONFUL_DATA` names.
        split: "train" or "test".

    Raises:
        ValueError: there is no such data.
    """
    return open_corpus(find_data(name), split)


def find_data(name: str) -> str:
    """Where the data called `name` is: "synthetic", or the path of a folder or file."""
    home = os.environ.get(FOLDER)
    tried = [Path(name).expanduser()]
    tried += [Path(home).expanduser() / name] if home else []
    for path in tried:
        if name == SYNTHETIC or path.exists() or "{split}" in name:
            return name if name == SYNTHETIC else str(path)
    hint = "" if home else f" (set {FOLDER} to the folder that has your datasets)"
    raise ValueError(
        f"no data named {name!r}: it is neither {SYNTHETIC!r} nor a folder or file; tried "
        f"{', '.join(map(str, tried))}{hint}"
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
