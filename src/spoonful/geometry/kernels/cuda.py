"""The pose head on a GPU: whether Triton runs there, and how its kernels are launched."""

from __future__ import annotations

import functools
import logging
from typing import Any

import torch
from torch import Tensor

from spoonful.geometry.plan import Plan

_WARP = 32
_POINTS = 4  # that a thread holds at once: enough to keep the memory busy, few enough for registers
_MOST_WARPS = 16  # for one cloud
_ENOUGH_WARPS = 2048  # on the whole device; with more, clouds only wait for each other

_log = logging.getLogger(__name__)
_compiled: dict[tuple[Any, ...], Any] = {}


@functools.cache
def available(device: torch.device) -> bool:
    """True if Triton runs on this device. Tested once, with a kernel that does nothing."""
    try:
        from spoonful.geometry.kernels import pose_head_triton

        if torch.version.hip:
            raise RuntimeError("the kernels have not been tried on AMD's devices")
        with torch.cuda.device(device):
            pose_head_triton.nothing[(1,)](torch.empty(1, device=device))
    # Triton is missing, or has no C compiler or no support of this device: each its own exception.
    except Exception as error:
        _log.debug("no Triton kernels, using torch's own operations: %s", error)
        return False
    return True


def launch(
    entry: str, plan: Plan, size: tuple[int, int, int], tensors: dict[str, Tensor | None]
) -> None:
    """Queue a kernel of pose_head_triton.py.

    Args:
        entry: "pose_head_forward" or "pose_head_backward".
        plan: what to compute.
        size: how many clouds, points a cloud (in all, if packed), and starts a cloud.
        tensors: the kernel's pointers by name, contiguous; those left out are None.
    """
    kernel, names = _kernel(entry)
    given = [tensors.get(name) for name in names]
    source = given[0]
    assert source is not None
    iterations, form, start = plan
    clouds, points, starts = size
    packed = tensors.get("offsets") is not None
    # The sizes of packed clouds are known on the device alone: they are taken to be equal.
    warps, parts = _split(clouds, -(-points // clouds) if packed else points)
    if entry == "pose_head_forward":
        parts = 1
    lanes = _WARP * warps
    rest = (points, starts, iterations, form == "target", start, iterations > 0, lanes, _POINTS)
    device = source.device.index
    # Everything that the machine code depends on.
    there = tuple([tensor is not None for tensor in given])
    key = (entry, device, source.dtype, form, start, iterations > 0, lanes, _POINTS, there)
    compiled = _compiled.get(key)
    if compiled is not None and device == torch.cuda.current_device():
        # Triton has looked at such arguments before, and need not do it again.
        pointers = [None if tensor is None else tensor.data_ptr() for tensor in given]
        compiled[(clouds, parts, 1)](*pointers, *rest)
        return
    with torch.cuda.device_of(source):
        compiled = kernel[(clouds, parts)](*given, *rest, num_warps=warps)
    if compiled is not None:  # which it is in the interpreter
        _compiled[key] = compiled


@functools.cache
def _kernel(entry: str) -> tuple[Any, tuple[str, ...]]:
    """A kernel, and the names of its pointers in their order."""
    from spoonful.geometry.kernels import pose_head_triton

    kernel = getattr(pose_head_triton, entry)
    return kernel, tuple(kernel.arg_names[: kernel.arg_names.index("points")])


def _split(clouds: int, points: int) -> tuple[int, int]:
    """Warps for each block, and blocks for each cloud backward, where they are independent.

    Warps of a block: as many as its points can use and the other clouds leave, a power of two.
    """
    warps = 1
    while (
        warps < _MOST_WARPS
        and warps * _WARP * _POINTS < points
        and 2 * warps * clouds <= _ENOUGH_WARPS
    ):
        warps *= 2
    blocks = -(-points // (_WARP * warps * _POINTS))
    return warps, max(1, min(blocks, _ENOUGH_WARPS // (clouds * warps)))
