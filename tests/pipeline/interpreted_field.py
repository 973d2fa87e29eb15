"""The kernels for fields on the CPU, in Triton's interpreter: the cells and poses that torch finds.

Run by geometry/test_triton.py in a process of its own, since Triton decides to interpret when it is
imported (TRITON_INTERPRET=1).
"""

from __future__ import annotations

import contextlib

import pytest
import torch

from pipeline.lumps import ellipsoid
from spoonful.icp import FEWEST
from spoonful.pipeline import field, field_triton


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_the_kernel_finds_the_nearest_cells(kind, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_of", lambda tensor: contextlib.nullcontext())
    taken = torch.rand(10, 9, 17, generator=torch.Generator().manual_seed(0)) < 0.01
    bits = taken.numel().bit_length()
    key = torch.arange(taken.numel(), dtype=kind).view_as(taken)
    key = key.masked_fill(~taken, 1 << (bits + 8))
    for axis in range(3):
        found = field_triton.along(key, axis, 7, bits)
        key = field._along(key, axis, bits)
        assert torch.equal(found, key)


@pytest.mark.parametrize(("signed", "cells"), [(False, 2_000_000), (True, 1000)])
def test_the_kernel_settles_poses_where_torch_does(signed, cells, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_of", lambda tensor: contextlib.nullcontext())
    monkeypatch.setattr(field_triton, "_LANES", 128)
    monkeypatch.setattr(field, "_MOST_CELLS", cells)
    target, source, normals, start = ellipsoid(signed)
    there = field.Field(target, normals)
    given = there, source, normals, start
    wanted = field.settle(*given, rounds=2, signed=signed)
    options = {"cosine": field._PARALLEL, "damping": field.DAMPING, "fewest": FEWEST}
    found = field_triton.settle(*given, rounds=2, reach=2.5, signed=signed, **options)
    assert (wanted.translation[0] - start.translation[0]).norm() > 0.1
    for ours, theirs, before in zip(found, wanted, start, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
        assert torch.equal(ours[1:], before[1:])  # without matches
