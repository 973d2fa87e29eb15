"""Checks of arguments, with errors that name the argument, what was seen and what is wanted."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor


def working_dtype(*tensors: Tensor | None) -> torch.dtype:
    """The precision to compute in: float64 if an input has it, otherwise float32."""
    wide = any(tensor is not None and tensor.dtype == torch.float64 for tensor in tensors)
    return torch.float64 if wide else torch.float32


class Matched(NamedTuple):
    """Matched clouds of one batch shape; see `matched`."""

    source: Tensor
    target: Tensor
    weights: Tensor | None
    mask: Tensor | None


def matched(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    flat: bool = False,
) -> Matched:
    """Clouds of matched points with usable weights, broadcast to one batch shape; raise otherwise.

    Args:
        source: (..., N, 3).
        target: (..., N, 3). Leading dimensions of both broadcast.
        weights: what broadcasts to (..., N), >= 0; or None.
        mask: what broadcasts to (..., N), bool; or None.
        flat: whether both clouds may also be (..., N, 2).

    >>> cloud = torch.zeros(5, 3)
    >>> matched(cloud, cloud.expand(8, 5, 3)).source.shape
    torch.Size([8, 5, 3])
    """
    size = 2 if flat and _is_flat(source) and _is_flat(target) else 3
    check_cloud("source", source, size)
    check_cloud("target", target, size)
    if source.shape != target.shape:
        if source.shape[-2] != target.shape[-2] or not _broadcast(source.shape, target.shape):
            raise ValueError(
                "source and target must hold matched points and so have the same shape, "
                f"got {_shape(source)} and {_shape(target)}"
            )
        source, target = torch.broadcast_tensors(source, target)
    if weights is not None:
        check_is_tensor("weights", weights)
        if weights.dtype == torch.bool:
            raise TypeError("weights must be floating point, got torch.bool; pass a mask as mask=")
        check_float("weights", weights)
        weights = _companion("weights", weights, source)
        if values_are_checked(weights) and weights.numel():
            lowest = float(weights.detach().amin())
            if lowest < 0:
                raise ValueError(f"weights must be >= 0, got {lowest:g} among them")
    if mask is not None:
        check_is_tensor("mask", mask)
        if mask.dtype != torch.bool:
            raise TypeError(f"mask must be bool (True keeps a point), got {mask.dtype}")
        mask = _companion("mask", mask, source)
    for name, tensor in (("target", target), ("weights", weights), ("mask", mask)):
        if tensor is not None and tensor.device != source.device:
            raise ValueError(
                f"{name} must be on the device of source, {source.device}, got {tensor.device}"
            )
    return Matched(source, target, weights, mask)


def check_start(name: str, rotation: Tensor, source: Tensor, *, values: bool) -> None:
    """Raise unless there is one start rotation for each cloud."""
    check_rotation(name, rotation, values=values)
    if rotation.shape[:-2] != source.shape[:-2]:
        raise ValueError(
            f"{name} must have the batch dimensions of source, {tuple(source.shape[:-2])}, "
            f"got shape {tuple(rotation.shape)}"
        )


def check_cloud(name: str, cloud: Tensor, size: int = 3) -> None:
    """Raise unless `cloud` is a floating-point tensor (..., N, size) with N >= 1."""
    # Every call comes here, so this is one expression; `check_tensor` finds the error message.
    if not (
        isinstance(cloud, Tensor)
        and cloud.is_floating_point()
        and cloud.ndim >= 2
        and cloud.shape[-1] == size
    ):
        check_tensor(name, cloud, "N", size)
    if cloud.shape[-2] == 0:
        raise ValueError(f"{name} must hold at least one point, got {_shape(cloud)}")


def check_rotation(name: str, rotation: Tensor, *, values: bool = True) -> None:
    """Raise unless `rotation` is (..., 3, 3) and, if `values`, a proper rotation to 1e-3."""
    check_tensor(name, rotation, 3, 3)
    if not (values and can_look(rotation)):
        return
    matrix = rotation.detach().to(working_dtype(rotation))
    gap = (matrix.unsqueeze(-1) * matrix.unsqueeze(-2)).sum(-3)
    gap = (gap - torch.eye(3, dtype=gap.dtype, device=gap.device)).abs().amax((-1, -2))
    x, y, z = matrix.unbind(-1)
    proper = (torch.linalg.cross(x, y) * z).sum(-1) > 0
    # A NaN rotation comes from a NaN cloud: the result is NaN, and no error.
    bad = ((gap > 1e-3) | ~proper) & matrix.isfinite().all(-1).all(-1)
    if bad.any():
        raise ValueError(
            f"{name} must hold proper rotations, but {int(bad.sum())} of {bad.numel()} are not "
            f"(largest |R^T R - I| is {gap[bad].amax().item():.2g}); "
            "`refine` and `linearized_step` take any matrix with check=False"
        )


def check_tensor(name: str, tensor: Tensor, *tail: int | str) -> None:
    """Raise unless `tensor` is floating point and ends in `tail`; letters stand for any size.

    >>> check_tensor("source", torch.zeros(8, 3, 100), "N", 3)
    Traceback (most recent call last):
    ValueError: source must have shape (..., N, 3), got (8, 3, 100); pass source.mT
    """
    check_float(name, tensor)
    check_shape(name, tensor, *tail)


def check_shape(name: str, tensor: Tensor, *tail: int | str) -> None:
    """Raise unless `tensor` is a tensor that ends in `tail`; letters stand for any size."""
    check_is_tensor(name, tensor)
    fits = tensor.ndim >= len(tail)
    for place, size in enumerate(tail, start=-len(tail)):
        fits = fits and (tensor.shape[place] == size or isinstance(size, str))
    if not fits:
        wanted = ", ".join(str(size) for size in tail)
        # Many networks store points as columns, (B, 3, N).
        columns = len(tail) == 2 and tail[-1] == 3 and tensor.shape[-2:-1] == (3,)
        hint = f"; pass {name}.mT" if columns and isinstance(tail[0], str) else ""
        raise ValueError(f"{name} must have shape (..., {wanted}), got {_shape(tensor)}{hint}")


def check_float(name: str, tensor: Tensor) -> None:
    """Raise unless `tensor` is a tensor of floating-point numbers."""
    check_is_tensor(name, tensor)
    if not tensor.is_floating_point():
        raise TypeError(f"{name} must be floating point, got {tensor.dtype}")


def check_is_tensor(name: str, tensor: object) -> None:
    """Raise unless `tensor` is one: an array or a list has no device and no gradient."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise unless `value` is one of `choices`.

    >>> check_choice("form", "middle", ("source", "target"))
    Traceback (most recent call last):
    ValueError: form must be 'source' or 'target', got 'middle'
    """
    if value not in choices:
        *others, last = (repr(choice) for choice in choices)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {value!r}")


def check_count(name: str, value: object, *, least: int = 1) -> None:
    """Raise unless `value` is a whole number of at least `least`.

    >>> check_count("iterations", 2.5)
    Traceback (most recent call last):
    ValueError: iterations must be an int >= 1, got 2.5
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an int >= {least}, got {value!r}")


