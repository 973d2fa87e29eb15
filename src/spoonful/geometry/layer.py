"""The paper's layer: Kabsch, then refinements to train on, in one module without parameters."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from spoonful.geometry import head, kernels
from spoonful.geometry.checks import (
    check_choice,
    check_count,
    matched,
    working_dtype,
)
from spoonful.geometry.packed import check_packed
from spoonful.geometry.plan import FORMS, KABSCH, LAYER_STARTS, Form, Plan, Start
from spoonful.geometry.pose import Pose
from spoonful.geometry.so3 import random_rotation


class LayerOutput(NamedTuple):
    """The layer's poses.

    Attributes:
        poses: the Kabsch pose, followed by the refined ones: rotation
            (..., 1 + I * starts, 3, 3) after I iterations. For the loss.

    >>> source = torch.randn(8, 100, 3)
    >>> output = SpoonfulLayer(iterations=2)(source, source + 1)
    >>> [pose.translation.shape for pose in (output.pose, output.refined, output.poses)]
    [torch.Size([8, 3]), torch.Size([8, 2, 3]), torch.Size([8, 3, 3])]
    """

    poses: Pose

    @property
    def pose(self) -> Pose:
        """The Kabsch pose, rotation (..., 3, 3): the answer."""
        return Pose(self.poses.rotation.select(-3, 0), self.poses.translation.select(-2, 0))

    @property
    def refined(self) -> Pose | None:
        """The poses to train on, rotation (..., I * starts, 3, 3), iteration by iteration.

        (All starts of the first iteration, then of the second, ...) None in evaluation mode.
        """
        more = self.poses.rotation.shape[-3] - 1
        if more == 0:
            return None
        return Pose(
            self.poses.rotation.narrow(-3, 1, more), self.poses.translation.narrow(-2, 1, more)
        )


class SpoonfulLayer(nn.Module):
    """Kabsch and, in training, n refinements of its rotation by linearised constraints.

    Put it where your network calls Kabsch, and take the mean of your pose loss over
    `output.poses`. In `eval()` it returns the Kabsch pose alone, as in the paper.

    Args:
        iterations: how many refinements; the paper uses 5.
        form: "source" (the paper's main text) or "target" (its supplement).
        start: the rotation at which the refinement starts.

            - "kabsch", as in the paper. In exact arithmetic every refined pose equals the Kabsch
              pose, and so does its gradient; what the layer adds is amplified rounding error.
            - "detached" (ours): the Kabsch rotation without its gradient. The n refined poses then
              carry the first n terms of the Neumann series of Kabsch's gradient.
            - "perturbed" (ours): the detached Kabsch rotation, turned about a random axis by an
              angle uniform in [0, max_degrees]. About rho^k of the turn is left after k steps,
              where rho is the rate of convergence. So a loss on the refined poses rewards matches
              with a small rho, which are isometric to the source.
        max_degrees: the bound of "perturbed".
        starts: how many perturbed starts for each cloud.
        kernels: whether compiled kernels may be used (`geometry.kernels`).

    >>> layer = SpoonfulLayer()
    >>> source = torch.randn(8, 100, 3)
    >>> output = layer(source, source + 1)
    >>> output.pose.rotation.shape, output.poses.rotation.shape
    (torch.Size([8, 3, 3]), torch.Size([8, 6, 3, 3]))
    >>> layer.eval()(source, source + 1).refined is None
    True
    """

    def __init__(
        self,
        iterations: int = 5,
        form: Form = "source",
        start: Start = "kabsch",
        *,
        max_degrees: float = 60.0,
        starts: int = 1,
        kernels: bool = True,
    ) -> None:
        super().__init__()
        check_choice("form", form, FORMS)
        check_count("iterations", iterations)
        check_choice("start", start, LAYER_STARTS)
        if not isinstance(max_degrees, (int, float)) or not 0 < max_degrees <= 180:
            raise ValueError(f"max_degrees must lie in (0, 180], got {max_degrees!r}")
        check_count("starts", starts)
        if starts > 1 and start != "perturbed":
            raise ValueError(f"starts > 1 needs start='perturbed', got start={start!r}")
        self.iterations = iterations
        self.form: Form = form
        self.start: Start = start
        self.max_degrees = max_degrees
        self.starts = starts
        self.kernels = kernels

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        weights: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> LayerOutput:
        """Fit the matched clouds.

        Args:
            source: (..., N, 3).
            target: (..., N, 3), the match of each source point.
            weights: (..., N), >= 0; equal if None.
            mask: (..., N) bool; False removes a point.
            generator: randomness of start="perturbed"; the global one if None.

        Returns:
            `LayerOutput`.
        """
        return self._fit(*matched(source, target, weights, mask), None, generator)

    def packed(
        self,
        source: Tensor,
        target: Tensor,
        offsets: Tensor,
        weights: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> LayerOutput:
        """Fit matched clouds of unequal sizes that lie one after the other, without padding.

        Args:
            source: (M, 3), all clouds.
            target: (M, 3), the match of each source point.
            offsets: (B + 1,) integers from 0 to M, not decreasing: cloud b is
                `source[offsets[b]:offsets[b + 1]]`. Not validated on a GPU.
            weights: (M,), >= 0; equal if None.
            generator: randomness of start="perturbed"; the global one if None.

        Returns:
            `LayerOutput` with rotations (B, P, 3, 3).

        >>> source = torch.randn(9, 3)
        >>> SpoonfulLayer().packed(source, source, torch.tensor([0, 4, 9])).poses.rotation.shape
        torch.Size([2, 6, 3, 3])
        """
        check_packed(source, target, offsets, weights)
        return self._fit(source, target, weights, None, offsets, generator)

    def _fit(
        self,
        source: Tensor,
        target: Tensor,
        weights: Tensor | None,
        mask: Tensor | None,
        offsets: Tensor | None,
        generator: torch.Generator | None,
    ) -> LayerOutput:
        plan = Plan(self.iterations, self.form, self.start) if self.training else KABSCH
        turns = None
        if plan.start == "perturbed":
            turns = random_rotation(
                *(source.shape[:-2] if offsets is None else [len(offsets) - 1]),
                self.starts,
                max_degrees=self.max_degrees,
                generator=generator,
                dtype=working_dtype(source, target, weights),
                device=source.device,
            )
        fit = kernels.pose_head if self.kernels else head.pose_head
        return LayerOutput(fit(source, target, weights, mask, turns, plan, offsets))

    def extra_repr(self) -> str:
        """The settings, as they were given."""
        text = f"iterations={self.iterations}, form={self.form!r}, start={self.start!r}"
        if self.start == "perturbed":
            text += f", max_degrees={self.max_degrees:g}, starts={self.starts}"
        return text
