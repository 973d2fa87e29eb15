"""The model to analyse, pairs to test it on, and how it was trained.

Without a model of your own, a small one is trained in seconds.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from analysis.cases import FORMS, Cases, measure, resized, with_extent
from spoonful.batch import Batch
from spoonful.data import protocols, synthetic
from spoonful.data.collate import collate
from spoonful.data.corpus import Corpus
from spoonful.data.pairs import PairGenerator
from spoonful.data.protocols import Protocol
from spoonful.evaluation import open_data, open_method
from spoonful.geometry import Pose, SpoonfulLayer
from spoonful.geometry.plan import Form
from spoonful.losses import dcp_loss, over_poses
from spoonful.models import DCP, RegistrationModel, RPMNet
from spoonful.models.alignment import align
from spoonful.registration import Registration
from spoonful.training import build, checkpoint, from_dict, override, train
from spoonful.training.config import Config
from spoonful.training.journal import Journal

_SMALL = (
    "name=small DCP",
    "dcp.embedding=pointnet",
    "dcp.emb_dims=32",
    "dcp.ff_dims=64",
    "dcp.n_heads=2",
    "data.protocol=dcp-unseen",
    "data.per_category=6",
    "data.points=96",
    "data.batch_size=8",
    "optimizer.lr=3e-3",
    "budget.steps=108",
    "runtime.device=cpu",
    "runtime.tensorboard=false",
    "runtime.checkpoint_seconds=1e9",
)


class Curve(NamedTuple):
    """The name of a training run, and the lines of its log."""

    name: str
    lines: list[dict[str, Any]]


class Step(NamedTuple):
    """The change that the layer made to one training step, in one form and precision.

    Attributes:
        divergence: the paper's D, the mean over the batch.
        elementwise: the mean over parameters of |g' - g| / |g|, as in the paper.
        relative: |g' - g| / |g| of the whole gradient.
    """

    divergence: float
    elementwise: float
    relative: float


Key = tuple[Form, str]
"""A form, and the precision of the geometry: "float32" or "float64"."""


class Epoch(NamedTuple):
    """Some training steps.

    Attributes:
        cases: the matched clouds of all steps.
        steps: what the layer changed in each step.
        shrunk: the extent of the matches over that of the source, from 1 to 1/50, and what the
            layer would have changed with matches of that extent.
    """

    cases: Cases
    steps: list[dict[Key, Step]]
    shrunk: list[tuple[float, dict[Key, Step]]]


@dataclass
class Subject:
    """A model to analyse.

    Attributes:
        name: as printed.
        model: the network, in eval mode.
        data: the test shapes.
        training_data: the training shapes.
        protocol: the card for making pairs.
        config: how it was trained, if known.
        curves: logs of training runs to show.
        pairs: the number of test pairs.
        steps: the number of training steps, for figures about training.
        batch_size: pairs per step.
    """

    name: str
    model: RegistrationModel
    data: Corpus
    training_data: Corpus
    protocol: Protocol
    config: Config | None = None
    curves: list[Curve] = field(default_factory=list)
    pairs: int = 64
    steps: int = 48
    batch_size: int = 8

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return next(self.model.parameters()).device

    @cached_property
    def batches(self) -> list[Batch]:
        """The test pairs."""
        return self._test_batches(self.protocol)

    @cached_property
    def noisy(self) -> list[Batch]:
        """The test pairs with noise on the source, as in the paper's table of errors."""
        noise = protocols.get("dcp-noise").noise
        return self._test_batches(replace(self.protocol, noise=noise))

    def _test_batches(self, protocol: Protocol) -> list[Batch]:
        from spoonful.data.items import test_items

        items = test_items(protocol, self.data)
        count = min(self.pairs, len(items))
        chosen = [items[i * len(items) // count] for i in range(count)]
        made = []
        for first in range(0, count, self.batch_size):
            batch = replace(collate(chosen[first : first + self.batch_size]), clean=None)
            if not self.model.needs_normals:
                batch = replace(batch, source_normals=None, target_normals=None)
            made.append(batch.to(self.device))
        return made

    @cached_property
    def found(self) -> list[Registration]:
        """The model's results for the test pairs."""
        with torch.no_grad():
            return [self.model(batch) for batch in self.batches]

    @cached_property
    def cases(self) -> Cases:
        """The matched clouds of the test pairs."""
        return Cases.joined(map(_cases, self.batches, self.found))

    @cached_property
    def epoch(self) -> Epoch:
        """Training steps with the layer from fresh weights, as in the paper.

        In each step the gradient of the last layer is computed with and without the refinement,
        from the same matches. Training follows the loss with the target form.
        """
        model = self.fresh().train()
        lr = 1e-3 if self.config is None else self.config.optimizer.lr
        adam = torch.optim.Adam(model.parameters(), lr=lr)
        cases, steps, shrunk = [], [], []
        for number, batch in enumerate(self.training_batches(self.steps)):
            found = model(batch)
            changes, loss = compared(model, found, batch)
            cases.append(_cases(batch, found))
            steps.append(changes)
            extent = 50 ** (-number / max(1, self.steps - 1))
            shrunk.append((extent, compared(model, found, batch, extent)[0]))
            adam.zero_grad()
            loss.backward()
            adam.step()
        return Epoch(Cases.joined(cases), steps, shrunk)

    @cached_property
    def measured(self) -> dict[str, Tensor]:
        """`measure` of the cases of `epoch`, then of the same with resized matches.

        In target form and float32, as in the paper.
        """
        both = [measure(some, "target") for some in (self.epoch.cases, resized(self.epoch.cases))]
        return {name: torch.cat([each[name] for each in both]) for name in both[0]}

    def training_batches(self, count: int) -> Iterator[Batch]:
        """`count` batches of training pairs."""
        corpus = self.protocol.select(self.training_data, "train").to(self.device)
        source = PairGenerator(
            replace(self.protocol, categories="all"),
            corpus,
            batch_size=min(self.batch_size, len(corpus)),
            generator=torch.Generator(self.device).manual_seed(0),
            normals=self.model.needs_normals,
        )
        taken = 0
        while True:
            for batch in source:
                if taken == count:
                    return
                taken += 1
                yield batch

    def fresh(self) -> RegistrationModel:
        """The network before training; a copy of the model if its configuration is not known."""
        if self.config is None:
            return without_layer(copy.deepcopy(self.model))
        torch.manual_seed(self.config.seed)
        return without_layer(build.model(self.config)).to(self.device)


def without_layer(model: RegistrationModel) -> RegistrationModel:
    """The model with Kabsch alone: the analysis refines its matches separately."""
    if isinstance(model, (DCP, RPMNet)):
        model.refine = None
    return model


def compared(
    model: RegistrationModel, found: Registration, batch: Batch, extent: float | None = None
) -> tuple[dict[Key, Step], Tensor]:
    """A training step's gradients with and without the layer, from the same matches.

    Args:
        model: the network.
        found: its results for the batch, with gradients.
        batch: the pairs.
        extent: scale the matches first, to this many times the extent of the source.

    Returns:
        What the layer changes in the last layer's gradient, and the loss with the layer in target
        form.
    """
    truth = batch.pose
    if found.matches is None or truth is None:
        raise ValueError("this needs a model that matches points, and pairs with known poses")
    parameters = last_layer(model)
    matches, weights = found.matches, found.weights
    if extent is not None:
        matches = with_extent(matches, batch.source, extent, weights)

    def loss_of(layer: SpoonfulLayer | None, dtype: torch.dtype) -> tuple[Tensor, Pose]:
        poses = align(
            layer,
            batch.source.to(dtype),
            matches.to(dtype),
            weights=None if weights is None else weights.to(dtype),
            mask=batch.source_mask,
        )
        true = truth.to(dtype)
        return over_poses(lambda pose: dcp_loss(pose, true), poses), poses

    def gradient(loss: Tensor) -> Tensor:
        parts = torch.autograd.grad(loss, parameters, retain_graph=True)
        return torch.cat([part.flatten() for part in parts]).double()

    changes: dict[Key, Step] = {}
    total = torch.zeros(())
    for precision, dtype in (("float32", matches.dtype), ("float64", torch.float64)):
        plain = gradient(loss_of(None, dtype)[0])
        for form in FORMS:
            loss, poses = loss_of(SpoonfulLayer(form=form), dtype)
            if (form, precision) == ("target", "float32"):
                total = loss
            rotation = poses.rotation.detach()
            gaps = torch.linalg.matrix_norm(rotation[:, 1:] - rotation[:, :1]).sum(1)
            difference = (gradient(loss) - plain).abs()
            kept = plain != 0
            changes[form, precision] = Step(
                float(gaps.mean()),
                float((difference[kept] / plain[kept].abs()).mean()),
                float(difference.norm() / plain.norm()),
            )
    return changes, total


def last_layer(model: nn.Module) -> list[Tensor]:
    """The parameters of the last layer before the matches.

    For DCP-v2, scale and shift of the norm at the end of its decoder, as in the paper.

    >>> [tuple(p.shape) for p in last_layer(DCP(emb_dims=32, ff_dims=64))]
    [(32,), (32,)]
    """
    part = model
    if isinstance(model, DCP):
        part = model.pointer if any(True for _ in model.pointer.parameters()) else model.emb_nn
    elif isinstance(model, RPMNet):
        part = model.feat_extractor
    layers = [list(module.parameters(recurse=False)) for module in part.modules()]
    learned: list[list[Tensor]] = [[p for p in own if p.requires_grad] for own in layers]
    return [own for own in learned if own][-1]


def _cases(batch: Batch, found: Registration) -> Cases:
    if found.matches is None:
        raise ValueError("this model makes no matches, and there is nothing to refine")
    weights = None if found.weights is None else found.weights.detach().float().cpu()
    return Cases(batch.source.cpu(), found.matches.detach().float().cpu(), weights)


def small(*, pairs: int = 64, steps: int = 48, trained: bool = True) -> Subject:
    """A small DCP, trained for seconds on the built-in shapes: with Kabsch, and perturbed.

    Args:
        pairs: the number of test pairs.
        steps: the number of training steps, for figures about training.
        trained: False leaves it untrained and without curves, for figures that do not need it.
    """
    curves: list[Curve] = []
    config = override(Config(), _SMALL)
    model = build.model(config).eval()
    train_shapes, test_shapes = (
        synthetic.load(split, per_category=6, points=192) for split in ("train", "test")
    )
    modes = {"perturbed start, 60°": "perturbed", "Kabsch alone": "none"} if trained else {}
    for label, mode in modes.items():
        with tempfile.TemporaryDirectory() as folder:
            chosen = override(config, [f"refine={mode}"])
            train(chosen, out=folder, corpus=train_shapes, quiet=True)
            curves.insert(0, Curve(label, _log(Path(folder))))
            model = checkpoint.load_model(folder)
    return Subject(
        "a small DCP, trained briefly on the built-in shapes",
        model,
        test_shapes,
        train_shapes,
        build.protocol(config),
        config,
        curves,
        pairs,
        steps,
    )


def open_subject(
    model: str,
    *,
    data: str = "synthetic",
    protocol: str | None = None,
    points: int | None = None,
    pairs: int = 64,
    steps: int = 48,
    batch_size: int = 8,
    runs: Sequence[str | Path] = (),
    device: str = "cpu",
) -> Subject:
    """A model of yours.

    Args:
        model: a training run's folder or checkpoint, published weights as "dcp-v2:FILE", or the
            name of weights that come with the package.
        data: as for `spoonful evaluate`.
        protocol: a card; None for the one it was trained with, or dcp-unseen.
        points: points per cloud; None for the card's.
        pairs: the number of test pairs.
        steps: the number of training steps, for figures about training.
        batch_size: pairs per batch.
        runs: folders of training runs, or of experiment results, whose logs are shown.
        device: the device to compute on.

    Raises:
        ValueError: it is not a model that matches points.
    """
    method = open_method(model)
    network = method.run
    if not isinstance(network, RegistrationModel):
        raise ValueError(f"{model} is no network; the analysis is of networks that match points")
    known = method.training.get("config")
    config = None if known is None else from_dict(known)
    card = protocols.get(protocol or ("dcp-unseen" if config is None else config.data.protocol))
    points = points or (None if config is None else config.data.points)
    if points is not None:
        card = replace(card, points=points)
    corpus, others = open_data(data, "test", card), open_data(data, "train", card)
    if not isinstance(corpus, Corpus) or not isinstance(others, Corpus):
        raise ValueError(f"the analysis is of shapes, and {data} holds scans")
    curves = []
    if Path(model).exists():
        folder = Path(model) if Path(model).is_dir() else Path(model).parent
        if lines := _log(folder):
            curves.append(Curve(folder.name, lines))
    for run in runs:
        curves += read_curves(run)
    network = without_layer(network).to(device).eval()
    return Subject(
        method.name, network, corpus, others, card, config, curves, pairs, steps, batch_size
    )


def read_curves(folder: str | Path) -> list[Curve]:
    """The logs in a folder: of one training run, or of each run of an experiment's results."""
    folder = Path(folder)
    if lines := _log(folder):
        return [Curve(folder.name, lines)]
    found = []
    for path in sorted(folder.glob("*-seed*.json")):
        content = json.loads(path.read_text())
        first = {"step": 0, "validation": content["untrained"]}
        found.append(Curve(f"{content['model']} {content['condition']}", [first, *content["log"]]))
    if not found:
        raise ValueError(f"{folder} holds no log of a training run, and no results of experiments")
    return found


def _log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's log, after one for the untrained network if its errors are known."""
    lines = Journal(folder).lines()
    result = folder / checkpoint.RESULT
    if lines and result.is_file():
        untrained = json.loads(result.read_text())["untrained"]
        return [{"step": 0, "validation": untrained}, *lines]
    return lines