def can_look(tensor: Tensor) -> bool:
    """True if Python may branch on a tensor's values.

    It may not while torch.compile traces, nor inside torch.func.vmap, where there are many values.
    """
    if torch.compiler.is_compiling():
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def values_are_checked(tensor: Tensor) -> bool:
    """True if values are read and checked: on the CPU. On a GPU this would stall the queue."""
    return tensor.device.type == "cpu" and can_look(tensor)


def all_known(condition: Tensor) -> bool:
    """True if a condition is known, without waiting for a device, to hold everywhere.

    A shortcut past the rare cases: False means "take the general path", not "it does not hold".
    """
    return values_are_checked(condition) and bool(condition.all())


def _companion(name: str, tensor: Tensor, cloud: Tensor) -> Tensor:
    """One entry for each point of `cloud`."""
    wanted = cloud.shape[:-1]
    if tensor.shape == wanted:
        return tensor
    # (N,) serves all clouds of a batch. A last dimension of 1 is a column, and not meant so.
    if (
        0 < tensor.ndim <= len(wanted)
        and tensor.shape[-1] == wanted[-1]
        and all(a in (1, b) for a, b in zip(tensor.shape[::-1], wanted[::-1], strict=False))
    ):
        return tensor.expand(wanted)
    hint = f"; pass {name}.squeeze(-1)" if tensor.shape == (*wanted, 1) else ""
    raise ValueError(
        f"{name} must have one entry per point, shape {tuple(wanted)}, got {_shape(tensor)}{hint}"
    )


def _broadcast(a: torch.Size, b: torch.Size) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False))


def _is_flat(cloud: Tensor) -> bool:
    return isinstance(cloud, Tensor) and cloud.ndim >= 2 and cloud.shape[-1] == 2


def _shape(tensor: Tensor) -> str:
    return str(tuple(tensor.shape))
