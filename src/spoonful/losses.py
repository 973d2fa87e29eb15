"""The losses that registration networks are trained with: pure functions of poses and clouds.

Means are over the points of a cloud first, then over clouds, so a padded cloud weighs as much as
a full one. `reduction="none"` stops before the mean over clouds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from spoonful.geometry import Pose
from spoonful.geometry.checks import check_choice, check_tensor
from spoonful.geometry.exact import matmul3, rotate
from spoonful.inputs import blank, check_leading, check_pose, check_poses, masked_mean

Reduction = Literal["mean", "none"]
Which = Literal["all", "last"]


def dcp_loss(
    pose: Pose,
    truth: Pose,
    *,
    squares: Literal["mean", "sum"] = "mean",
    reduction: Reduction = "mean",
) -> Tensor:
    """`|R^T R_gt - I|^2 + |t - t_gt|^2`, the pose loss of Deep Closest Point.

    Args:
        pose: (..., 3, 3) estimates.
        truth: (..., 3, 3) true poses.
        squares: what |.|^2 means. "mean", the mean of the squared entries, nine of the matrix and
            three of the vector, is what the published code computes; "sum" is the equation as
            the refinement paper prints it (Eq. 18), in which rotations weigh three times as much
            against translations.
        reduction: "mean" over all poses, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`.

    >>> pose = Pose(torch.eye(3), torch.tensor([3.0, 0, 0]))
    >>> dcp_loss(pose, Pose.identity()), dcp_loss(pose, Pose.identity(), squares="sum")
    (tensor(3.), tensor(9.))
    """
    check_choice("squares", squares, ("mean", "sum"))
    check_poses(pose, truth)
    eye = torch.eye(3, dtype=pose.rotation.dtype, device=pose.rotation.device)
    difference = matmul3(pose.rotation.mT, truth.rotation) - eye
    turn = difference.square().sum((-2, -1))
    shift = (pose.translation - truth.translation).square().sum(-1)
    return _reduced(turn / 9 + shift / 3 if squares == "mean" else turn + shift, reduction)


def point_loss(
    pose: Pose,
    truth: Pose,
    source: Tensor,
    *,
    norm: Literal["l1", "l2"] = "l1",
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """The mean distance, by coordinate, of the moved source points from their true places.

    The mean over points and coordinates of |d| ("l1") or d^2 ("l2"), d = (R - R_gt) p + t - t_gt.

    Args:
        pose: (..., 3, 3) estimates.
        truth: (..., 3, 3) true poses.
        source: (..., N, 3).
        norm: "l1", which RPM-Net is trained with, or "l2" for squares.
        mask: (..., N) bool, False where a point is padding. A cloud of padding costs 0.
        reduction: "mean" over all poses, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`.

    >>> pose = Pose(torch.eye(3), torch.tensor([3.0, 0, 0]))
    >>> source = torch.rand(8, 3)
    >>> point_loss(pose, Pose.identity(), source)
    tensor(1.)
    >>> point_loss(pose, Pose.identity(), source, norm="l2")
    tensor(3.)
    """
    check_choice("norm", norm, ("l1", "l2"))
    check_poses(pose, truth)
    check_tensor("source", source, "N", 3)
    check_leading("pose.rotation", pose.rotation, 2, "source", source, 2)
    turn = pose.rotation - truth.rotation
    shift = pose.translation - truth.translation
    miss = rotate(turn, blank("source", source, mask)) + shift.unsqueeze(-2)
    miss = miss.abs() if norm == "l1" else miss.square()
    return _reduced(masked_mean(miss.mean(-1), mask, at_least=1), reduction)


def inlier_loss(
    match_matrix: Tensor,
    *,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """RPM-Net's inlier term: what the points' matches lack of 1, on average, in both clouds.

    Without it, a network that may call points outliers can do so with all of them.

    Args:
        match_matrix: (..., N, M) how much source point i is matched with target point j; rows and
            columns sum to at most 1, the rest being the chance of an outlier.
        source_mask: (..., N) bool, False where a point is padding.
        target_mask: (..., M) bool, likewise.
        reduction: "mean" over all matrices, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`.

    >>> inlier_loss(torch.eye(4)), inlier_loss(torch.zeros(4, 4))
    (tensor(0.), tensor(2.))
    """
    check_tensor("match_matrix", match_matrix, "N", "M")
    for name, mask, dim in (("source_mask", source_mask, -1), ("target_mask", target_mask, -2)):
        if mask is not None:
            wanted = match_matrix.sum(dim).shape
            if mask.dtype != torch.bool or mask.shape != wanted:
                raise ValueError(
                    f"{name} must be bool with shape {tuple(wanted)}, "
                    f"got {mask.dtype} {tuple(mask.shape)}"
                )
            match_matrix = match_matrix.masked_fill(~mask.unsqueeze(dim), 0.0)
    source = masked_mean(1.0 - match_matrix.sum(-1), source_mask, at_least=1)
    target = masked_mean(1.0 - match_matrix.sum(-2), target_mask, at_least=1)
    return _reduced(source + target, reduction)


def match_loss(
    matches: Tensor,
    truth: Pose,
    source: Tensor,
    *,
    norm: Literal["distance", "l1", "l2"] = "distance",
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """`mean_i |q_i - (R_gt p_i + t_gt)|`: how far the matches q_i lie from the true places.

    The direct way to better matches, and in controlled trainings the one that helped by far the
    most: see docs/analysis.md.

    Args:
        matches: (..., N, 3) the place each source point was matched to (`Registration.matches`).
        truth: (..., 3, 3) true poses.
        source: (..., N, 3).
        norm: "distance" for Euclidean lengths; "l1" and "l2" for the mean over coordinates of |d|
            and of d^2, as in `point_loss`. (REGTR, Yew and Lee 2022, has the sum of |d|: three
            times "l1".)
        mask: (..., N) bool, False where a point is padding or has no counterpart in the target.
        reduction: "mean" over all clouds, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`.

    >>> source = torch.rand(8, 3)
    >>> match_loss(source + torch.tensor([0.0, 3, 4]), Pose.identity(), source)
    tensor(5.)
    """
    check_pose("truth", truth)
    check_tensor("source", source, "N", 3)
    check_tensor("matches", matches, *source.shape[-2:])
    check_leading("truth.rotation", truth.rotation, 2, "source", source, 2)
    check_leading("matches", matches, 2, "source", source, 2)
    check_choice("norm", norm, ("distance", "l1", "l2"))
    miss = blank("matches", matches, mask) - truth.apply(blank("source", source, mask))
    if norm == "distance":
        miss = torch.linalg.vector_norm(miss, dim=-1)
    else:
        miss = (miss.abs() if norm == "l1" else miss.square()).mean(-1)
    return _reduced(masked_mean(miss, mask, at_least=1), reduction)


def overlap_loss(
    logits: Tensor,
    truth: Tensor,
    *,
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Binary cross-entropy of points in the overlap against those outside; both weigh alike.

    For overlap and for matchability (Predator, Huang et al. 2021): each class is weighted by the
    share of the other, so few points of one class are not outvoted.

    Args:
        logits: (..., N), before the sigmoid.
        truth: (..., N) bool.
        mask: (..., N) bool, False where a point is padding.
        reduction: "mean" over all clouds, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`.

    >>> overlap_loss(torch.zeros(4), torch.tensor([True, False, False, False]))
    tensor(0.2599)
    """
    check_tensor("logits", logits, "N")
    if not isinstance(truth, Tensor) or truth.dtype != torch.bool or truth.shape != logits.shape:
        raise ValueError(f"truth must be bool with the shape of logits, {tuple(logits.shape)}")
    share = masked_mean(truth.to(logits.dtype), mask, at_least=1).unsqueeze(-1)
    each = functional.binary_cross_entropy_with_logits(
        logits, truth.to(logits.dtype), reduction="none"
    )
    return _reduced(
        masked_mean(torch.where(truth, 1 - share, share) * each, mask, at_least=1), reduction
    )


