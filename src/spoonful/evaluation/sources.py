"""Data by name, and methods by name or by file: what users type, turned into objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from spoonful.classical import presets
from spoonful.classical.presets import Tuned
from spoonful.data.corpus import Corpus
from spoonful.data.protocols import Protocol
from spoonful.data.scans import ScanPair
from spoonful.evaluation import methods
from spoonful.evaluation.methods import Method
from spoonful.models import DCP, PointNetLK, RegistrationModel, RPMNet, hub, load_published
from spoonful.names import named
from spoonful.training import checkpoint, corpora, load_model, shipped
from spoonful.training.journal import Journal

_PUBLISHED: dict[str, Callable[[], RegistrationModel]] = {
    "dcp-v1": DCP.v1,
    "dcp-v2": DCP.v2,
    "rpmnet": RPMNet,
    "pointnetlk": PointNetLK,
}


class Scans(list[ScanPair]):
    """Pairs of scans, with the name of their dataset."""

    def __init__(self, name: str, pairs: Iterable[ScanPair]) -> None:
        super().__init__(pairs)
        self.name = name


def open_data(name: str, split: str = "test", protocol: Protocol | None = None) -> Corpus | Scans:
    """Open data by name: built-in shapes, a folder or a file.

    Args:
        name: "synthetic" for the built-in shapes; a folder of clouds and meshes, of ModelNet40's
            HDF5 files, or of 3DMatch's scenes; a file of tensors; or the name of one in the folder
            that the environment variable `SPOONFUL_DATA` names, or in `~/.cache/spoonful`.
            "{split}" in it stands for the split.
        split: "train" or "test".
        protocol: the card that items are made by, which says whether they are of shapes or of
            scans; None for shapes.

    Raises:
        ValueError: there is no such data.
    """
    if protocol is None or protocol.sampling != "given":
        return corpora.load(name, split)
    if name == corpora.SYNTHETIC:
        raise ValueError(
            f"protocol {protocol.name} needs scans, and none are built in: give a folder of scans"
        )
    place = Path(corpora.find_data(name.replace("{split}", split)))
    return Scans(f"{place.name}/{split}", corpora.load_scans(name, protocol, split))


def open_method(text: str, protocol: str | None = None) -> Method:
    """Open a method by name, settings, training run or weights.

    Args:
        text: a registered name ("identity", "icp"); a classical method with other settings,
            "icp@tuned", "icp@rpm-crop" for those tuned on that protocol, or "icp@FILE" for a file
            of `spoonful tune`; a training run's folder or checkpoint; published weights, as
            "dcp-v1:FILE", "dcp-v2:FILE", "rpmnet:FILE" or "pointnetlk:FILE"; or weights that come
            with the package, by the name of their model ("rpmnet") or by their own; a folder of
            `save_pretrained`, "hub:USER/NAME" or "https://ADDRESS#sha256=DIGITS". In front of any
            of these, "LABEL=" gives it another name in tables. After a network, "+icp" adds the
            ICP of its `register`.
        protocol: what it is to be measured on, which "@tuned" looks at.

    >>> open_method("nothing=identity").name
    'nothing'
    >>> open_method("icp").settings
    'published'
    """
    if not text:
        raise ValueError("the name of a method is empty")
    label, mark, rest = text.partition("=")
    if mark and label and not hub.remote(text) and not Path(text).exists():
        return replace(open_method(rest, protocol), name=label)
    if text.endswith("+icp") and not Path(text).exists():
        return methods.with_icp(open_method(text.removesuffix("+icp"), protocol))
    if hub.remote(text) or (Path(text) / hub.FILE).is_file():
        return methods.of_model(text, RegistrationModel.from_pretrained(text), settings="loaded")
    if text in methods.names():
        return methods.get(text)
    name, mark, settings = text.partition("@")
    if mark and name in presets.names():
        return _with_settings(name, settings, protocol)
    kind, mark, file = text.partition(":")
    if mark and kind in _PUBLISHED:
        model = load_published(file, _PUBLISHED[kind]()).eval()
        return methods.of_model(kind, model, settings="published weights")
    if text in shipped.names() or text in _PUBLISHED:
        return _shipped(text)
    if Path(text).exists():
        return _trained(Path(text))
    if mark or os.sep in text or Path(text).suffix:
        known = ", ".join(f"{kind}:FILE" for kind in _PUBLISHED)
        raise ValueError(
            f"no checkpoint at {text!r}; published weights are named with their model: {known}"
        )
    there = (*methods.names(), *shipped.DEFAULTS, *shipped.names())
    # Says which names there are.
    return methods.get(named(text, dict(zip(there, there, strict=True)), what="method"))


def _with_settings(name: str, settings: str, protocol: str | None) -> Method:
    """A classical method with the settings after its "@"."""
    if settings == "published":
        return methods.get(name)
    if settings == "default":
        return methods.of_classical(presets.kind(name).default())
    if settings == "tuned":
        return methods.tuned(name, protocol)
    if Path(settings).is_file():
        found = Tuned.load(settings)
        if found.method != name:
            raise ValueError(f"{settings} holds settings of {found.method}, not of {name}")
        return methods.of_classical(found.build(), search=dict(found.search))
    if settings in presets.tuned_on(name):
        return methods.tuned(name, settings)
    there = ", ".join(["published", "default", "tuned", *presets.tuned_on(name)])
    raise ValueError(f"{name} has no settings {settings!r}; there are: {there}, or a file of them")


def _shipped(name: str) -> Method:
    """Weights that come with the package."""
    own = name if name in shipped.names() else shipped.DEFAULTS.get(name, "")
    if own not in shipped.names():
        raise ValueError(
            f"no weights of {name} come with this package: give a training run's folder, or "
            f"published weights as {name}:FILE"
        )
    about = shipped.card(own)
    facts = {"steps": about.steps, "protocol": about.protocol, "config": dict(about.config)}
    known = {"settings": own, "seed": about.seed, "training": facts}
    return methods.of_model(name, shipped.load(own), **known)


def _trained(path: Path) -> Method:
    """The model of a training run's folder or checkpoint."""
    model = load_model(path)
    facts = training_facts(path)
    name = path.name if path.is_dir() else path.parent.name
    return methods.of_model(name, model, seed=facts["config"]["seed"], training=facts)


def training_facts(path: Path) -> dict[str, Any]:
    """The progress of a run, and all its settings."""
    found = checkpoint.load(path)
    facts: dict[str, Any] = {
        "steps": found.progress.step,
        "seconds": found.progress.seconds,
        "best_epoch": found.progress.best_epoch,
        "validation": found.metrics,
        "protocol": found.protocol,
        "config": found.config.as_dict(),
    }
    folder = path if path.is_dir() else path.parent
    lines = Journal(folder).lines()
    steps = [line["step"] for line in lines if "step" in line]
    if steps and found.progress.step > steps[0]:  # an epoch with steps after it was a whole one
        facts["epochs"] = found.progress.step / steps[0]
    return facts
