"""A trainer that, at every validation, also measures what the layer does to the current matches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.geometry import Pose, SpoonfulLayer, kabsch
from spoonful.losses import dcp_loss
from spoonful.models.alignment import repeated
from spoonful.registration import Registration
from spoonful.training.trainer import Trainer
from spoonful.training.validation import Validation
from training_grid.published_layer import PublishedLayer

# A pair on which the layer acts: its refined rotations differ visibly from the Kabsch rotation.
ACTS = 0.01


class ObservedTrainer(Trainer):
    """A trainer whose validation errors also hold the numbers of `acts`.

    Args:
        told: is called after every validation with the step, the steps per second since the last
            one, and the errors.
        arguments: of `Trainer`.
    """

    def __init__(
        self,
        *arguments: Any,
        told: Callable[[int, float, dict[str, float]], None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._told = told
        self._last: tuple[float, int] | None = None

    def _validate(self) -> Validation:
        began, step = time.monotonic(), self.progress.step
        speed = float("nan")
        if self._last is not None and step > self._last[1]:
            speed = (step - self._last[1]) / (began - self._last[0])
        seen: list[tuple[Tensor, Tensor, Pose]] = []
        own = self._forward
        forward: Callable[[Batch], Registration] = own or self.stepper.forward

        def noting(batch: Batch) -> Registration:
            found = forward(batch)
            if found.matches is not None and batch.pose is not None:
                matches = found.matches.float().cpu()
                seen.append((batch.source.cpu(), matches, batch.pose.to("cpu")))
            return found

        self._forward = noting  # type: ignore[assignment]
        try:
            found = super()._validate()
        finally:
            self._forward = own
        if seen:
            sources, matches, poses = zip(*seen, strict=True)
            truth = Pose(*(torch.cat(part) for part in zip(*poses, strict=True)))
            found.errors.update(acts(torch.cat(sources), torch.cat(matches), truth))
        self._last = (time.monotonic(), step)
        if self._told is not None:
            self._told(step, speed, found.errors)
        return found


def acts(source: Tensor, matches: Tensor, truth: Pose) -> dict[str, float]:
    """The change that the layer makes on these matches: ours and the published one, both forms.

    Args:
        source: (B, N, 3).
        matches: (B, N, 3).
        truth: the true poses, for the loss.

    Returns:
        By name, with "source", "target", "published_source" or "published_target" at the end:
        "divergence_", the median of the paper's D; "acting_", the share of pairs with D > 0.01;
        "gradient_", the median relative difference of the loss gradient at the matches to that of
        Kabsch alone.
    """

    def gradient(poses_of: Callable[[Tensor], Pose]) -> tuple[Tensor, Pose]:
        with torch.enable_grad():
            points = matches.detach().requires_grad_()
            poses = poses_of(points)
            count = poses.rotation.shape[1]
            losses = dcp_loss(poses, repeated(truth, count), reduction="none").mean(1)
            (found,) = torch.autograd.grad(losses.sum(), points)
        return found.flatten(1), poses.detach()

    plain, _ = gradient(lambda points: repeated(kabsch(source, points)))
    found: dict[str, float] = {}
    for prefix, kind in (("", SpoonfulLayer), ("published_", PublishedLayer)):
        for form in ("source", "target"):
            layer = kind(form=form)
            changed, poses = gradient(lambda points, layer=layer: layer(source, points).poses)  # type: ignore[misc]
            first, rest = poses.rotation[:, :1], poses.rotation[:, 1:]
            divergence = torch.linalg.matrix_norm(rest - first).sum(-1)
            name = prefix + form
            found[f"divergence_{name}"] = float(divergence.nanmedian())
            # A pair whose poses are no numbers has certainly left the Kabsch rotation.
            found[f"acting_{name}"] = float((~(divergence <= ACTS)).float().mean())
            apart = (changed - plain).norm(dim=-1) / plain.norm(dim=-1)
            found[f"gradient_{name}"] = float(apart.nanmedian())
    return found
