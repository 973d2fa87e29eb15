"""The contract of learned registration models."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from spoonful.batch import Batch
from spoonful.data.sampling import check_cloud
from spoonful.frame import Frame
from spoonful.geometry import Pose, SpoonfulLayer
from spoonful.geometry.checks import check_count, check_float
from spoonful.models import hub
from spoonful.models.polish import polish as polish_pose
from spoonful.models.precision import at_least_float32
from spoonful.registration import Registration


class RegistrationModel(nn.Module, ABC):
    """A network that registers batches and single pairs, and has a loss.

    To write one, implement `forward` and `loss`; `register` comes with it.

    >>> class Centroids(RegistrationModel):
    ...     def forward(self, batch):
    ...         shift = batch.target.mean(1) - batch.source.mean(1)
    ...         return Registration(Pose(torch.eye(3).expand(len(batch), 3, 3), shift))
    ...     def loss(self, output, batch):
    ...         return (output.pose.translation - batch.pose.translation).square().mean()
    >>> cloud = torch.rand(200, 3, generator=torch.Generator().manual_seed(0))
    >>> Centroids().register(cloud, cloud + 5).pose.translation.round(decimals=3)
    tensor([5., 5., 5.])
    """

    _built_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep the arguments, for `save_pretrained`."""
        self = super().__new__(cls)
        object.__setattr__(self, "_built_with", (args, kwargs))
        return self

    @property
    def needs_normals(self) -> bool:
        """True if batches must have normals."""
        return False

    @abstractmethod
    def forward(self, batch: Batch) -> Registration:
        """Register every pair of the batch, padding left out of everything."""

    @abstractmethod
    def loss(self, output: Registration, batch: Batch) -> Tensor:
        """The training loss of `output`, a scalar; `batch.pose` must be known."""

    def compile_parts(self, **options: Any) -> None:
        """Compile the network's parts one by one with `torch.compile`, in place.

        This is as fast as compiling the whole model and compiles much sooner: a part used in every
        iteration is compiled once. Parameter names do not change.

        Args:
            options: for `torch.compile`, e.g. `mode="max-autotune-no-cudagraphs"`.
        """
        for part in self.children():
            if not isinstance(part, SpoonfulLayer):
                part.compile(**options)

    def save_pretrained(self, folder: str | os.PathLike[str], *, card: str = "") -> Path:
        """Write `model.safetensors` and `README.md`, which `from_pretrained` and the hub read.

        Args:
            folder: where to write; made if it is missing.
            card: the text of `README.md`; a short one is made if it is empty.

        Raises:
            TypeError: the model was not built with keyword arguments of plain values.
            OSError: the disk is full, for example; no partial file is left.

        >>> import tempfile
        >>> from spoonful.models import DCP
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = DCP(emb_dims=16, ff_dims=16).save_pretrained(folder)
        ...     type(RegistrationModel.from_pretrained(path)).__name__
        'DCP'
        """
        args, arguments = self._built_with
        if args:
            raise TypeError(f"{type(self).__name__} must be built with keyword arguments only")
        if "refine" in arguments:  # it may have been exchanged
            arguments = {**arguments, "refine": self.refine}
        return hub.save(self, arguments, Path(folder), card)

    @classmethod
    def from_pretrained(
        cls, where: str | os.PathLike[str], *, device: torch.device | str = "cpu"
    ) -> Self:
        """A model that `save_pretrained` wrote, in eval mode.

        `RegistrationModel.from_pretrained` loads any model, `DCP.from_pretrained` only a DCP.

        Args:
            where: a file; a folder; a hub name "USER/NAME" or "USER/NAME@REVISION", for which
                `pip install 'spoonful[hub]'`; or "https://ADDRESS#sha256=DIGITS".
            device: where to put it.

        Raises:
            ValueError: nothing is there, or it is not such a model.
            OSError: the network or the disk failed; no partial file is left.
        """
        return hub.load(where, cls).to(device).eval()

    @torch.no_grad()
    def register(
        self,
        source: Tensor,
        target: Tensor,
        *,
        source_normals: Tensor | None = None,
        target_normals: Tensor | None = None,
        max_points: int = 1024,
        normalize: bool = True,
        polish: int = 20,
        seed: int = 0,
    ) -> Registration:
        """Register one pair of clouds of any size and scale, on any device.

        The network sees at most `max_points` of each cloud, drawn at random; its pose is then
        improved with all the points. The model works in eval mode, on its own device; the result
        is on the device of `source`.

        Args:
            source: (N, 3).
            target: (M, 3).
            source_normals: (N, 3) unit normals, for models that need them (`needs_normals`).
            target_normals: (M, 3), likewise.
            max_points: how many points of a cloud the network sees.
            normalize: shift each cloud's centroid to the origin and divide both by one length,
                so that they fill the unit ball the published networks were trained in. Without
                it the network sees the coordinates as they are.
            polish: at most this many rounds of ICP after the network; 0 for the network alone.
            seed: of the random choices.

        Returns:
            `Registration`, without batch dimension. `poses` are the network's pose, then the
            final one.

        Raises:
            ValueError: a cloud is not (N, 3), has fewer than 3 points or values that are not
                finite, normals are missing, or there would be no points to see.
        """
        check_count("max_points", max_points, least=3)
        check_count("polish", polish, least=0)
        for name, points, normals in (
            ("source", source, source_normals),
            ("target", target, target_normals),
        ):
            check_cloud(points, name, least=3)
            if self.needs_normals:
                _check_normals(name, normals, points, type(self).__name__)
        weight = next(self.parameters(), torch.empty(0, device=source.device))
        generator = torch.Generator().manual_seed(seed)
        a = _network_input(source, source_normals, max_points, generator, weight.device)
        b = _network_input(target, target_normals, max_points, generator, weight.device)

        frame = Frame.of(a.sample, b.sample)
        if not normalize:
            zero = torch.zeros_like(frame.source_center)
            frame = Frame(zero, zero, torch.ones_like(frame.scale))
        elif not frame.scale > 0:
            frame = frame._replace(scale=torch.ones_like(frame.scale))
        batch = Batch(
            source=frame.source_in(a.sample).to(weight.dtype).unsqueeze(0),
            target=frame.target_in(b.sample).to(weight.dtype).unsqueeze(0),
            source_normals=None if a.normals is None else a.normals.to(weight.dtype).unsqueeze(0),
            target_normals=None if b.normals is None else b.normals.to(weight.dtype).unsqueeze(0),
        )
        with evaluating(self):
            found: Pose = self(batch).pose
        first = frame.pose_out(found.at(0)).to(a.sample.dtype)
        final = polish_pose(a.full, b.full, first, iterations=polish, generator=generator)
        poses = Pose(*(torch.stack(parts) for parts in zip(first, final, strict=True)))
        return Registration(final.to(source.device), poses.to(source.device))


