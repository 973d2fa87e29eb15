"""How good the model is on the validation pairs, and how the refinement behaves on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.geometry import Pose, stability
from spoonful.metrics import PoseErrors
from spoonful.training.config import Refine
from spoonful.training.distributed import Group
from spoonful.training.step import Stepper

# The errors that are logged: by these names, the means over all validation pairs.
ERRORS = ("rotation_degrees", "translation", "mean_point_distance", "correspondence")
# The one that picks the best epoch: it weighs rotation and translation by what they do to points.
BEST_BY = "mean_point_distance"


class Validation(NamedTuple):
    """Errors on the validation pairs.

    Attributes:
        errors: means by name; "rotation_degrees" is the isotropic error.
        rho: (K,) growth of an error per refinement, of this process' pairs; None without matches.
        divergence: (K,) the paper's D, likewise.
        first: one pair, and where the model put it.
    """

    errors: dict[str, float]
    rho: Tensor | None
    divergence: Tensor | None
    first: tuple[Batch, Pose] | None


@torch.no_grad()
def validate(
    stepper: Stepper, batches: Sequence[Batch], refine: Refine, group: Group
) -> Validation:
    """Register all validation pairs; with several processes each takes some of the batches."""
    model = stepper.model
    errors = PoseErrors(chamfer=False)
    rho, divergence = [], []
    shown: tuple[Batch, Pose] | None = None
    model.eval()
    try:
        with stepper.averaged():
            for batch in batches[group.rank :: group.size]:
                with stepper.network():
                    found = model(batch)
                errors.update(found, batch)
                shown = shown or (batch, found.pose)
                if found.matches is not None:
                    how = stability(
                        batch.source,
                        found.matches.float(),
                        weights=found.weights,
                        mask=batch.source_mask,
                        iterations=refine.iterations,
                        form="target" if refine.mode == "target" else refine.form,
                    )
                    rho.append(how.rho)
                    divergence.append(how.divergence)
    finally:
        model.train()
    report = errors.reduce().compute()
    means = {name: report[name].mean for name in ERRORS if name in report.summaries}
    if not rho:
        return Validation(means, None, None, shown)
    all_rho, all_divergence = torch.cat(rho).cpu(), torch.cat(divergence).cpu()
    means["rho_median"] = float(all_rho.nanmedian())
    means["divergence_median"] = float(all_divergence.nanmedian())
    return Validation(means, all_rho, all_divergence, shown)
