"""The paper's layer: Kabsch, then refinements to train on, in one module without parameters."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from spoonful.geometry import kernels
from spoonful.geometry.checks import (
    check_choice,
    check_correspondences,
    check_count,
    working_dtype,
)
from spoonful.geometry.exact import matmul3
from spoonful.geometry.kabsch import pose_from_moments
from spoonful.geometry.kernels import Plan
from spoonful.geometry.moments import Moments, Spreads, moments
from spoonful.geometry.packed import check_packed, moments_packed
from spoonful.geometry.pose import Pose
from spoonful.geometry.refine import Form, refine_moments
from spoonful.geometry.so3 import random_rotation

Start = Literal["kabsch", "detached", "perturbed"]


class LayerOutput(NamedTuple):
    """What the layer found.

    Attributes:
        poses: the Kabsch pose and after it the refined ones, for the loss: rotation
            (..., 1 + I * starts, 3, 3) after I iterations.

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
        start: where the refinement starts.

            - "kabsch", as in the paper. In exact arithmetic every refined pose equals the Kabsch
              pose, and so does its gradient; what the layer adds is amplified rounding error.
            - "detached" (ours): the Kabsch rotation without its gradient. The n refined poses then
              carry the first n terms of the Neumann series of Kabsch's gradient.
            - "perturbed" (ours): the detached Kabsch rotation, turned about a random axis by an
              angle uniform in [0, max_degrees]. The error left after k steps is about rho^k of
              the turn, so a loss on the refined poses rewards matches with a small rho: matches
              that are isometric to the source, not merely oriented like it.
        max_degrees: the bound of "perturbed".
        starts: how many perturbed starts for each cloud.
        kernels: whether compiled kernels may be used where there are some (`geometry.kernels`).

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
        check_choice("form", form, get_args(Form))
        check_count("iterations", iterations)
        check_choice("start", start, get_args(Start))
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
        plan = self._plan()
        if self.kernels and plan.start != "perturbed":
            quick = kernels.quick_pose(source, target, weights, mask, plan)
            if quick is not None:
                return LayerOutput(quick)
        check_correspondences(source, target, weights, mask)
        turns = None
        if plan.start == "perturbed":
            dtype = working_dtype(source, target, weights)
            turns = self._turns(source[..., 0, 0].detach().to(dtype), plan, generator)
        usable = self.kernels and kernels.usable(source, target, weights, mask, turns)
        head = kernels.layer_poses if usable else composite_head
        return LayerOutput(head(source, target, weights, mask, turns, plan))

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
            offsets: (B + 1,) integers: cloud b is `source[offsets[b]:offsets[b + 1]]`. On an
                accelerator nobody looks whether they go from 0 to M without decreasing.
            weights: (M,), >= 0; equal if None.
            generator: randomness of start="perturbed"; the global one if None.

        Returns:
            `LayerOutput` with rotations (B, P, 3, 3).

        >>> source = torch.randn(9, 3)
        >>> SpoonfulLayer().packed(source, source, torch.tensor([0, 4, 9])).poses.rotation.shape
        torch.Size([2, 6, 3, 3])
        """
        check_packed(source, target, offsets, weights)
        plan = self._plan()
        dtype = working_dtype(source, target, weights)
        clouds = source.detach().new_empty(len(offsets) - 1, dtype=dtype)
        turns = self._turns(clouds, plan, generator)
        usable = self.kernels and kernels.usable(source, target, weights, None, turns, offsets)
        head = kernels.layer_poses if usable else composite_head
        return LayerOutput(head(source, target, weights, None, turns, plan, offsets))

    def _plan(self) -> Plan:
        if self.training:
            return Plan(self.iterations, self.form, self.start)
        return Plan(0, self.form, "kabsch")

    def _turns(
        self, clouds: Tensor, plan: Plan, generator: torch.Generator | None
    ) -> Tensor | None:
        """Turns (..., starts, 3, 3) for clouds (...), in their precision; None if not wanted."""
        if plan.start != "perturbed":
            return None
        return random_rotation(
            *clouds.shape,
            self.starts,
            max_degrees=self.max_degrees,
            generator=generator,
            dtype=clouds.dtype,
            device=clouds.device,
        )

    def extra_repr(self) -> str:
        """The settings, as they were given."""
        text = f"iterations={self.iterations}, form={self.form!r}, start={self.start!r}"
        if self.start == "perturbed":
            text += f", max_degrees={self.max_degrees:g}, starts={self.starts}"
        return text


def composite_head(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    start: Tensor | None,
    plan: Plan,
    offsets: Tensor | None = None,
) -> Pose:
    """What the layer computes, composed of the functions of this package.

    Args:
        source: (..., N, 3); (M, 3) if packed.
        target: (..., N, 3).
        weights: (..., N), or None.
        mask: (..., N) bool, or None.
        start: where the plan's start is "given", rotations (..., 3, 3); where it is "perturbed",
            turns (..., K, 3, 3) of the Kabsch rotation; None otherwise.
        plan: what to compute.
        offsets: (B + 1,) where clouds are packed, without a mask; otherwise None.

    Returns:
        The Kabsch pose, unless the start is given, and the refined poses, iteration by iteration:
        rotation (..., P, 3, 3).
    """
    if offsets is not None:
        return head_from_moments(moments_packed(source, target, offsets, weights), start, plan)
    spreads: Spreads = plan.form if plan.iterations else "none"
    return head_from_moments(moments(source, target, weights, mask, spreads=spreads), start, plan)


def head_from_moments(m: Moments, start: Tensor | None, plan: Plan) -> Pose:
    """`composite_head` of clouds with these moments."""
    pose = None if plan.start == "given" else pose_from_moments(m)
    found = []
    if pose is not None:
        found.append(Pose(pose.rotation.unsqueeze(-3), pose.translation.unsqueeze(-2)))
    if not plan.iterations:
        return found[0]
    rotation = start if pose is None else pose.rotation
    assert rotation is not None
    if plan.start in ("detached", "perturbed"):
        rotation = rotation.detach()
    if plan.start == "perturbed":
        assert start is not None
        rotations = matmul3(rotation.unsqueeze(-3), start)
        refined = refine_moments(
            m.per_start(start.shape[-3]), rotations, iterations=plan.iterations, form=plan.form
        )
        refined = Pose(
            refined.rotation.transpose(-4, -3).flatten(-4, -3),
            refined.translation.transpose(-3, -2).flatten(-3, -2),
        )
    else:
        refined = refine_moments(m, rotation, iterations=plan.iterations, form=plan.form)
    found.append(refined)
    if len(found) == 1:
        return refined
    return Pose(
        torch.cat([pose.rotation for pose in found], dim=-3),
        torch.cat([pose.translation for pose in found], dim=-2),
    )
