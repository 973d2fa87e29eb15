"""What is analysed: a model, pairs to try it on, and how it was trained.

Without a model of your own, one so small that it trains in seconds stands in for it.
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

from spoonful.analysis.cases import FORMS, Cases, measure, resized, with_extent
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
    """How a training run went: its name, and values over steps, from the lines of its log."""

    name: str
    lines: list[dict[str, Any]]


class Step(NamedTuple):
    """What the layer changed in one training step, in one form and precision of the geometry.

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
    """A stretch of training.

    Attributes:
        cases: the matched clouds it met.
        steps: what the layer changed in each step.
        shrunk: what it would have changed, had the matches had another extent: 1 to 1/50 of the
            source's.
    """

    cases: Cases
    steps: list[dict[Key, Step]]
    shrunk: list[tuple[float, dict[Key, Step]]]


@dataclass
class Subject:
    """A model to be analysed.

    Attributes:
        name: as printed.
        model: the network, in eval mode.
        data: the shapes to test on.
        training_data: those to train on.
        protocol: the card pairs are made by.
        config: how it was trained, where that is known.
        curves: logs of training runs to show, its own first.
        pairs: how many test pairs to look at.
        steps: how many training steps to take for what is measured in training.
        batch_size: pairs in such a step.
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
        """Where the model is."""
        return next(self.model.parameters()).device

    @cached_property
    def batches(self) -> list[Batch]:
        """The test pairs."""
        return self._test_batches(self.protocol)

    @cached_property
    def noisy(self) -> list[Batch]:
        """The test pairs with noise on the source, which the paper's table of errors is of."""
        noise = protocols.get("dcp-noise").noise
        return self._test_batches(replace(self.protocol, noise=noise))

    def _test_batches(self, protocol: Protocol) -> list[Batch]:
        from spoonful.data.items import test_items

        items = test_items(protocol, self.data)
        count = min(self.pairs, len(items))
        chosen = [items[i * len(items) // count] for i in range(count)]
        size = self.batch_size
        made = [collate(chosen[i : i + size]) for i in range(0, count, size)]
        return [self._dressed(batch) for batch in made]

    def _dressed(self, batch: Batch) -> Batch:
        batch = replace(batch, clean=None)
        if not self.model.needs_normals:
            batch = replace(batch, source_normals=None, target_normals=None)
        return batch.to(self.device)

    @cached_property
    def found(self) -> list[Registration]:
        """What the model makes of the test pairs."""
        with torch.no_grad():
            return [self.model(batch) for batch in self.batches]

    @cached_property
    def cases(self) -> Cases:
        """The test pairs as the layer would meet them."""
        return Cases.joined(
            _cases(batch, found) for batch, found in zip(self.batches, self.found, strict=True)
        )

    @cached_property
    def epoch(self) -> Epoch:
        """A stretch of training with the layer, from fresh weights, as in the paper.

        In each step the gradient of the last layer is taken with and without the refinement, from
        the same matches; training follows the one with it, in target form.
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
        """`measure` of the cases of that epoch, and then of the same with resized matches.

        In target form and float32, as in the paper.
        """
        both = [measure(some, "target") for some in (self.epoch.cases, resized(self.epoch.cases))]
        return {name: torch.cat([each[name] for each in both]) for name in both[0]}

    def training_batches(self, count: int) -> Iterator[Batch]:
        """Pairs as the model is trained on."""
        corpus = self.protocol.select(self.training_data, "train").to(self.device)
        everything = replace(self.protocol, categories="all")
        generator = torch.Generator(self.device).manual_seed(0)
        source = PairGenerator(
            everything,
            corpus,
            batch_size=min(self.batch_size, len(corpus)),
            generator=generator,
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
        """The same network as it was before training, or a copy of it where that is not known."""
        if self.config is None:
            return without_layer(copy.deepcopy(self.model))
        torch.manual_seed(self.config.seed)
        return without_layer(build.model(self.config)).to(self.device)


def without_layer(model: RegistrationModel) -> RegistrationModel:
    """The model with Kabsch alone: refinements are made of its matches, beside it."""
    if isinstance(model, (DCP, RPMNet)):
        model.refine = None
    return model


def compared(
    model: RegistrationModel, found: Registration, batch: Batch, extent: float | None = None
) -> tuple[dict[Key, Step], Tensor]:
    """A training step's gradients with and without the layer, from the same matches.

    Args:
        model: the network.
        found: what it made of the batch, with gradients.
        batch: the pairs.
        extent: scale the matches first, to so many times the extent of the source.

    Returns:
        What the layer changes in the last layer's gradient, and the loss with the layer in target
        form, to train on.
    """
    truth = batch.pose
    if found.matches is None or truth is None:
        raise ValueError("this needs a model that matches points, and pairs with known poses")
    parameters = last_layer(model)
    source, matches, weights = batch.source, found.matches, found.weights
    if extent is not None:
        matches = with_extent(matches, source, extent, weights)
    changes: dict[Key, Step] = {}
    total = torch.zeros(())
    for precision, dtype in (("float32", matches.dtype), ("float64", torch.float64)):
        here = _Matched(
            source.to(dtype),
            matches.to(dtype),
            None if weights is None else weights.to(dtype),
            batch.source_mask,
            truth.to(dtype),
        )
        plain = _gradient(here.loss(None)[0], parameters)
        for form in FORMS:
            loss, poses = here.loss(SpoonfulLayer(form=form))
            if (form, precision) == ("target", "float32"):
                total = loss
            rotation = poses.rotation.detach()
            gaps = torch.linalg.matrix_norm(rotation[:, 1:] - rotation[:, :1]).sum(1)
            difference = (_gradient(loss, parameters) - plain).abs()
            kept = plain != 0
            changes[form, precision] = Step(
                float(gaps.mean()),
                float((difference[kept] / plain[kept].abs()).mean()),
                float(difference.norm() / plain.norm()),
            )
    return changes, total


class _Matched(NamedTuple):
    """Matched clouds in some precision, and the poses they should have."""

    source: Tensor
    matches: Tensor
    weights: Tensor | None
    mask: Tensor | None
    truth: Pose

    def loss(self, layer: SpoonfulLayer | None) -> tuple[Tensor, Pose]:
        """DCP's loss over the poses of Kabsch and a layer, and these poses."""
        poses = align(layer, self.source, self.matches, weights=self.weights, mask=self.mask)
        return over_poses(lambda pose: dcp_loss(pose, self.truth), poses), poses


def _gradient(loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    parts = torch.autograd.grad(loss, parameters, retain_graph=True)
    return torch.cat([part.flatten() for part in parts]).double()


def last_layer(model: nn.Module) -> list[Tensor]:
    """The parameters of the last layer before matches are made.

    Of DCP-v2 these are scale and shift of the norm at the end of its decoder, as in the paper.

    >>> [tuple(p.shape) for p in last_layer(DCP(emb_dims=32, ff_dims=64))]
    [(32,), (32,)]
    """
    part = model
    if isinstance(model, DCP):
        part = model.pointer if any(True for _ in model.pointer.parameters()) else model.emb_nn
    elif isinstance(model, RPMNet):
        part = model.feat_extractor
    leaves = [
        own
        for module in part.modules()
        if (own := [p for p in module.parameters(recurse=False) if p.requires_grad])
    ]
    return list(leaves[-1])


def _cases(batch: Batch, found: Registration) -> Cases:
    if found.matches is None:
        raise ValueError("this model makes no matches, and there is nothing to refine")
    weights = None if found.weights is None else found.weights.detach().float().cpu()
    return Cases(batch.source.cpu(), found.matches.detach().float().cpu(), weights)


# --- where subjects come from ---


def small(*, pairs: int = 64, steps: int = 48, trained: bool = True) -> Subject:
    """A little DCP, trained for some seconds on the embedded corpus: with Kabsch, and perturbed.

    Args:
        pairs: test pairs to look at.
        steps: training steps to take where training is looked at.
        trained: False leaves it as it is made, without curves, for what does not look at it.
    """
    curves: list[Curve] = []
    config = override(Config(), _SMALL)
    model = build.model(config).eval()
    shapes = {
        split: synthetic.load(split, per_category=6, points=192) for split in ("train", "test")
    }
    modes = {"perturbed start, 60°": "perturbed", "Kabsch alone": "none"} if trained else {}
    for label, mode in modes.items():
        with tempfile.TemporaryDirectory() as folder:
            train(
                override(config, [f"refine={mode}"]),
                out=folder,
                corpus=shapes["train"],
                quiet=True,
            )
            curves.insert(0, Curve(label, _log(Path(folder))))
            model = checkpoint.load_model(folder)
    return Subject(
        name="a small DCP, trained briefly on the embedded corpus",
        model=model,
        data=shapes["test"],
        training_data=shapes["train"],
        protocol=build.protocol(config),
        config=config,
        curves=curves,
        pairs=pairs,
        steps=steps,
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
        points: of a cloud; None for the card's.
        pairs: test pairs to look at.
        steps: training steps to take where training is looked at.
        batch_size: of both.
        runs: folders of training runs, or of results of the experiment, whose logs are shown.
        device: where.

    Raises:
        ValueError: it is not a model that matches points.
    """
    method = open_method(model)
    network = method.run
    if not isinstance(network, RegistrationModel):
        raise ValueError(f"{model} is no network; the analysis is of networks that match points")
    known = method.training.get("config")
    config = None if known is None else from_dict(known)
    name = protocol or (config.data.protocol if config is not None else "dcp-unseen")
    card = protocols.get(name)
    if points is not None:
        card = replace(card, points=points)
    elif config is not None:
        card = card if config.data.points is None else replace(card, points=config.data.points)
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
    return Subject(
        method.name,
        without_layer(network).to(device).eval(),
        corpus,
        others,
        card,
        config,
        curves,
        pairs,
        steps,
        batch_size,
    )


def read_curves(folder: str | Path) -> list[Curve]:
    """The logs in a folder: of one training run, or of each run of the experiment's results."""
    folder = Path(folder)
    if lines := _log(folder):
        return [Curve(folder.name, lines)]
    found = []
    for path in sorted(folder.glob("*-seed*.json")):
        content = json.loads(path.read_text())
        first = {"step": 0, "validation": content["untrained"]}
        name = f"{content['model']} {content['condition']}"
        found.append(Curve(name, [first, *content["log"]]))
    if not found:
        raise ValueError(f"{folder} holds no log of a training run, and no results of experiments")
    return found


def _log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's log, after one of the untrained network where that is known."""
    lines = Journal(folder).lines()
    result = folder / checkpoint.RESULT
    if lines and result.is_file():
        untrained = json.loads(result.read_text())["untrained"]
        return [{"step": 0, "validation": untrained}, *lines]
    return lines
