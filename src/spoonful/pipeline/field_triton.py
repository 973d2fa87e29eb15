"""The nearest occupied cells along an axis of a grid in one Triton kernel, not in 22 operations."""

# mypy: ignore-errors
# (Triton reads the kernel, not Python: its arguments have no Python types.)

import torch
import triton
import triton.language as tl
from torch import Tensor

_SIZE, _WARPS = 256, 4


def along(key: Tensor, axis: int, far: int, bits: int) -> Tensor:
    """The least `key + (step**2 << bits)` of the cells up to `far` steps away along an axis.

    Args:
        key: (D, H, W) int32 or int64, contiguous.
        axis: 0, 1 or 2.
        far: how many steps.
        bits: of the cell's number in a key.
    """
    found = torch.empty_like(key)
    with torch.cuda.device_of(key):
        along_kernel[(triton.cdiv(key.numel(), _SIZE),)](
            key,
            found,
            key.numel(),
            key.stride(axis),
            key.shape[axis],
            bits,
            FAR=far,
            SIZE=_SIZE,
            num_warps=_WARPS,
        )
    return found


@triton.jit(do_not_specialize=["count", "stride", "length", "bits"])
def along_kernel(key, found, count, stride, length, bits, FAR: tl.constexpr, SIZE: tl.constexpr):
    """One cell a lane."""
    cell = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    there = cell < count
    place = cell // stride % length
    least = tl.load(key + cell, mask=there, other=0)
    for step in range(-FAR, FAR + 1):
        inside = there & (place + step >= 0) & (place + step < length)
        beside = tl.load(key + cell + step * stride, mask=inside, other=0)
        beside += (step * step) << bits
        least = tl.where(inside, tl.minimum(least, beside), least)
    tl.store(found + cell, least, mask=there)
