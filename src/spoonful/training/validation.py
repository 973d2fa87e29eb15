"""Errors of the model on the validation pairs, and the behaviour of the refinement on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.data.collate import collate
from spoonful.geometry import Pose, stability
from spoonful.geometry.moments import moments
from spoonful.geometry.plan import Form
from spoonful.metrics import PoseErrors
from spoonful.registration import Registration
from spoonful.training.config import Refine
from spoonful.training.distributed import Group
from spoonful.training.step import Stepper

# The errors that are logged: by these names, the means over all validation pairs.
ERRORS = ("rotation_degrees", "translation", "mean_point_distance", "correspondence")
# The error that picks the best epoch: it weighs rotation and translation by how far points move.
BEST_BY = "mean_point_distance"
# Batches whose errors are measured at once, so that memory does not grow with the corpus.
_TOGETHER = 64


class Validation(NamedTuple):
    """Errors on the validation pairs.

    Attributes:
        errors: means by name; "rotation_degrees" is the isotropic error. With matches also medians
            over this process' pairs: "rho_median" and "divergence_median" in the run's form,
            "rho_source" and "rho_target" in either, and "extent_ratio", the source's extent over
            that of its matches.
        rho: (K,) growth of an error per refinement, of this process' pairs; None without matches.
        divergence: (K,) the paper's D, likewise.
        first: one pair, and the pose that the model found.
    """

    errors: dict[str, float]
    rho: Tensor | None
    divergence: Tensor | None
    first: tuple[Batch, Pose] | None


@torch.no_grad()
def validate(
    stepper: Stepper,
    batches: Sequence[Batch],
    refine: Refine,
    group: Group,
    forward: Callable[[Batch], Registration] | None = None,
) -> Validation:
    """Register all validation pairs; with several processes each takes some of the batches.

    Args:
        stepper: with the model.
        batches: of one size, but for the last, which may be smaller.
        refine: the layer's settings.
        group: the processes.
        forward: registers a batch; None for `stepper.forward`.
    """
    model, forward = stepper.model, forward or stepper.forward
    own: Form = "target" if refine.mode == "target" else refine.form
    errors = PoseErrors(chamfer=False)
    layer: dict[str, list[Tensor]] = {}
    shown: tuple[Batch, Pose] | None = None
    mine = batches[group.rank :: group.size]
    model.eval()
    try:
        with stepper.averaged():
            for first in range(0, len(mine), _TOGETHER):
                some = mine[first : first + _TOGETHER]
                size = len(batches[0])
                found = Registration.joined([_registered(forward, one, size) for one in some])
                # All at once: an error takes many small kernels, and each sum waits for the device.
                batch = collate(some)
                errors.update(found, batch)
                shown = shown or (batch.part(slice(1)), Pose(*(each[:1] for each in found.pose)))
                if found.matches is not None:
                    for name, values in behaviour(found, batch, refine.iterations).items():
                        layer.setdefault(name, []).append(values)
    finally:
        model.train()
    report = errors.reduce().compute()
    means = {name: report[name].mean for name in ERRORS if name in report.summaries}
    if not layer:
        return Validation(means, None, None, shown)
    joined = {name: torch.cat(values) for name, values in layer.items()}
    rho, divergence = joined[f"rho_{own}"], joined.pop(f"divergence_{own}")
    means["rho_median"] = float(rho.nanmedian())
    means["divergence_median"] = float(divergence.nanmedian())
    for name in ("rho_source", "rho_target", "extent_ratio"):
        means[name] = float(joined[name].nanmedian())
    return Validation(means, rho, divergence, shown)


def _registered(forward: Callable[[Batch], Registration], batch: Batch, size: int) -> Registration:
    """The poses and matches of a batch, padded to `size` pairs for the network.

    Compiled or recorded code is for batches of one size. In eval mode pairs are independent, so a
    small batch is padded with copies of its own pairs.
    """
    count = len(batch)
    if count < size:
        batch = collate([batch] * -(-size // count))
        batch = batch.part(slice(size))
    found = forward(batch)
    used = Registration(found.pose, matches=found.matches, weights=found.weights)
    return used.apply(lambda values: values[:count])


@torch.no_grad()
def behaviour(found: Registration, batch: Batch, iterations: int = 5) -> dict[str, Tensor]:
    """Stability of the refinement on a model's matches, in both forms: (B,) values on the CPU.

    "rho_source", "rho_target", "divergence_source", "divergence_target", and "extent_ratio", the
    root mean squared radius of the source over that of the matches: 1 / a for matches shrunk by a.
    """
    assert found.matches is not None
    # On the CPU: a GPU's eigenvalues of many 3x3 matrices can take a hundred times as long
    # (github.com/pytorch/pytorch/issues/183806).
    source, matches = batch.source.cpu(), found.matches.float().cpu()
    weights, mask = (
        None if each is None else each.cpu() for each in (found.weights, batch.source_mask)
    )
    values = {"extent_ratio": moments(source, matches, weights, mask).extent_ratio()}
    forms: tuple[Form, Form] = ("source", "target")
    for form in forms:
        how = stability(
            source, matches, weights=weights, mask=mask, iterations=iterations, form=form
        )
        values |= {f"rho_{form}": how.rho, f"divergence_{form}": how.divergence}
    return values
