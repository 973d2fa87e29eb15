"""The decision to use a kernel: by the user's switch, torch's mode and the kinds of tensors."""

from __future__ import annotations

import functools
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
from spoonful.geometry.kernels.library import library

_PLAIN = (Tensor, nn.Parameter)
_disabled = ContextVar("spoonful_kernels_disabled", default=False)


@contextmanager
def disabled() -> Iterator[None]:
    """Compute in torch's own operations within this block.

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
    start: Tensor | None = None,
    offsets: Tensor | None = None,
) -> bool:
    """True if the compiled pose head can take these tensors, in the mode torch is in.

    Only kinds of tensors are looked at. Shapes and values are checked by the caller.
    """
    if torch.compiler.is_compiling():
        # Triton's kernels are an operator, too, which can be traced. C's, and packed clouds, not.
        return (
            offsets is None
            and not torch._C._are_functorch_transforms_active()
            and all(
                tensor.is_cuda and tensor.device == source.device
                for tensor in (source, target, weights, mask, start)
                if tensor is not None
            )
            and ready(source.device)
        )
    if not plain(source, target, weights, mask, start, offsets) or off() or not source.numel():
        return False
    if source.is_cuda:
        return cuda.available(source.device)
    return library(working_dtype(source, target, weights)) is not None


def ready(device: torch.device) -> bool:
    """True if kernels are wanted, and Triton runs on this device. A constant for torch.compile."""
    return not off() and cuda.available(device)


# As torch.compiler.assume_constant_result, which would import Dynamo and take seconds.
ready._dynamo_marked_constant = True  # type: ignore[attr-defined]


def off() -> bool:
    """True within `disabled`, or with SPOONFUL_KERNELS=off."""
    return _disabled.get() or _means_off(os.environ.get("SPOONFUL_KERNELS", ""))


@functools.cache
def _means_off(value: str) -> bool:
    """Read SPOONFUL_KERNELS; warn, once, if its value is unknown.

    >>> _means_off("off"), _means_off("on"), _means_off("")
    (True, False, False)
    """
    if value.lower() not in ("", "on", "off"):
        warnings.warn(
            f"SPOONFUL_KERNELS must be on or off, got {value!r}; it is read as on", stacklevel=2
        )
    return value.lower() == "off"


def plain(*tensors: Tensor | None) -> bool:
    """True if all tensors are plain, strided and on one device, outside any torch transform."""
    if (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or forward_ad._current_level >= 0
        or torch._C._is_tracing()
    ):
        return False
    device = None
    for tensor in tensors:  # a plain loop: every call comes here
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
