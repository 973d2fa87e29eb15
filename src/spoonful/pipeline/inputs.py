"""Convert arrays, tensors, files and objects of other libraries to a cloud."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor

from spoonful.data.clouds import Cloud, Mesh, read
from spoonful.data.clouds.types import finite_rows
from spoonful.data.sampling import unit
from spoonful.extras import require

# Points taken from a mesh at least: about as many as a scan of one object has.
MESH_SAMPLES = 20_000


def as_cloud(
    value: object,
    *,
    name: str = "cloud",
    normals: object = None,
    mesh_samples: int | None = None,
    seed: int = 0,
) -> Cloud:
    """Convert to one cloud of finite float64 points.

    Accepted are: a path to any file that `read` reads; (N, 3) arrays and tensors, or anything that
    numpy converts to one; (N, 6) arrays whose last columns are unit normals; `Cloud` and `Mesh` of
    this package; point clouds and triangle meshes of Open3D; meshes, scenes and point clouds of
    trimesh; data sets of PyVista. A mesh is sampled, uniformly by area.
    Points with NaN or infinite coordinates, which depth cameras write for missing depth, are left
    out and counted in `Cloud.dropped`. If a cloud has weights, such as the opacities of splats,
    each point is kept with the probability of its weight.

    Args:
        value: the points.
        name: the name of `value` in errors.
        normals: (N, 3) array or tensor, one for each point of `value`; None takes the normals of
            `value`, if it has any.
        mesh_samples: points to sample from a mesh; None for as many as it has vertices, and at
            least `MESH_SAMPLES`.
        seed: seed of that sampling.

    Raises:
        ValueError: not points, no finite point, or normals that do not fit.
        TypeError: an object that holds no points.

    >>> as_cloud([[0.0, 0, 0], [1, 0, 0], [float("nan"), 0, 0]]).points
    tensor([[0., 0., 0.],
            [1., 0., 0.]], dtype=torch.float64)
    >>> as_cloud(torch.zeros(5, 2), name="source")
    Traceback (most recent call last):
    ValueError: source must have shape (N, 3), got (5, 2)
    """
    cloud = _open(value, name, mesh_samples, seed)
    points = cloud.points.detach().to("cpu", torch.float64)
    own = cloud.normals
    if normals is not None:
        own = _tensor(normals, f"{name}_normals")
        if own.shape != points.shape:
            raise ValueError(
                f"{name}_normals must have the shape of {name}, {tuple(points.shape)}, "
                f"got {tuple(own.shape)}"
            )
    finite = finite_rows(points)
    if own is not None:
        own = unit(own.detach().to("cpu", torch.float64))
        # A missing normal would make every average over it NaN.
        good = own.isfinite().all(-1) & (own.abs().amax(-1) > 0)
        if not bool(good[finite].all()):
            own = None
    if not bool(finite.any()):
        what = f"{len(points)} points, none of them finite" if len(points) else "no points"
        raise ValueError(f"{name} must hold finite points, got {what}")
    missing = int((~finite).sum())
    if cloud.weights is not None:
        finite = _drawn(finite, cloud.weights, seed)
    everything = bool(finite.all())
    return Cloud(
        points if everything else points[finite],
        own if own is None or everything else own[finite],
        None if cloud.colors is None else cloud.colors.cpu()[finite],
        cloud.dropped + missing,
        sensor=cloud.sensor,
    )


def _drawn(kept: Tensor, weights: Tensor, seed: int) -> Tensor:
    """Choose points with the probability of their weights; `kept` if fewer than 3 are left."""
    generator = torch.Generator().manual_seed(seed)
    chance = torch.rand(len(weights), generator=generator, dtype=torch.float64)
    drawn = kept & (chance < weights.detach().to("cpu", torch.float64))
    return drawn if int(drawn.sum()) >= 3 else kept


def _open(value: Any, name: str, samples: int | None, seed: int) -> Cloud:
    """`value` as a cloud, not yet checked."""
    if isinstance(value, Cloud):
        return value
    generator = torch.Generator().manual_seed(seed)
    if isinstance(value, Mesh):
        return _sample(value, name, samples, generator)
    if isinstance(value, str | os.PathLike):
        shape = read(value, drop_nonfinite=True)
        return _open(shape, os.fspath(value), samples, seed)
    if isinstance(value, Tensor):
        return _from_table(value, name)
    kind = type(value).__module__.split(".")[0]
    if kind == "open3d":
        return _from_open3d(value, name, samples, generator)
    if kind == "trimesh":
        return _from_trimesh(value, name, samples, generator)
    if kind == "pyvista" and hasattr(value, "points"):
        return _from_pyvista(value, name, samples, generator)
    return _from_table(_tensor(value, name), name)


def _tensor(value: Any, name: str) -> Tensor:
    """Convert anything that numpy can make an array of to a float64 tensor."""
    if isinstance(value, Tensor):
        found = value
    else:
        np = require("numpy", extra="data", why="Registering arrays")
        try:
            array = np.asarray(value)
            array = array.astype(np.float64) if array.dtype.kind in "fiub" else None
        except (TypeError, ValueError):
            array = None
        if array is None or array.ndim == 0:
            raise TypeError(
                f"{name} must be an array, a tensor, a path, or a cloud or mesh of spoonful, "
                f"Open3D, trimesh or PyVista, got {type(value).__name__}"
            )
        found = torch.from_numpy(array)
    if found.is_complex():
        raise TypeError(f"{name} must hold real numbers, got {found.dtype}")
    return found.detach().to("cpu", torch.float64)


def _from_table(table: Tensor, name: str) -> Cloud:
    table = _tensor(table, name)
    shape = tuple(table.shape)
    if len(shape) != 2 or shape[1] not in (3, 6):
        raise ValueError(f"{name} must have shape (N, 3), got {shape}")
    if shape[1] == 3:
        return Cloud(table)
    normals = table[:, 3:]
    length = torch.linalg.vector_norm(normals, dim=-1)
    if not bool(((length - 1).abs() < 0.05)[table.isfinite().all(-1)].all()):
        raise ValueError(
            f"{name} has 6 columns, but the last three are not unit normals; "
            f"give the points alone, {name}[:, :3]"
        )
    return Cloud(table[:, :3], normals)


def _from_open3d(value: Any, name: str, samples: int | None, generator: torch.Generator) -> Cloud:
    # The tensor-based classes of open3d.t have a way back to the older ones.
    value = value.to_legacy() if hasattr(value, "to_legacy") else value
    if hasattr(value, "triangles"):
        return _mesh(value.vertices, value.triangles, name, samples, generator)
    if not hasattr(value, "points"):
        raise TypeError(f"{name} must hold points, got Open3D's {type(value).__name__}")
    has_normals = hasattr(value, "has_normals") and value.has_normals()
    return Cloud(
        _tensor(value.points, name).reshape(-1, 3),
        _tensor(value.normals, name) if has_normals else None,
    )


def _from_trimesh(value: Any, name: str, samples: int | None, generator: torch.Generator) -> Cloud:
    if hasattr(value, "to_geometry"):
        # A scene: one mesh of all its parts, where they stand.
        value = value.to_geometry()
    if len(getattr(value, "faces", ())):
        return _mesh(value.vertices, value.faces, name, samples, generator)
    if not hasattr(value, "vertices"):
        raise TypeError(f"{name} must hold points, got trimesh's {type(value).__name__}")
    return Cloud(_tensor(value.vertices, name).reshape(-1, 3))


def _from_pyvista(value: Any, name: str, samples: int | None, generator: torch.Generator) -> Cloud:
    if not hasattr(value, "faces"):  # a grid: its points alone
        return Cloud(_tensor(value.points, name))
    # A cloud has a vertex cell for each point, and no faces.
    value = value.triangulate() if len(value.faces) else value
    return _mesh(value.points, value.faces.reshape(-1, 4)[:, 1:], name, samples, generator)


def _mesh(
    vertices: Any, faces: Any, name: str, samples: int | None, generator: torch.Generator
) -> Cloud:
    points = _tensor(vertices, name).reshape(-1, 3)
    triangles = _tensor(faces, name).reshape(-1, 3).to(torch.int64)
    if len(triangles) == 0:
        return Cloud(points)
    return _sample(Mesh(points, triangles), name, samples, generator)


def _sample(mesh: Mesh, name: str, samples: int | None, generator: torch.Generator) -> Cloud:
    try:
        # Files of triangles alone have each vertex several times.
        own = min(len(mesh.vertices), len(mesh.faces))
        return mesh.sample(samples or max(MESH_SAMPLES, own), generator)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
