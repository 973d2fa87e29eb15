"""The weights that come with the package: small files, each with a card on its origin.

A shipped model is a run's best weights, as `spoonful train` wrote them, possibly in half precision,
and a card beside them: `NAME.json` for programs, `NAME.md` for readers. Loading verifies the file
against the hash in its card.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from spoonful.files import json_ready, write_whole
from spoonful.models import RegistrationModel, hub
from spoonful.names import named
from spoonful.training import checkpoint
from spoonful.version import __version__

FOLDER = Path(__file__).parent.parent / "weights"

# The model behind a method's bare name.
DEFAULTS = {
    "dcp-v2": "dcp-v2-shapes",
    "rpmnet": "rpmnet-shapes",
    "pointnetlk": "pointnetlk-shapes",
}


class DamagedWeights(ValueError):
    """Shipped weights do not match their card."""


@dataclass(frozen=True)
class Card:
    """The description of a shipped model.

    Attributes:
        name: what users type.
        summary: one sentence on it.
        sha256: of the file of weights.
        bytes: its size.
        precision: of the stored weights, "float32" or "float16".
        data: what it was trained on.
        protocol: name and hash of the card its training pairs were made by.
        seed: of the run.
        steps: of the run.
        validation: errors on the validation shapes, by name.
        evaluation: errors on test items: a protocol on data, then a metric, to its mean.
        config: all settings of the run.
        versions: of the libraries and the machine it was trained with.
        licence: of the weights, and a note on that of the data.
    """

    name: str
    summary: str
    sha256: str
    bytes: int
    precision: str
    data: str
    protocol: Mapping[str, str]
    seed: int
    steps: int
    validation: Mapping[str, float]
    evaluation: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    licence: str = ""

    @property
    def layer(self) -> str:
        """The mode of the refinement layer it was trained with."""
        return str(self.config.get("refine", {}).get("mode", "none"))


def names(folder: Path = FOLDER) -> tuple[str, ...]:
    """The names of all shipped models."""
    return tuple(sorted(path.stem for path in folder.glob("*.json")))


def card(name: str, folder: Path = FOLDER) -> Card:
    """The card of a shipped model.

    Raises:
        ValueError: no shipped model has that name.
    """
    cards = {there: folder / f"{there}.json" for there in names(folder)}
    return Card(**json.loads(named(name, cards, what="shipped model").read_text()))


def load(name: str, device: torch.device | str = "cpu", folder: Path = FOLDER) -> RegistrationModel:
    """A shipped model, in float32 and eval mode.

    Args:
        name: one of `names()`.
        device: where to put it.
        folder: where weights are.

    Raises:
        ValueError: no shipped model has that name.
        DamagedWeights: the file is not the one that its card describes.
    """
    about = card(name, folder)
    path = folder / f"{name}.safetensors"
    if not path.is_file():
        raise DamagedWeights(f"{path} is missing; install the package again")
    if _sha256(path) != about.sha256:
        raise DamagedWeights(f"{path} is not what its card says: its SHA-256 differs")
    return checkpoint.load_model(path, device)


def find(where: str | Path) -> RegistrationModel:
    """A shipped model by name; or that of a run, a file of weights or a pulled folder."""
    name = str(where)
    if (Path(where) / hub.FILE).is_file():
        return RegistrationModel.from_pretrained(where)
    if name not in names() and Path(where).exists():
        return checkpoint.load_model(where)
    known = {**DEFAULTS, **{own: own for own in names()}}
    return load(named(name, known, what="run, file of weights or shipped model"))


def publish(
    run: str | Path,
    name: str,
    *,
    summary: str,
    half: bool = False,
    evaluation: Mapping[str, Mapping[str, float]] | None = None,
    versions: Mapping[str, str] | None = None,
    licence: str = "",
    folder: Path = FOLDER,
) -> Card:
    """Add a run's best weights to the shipped ones, with their card.

    Args:
        run: the run's folder, or a file of weights.
        name: for users to type.
        summary: one sentence on it.
        half: store floating-point numbers in half precision.
        evaluation: errors on test items, for the card.
        versions: of libraries and machine, for the card.
        licence: for the card.
        folder: where to.

    Raises:
        ValueError: the name has a folder in it.
    """
    if name != Path(name).name:
        raise ValueError(f"a model's name has no folder in it, got {name!r}")
    found = checkpoint.load(checkpoint.best_of(run))
    weights = found.weights()
    if half:
        weights = {n: w.half() if w.is_floating_point() else w for n, w in weights.items()}
    file = folder / f"{name}.safetensors"
    checkpoint.write(replace(found, path=file, tensors=weights))
    about = Card(
        name=name,
        summary=summary,
        sha256=_sha256(file),
        bytes=file.stat().st_size,
        precision="float16" if half else "float32",
        data=Path(found.config.data.corpus.removesuffix("/train")).name,
        protocol=found.protocol,
        seed=found.config.seed,
        steps=found.progress.step,
        validation=found.metrics,
        evaluation=dict(evaluation or {}),
        config=found.config.as_dict(),
        versions={"spoonful": __version__, **(versions or {})},
        licence=licence,
    )
    write_whole(folder / f"{name}.json", json.dumps(asdict(about), indent=1) + "\n")
    write_whole(folder / f"{name}.md", as_markdown(about))
    return about


def as_markdown(about: Card) -> str:
    """The card as Markdown."""
    rows = [
        ("model", f"{about.config.get('model', '')}, layer: {about.layer}"),
        ("training data", about.data),
        ("protocol", " ".join(about.protocol.values())),
        ("steps, seed", f"{about.steps}, {about.seed}"),
        ("stored as", f"{about.precision}, {about.bytes / 2**20:.1f} MiB"),
        ("SHA-256", f"`{about.sha256}`"),
        ("made with", ", ".join(f"{k} {v}" for k, v in about.versions.items())),
        ("licence", about.licence or "-"),
    ]
    lines = [f"# {about.name}", "", about.summary, "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in rows]
    errors = {"validation shapes": about.validation, **about.evaluation}
    lines += ["", "| measured on | rotation ° | translation |", "|---|---|---|"]
    for where, found in errors.items():
        rotation, shift = found.get("rotation_degrees"), found.get("translation")
        if rotation is not None and shift is not None:
            lines.append(f"| {where} | {rotation:.3g} | {shift:.3g} |")
    lines += ["", "Rotation: mean angle of the difference. Translation: mean length.", ""]
    return "\n".join(lines)


def hub_card(about: Card) -> str:
    """The card as the `README.md` of a hub repository: data that the hub reads, then Markdown."""
    results = [
        {
            "task": {"type": "point-cloud-registration", "name": "Point cloud registration"},
            "dataset": {"type": "point-clouds", "name": where},
            "metrics": [
                {"type": name, "value": found[name]}
                for name in ("rotation_degrees", "translation")
                if name in found
            ],
        }
        for where, found in {"validation shapes": about.validation, **about.evaluation}.items()
    ]
    known = {
        "license": "apache-2.0" if "Apache-2.0" in about.licence else "other",
        "model-index": [{"name": about.name, "results": results}],
    }
    return hub.front_matter(json_ready(known)) + "\n" + as_markdown(about)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