def info_nce_loss(
    source: Tensor,
    target: Tensor,
    match: Tensor,
    *,
    temperature: float = 0.1,
    reduction: Reduction = "mean",
) -> Tensor:
    """`mean_i -log(exp(f_i . g_m(i) / T) / sum_j exp(f_i . g_j / T))`: InfoNCE on features.

    Van den Oord et al. 2018. All other target features are negatives.

    Args:
        source: (..., N, C) features; normalise them for cosines.
        target: (..., M, C).
        match: (..., N) int64, the target point that each source point matches; -1 for none.
        temperature: T.
        reduction: "mean" over all clouds, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`. A cloud without matches costs 0.

    >>> features = torch.eye(2)
    >>> info_nce_loss(features, features, torch.tensor([0, -1]), temperature=1.0)
    tensor(0.3133)
    """
    check_tensor("source", source, "N", "C")
    check_tensor("target", target, "M", source.shape[-1])
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = (source @ target.mT / temperature).log_softmax(-1)
    chosen = -scores.gather(-1, match.clamp_min(0).unsqueeze(-1)).squeeze(-1)
    return _reduced(masked_mean(chosen, match >= 0, at_least=1), reduction)


def circle_loss(
    source: Tensor,
    target: Tensor,
    distance: Tensor,
    *,
    near: float,
    far: float,
    positive: float = 0.1,
    negative: float = 1.4,
    sharpness: float = 16.0,
    reduction: Reduction = "mean",
) -> Tensor:
    """`mean_i log(1 + sum_p exp(b_p (d_ip - P)) sum_n exp(b_n (Q - d_in)))`: circle loss.

    Sun et al. 2020, on distances d of unit features as in Predator (Huang et al. 2021): p are the
    target points near to point i, n those far from it, and the weights b_p = G (d_ip - P) and
    b_n = G (Q - d_in), at least 0, are constants. Rows (source points) and columns (target points)
    count alike. Predator's code also divides by G, and its sums count each other pair as exp(0).

    Args:
        source: (..., N, C) features, normalised here.
        target: (..., M, C).
        distance: (..., N, M) distances of the points under the true pose.
        near: points nearer are positives.
        far: points farther are negatives; those between are ignored.
        positive: P, the feature distance that positives should have at most.
        negative: Q, the feature distance that negatives should have at least.
        sharpness: G.
        reduction: "mean" over all clouds, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`. Points without positives or negatives are left
        out.

    >>> features = torch.eye(2)
    >>> apart = torch.tensor([[0.0, 9.0], [9.0, 0.0]])
    >>> float(circle_loss(features, features, apart, near=1, far=2)) < 0.7  # log 2: nothing to push
    True
    """
    check_tensor("source", source, "N", "C")
    check_tensor("target", target, "M", source.shape[-1])
    check_tensor("distance", distance, source.shape[-2], target.shape[-2])
    unit = functional.normalize
    cosine = unit(source, dim=-1) @ unit(target, dim=-1).mT
    d = (2 - 2 * cosine).clamp_min(1e-12).sqrt()
    pull, push = d - positive, negative - d
    pulls = sharpness * pull.detach().clamp_min(0) * pull
    pushes = sharpness * push.detach().clamp_min(0) * push
    pulls = pulls.masked_fill(distance >= near, -torch.inf)
    pushes = pushes.masked_fill(distance <= far, -torch.inf)
    sides = []
    for dim in (-1, -2):
        used = (distance < near).any(dim) & (distance > far).any(dim)
        # Selected before the sum: a row of -inf has no gradient.
        kept = used.unsqueeze(dim)
        pull, push = (torch.where(kept, x, 0).logsumexp(dim) for x in (pulls, pushes))
        sides.append(masked_mean(functional.softplus(pull + push), used, at_least=1))
    return _reduced((sides[0] + sides[1]) / 2, reduction)


