"""Bad input: an error that names the argument, what was seen and what is wanted."""

from __future__ import annotations

import re

import pytest
import torch

from spoonful.geometry import (
    Pose,
    gram_schmidt,
    hat,
    kabsch,
    linearized_step,
    moments,
    random_rotation,
    refine,
    rotation_from_vector,
    stability,
    vee,
)

POINTS = torch.randn(2, 5, 3)
EYE = torch.eye(3).expand(2, 3, 3)


@pytest.mark.parametrize("fit", [kabsch, moments, stability])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2, 3], POINTS), TypeError, "source must be a torch.Tensor, got list"),
        ((POINTS.long(), POINTS), TypeError, "source must be floating point, got torch.int64"),
        ((POINTS, POINTS.int()), TypeError, "target must be floating point, got torch.int32"),
        (
            (POINTS[..., :2], POINTS),
            ValueError,
            "source must have shape (..., N, 3), got (2, 5",
        ),
        (
            (POINTS.mT, POINTS.mT),
            ValueError,
            "source must have shape (..., N, 3), got (2, 3, 5); pass source.mT",
        ),
        ((POINTS, POINTS[0, 0]), ValueError, "target must have shape (..., N, 3), got (3,)"),
        ((POINTS, POINTS[:, :4]), ValueError, "the same shape, got (2, 5, 3) and (2, 4, 3)"),
        ((POINTS[:, :0], POINTS), ValueError, "at least one point, got (2, 0, 3)"),
        ((POINTS, POINTS.repeat(2, 1, 1)), ValueError, "got (2, 5, 3) and (4, 5, 3)"),
        ((POINTS.repeat(1, 1, 2), POINTS), ValueError, "(..., N, 3), got (2, 5, 6)"),
        (
            (POINTS, POINTS.to("meta")),
            ValueError,
            "target must be on the device of source, cpu, got meta",
        ),
    ],
)
def test_bad_clouds(fit, arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        fit(*arguments)


@pytest.mark.parametrize("fit", [kabsch, moments, stability])
@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        (
            {"weights": torch.ones(2, 4)},
            ValueError,
            "weights must have one entry per point",
        ),
        ({"weights": torch.ones(2, 5).int()}, TypeError, "weights must be floating point"),
        ({"weights": torch.ones(2, 5).bool()}, TypeError, "torch.bool; pass a mask as mask="),
        ({"weights": [1.0]}, TypeError, "weights must be a torch.Tensor, got list"),
        ({"weights": -torch.ones(2, 5)}, ValueError, "weights must be >= 0, got -1 among them"),
        ({"weights": torch.ones(2, 5, 1)}, ValueError, "pass weights.squeeze(-1)"),
        ({"mask": torch.ones(4, dtype=torch.bool)}, ValueError, "mask must have one entry"),
        ({"mask": torch.ones(2, 5)}, TypeError, "mask must be bool (True keeps a point)"),
    ],
)
def test_bad_weights_and_masks(fit, keywords, error, message):
    with pytest.raises(error, match=re.escape(message)):
        fit(POINTS, POINTS, **keywords)


@pytest.mark.parametrize("fit", [refine, linearized_step, stability])
@pytest.mark.parametrize(
    ("rotation", "error", "message"),
    [
        (2 * EYE, ValueError, "rotation must hold proper rotations, but 2 of 2 are not"),
        (-EYE, ValueError, "rotation must hold proper rotations"),
        (EYE[0], ValueError, "the batch dimensions of source, (2,), got shape (3, 3)"),
        (torch.eye(4), ValueError, "rotation must have shape (..., 3, 3), got (4, 4)"),
        (EYE.long(), TypeError, "rotation must be floating point, got torch.int64"),
        ("identity", TypeError, "rotation must be a torch.Tensor, got str"),
    ],
)
def test_bad_rotations(fit, rotation, error, message):
    with pytest.raises(error, match=re.escape(message)):
        fit(POINTS, POINTS, rotation)


def test_check_false_accepts_any_matrix():
    assert refine(POINTS, POINTS, 2 * EYE, check=False).rotation.isfinite().all()


@pytest.mark.parametrize("fit", [refine, stability])
def test_bad_settings(fit):
    with pytest.raises(ValueError, match="form must be 'source' or 'target', got 'middle'"):
        fit(POINTS, POINTS, EYE, form="middle")
    for iterations in (-1, 2.5, True):
        with pytest.raises(ValueError, match=f"iterations must be an int >= 1, got {iterations}"):
            fit(POINTS, POINTS, EYE, iterations=iterations)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hat(torch.ones(4)), "vector must have shape (..., 3), got (4,)"),
        (lambda: vee(torch.ones(2, 2)), "matrix must have shape (..., 3, 3), got (2, 2)"),
        (lambda: gram_schmidt(torch.ones(3)), "matrix must have shape (..., 3, 3), got (3,)"),
        (lambda: rotation_from_vector(torch.ones(2)), "vector must have shape (..., 3), got (2,)"),
        (lambda: Pose.identity(2).apply(POINTS.mT), "got (2, 3, 5); pass points.mT"),
        (lambda: Pose.identity().apply(POINTS[0, 0]), "points must have shape (..., N, 3), got (3"),
    ],
)
def test_bad_vectors_and_points(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_bad_matrices_and_angles():
    with pytest.raises(TypeError, match=r"matrix must be a torch\.Tensor, got list"):
        Pose.from_matrix([[1.0, 0, 0, 0]])
    with pytest.raises(ValueError, match=re.escape("shape (..., 4, 4) or (..., 3, 4), got (3, 3)")):
        Pose.from_matrix(torch.eye(3))
    with pytest.raises(TypeError, match=r"matrix must be floating point, got torch\.int64"):
        gram_schmidt(torch.eye(3).long())
    with pytest.raises(IndexError, match="too many indices"):
        Pose.identity(2).at(0, 0)
    with pytest.raises(ValueError, match=re.escape("max_degrees must lie in [0, 180], got 190")):
        random_rotation(max_degrees=190)
