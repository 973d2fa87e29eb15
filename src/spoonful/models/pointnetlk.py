"""PointNetLK (Aoki et al., CVPR 2019): Lucas-Kanade on SE(3) between features of whole clouds.

With `f` PointNet's feature of a cloud, the pose is sought that makes the features agree,
`f(R source + t) = f(target)`. The Jacobian J of the target's feature by a twist is taken once, by
finite differences, and each iteration is one step of Gauss-Newton (inverse compositional):

    twist = -(J^T J)^-1 J^T (f(moved source) - f(target)),      pose <- exp(twist) pose
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spoonful.batch import Batch
from spoonful.frame import centroid
from spoonful.geometry import Pose, hat, rotation_from_vector
from spoonful.geometry.checks import check_choice
from spoonful.geometry.exact import matmul3, matvec3, rotate
from spoonful.models.clouds import stack
from spoonful.models.contract import RegistrationModel, known_pose
from spoonful.models.norms import batch_norm, linear, running_affine
from spoonful.models.precision import at_least_float32, full_precision
from spoonful.registration import Registration

# Damping added to J^T J, relative to its trace. It matters only if the features do not fix all six
# motions, as for a sphere's turns: those motions are then zero.
_DAMPING = 1e-6
# The longest twist of one step, in radians and units of length. Clouds are in the unit ball, so a
# longer one is no step towards anything; without a bound a bad Jacobian sends a cloud to infinity.
_LONGEST = math.pi


class PointNetFeature(nn.Module):
    """PointNet without its alignment networks: a vector for a whole cloud.

    Args:
        dim: its size.
        pool: what joins the points: "max", or "avg", which noise disturbs less.
    """

    def __init__(self, dim: int = 1024, pool: Literal["max", "avg"] = "max") -> None:
        super().__init__()
        check_choice("pool", pool, ("max", "avg"))
        self.pool = pool
        self.h1 = _layers(3, 64, 64)
        self.h2 = _layers(64, 64, 128, dim)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """The features of (B, N, 3) clouds, (B, dim), by the running batch statistics.

        That is so in training mode too: a Jacobian is of one function, and batch statistics would
        make each moved copy of a cloud another function's. `update` brings them up to date.
        """
        x = at_least_float32(points)
        for layer, norm in self._pairs():
            weight, bias = layer.weight.flatten(1), layer.bias
            assert bias is not None
            scale, shift = running_affine(norm)
            weight, bias = weight * scale.unsqueeze(-1), bias * scale + shift
            # Coordinates are never multiplied in TF32.
            x = (
                matmul3(x, weight.mT) + bias
                if layer.in_channels == 3
                else F.linear(x, weight, bias)
            )
            x = F.relu(x)
        if mask is None:
            return x.amax(1) if self.pool == "max" else x.mean(1)
        x = x.masked_fill(~mask.unsqueeze(-1), 0.0)  # the least that a ReLU gives
        if self.pool == "max":
            return x.amax(1)
        return x.sum(1) / mask.sum(-1, keepdim=True).clamp_min(1)

    @torch.no_grad()
    def update(self, points: Tensor, mask: Tensor | None, clouds: int) -> None:
        """Bring the running statistics up to date with these clouds; see `norms.batch_norm`."""
        x = at_least_float32(points)
        for layer, norm in self._pairs():
            x = F.relu(batch_norm(linear(x, layer), norm, clouds=clouds, mask=mask))

    def _pairs(self) -> list[tuple[nn.Conv1d, nn.BatchNorm1d]]:
        """The layers, each with its norm."""
        layers = [*self.h1, *self.h2]
        return list(zip(layers[0::3], layers[1::3], strict=True))


class PointNetLK(RegistrationModel):
    """PointNetLK as published, batched and with padding left out.

    Parameter names are those of the published code (github.com/hmgoforth/PointNetLK), so its
    `model_best.pth` files load with `load_published`. Three things differ from that code: singular
    normal equations are damped, one step's twist is at most pi long, and every pair takes all
    iterations.

    All of it is float32 under autocast too: a finite difference in bfloat16 is noise.

    Args:
        dim: size of the features.
        pool: "max" or "avg"; see `PointNetFeature`.
        iterations: steps of Gauss-Newton.
        delta: the finite difference, in radians and units of length.
        residual_weight: of the features' squared difference in the loss. The published loss sums it
            over the batch, so there it is the batch's size, 32.

    >>> model = PointNetLK(dim=32).eval()
    >>> cloud = torch.rand(1, 40, 3, generator=torch.Generator().manual_seed(0))
    >>> found = model(Batch(cloud, cloud))
    >>> found.pose.rotation.shape, found.poses.rotation.shape
    (torch.Size([1, 3, 3]), torch.Size([1, 10, 3, 3]))
    """

    dt: Tensor

    def __init__(
        self,
        *,
        dim: int = 1024,
        pool: Literal["max", "avg"] = "max",
        iterations: int = 10,
        delta: float = 1e-2,
        residual_weight: float = 1.0,
    ) -> None:
        super().__init__()
        if iterations < 1:
            raise ValueError(f"iterations must be at least 1, got {iterations}")
        if not 0 < delta < 1:
            raise ValueError(f"delta must lie between 0 and 1, got {delta}")
        self.ptnet = PointNetFeature(dim, pool)
        # The differences along (turn, shift): a parameter, as in the checkpoints, but not learned.
        self.dt = nn.Parameter(torch.full((1, 6), delta), requires_grad=False)
        self.iterations = iterations
        self.residual_weight = residual_weight

    def forward(self, batch: Batch) -> Registration:
        """Register a batch.

        Returns:
            `Registration` with the poses after each iteration. `extras` holds "residual", (B, dim),
            the difference of the features in the last iteration.
        """
        with full_precision(batch.source):
            both = stack(batch)
            (source, target), (source_mask, target_mask) = both.split(both.points), both.masks()
            middle = centroid(source, source_mask, dtype=source.dtype)
            target_middle = centroid(target, target_mask, dtype=source.dtype)
            source = _centred(source, middle, source_mask)
            target = _centred(target, target_middle, target_mask)
            if self.training:
                middles = torch.cat([middle, target_middle])
                self.ptnet.update(_centred(both.points, middles, both.mask), both.mask, clouds=2)
            wanted = self.ptnet(target, target_mask)
            solve = self._solver(target, target_mask, wanted)
            pose = Pose.identity(len(batch), dtype=source.dtype, device=source.device)
            poses = []
            for _ in range(self.iterations):
                residual = self.ptnet(pose.apply(source), source_mask) - wanted
                twist = -(solve * residual.unsqueeze(1)).sum(-1)
                pose = exp(_bounded(twist)).compose(pose)
                poses.append(pose)
            # Back from centred clouds: R (s - a) + t + b.
            many = Pose(
                torch.stack([one.rotation for one in poses], 1),
                torch.stack([one.translation for one in poses], 1)
                + target_middle.unsqueeze(1)
                - torch.stack([matvec3(one.rotation, middle) for one in poses], 1),
            )
            last = many.at(..., -1)
            return Registration(last, many, extras={"residual": residual})

    def loss(self, output: Registration, batch: Batch) -> Tensor:
        """`|T T_gt^-1 - I|^2 + residual_weight |f(moved source) - f(target)|^2`, sums of squares.

        T are the homogeneous matrices; the mean over pairs.
        """
        left = output.pose.compose(known_pose(batch).inverse())
        eye = torch.eye(3, dtype=left.rotation.dtype, device=left.rotation.device)
        off = (left.rotation - eye).square().sum((-2, -1)) + left.translation.square().sum(-1)
        residual = output.extras["residual"].square().sum(-1)
        return (off + self.residual_weight * residual).mean()

    def _solver(self, target: Tensor, mask: Tensor | None, wanted: Tensor) -> Tensor:
        """The pseudo-inverse of the Jacobian, (B, 6, dim): from a residual to a twist."""
        pairs, size = target.shape[:2]
        steps = self.dt.to(target)[0]
        moves = exp(torch.diag(-steps))  # six poses, one a direction
        moved = rotate(moves.rotation, target.unsqueeze(1)) + moves.translation.unsqueeze(1)
        if mask is not None:
            mask = mask.unsqueeze(1).expand(pairs, 6, size).flatten(0, 1)
        features = self.ptnet(moved.flatten(0, 1), mask).unflatten(0, (pairs, 6))
        jacobian = (wanted.unsqueeze(1) - features) / steps[:, None]  # (B, 6, dim)
        normal = (jacobian.unsqueeze(1) * jacobian.unsqueeze(2)).sum(-1)
        trace = normal.diagonal(dim1=-2, dim2=-1).sum(-1)
        # A cloud that no motion changes has J = 0, and then the twist is zero.
        damping = _DAMPING * trace + torch.finfo(trace.dtype).tiny
        eye = torch.eye(6, dtype=normal.dtype, device=normal.device)
        damped = normal + damping[:, None, None] * eye
        return (_inverse(damped).unsqueeze(-1) * jacobian.unsqueeze(1)).sum(2)


def _inverse(matrix: Tensor) -> Tensor:
    """The inverses of positive definite matrices (B, n, n), by elimination without pivots.

    A library's factorisation cannot be part of a CUDA graph.
    """
    size = matrix.shape[-1]
    eye = torch.eye(size, dtype=matrix.dtype, device=matrix.device)
    rows = torch.cat([matrix, eye.expand_as(matrix)], -1)
    for i in range(size):
        pivot = rows[:, i : i + 1] / rows[:, i : i + 1, i : i + 1]
        rows = torch.where(eye[:, i : i + 1] > 0, pivot, rows - rows[..., i : i + 1] * pivot)
    return rows[..., size:]


def exp(twist: Tensor) -> Pose:
    """The motion of a twist (turn, shift) that acts for a unit of time: the exponential of SE(3).

    Args:
        twist: (..., 6).

    Returns:
        Pose with rotation (..., 3, 3). Smooth at zero.

    >>> exp(torch.tensor([0.0, 0, math.pi, 1, 0, 0])).translation  # half a circle, of length 1
    tensor([0.0000, 0.6366, 0.0000])
    """
    turn, shift = twist[..., :3], twist[..., 3:]
    squared = turn.square().sum(-1)[..., None, None]
    tiny = squared < 1e-4  # where the third coefficient's difference cancels in float32
    angle = torch.where(tiny, torch.ones_like(squared), squared).sqrt()
    half = torch.sin(angle / 2) / (angle / 2)
    second = torch.where(tiny, 0.5 - squared / 24, 0.5 * half.square())
    third = torch.where(tiny, 1 / 6 - squared / 120, (angle - torch.sin(angle)) / angle**3)
    skew = hat(turn)
    eye = torch.eye(3, dtype=twist.dtype, device=twist.device)
    path = eye + second * skew + third * matmul3(skew, skew)
    return Pose(rotation_from_vector(turn), matvec3(path, shift))


def _layers(*sizes: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Conv1d(before, after, 1), nn.BatchNorm1d(after), nn.ReLU()]
    return nn.Sequential(*layers)


def _centred(points: Tensor, middle: Tensor, mask: Tensor | None) -> Tensor:
    points = points - middle.unsqueeze(1)
    return points if mask is None else points.masked_fill(~mask.unsqueeze(-1), 0.0)


def _bounded(twist: Tensor) -> Tensor:
    """The twist, at most `_LONGEST` long."""
    squared = twist.square().sum(-1, keepdim=True)
    far = squared > _LONGEST**2
    length = torch.where(far, squared, torch.ones_like(squared)).sqrt()
    return torch.where(far, twist * (_LONGEST / length), twist)