class _NetworkInput(NamedTuple):
    """A cloud on the model's device, and what the network sees of it."""

    full: Tensor
    sample: Tensor
    normals: Tensor | None


def _network_input(
    points: Tensor,
    normals: Tensor | None,
    most: int,
    generator: torch.Generator,
    device: torch.device,
) -> _NetworkInput:
    """All points in their order, or `most` of them at random if there are more."""
    full = at_least_float32(points.detach()).to(device)
    chosen = torch.arange(len(points))
    if len(points) > most:
        chosen = torch.randperm(len(points), generator=generator)[:most]
    chosen = chosen.to(device)
    return _NetworkInput(
        full, full[chosen], None if normals is None else normals.detach().to(device)[chosen]
    )


def known_pose(batch: Batch) -> Pose:
    """The batch's true pose, which a loss needs."""
    if batch.pose is None:
        raise ValueError("the loss needs the true pose, but batch.pose is None")
    return batch.pose


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode for a while; every part then returns to the mode it was in."""
    training = [part for part in model.modules() if part.training]
    model.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def _check_normals(name: str, normals: Tensor | None, points: Tensor, model: str) -> None:
    if normals is None:
        raise ValueError(f"{model} reads normals, but {name}_normals is None")
    check_float(f"{name}_normals", normals)
    if normals.shape != points.shape:
        raise ValueError(
            f"{name}_normals must be {tuple(points.shape)} like {name}, got {tuple(normals.shape)}"
        )
