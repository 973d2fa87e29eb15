"""The pose head and robust fits on a GPU: tell if Triton runs there, and launch its kernels."""

from __future__ import annotations

import functools
import logging
from typing import Any

import torch
from torch import Tensor

from spoonful.geometry import reweighting
from spoonful.geometry.plan import KABSCH, Plan

_WARP = 32
_POINTS = 4  # that a thread holds at once: enough to keep the memory busy, few enough for registers
_MOST_WARPS = 16  # for one cloud
_ENOUGH_WARPS = 2048  # on the whole device; with more, clouds only wait for each other
_MANY = 1 << 16  # points of a cloud; with more, several blocks sum them forward, too
_PART = 22  # as in triton_sums.py
# Losses as in triton_sums.py.
_GNC_TLS, _TRUNCATED, _NO_LOSS, _RESIDUALS = 3, 4, 5, 6

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
    entry: str,
    plan: Plan,
    size: tuple[int, int, int],
    tensors: dict[str, Tensor | None],
    **numbers: Any,
) -> bool:
    """Queue the kernels of a fit; the same for a GPU as `library.call` for the CPU.

    Args:
        entry: "robust_forward", "robust_backward" or a kernel of pose_head_triton.py.
        plan: what to compute.
        size: how many clouds, points a cloud (in all, if packed), and starts a cloud.
        tensors: the kernel's pointers by name, contiguous; those left out are None.
        numbers: the kernel's constants that do not follow from these, or settings of a robust fit.

    Returns:
        False if the work is left to the reference.
    """
    if entry == "robust_forward":
        _robust_forward(size, tensors, **numbers)
    if entry.startswith("robust"):
        return entry == "robust_forward"
    clouds, points, starts = size
    iterations, form, start, _ = plan
    # The sizes of packed clouds are known on the device alone: they are taken to be equal.
    each = points if tensors.get("offsets") is None else -(-points // clouds)
    warps, parts = _split(clouds, each)
    given = {
        **{"points": points, "starts": starts, "iterations": iterations, "parts": parts},
        **{"TARGET": form == "target", "START": start, "REFINE": iterations > 0, "AGAIN": False},
        **{"LOSS": _NO_LOSS, "CUTOFF": 0.0, "LANES": _WARP * warps, "UNROLL": _POINTS},
        "SPREAD": form if iterations else "none" if tensors.get("factor") is None else "trace",
        **numbers,
    }
    if entry == "pose_head_forward":
        if each > _MANY and parts > 1 and tensors.get("sums") is None:
            tensors = {**tensors, "sums": _sums(tensors, clouds, parts)}
            launch("cloud_sums", plan, size, tensors)
        parts = 1
    _queue(entry, (clouds, parts, 1), warps, tensors, given)
    return True


def _queue(
    entry: str,
    grid: tuple[int, int, int],
    warps: int,
    tensors: dict[str, Tensor | None],
    numbers: dict[str, Any],
) -> None:
    kernel, pointer_names, number_names = _kernel(entry)
    given = [tensors.get(name) for name in pointer_names]
    rest = [numbers[name] for name in number_names]
    source = given[0]
    assert source is not None
    device = source.device.index
    # Everything that the machine code depends on. Constants of a kernel have names in capitals.
    there = tuple([tensor is not None for tensor in given])
    constants = tuple([numbers[name] for name in number_names if name.isupper()])
    key = (entry, device, source.dtype, constants, there)
    compiled = _compiled.get(key)
    if compiled is not None and device == torch.cuda.current_device():
        # Triton has looked at such arguments before, and need not do it again.
        pointers = [None if tensor is None else tensor.data_ptr() for tensor in given]
        compiled[grid](*pointers, *rest)
        return
    with torch.cuda.device_of(source):
        compiled = kernel[grid](*given, *rest, num_warps=warps)
    if compiled is not None:  # which it is in the interpreter
        _compiled[key] = compiled


def _sums(tensors: dict[str, Tensor | None], clouds: int, parts: int) -> Tensor:
    """Memory for the sums of all clouds' parts."""
    source = tensors["source"]
    assert source is not None
    return source.new_empty(clouds, parts, _PART, dtype=torch.float64)


def _robust_forward(
    size: tuple[int, int, int],
    tensors: dict[str, Any],
    *,
    loss: int,
    cutoff: float,
    rounds: int,
    estimate: bool,
) -> None:
    """All rounds of robust fits, as in `robust.py`; tensors as in `struct call` of pose_head.c.

    The residuals are in the frame and unit of the first fit. Factors hold them in between if the
    noise, or the first sharpness, depends on all of them.
    """
    launch("pose_head_forward", KABSCH, size, tensors)
    clouds, points, _ = size
    factors, noise = tensors["factors"].view(clouds, points), tensors["noise"].view(clouds)
    unit = tensors["state"][:, -1].to(noise.dtype)
    lost = unit - unit  # NaN for clouds that have no pose
    start = tensors["robust_start"]
    if start is not None:
        begin = start.view(clouds, 13) + lost[:, None]
        for name, part in zip(("rotation", "translation", "factor"), (9, 3, 1), strict=True):
            if tensors.get(name) is not None:
                tensors[name].view(clouds, part).copy_(begin[:, :part])
            begin = begin[:, part:]
    tensors = {**tensors, "sums": _sums(tensors, clouds, _split(clouds, points)[1])}
    silent = {**tensors, "factors": None}
    sharpness = None
    for k in range(rounds):
        last = k == rounds - 1
        if estimate or (loss == _GNC_TLS and k == 0):
            launch("cloud_sums", KABSCH, size, tensors, LOSS=_RESIDUALS, CUTOFF=cutoff)
        if estimate:
            noise.copy_(reweighting.median_noise(factors) / unit)
        if loss == _GNC_TLS:
            if sharpness is None:
                largest = factors.nan_to_num_(0).amax(-1)
                ratio = largest / (cutoff * reweighting.positive(noise * unit)).square()
                sharpness = reweighting.sharpness(ratio, rounds, started=start is not None)
            silent["sharpness"] = tensors["sharpness"] = sharpness[k]
        kind = _TRUNCATED if loss == _GNC_TLS and last else loss
        used = tensors if last else silent
        launch("cloud_sums", KABSCH, size, used, LOSS=kind, CUTOFF=cutoff)
        launch("pose_head_forward", KABSCH, size, tensors, AGAIN=True)
    noise.add_(lost)


@functools.cache
def _kernel(entry: str) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    """A kernel, and the names of its pointers and of its numbers in their order."""
    from spoonful.geometry.kernels import pose_head_triton

    kernel = getattr(pose_head_triton, entry)
    names = tuple(kernel.arg_names)
    return kernel, names[: names.index("points")], names[names.index("points") :]


def _split(clouds: int, points: int) -> tuple[int, int]:
    """Warps for each block, and blocks for each cloud, if they are independent.

    Warps of a block: as many as its points can use and the other clouds leave, a power of two.
    Blocks: not more than the threads of one, which add up their sums.
    """
    warps = 1
    while (
        warps < _MOST_WARPS
        and warps * _WARP * _POINTS < points
        and 2 * warps * clouds <= _ENOUGH_WARPS
    ):
        warps *= 2
    blocks = -(-points // (_WARP * warps * _POINTS))
    return warps, max(1, min(blocks, _ENOUGH_WARPS // (clouds * warps), _WARP * warps))