def isometry_loss(
    matches: Tensor,
    source: Tensor,
    *,
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """`mean_ij (|q_i - q_j| - |p_i - p_j|)^2`: how far the matches q are from a rigid copy of p.

    A rigid motion keeps all distances (Leordeanu and Hebert 2005). Zero for a mirrored copy, too.

    Args:
        matches: (..., N, 3) the place each source point was matched to.
        source: (..., N, 3).
        mask: (..., N) bool, False where a point is padding.
        reduction: "mean" over all clouds, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`.

    >>> source = torch.eye(3)
    >>> isometry_loss(source + 5, source), isometry_loss(3 * source, source)
    (tensor(0.), tensor(5.3333))
    """
    check_tensor("source", source, "N", 3)
    check_tensor("matches", matches, *source.shape[-2:])
    check_leading("matches", matches, 2, "source", source, 2)
    theirs, ours = (_distances(blank("points", x, mask)) for x in (matches, source))
    pairs = None if mask is None else (mask.unsqueeze(-1) & mask.unsqueeze(-2)).flatten(-2)
    return _reduced(masked_mean((theirs - ours).square().flatten(-2), pairs, at_least=1), reduction)


def extent_loss(
    matches: Tensor,
    source: Tensor,
    *,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """`log(r_matches / r_source)^2`, r the root mean squared distance to the centroid.

    Zero for matches as large as the source, wherever they are: the part of isometry that a single
    number can hold.

    Args:
        matches: (..., N, 3) the place each source point was matched to.
        source: (..., N, 3).
        weights: (..., N), >= 0, of the points; equal if None.
        mask: (..., N) bool, False where a point is padding.
        reduction: "mean" over all clouds, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`.

    >>> source = torch.randn(8, 3)
    >>> [round(float(extent_loss(x, source)), 5) for x in (source + 1, source / torch.e)]
    [0.0, 1.0]
    """
    check_tensor("source", source, "N", 3)
    check_tensor("matches", matches, *source.shape[-2:])
    check_leading("matches", matches, 2, "source", source, 2)
    matches, source = blank("matches", matches, mask), blank("source", source, mask)
    share = torch.ones_like(source[..., 0])
    if weights is not None:
        check_tensor("weights", weights, source.shape[-2])
        check_leading("weights", weights, 1, "source", source, 2)
        share = weights
    if mask is not None:
        share = share.masked_fill(~mask, 0.0)
    share = (share / share.sum(-1, keepdim=True).clamp_min(1e-12)).unsqueeze(-1)
    mine, theirs = _square_radius(matches, share), _square_radius(source, share)
    # A cloud in one point has no logarithm; far below any real one, the gradient is zero instead.
    ratio = mine.clamp_min(1e-12) / theirs.clamp_min(1e-12)
    return _reduced((ratio.log() / 2).square(), reduction)


def discounted(losses: Sequence[Tensor], discount: float = 0.5) -> Tensor:
    """`sum_i discount^(n-1-i) loss_i`: the last iteration counts in full, earlier ones ever less.

    Args:
        losses: one loss for each of n iterations, in order.
        discount: the weight of an iteration relative to the next.

    Returns:
        A tensor shaped as each loss.

    >>> discounted([torch.tensor(4.0), torch.tensor(2.0), torch.tensor(1.0)])
    tensor(3.)
    """
    if len(losses) == 0:
        raise ValueError("losses must hold at least one loss, got none")
    total = losses[0]
    for loss in losses[1:]:
        total = discount * total + loss
    return total


def over_poses(loss: Callable[[Pose], Tensor], poses: Pose, which: Which = "all") -> Tensor:
    """The refinement paper's augmented loss (Eq. 19): the mean of a loss over all its poses.

    That is over the first, Kabsch's, and every refined one.

    Args:
        loss: any loss of a pose, `lambda pose: dcp_loss(pose, truth)`.
        poses: rotation (..., P, 3, 3) and translation (..., P, 3), as `Registration.poses`.
        which: "all" poses, or the "last" alone.

    Returns:
        A tensor shaped as what `loss` returns.

    >>> poses = Pose(torch.eye(3).expand(2, 3, 3), torch.tensor([[3.0, 0, 0], [0, 0, 0]]))
    >>> over_poses(lambda pose: dcp_loss(pose, Pose.identity()), poses)
    tensor(1.5000)
    >>> over_poses(lambda pose: dcp_loss(pose, Pose.identity()), poses, which="last")
    tensor(0.)
    """
    check_choice("which", which, ("all", "last"))
    each = _each(poses)
    if which == "last":
        return loss(each[-1])
    return torch.stack([loss(pose) for pose in each]).mean(0)


def rpmnet_loss(
    poses: Pose,
    truth: Pose,
    source: Tensor,
    match_matrices: Sequence[Tensor] | Tensor | None = None,
    *,
    iterations: int | None = None,
    which: Which = "all",
    norm: Literal["l1", "l2"] = "l1",
    discount: float = 0.5,
    inlier_weight: float = 0.01,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """RPM-Net's loss: `sum_i 0.5^(n-1-i) (point_loss_i + 0.01 inlier_loss_i)` over n iterations.

    Where an iteration has refined poses, its point loss is the mean over them (`over_poses`).

    Args:
        poses: rotation (..., P, 3, 3), the poses of the first iteration, then those of the next,
            as `Registration.poses`; P is a multiple of n.
        truth: (..., 3, 3) true poses.
        source: (..., N, 3).
        match_matrices: n matrices (..., N, M), in a sequence or stacked to (..., n, N, M); None
            leaves the inlier term out, as `inlier_weight=0` does.
        iterations: n; None means as many as there are match matrices, or P without them.
        which: "all" poses of an iteration, or the "last" alone.
        norm: "l1" or "l2", as in `point_loss`.
        discount: the weight of an iteration relative to the next.
        inlier_weight: the weight of the inlier term.
        source_mask: (..., N) bool, False where a point is padding.
        target_mask: (..., M) bool, likewise.
        reduction: "mean" over all clouds, or "none".

    Returns:
        A scalar, or (...) with `reduction="none"`.

    >>> poses = Pose(torch.eye(3).expand(2, 3, 3), torch.tensor([[3.0, 0, 0], [0, 0, 0]]))
    >>> rpmnet_loss(poses, Pose.identity(), torch.rand(4, 3), [torch.eye(4), torch.zeros(4, 4)])
    tensor(0.5200)
    """
    count = len(_each(poses))
    if isinstance(match_matrices, Tensor):
        check_tensor("match_matrices", match_matrices, "n", "N", "M")
        match_matrices = match_matrices.unbind(-3)
    if iterations is None:
        iterations = count if match_matrices is None else len(match_matrices)
    if iterations < 1 or count % iterations:
        raise ValueError(
            f"poses must hold a multiple of {iterations} poses, as many for each iteration, "
            f"got {count}"
        )
    if match_matrices is not None and len(match_matrices) != iterations:
        raise ValueError(
            f"match_matrices must hold one matrix for each of {iterations} iterations, "
            f"got {len(match_matrices)}"
        )

    def of_points(pose: Pose) -> Tensor:
        return point_loss(pose, truth, source, norm=norm, mask=source_mask, reduction=reduction)

    losses = []
    for i, rotation, translation in zip(
        range(iterations),
        poses.rotation.chunk(iterations, dim=-3),
        poses.translation.chunk(iterations, dim=-2),
        strict=True,
    ):
        loss = over_poses(of_points, Pose(rotation, translation), which)
        if match_matrices is not None and inlier_weight != 0:
            loss = loss + inlier_weight * inlier_loss(
                match_matrices[i],
                source_mask=source_mask,
                target_mask=target_mask,
                reduction=reduction,
            )
        losses.append(loss)
    return discounted(losses, discount)


def _each(poses: Pose) -> list[Pose]:
    """The P poses of (..., P, 3, 3), one by one."""
    check_pose("poses", poses)
    if poses.rotation.ndim < 3 or poses.rotation.shape[-3] == 0:
        raise ValueError(
            "poses must have rotations (..., P, 3, 3) with P >= 1, "
            f"got {tuple(poses.rotation.shape)}"
        )
    rotations, translations = poses.rotation.unbind(-3), poses.translation.unbind(-2)
    return [Pose(R, t) for R, t in zip(rotations, translations, strict=True)]


def _distances(cloud: Tensor) -> Tensor:
    """(..., N, N) distances of points; points in one place have no gradient."""
    squared = (cloud.unsqueeze(-2) - cloud.unsqueeze(-3)).square().sum(-1)
    apart = squared > 0
    return torch.where(apart, torch.where(apart, squared, 1).sqrt(), 0)


def _square_radius(cloud: Tensor, share: Tensor) -> Tensor:
    """The mean squared distance to the centroid, (...), by shares (..., N, 1) that sum to 1."""
    offset = cloud - (share * cloud).sum(-2, keepdim=True)
    return (share * offset.square()).sum((-2, -1))


def _reduced(losses: Tensor, reduction: Reduction) -> Tensor:
    check_choice("reduction", reduction, ("mean", "none"))
    return losses.mean() if reduction == "mean" else losses
