"""The inference path as a module of plain tensors, and as a file for other programs."""

from __future__ import annotations

import io
import math
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from spoonful.batch import Batch
from spoonful.extras import require
from spoonful.files import write_whole
from spoonful.geometry import Pose, kernels
from spoonful.models.contract import RegistrationModel, evaluating

_INPUTS = ("source", "target", "source_normals", "target_normals")


class Inference(nn.Module):
    """A model as a function from tensors to tensors, in eval mode.

    Args:
        model: any registration model; it is put in eval mode.

    >>> from spoonful.models import DCP
    >>> clouds = torch.rand(1, 32, 3), torch.rand(1, 32, 3)
    >>> program = torch.export.export(Inference(DCP(emb_dims=16, pointer="identity")), clouds)
    >>> rotation, translation = program.module()(*clouds)
    >>> rotation.shape, translation.shape
    (torch.Size([1, 3, 3]), torch.Size([1, 3]))
    """

    def __init__(self, model: RegistrationModel) -> None:
        super().__init__()
        self.model = model.eval()

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_normals: Tensor | None = None,
        target_normals: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Register (B, N, 3) to (B, M, 3): rotation (B, 3, 3) and translation (B, 3)."""
        batch = Batch(source, target, source_normals, target_normals)
        pose: Pose = self.model(batch).pose
        return pose.rotation, pose.translation


def save_program(
    model: RegistrationModel,
    path: str | os.PathLike[str],
    *,
    points: tuple[int, int] | None = None,
) -> Path:
    """Export a model to a file that runs without Spoonful.

    It takes one pair of clouds, as the network sees them (centred, in the unit ball), with normals
    for a model that reads them. It returns rotation (1, 3, 3) and translation (1, 3). The other
    steps of `RegistrationModel.register` (drawing points, scaling, polishing) are not included.

    Args:
        model: any registration model; written in eval mode, and left in the mode it is in.
        path: `.pt2` for `torch.export.load`, and from there for C++; `.onnx` for ONNX runtimes,
            with inputs `source`, `target` and perhaps `source_normals`, `target_normals`, and
            outputs `rotation`, `translation`. docs/export.md has a program that calls one.
        points: of the source and of the target, for a program of these sizes alone. None is for any
            number, and needs torch 2.6 or newer. The larger cloud then needs as many points as the
            model has neighbours (20 for DCP, 64 for RPM-Net).

    Returns:
        The file's path.

    Raises:
        MissingExtra: for `.onnx`, onnx or onnxscript is not installed.
        ValueError: the name ends otherwise, or ONNX lacks what the model does.
    """
    suffix = Path(path).suffix
    if suffix not in (".pt2", ".onnx"):
        raise ValueError(f"path must end in .pt2 or .onnx, got {os.fspath(path)!r}")
    if points is not None and (
        not isinstance(points, (tuple, list)) or len(points) != 2 or min(points) < 3
    ):
        raise ValueError(f"points must be two numbers, at least 3 and 3, got {points}")
    if suffix == ".onnx":
        for module in ("onnx", "onnxscript"):
            require(module, extra="onnx", why="Writing ONNX files")
    device = next(model.parameters(), torch.empty(0)).device
    if points is None and not hasattr(torch.export.Dim, "DYNAMIC"):
        raise ValueError("points must be two numbers, because torch is older than 2.6")
    sizes = (points or (1037, 1031)) * (2 if model.needs_normals else 1)
    # Only shapes are read. A tensor that came twice would be taken for one input.
    inputs = tuple(torch.zeros(1, size, 3, device=device) for size in sizes)
    shapes = None if points else tuple({1: torch.export.Dim.DYNAMIC} for _ in inputs)
    content = io.BytesIO()
    # The exported file must not need our own kernels.
    with evaluating(model), torch.no_grad(), kernels.disabled():
        with Arithmetic() if suffix == ".onnx" else nullcontext():
            program = torch.export.export(
                Inference(model), inputs, dynamic_shapes=shapes, strict=False
            )
        if suffix == ".pt2":
            torch.export.save(program, content)
        else:
            try:
                made: Any = torch.onnx.export(
                    program,
                    dynamo=True,
                    verbose=False,
                    input_names=list(_INPUTS[: len(inputs)]),
                    output_names=["rotation", "translation"],
                    # Runtimes simplify what they load; doing so here takes minutes.
                    optimize=False,
                )
                content.write(made.model_proto.SerializeToString())
            except torch.onnx.OnnxExporterError as error:
                raise ValueError(
                    f"ONNX cannot express all that {type(model).__name__} does; write a .pt2 file"
                ) from error
    return write_whole(path, content.getvalue())


class Arithmetic(TorchFunctionMode):
    """Replaces what ONNX lacks while a model is traced.

    ONNX has no singular value decomposition, no atan2 and no logaddexp. torch's own replacements
    take atan2(0, -1) for -pi, and exponentials that overflow from 89 on.
    `ExportedProgram.run_decompositions` could do the same, but it traces the whole graph again:
    RPM-Net with free sizes then takes several minutes more.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        replaced = {
            torch.linalg.svd: svd_by_arithmetic,
            torch.atan2: atan2_by_atan,
            torch.logaddexp: stable_logaddexp,
        }
        return replaced.get(func, func)(*args, **(kwargs or {}))


