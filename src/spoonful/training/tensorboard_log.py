"""TensorBoard files: scalars, histograms of rho and divergence, a preview of one pair."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from spoonful.files import naming
from spoonful.training.validation import Validation

_ORANGE, _BLUE = (230, 120, 30), (40, 110, 210)


class TensorBoardLog:
    """Event files in a run's folder; does nothing if TensorBoard is not installed.

    Args:
        folder: the run's folder, or None for no files.
    """

    def __init__(self, folder: Path | None) -> None:
        self._writer: Any = None
        if folder is not None and importlib.util.find_spec("tensorboard") is not None:
            from torch.utils.tensorboard.writer import SummaryWriter

            self._folder = str(folder / "tensorboard")
            with naming(self._folder):
                self._writer = SummaryWriter(self._folder)

    def scalars(self, values: Mapping[str, Any], step: int) -> None:
        """Log every number in `values`, by name."""
        for name, value in values.items():
            if isinstance(value, (int, float)):
                self._call("add_scalar", name, value, step)

    def validation(self, found: Validation, step: int) -> None:
        """Log the errors of a validation, histograms, and one pair before and after."""
        if self._writer is None:
            return
        self.scalars({f"validation/{name}": value for name, value in found.errors.items()}, step)
        for name, values in (("rho", found.rho), ("divergence", found.divergence)):
            if values is not None and len(finite := values[values.isfinite()]):
                self._call("add_histogram", f"layer/{name}", finite.clamp(1e-9).log10(), step)
        if found.first is not None:
            batch, pose = found.first
            target, source = batch.target.float(), batch.source.float()
            colors = torch.tensor(
                [_BLUE] * target.shape[1] + [_ORANGE] * source.shape[1], dtype=torch.uint8
            )[None]
            for name, moved in (("before", source), ("after", pose.apply(source))):
                vertices = torch.cat([target, moved.float()], dim=1).cpu()
                self._call("add_mesh", f"pair/{name}", vertices, colors, None, None, step)

    def close(self) -> None:
        """Write out what is left."""
        self._call("close")

    def _call(self, method: str, *arguments: Any) -> None:
        if self._writer is not None:
            with naming(self._folder):
                getattr(self._writer, method)(*arguments)
