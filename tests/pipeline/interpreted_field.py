"""The kernel for fields on the CPU, in Triton's interpreter: the nearest cells that torch finds.

Run by geometry/test_triton.py in a process of its own, since Triton decides to interpret when it is
imported (TRITON_INTERPRET=1).
"""

from __future__ import annotations

import contextlib

import pytest
import torch

from spoonful.pipeline import field_triton
from spoonful.pipeline.field import _along


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_the_kernel_finds_the_nearest_cells(kind, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_of", lambda tensor: contextlib.nullcontext())
    taken = torch.rand(20, 9, 33, generator=torch.Generator().manual_seed(0)) < 0.01
    bits = taken.numel().bit_length()
    key = torch.arange(taken.numel(), dtype=kind).view_as(taken)
    key = key.masked_fill(~taken, 1 << (bits + 8))
    for axis in range(3):
        found = field_triton.along(key, axis, 7, bits)
        key = _along(key, axis, bits)
        assert torch.equal(found, key)
