"""The kernel for normals on the CPU, in Triton's interpreter: the axes that torch finds.

Run by geometry/test_triton.py in a process of its own, since Triton decides to interpret when it is
imported (TRITON_INTERPRET=1).
"""

from __future__ import annotations

import contextlib

import torch

from spoonful.data.least_axis_triton import least_axis
from spoonful.data.normals import _least_axis


def test_the_kernel_finds_the_least_axes(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_of", lambda tensor: contextlib.nullcontext())
    spread = torch.randn(300, 3, 5, generator=torch.Generator().manual_seed(0))
    matrix = spread @ spread.mT
    matrix[0], matrix[1] = torch.zeros(3, 3), torch.eye(3)
    matrix[2], matrix[3] = torch.ones(3, 3), torch.diag(torch.tensor([3.0, 2, 1]))
    torch.testing.assert_close(least_axis(matrix), _least_axis(matrix))
