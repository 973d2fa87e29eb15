"""Errors measured on points, in the clouds' unit or its square.

Results are float64. A cloud with nothing but padding has no error to speak of: NaN.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spoonful.geometry import Pose
from spoonful.geometry.checks import check_tensor
from spoonful.geometry.exact import rotate
from spoonful.geometry.neighbors import nearest
from spoonful.inputs import blank, check_leading, check_pose, check_poses, masked_mean


def chamfer_distance(
    source: Tensor,
    target: Tensor,
    *,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
) -> Tensor:
    """Mean squared distance to the nearest point of the other cloud, summed over both directions.

    `mean_i min_j |s_i - t_j|^2 + mean_j min_i |s_i - t_j|^2`, the paper's Eqs. 24 and 25. Memory
    does not grow with the product of the sizes: the search is exhaustive but goes by parts.

    Args:
        source: (..., N, 3), in the target's frame: `pose.apply(source)`.
        target: (..., M, 3).
        source_mask: (..., N) bool, False where a point is padding.
        target_mask: (..., M) bool, likewise.

    Returns:
        (...) squared distances.

    >>> square = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    >>> chamfer_distance(square, square + torch.tensor([0, 0, 0.5]))
    tensor(0.5000, dtype=torch.float64)
    """
    check_tensor("source", source, "N", 3)
    check_tensor("target", target, "M", 3)
    check_leading("source", source, 2, "target", target, 2)
    there = _mean_squared_distance(source, source_mask, target, target_mask, "source")
    back = _mean_squared_distance(target, target_mask, source, source_mask, "target")
    return there + back


def modified_chamfer_distance(
    pose: Pose,
    truth: Pose,
    source: Tensor,
    target: Tensor,
    clean: Tensor,
    *,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
) -> Tensor:
    """RPM-Net's Chamfer distance of each noisy, partial cloud to the whole clean shape.

    X is the clean shape in the target's frame. The moved source is compared with X, and the target
    with `R R_gt^T (X - t_gt) + t`, X moved by the error of the pose. So the points that cropping
    took away cost nothing, and a perfect pose costs noise alone.

    Args:
        pose: (..., 3, 3) estimates.
        truth: (..., 3, 3) true poses.
        source: (..., N, 3).
        target: (..., M, 3).
        clean: (..., L, 3) the clean shape in the target's frame (`Batch.clean`).
        source_mask: (..., N) bool, False where a point is padding.
        target_mask: (..., M) bool, likewise.

    Returns:
        (...) squared distances.

    >>> clean = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    >>> truth = Pose.identity()
    >>> modified_chamfer_distance(truth, truth, clean[:3], clean[1:], clean)
    tensor(0., dtype=torch.float64)
    >>> chamfer_distance(clean[:3], clean[1:]) > 0.6
    tensor(True)
    """
    check_poses(pose, truth)
    for name, cloud in (("source", source), ("target", target), ("clean", clean)):
        check_tensor(name, cloud, "N", 3)
        check_leading("pose.rotation", pose.rotation, 2, name, cloud, 2)
    slip = pose.to(torch.float64).compose(truth.to(torch.float64).inverse()).to(clean.dtype)
    moved = pose.apply(blank("source", source, source_mask))
    there = _mean_squared_distance(moved, source_mask, clean, None, "source")
    back = _mean_squared_distance(target, target_mask, slip.apply(clean), None, "target")
    return there + back


def mean_point_distance(
    pose: Pose, truth: Pose, source: Tensor, *, mask: Tensor | None = None
) -> Tensor:
    """`mean_i |(R - R_gt) p_i + t - t_gt|`: how far the source's points land from their place.

    The paper's Eq. 26.

    Args:
        pose: (..., 3, 3) estimates.
        truth: (..., 3, 3) true poses.
        source: (..., N, 3).
        mask: (..., N) bool, False where a point is padding.

    Returns:
        (...) distances.

    >>> pose = Pose(torch.eye(3), torch.tensor([0.0, 3, 4]))
    >>> mean_point_distance(pose, Pose.identity(), torch.rand(10, 3))
    tensor(5., dtype=torch.float64)
    """
    check_poses(pose, truth)
    check_tensor("source", source, "N", 3)
    check_leading("pose.rotation", pose.rotation, 2, "source", source, 2)
    # The difference of the poses first: with it, two equal poses differ by exactly nothing.
    turn = pose.rotation.double() - truth.rotation.double()
    shift = pose.translation.double() - truth.translation.double()
    miss = rotate(turn, blank("source", source, mask).double()) + shift.unsqueeze(-2)
    return masked_mean(torch.linalg.vector_norm(miss, dim=-1), mask)


def correspondence_error(
    matches: Tensor, truth: Pose, source: Tensor, *, mask: Tensor | None = None
) -> Tensor:
    """`mean_i |q_i - (R_gt p_i + t_gt)|`: how far the matches q_i lie from the true places.

    Args:
        matches: (..., N, 3) the place each source point was matched to, in the target's frame
            (`Registration.matches`).
        truth: (..., 3, 3) true poses.
        source: (..., N, 3).
        mask: (..., N) bool, False where a point is padding.

    Returns:
        (...) distances.

    >>> source = torch.tensor([[1.0, 0, 0], [0, 1, 0]])
    >>> correspondence_error(source + torch.tensor([0, 3, 4]), Pose.identity(), source)
    tensor(5., dtype=torch.float64)
    """
    check_pose("truth", truth)
    check_tensor("source", source, "N", 3)
    check_tensor("matches", matches, *source.shape[-2:])
    check_leading("matches", matches, 2, "source", source, 2)
    check_leading("truth.rotation", truth.rotation, 2, "source", source, 2)
    place = truth.to(torch.float64).apply(blank("source", source, mask).double())
    miss = blank("matches", matches, mask).double() - place
    return masked_mean(torch.linalg.vector_norm(miss, dim=-1), mask)


def relative_correspondence_error(
    matches: Tensor, truth: Pose, source: Tensor, *, mask: Tensor | None = None
) -> Tensor:
    """The correspondence error as a fraction of the points' mean distance to their centroid.

    1 is the error of matching every point to the centroid of the cloud, which says nothing about
    the rotation. The paper only says "with respect to the ground truth". With distances to the
    centroid its figures (96 % at an error of 0.52) are possible. Distances to the origin would
    depend on the translation, and give 70 to 80 %.

    Args:
        matches: (..., N, 3) the place each source point was matched to, in the target's frame.
        truth: (..., 3, 3) true poses.
        source: (..., N, 3).
        mask: (..., N) bool, False where a point is padding.

    Returns:
        (...) fractions (the paper prints percent).

    >>> source = torch.rand(10, 3)
    >>> collapsed = source.mean(0, keepdim=True).expand(10, 3)
    >>> f"{relative_correspondence_error(collapsed, Pose.identity(), source):.4f}"
    '1.0000'
    """
    error = correspondence_error(matches, truth, source, mask=mask)
    cloud = blank("source", source, mask).double()
    centroid = masked_mean(cloud.mT, None if mask is None else mask.unsqueeze(-2))
    extent = torch.linalg.vector_norm(cloud - centroid.unsqueeze(-2), dim=-1)
    return error / masked_mean(extent, mask)


def _mean_squared_distance(
    query: Tensor, query_mask: Tensor | None, points: Tensor, mask: Tensor | None, name: str
) -> Tensor:
    squared = nearest(blank(name, query, query_mask), points, mask=mask).squared_distance.double()
    return masked_mean(squared, query_mask)
