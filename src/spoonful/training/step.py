"""One step of optimisation: forward, backward, and a guard against losses that are not finite.

Nothing here waits for the device. The device itself skips a batch without a finite loss: weights,
Adam's moments and batch statistics stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.geometry import Pose
from spoonful.geometry.neighbors import nearest
from spoonful.losses import extent_loss, match_loss
from spoonful.models import RegistrationModel
from spoonful.registration import Registration
from spoonful.training.config import Loss, Optimizer
from spoonful.training.distributed import Group

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
# A source point has a counterpart if the target has a point this near to its true place. This is
# about two spacings of a thousand points on a shape in the unit ball, and ten times the noise.
_OVERLAP = 0.1


class StepOutcome(NamedTuple):
    """The outcome of a step, still on the device.

    Attributes:
        loss: its loss, over all processes.
        norm: the gradient's norm before it was clipped.
        skipped: 1 where loss or gradient were not finite, else 0.
        pose: the poses found.
    """

    loss: Tensor
    norm: Tensor
    skipped: Tensor
    pose: Pose


class Stepper:
    """A model with its optimiser.

    Args:
        model: the network, on its device.
        settings: of Adam.
        terms: weights of the losses beside the model's own.
        bf16: whether the network runs in bfloat16; geometry never does.
        group: the processes that share each batch.
    """

    def __init__(
        self,
        model: RegistrationModel,
        settings: Optimizer,
        *,
        terms: Loss | None = None,
        bf16: bool = False,
        group: Group | None = None,
    ) -> None:
        self.model = model
        self.settings = settings
        self.terms = terms or Loss()
        self.bf16 = bf16
        self.group = group or Group()
        self._named = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._parameters: list[Tensor] = list(self._named.values())
        self._buffers = list(model.buffers())
        self._device = self._parameters[0].device
        on_cuda = self._device.type == "cuda"
        # On the device, where the rate too can change between replays of a recorded step.
        rate = torch.tensor(settings.lr, device=self._device) if on_cuda else settings.lr
        self._adam = torch.optim.Adam(
            self._parameters,
            lr=rate,
            weight_decay=settings.weight_decay,
            fused=True,  # the fused kernels can skip a step by a flag on the device
            capturable=on_cuda,
        )
        self.average: dict[str, Tensor] = {}
        if settings.ema:
            self.average = {name: p.detach().clone() for name, p in self._named.items()}

    def network(self) -> torch.autocast:
        """The context the network runs in."""
        return torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self.bf16)

    def forward(self, batch: Batch) -> Registration:
        """Register a batch in the mode the model is in."""
        with self.network():
            found: Registration = self.model(batch)
        return found

    def __call__(self, batch: Batch, lr: float) -> StepOutcome:
        """Take a step on this process' slice of `batch`."""
        self.set_rate(lr)
        return self.step(batch)

    def set_rate(self, lr: float) -> None:
        """Set the learning rate of the steps to come."""
        group = self._adam.param_groups[0]
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(lr)
        else:
            group["lr"] = lr

    def step(self, batch: Batch) -> StepOutcome:
        """Take a step at the current learning rate, without waiting for the device."""
        before = [buffer.clone() for buffer in self._buffers]
        output = self.forward(batch)
        loss = self.model.loss(output, batch) + added_terms(output, batch, self.terms)
        self._adam.zero_grad(set_to_none=True)
        loss.backward()
        loss = loss.detach()
        gradients = [p.grad for p in self._parameters if p.grad is not None]
        self.group.mean_([*gradients, loss])
        largest = self.settings.clip or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, largest)
        skipped = (~(loss.isfinite() & norm.isfinite())).float()
        self._adam.found_inf = skipped  # type: ignore[attr-defined]
        self._adam.grad_scale = None  # type: ignore[attr-defined]
        self._adam.step()
        for buffer, old in zip(self._buffers, before, strict=True):
            torch.where(skipped > 0, old, buffer, out=buffer)
        if self.average:
            with torch.no_grad():  # otherwise each average would keep the graph of all steps
                torch._foreach_lerp_(
                    list(self.average.values()), self._parameters, 1 - self.settings.ema
                )
        return StepOutcome(loss, norm, skipped, output.pose.detach())

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Put the averaged weights into the model for a while, if an average is kept."""
        if not self.average:
            yield
            return
        own = {name: p.detach().clone() for name, p in self._named.items()}
        self._put(self.average)
        try:
            yield
        finally:
            self._put(own)

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights to keep: the model's, or their average."""
        with self.averaged():
            return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def state(self) -> dict[str, Tensor]:
        """Everything needed to resume, by name."""
        state = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        state |= {f"average.{name}": value for name, value in self.average.items()}
        for name, parameter in self._named.items():
            moments = self._adam.state.get(parameter, {})
            state |= {f"adam.{kind}.{name}": moments[kind] for kind in _MOMENTS if moments}
        return state

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Resume from the tensors that `state` returned.

        Raises:
            KeyError: a tensor is missing.
            RuntimeError: a tensor has another shape.
        """
        self.model.load_state_dict(under(state, "model."), strict=True)
        average = under(state, "average.")
        for name, kept in self.average.items():
            kept.copy_(average[name].reshape(kept.shape))
        for name, parameter in self._named.items():
            # All moments, or none: Adam has none of a parameter that had no gradient yet.
            if any(f"adam.{kind}.{name}" in state for kind in _MOMENTS):
                self._adam.state[parameter] = {
                    kind: state[f"adam.{kind}.{name}"]
                    .to(self._device, torch.float32, copy=True)
                    .reshape(() if kind == "step" else parameter.shape)
                    for kind in _MOMENTS
                }

    @torch.no_grad()
    def _put(self, values: Mapping[str, Tensor]) -> None:
        for name, parameter in self._named.items():
            parameter.copy_(values[name])


def added_terms(output: Registration, batch: Batch, terms: Loss) -> Tensor | float:
    """The losses beside the model's own: on the matches, or on their extent.

    For a model that matches in several rounds, they use the last round.
    """
    if not (terms.matches or terms.extent):
        return 0.0
    matches, weights, truth = output.matches, output.weights, batch.pose
    if matches is None or truth is None:
        raise ValueError("loss.matches and loss.extent need matches, and this model makes none")
    total: Tensor | float = 0.0
    if terms.matches:
        with torch.no_grad():
            near = nearest(truth.apply(batch.source), batch.target, mask=batch.target_mask)
            there = near.squared_distance < _OVERLAP**2
        if batch.source_mask is not None:
            there = there & batch.source_mask
        total = total + terms.matches * match_loss(matches, truth, batch.source, mask=there)
    if terms.extent:
        # Without a gradient to the weights, which could make any extent look right.
        weights = None if weights is None else weights.detach()
        spread = extent_loss(matches, batch.source, weights=weights, mask=batch.source_mask)
        total = total + terms.extent * spread
    return total


def under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names start with `prefix`, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