def svd_by_arithmetic(
    matrix: Tensor, full_matrices: bool = True, *, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """`torch.linalg.svd` of (..., 3, 3) by Jacobi's one-sided method, without LAPACK.

    Pairs of columns of A V are turned until they are orthogonal, the longer one first. What they
    lack is squared from round to round: after four it is less than float32's rounding.

    Args:
        matrix: (..., 3, 3), with entries about one, as `kabsch` scales them.
        full_matrices: of no meaning for square matrices.
        driver: of none for this method.

    >>> U, s, Vh = svd_by_arithmetic(torch.diag(torch.tensor([1.0, -3, 2])))
    >>> s
    tensor([3., 2., 1.])
    """
    del full_matrices, driver
    eye = torch.eye(3, dtype=matrix.dtype, device=matrix.device)
    columns = [*torch.cat([matrix, eye.expand_as(matrix)], -2).unbind(-1)]  # of A V over V
    for i, j in 4 * ((0, 1), (0, 2), (1, 2)):
        p, q = columns[i], columns[j]
        a, b = p[..., :3], q[..., :3]
        angle = atan2_by_atan(2 * _dot(a, b), _dot(a + b, a - b)) / 2
        cos, sin = angle.cos(), angle.sin()
        columns[i], columns[j] = cos * p + sin * q, cos * q - sin * p
    a, b, c = (column[..., :3] for column in columns)
    # Where a column is zero, whatever is orthogonal to those before it.
    x = _unit(a, eye[0])
    y = _unit(b - _dot(x, b) * x, _unit(torch.linalg.cross(x, eye[2].expand_as(x)), eye[1]))
    z = torch.linalg.cross(x, y)
    z = torch.where(_dot(z, c) < 0, -z, z)
    s = torch.cat([_dot(x, a), _dot(y, b), _dot(z, c)], -1)
    return torch.stack([x, y, z], -1), s, torch.stack([column[..., 3:] for column in columns], -2)


def atan2_by_atan(y: Tensor, x: Tensor) -> Tensor:
    """`torch.atan2`, without the sign of zero.

    >>> atan2_by_atan(torch.tensor([0.0, 0, 1, -1]), torch.tensor([-1.0, 0, 0, 1]))
    tensor([ 3.1416,  0.0000,  1.5708, -0.7854])
    """
    slope = torch.where(x == 0, torch.where(y == 0, y, y / x.abs()), y / x)
    half_turn = torch.where(x < 0, torch.where(y < 0, -math.pi, math.pi), 0.0)
    return slope.atan() + half_turn


def stable_logaddexp(a: Tensor, b: Tensor) -> Tensor:
    """`torch.logaddexp`, of which one argument at least is finite.

    >>> stable_logaddexp(torch.tensor([0.0, 100, -torch.inf]), torch.zeros(3))
    tensor([  0.6931, 100.0000,   0.0000])
    """
    return torch.maximum(a, b) + torch.log1p(torch.exp(-(a - b).abs()))


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(-1, keepdim=True)


def _unit(vector: Tensor, otherwise: Tensor) -> Tensor:
    length = _dot(vector, vector).sqrt()
    return torch.where(length < 1e-18, otherwise, vector / length)
