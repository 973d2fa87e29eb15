"""Small models and batches for the tests of `spoonful.models`."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from spoonful.batch import Batch
from spoonful.geometry import Pose, SpoonfulLayer, random_rotation
from spoonful.models import DCP, RegistrationModel, RPMNet

DATA = Path(__file__).parents[1] / "golden" / "models"


def golden(name: str, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """Tensors made with the published code."""
    load_file = pytest.importorskip("safetensors.torch").load_file
    tensors = load_file(DATA / f"{name}.safetensors")
    return {k: v.to(dtype) if v.is_floating_point() else v for k, v in tensors.items()}


def small_dcp(**options: object) -> DCP:
    torch.manual_seed(0)
    return DCP(**{"emb_dims": 32, "ff_dims": 48, **options})


def small_rpmnet(**options: object) -> RPMNet:
    torch.manual_seed(0)
    return RPMNet(**{"feat_dim": 16, "neighbors": 12, **options})


SMALL = {
    "dcp-v2": lambda **options: small_dcp(**options),
    "dcp-v1": lambda **options: small_dcp(pointer="identity", **options),
    "dcp-pointnet": lambda **options: small_dcp(embedding="pointnet", **options),
    "rpmnet": lambda **options: small_rpmnet(**options),
    "rpmnet-xyz": lambda **options: small_rpmnet(features=("xyz", "dxyz"), **options),
}


def with_layer(build, **options: object) -> RegistrationModel:
    return build(refine=SpoonfulLayer(iterations=3), **options)


def make_batch(
    pairs: int = 2,
    source_points: int = 40,
    target_points: int = 40,
    *,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Batch:
    """Clouds in the unit ball; each target is a moved part of its source, in another order."""
    generator = torch.Generator().manual_seed(seed)
    count = max(source_points, target_points)
    points = torch.rand(pairs, count, 3, generator=generator, dtype=dtype) - 0.5
    normals = F.normalize(torch.randn(pairs, count, 3, generator=generator, dtype=dtype), dim=-1)
    rotation = random_rotation(pairs, max_degrees=40.0, generator=generator, dtype=dtype)
    pose = Pose(rotation, 0.3 * torch.rand(pairs, 3, generator=generator, dtype=dtype))
    order = torch.randperm(count, generator=generator)[:target_points]
    return Batch(
        source=points[:, :source_points],
        target=pose.apply(points)[:, order],
        source_normals=normals[:, :source_points],
        target_normals=Pose(rotation, torch.zeros_like(pose.translation)).apply(normals)[:, order],
        pose=pose,
    )


def item(batch: Batch, i: int) -> Batch:
    """One pair of a batch, cut to its real points."""
    source = slice(None) if batch.source_mask is None else batch.source_mask[i]
    target = slice(None) if batch.target_mask is None else batch.target_mask[i]
    assert batch.pose is not None
    return Batch(
        source=batch.source[i, source][None],
        target=batch.target[i, target][None],
        source_normals=batch.source_normals[i, source][None],
        target_normals=batch.target_normals[i, target][None],
        pose=Pose(batch.pose.rotation[i : i + 1], batch.pose.translation[i : i + 1]),
    )


def padded(items: list[Batch], *, fill: float = float("nan")) -> Batch:
    """Single pairs as one padded batch; padding holds `fill`, NaN unless told."""
    sizes = [max(getattr(one, n).shape[1] for one in items) for n in ("source", "target")]
    made: dict[str, Tensor] = {}
    for name, size in zip(("source", "target"), sizes, strict=True):
        for field in (name, f"{name}_normals"):
            made[field] = torch.cat(
                [
                    F.pad(x, (0, 0, 0, size - x.shape[1]), value=fill)
                    for x in (getattr(one, field) for one in items)
                ]
            )
        made[f"{name}_mask"] = torch.stack(
            [torch.arange(size) < getattr(one, name).shape[1] for one in items]
        )
    pose = Pose(
        torch.cat([one.pose.rotation for one in items]),
        torch.cat([one.pose.translation for one in items]),
    )
    return Batch(**made, pose=pose)


def as_dtype(batch: Batch, dtype: torch.dtype) -> Batch:
    changed = {
        f.name: value.to(dtype)
        for f in fields(batch)
        if (value := getattr(batch, f.name)) is not None and not f.name.endswith("mask")
    }
    return replace(batch, **changed)


def gradients(model: RegistrationModel, batch: Batch) -> dict[str, Tensor]:
    """The loss's gradient by parameter, zeros where there is none."""
    model.zero_grad()
    model.loss(model(batch), batch).backward()
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad.clone()
        for name, p in model.named_parameters()
        if p.requires_grad
    }
