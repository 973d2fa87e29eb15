"""Whether a kernel may be used: what torch is doing, what the tensors are, what the user wants."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from spoonful.geometry.checks import working_dtype
from spoonful.geometry.kernels import cuda
from spoonful.geometry.kernels.build import library

_PLAIN = (Tensor, nn.Parameter)
_disabled = ContextVar("spoonful_kernels_disabled", default=False)


@contextmanager
def disabled() -> Iterator[None]:
    """Compute in torch's own operations within this block, whatever kernels there are.

    >>> from spoonful.geometry import kabsch
    >>> with disabled():
    ...     pose = kabsch(torch.eye(3), torch.eye(3))
    """
    token = _disabled.set(True)
    try:
        yield
    finally:
        _disabled.reset(token)


def usable(
    source: Tensor,
    target: Tensor,
    weights: Tensor | None,
    mask: Tensor | None,
    rotation: Tensor | None = None,
    offsets: Tensor | None = None,
) -> bool:
    """Whether the compiled pose head can take these tensors, in the mode torch is in.

    The first use compiles it. Only kinds of tensors are looked at: shapes and values are for the
    caller to check, with its own errors.
    """
    if torch.compiler.is_compiling():
        # Triton's kernels are also operators, which can be traced; C's are not, nor packed clouds.
        return (
            offsets is None
            and not torch._C._are_functorch_transforms_active()
            and all(
                isinstance(tensor, Tensor) and tensor.is_cuda and tensor.device == source.device
                for tensor in present(source, target, weights, mask, rotation)
            )
            and ready(source.device)
        )
    if not plain(source, target, weights, mask, rotation, offsets) or off():
        return False
    if source.is_cuda:
        return cuda.available(source.device)
    dtype = working_dtype(source, target, weights)
    return library(real_of(dtype)) is not None


def ready(device: torch.device) -> bool:
    """Whether kernels are wanted, and to be had, while torch.compile traces."""
    return not off() and cuda.available(device)


# What torch.compiler.assume_constant_result does, less the seconds that its import of Dynamo takes.
ready._dynamo_marked_constant = True  # type: ignore[attr-defined]


# Whether this is a block of `disabled`.
within_disabled = _disabled.get


def check_wish(wish: str) -> None:
    """Say that what the environment holds is none of the words for it.

    >>> check_wish("off"), check_wish("")
    (None, None)
    """
    if wish.lower() not in ("", "on", "off", "all"):
        warnings.warn(f"SPOONFUL_KERNELS={wish} is read as on; off and all are known", stacklevel=2)


check_wish(os.environ.get("SPOONFUL_KERNELS", ""))


def off() -> bool:
    """Whether the user wants no kernels."""
    return within_disabled() or os.environ.get("SPOONFUL_KERNELS", "").lower() == "off"


def plain(*tensors: Tensor | None) -> bool:
    """Whether each of these is just numbers in one memory, and torch just computes with them."""
    if not plain_mode():
        return False
    device = None
    for tensor in tensors:  # a plain loop, as this is on the way of every call
        if tensor is None:
            continue
        if (
            type(tensor) not in _PLAIN
            or tensor.layout is not torch.strided
            or not torch._C._has_storage(tensor)
        ):
            return False
        if device is None:
            device = tensor.device
            if device.type not in ("cpu", "cuda"):
                return False
        elif tensor.device != device:
            return False
    return True


def plain_mode() -> bool:
    """Whether torch just computes.

    Not while it traces, and not within `torch.func` or forward-mode AD, where a tensor stands for
    more than the numbers it holds.
    """
    return not (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or forward_ad._current_level >= 0
        or torch._C._is_tracing()
    )


def present(*tensors: Tensor | None) -> list[Tensor]:
    """Those that are not None."""
    return [tensor for tensor in tensors if tensor is not None]


def real_of(dtype: torch.dtype) -> str:
    """C's name of a working precision."""
    return "double" if dtype == torch.float64 else "float"
