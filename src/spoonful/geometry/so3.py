"""Rotations: the skew matrices that generate them, and ways to make them.

    hat(v) a = v x a        vee(A) = (A32 - A23, A13 - A31, A21 - A12)

`vee` takes twice the skew part (no factor 1/2), so `vee(hat(v)) = 2 v`, and it is the adjoint of
`hat`: `<A, hat(v)> = vee(A) . v`. Every gradient in this package moves through that identity,
mostly in two products that need no skew matrix: `vee(R^T A)` and `R hat(v)` are cross products.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from spoonful.geometry.checks import check_shape, check_tensor


def hat(vector: Tensor) -> Tensor:
    """The skew matrix of a vector: `hat(v) @ a = cross(v, a)`.

    Args:
        vector: (..., 3).

    Returns:
        (..., 3, 3).

    >>> hat(torch.tensor([1.0, 2.0, 3.0]))
    tensor([[ 0., -3.,  2.],
            [ 3.,  0., -1.],
            [-2.,  1.,  0.]])
    """
    check_shape("vector", vector, 3)
    x, y, z = vector.unbind(-1)
    o = torch.zeros_like(x)
    return torch.stack([o, -z, y, z, o, -x, -y, x, o], dim=-1).reshape(*vector.shape, 3)


def vee(matrix: Tensor) -> Tensor:
    """Twice the axial vector of a matrix's skew part: the adjoint of `hat`.

    Args:
        matrix: (..., 3, 3).

    Returns:
        (..., 3): (A32 - A23, A13 - A31, A21 - A12).

    >>> vee(hat(torch.tensor([1.0, 2.0, 3.0])))
    tensor([2., 4., 6.])
    """
    check_shape("matrix", matrix, 3, 3)
    return torch.stack(
        [
            matrix[..., 2, 1] - matrix[..., 1, 2],
            matrix[..., 0, 2] - matrix[..., 2, 0],
            matrix[..., 1, 0] - matrix[..., 0, 1],
        ],
        dim=-1,
    )


def torque(rotation: Tensor, matrix: Tensor) -> Tensor:
    """`vee(R^T A)`: the gradient of `tr(R^T A)` by a turn of R, in the frame that R maps from."""
    return torch.linalg.cross(matrix, rotation, dim=-1).sum(-2)


def turned(rotation: Tensor, vector: Tensor) -> Tensor:
    """`R hat(v)`: the velocity of R as it turns by v in the frame that it maps from."""
    return torch.linalg.cross(rotation, vector.unsqueeze(-2), dim=-1)


def gram_schmidt(matrix: Tensor) -> Tensor:
    """The paper's rotation assembler (Eqs. 14 to 17): a rotation from a matrix's first two columns.

    The first column is normalised, the second made orthogonal to it and normalised, the third is
    their cross product. Unlike a projection by SVD it is smooth at rotations, which is where the
    refinement uses it. The third column of `matrix` is ignored.

    Args:
        matrix: (..., 3, 3) with independent first two columns (otherwise the result is NaN).

    Returns:
        (..., 3, 3) proper rotations.

    >>> gram_schmidt(torch.tensor([[2.0, 1, 9], [0, 3, 9], [0, 0, 9]]))
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """
    check_tensor("matrix", matrix, 3, 3)
    x = _unit(matrix[..., :, 0])
    z = _unit(torch.linalg.cross(x, matrix[..., :, 1]))
    y = torch.linalg.cross(z, x)
    return torch.stack([x, y, z], dim=-1)


def rotation_from_vector(vector: Tensor) -> Tensor:
    """Rodrigues' formula: the rotation about `vector` by its length in radians.

    Args:
        vector: (..., 3). Smooth at zero, where the result is the identity.

    Returns:
        (..., 3, 3).

    >>> turn = rotation_from_vector(torch.tensor([0.0, 0.0, math.pi / 2]))
    >>> bool(torch.allclose(turn @ torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]), atol=1e-6))
    True
    """
    check_shape("vector", vector, 3)
    squared = vector.square().sum(-1)[..., None, None]
    tiny = squared < 1e-8
    angle = torch.where(tiny, torch.ones_like(squared), squared).sqrt()
    sine = torch.where(tiny, 1 - squared / 6, torch.sin(angle) / angle)
    # (1 - cos a) / a^2 written with the half angle, which does not cancel for small a.
    half = angle / 2
    cosine = torch.where(tiny, 0.5 - squared / 24, 0.5 * (torch.sin(half) / half).square())
    outer = vector.unsqueeze(-1) * vector.unsqueeze(-2)
    eye = torch.eye(3, dtype=vector.dtype, device=vector.device)
    turn = torch.addcmul(eye, sine, turned(eye.expand_as(outer), vector))
    return torch.addcmul(turn, cosine, outer - squared * eye)


def random_rotation(
    *batch: int,
    max_degrees: float = 180.0,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Rotations about uniformly random axes by angles uniform in [0, max_degrees].

    With the default bound this is not the uniform (Haar) distribution, which favours large angles.

    Args:
        batch: leading dimensions of the result.
        max_degrees: the largest angle, in degrees.
        generator: source of randomness; the global one if None. Its device must be `device`.
        dtype: as for `torch.rand`.
        device: as for `torch.rand`.

    Returns:
        (*batch, 3, 3).

    >>> random_rotation(2, 5, max_degrees=30).shape
    torch.Size([2, 5, 3, 3])
    """
    if not 0 <= max_degrees <= 180:
        raise ValueError(f"max_degrees must lie in [0, 180], got {max_degrees}")
    axis = torch.randn(*batch, 3, generator=generator, dtype=dtype, device=device)
    angle = torch.rand(*batch, 1, generator=generator, dtype=dtype, device=device)
    return rotation_from_vector(_unit(axis) * angle * math.radians(max_degrees))


def _unit(vector: Tensor) -> Tensor:
    return vector / torch.linalg.vector_norm(vector, dim=-1, keepdim=True)
