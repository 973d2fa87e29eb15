"""The contents of a file: points (`Cloud`) or triangles (`Mesh`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from spoonful.data.normals import estimate_normals
from spoonful.data.sampling import sample_surface

# The names of columns for positions, normals and colours; the first of each are written.
POSITION = ("x", "y", "z")
NORMAL = (
    ("nx", "ny", "nz"),
    ("normal_x", "normal_y", "normal_z"),
    ("normalx", "normaly", "normalz"),
)
COLOR = (("red", "green", "blue"), ("r", "g", "b"))
STANDARD = frozenset(
    name for group in ((POSITION,), NORMAL, COLOR, (("rgb", "rgba"),)) for names in group
    for name in names
)  # fmt: skip


# Called with the number of points that are read or written, and the number of all points.
Tell = Callable[[int, int], object]


def quiet(done: int, total: int) -> None:
    """Show no progress."""


def finite_rows(points: Tensor) -> Tensor:
    """(N,) bool, True for finite rows of (N, 3); in portions, to use little memory."""
    return torch.cat([part.isfinite().all(-1) for part in points.split(1 << 20)])


def needs_float64(points: Tensor) -> bool:
    """True if float32 would round (N, 3) points by more than a hundred thousandth of their extent.

    >>> needs_float64(torch.rand(9, 3).double()), needs_float64(torch.rand(9, 3).double() + 5.4e6)
    (False, True)
    """
    low, high = points.aminmax(dim=0)
    extent = float((high - low).max())
    return float(torch.maximum(high, -low).max()) * 2**-24 > 1e-5 * extent


class CloudFileError(ValueError):
    """A file is malformed; the message begins with its name."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """N points, with normals and colours if they are known.

    Attributes:
        points: (N, 3) float32 or float64.
        normals: (N, 3) unit vectors in the dtype of `points`, or None.
        colors: (N, 3) uint8, red, green, blue; or None.
        dropped: how many points were left out because they were not finite.
        fields: all columns of the file, (N,) arrays by name, if they were asked for; see `read`.
        header: what a writer of the same format can use again, such as a LAS header.
        weights: (N,) from 0 to 1, such as the opacities of Gaussian splats; or None.
        sensor: (3,) where the sensor of a single scan was, as float64 on the CPU; None if the file
            does not say so.

    >>> cloud = Cloud(torch.eye(3))
    >>> len(cloud), cloud.normals is None
    (3, True)
    >>> Cloud(torch.eye(3), normals=torch.eye(2))
    Traceback (most recent call last):
    ValueError: normals must have the shape of points, (3, 3), got (2, 2)
    """

    points: Tensor
    normals: Tensor | None = None
    colors: Tensor | None = None
    dropped: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    header: Any = None
    weights: Tensor | None = None
    sensor: Tensor | None = None

    def __post_init__(self) -> None:
        shape = tuple(self.points.shape)
        if len(shape) != 2 or shape[1] != 3:
            raise ValueError(f"points must have shape (N, 3), got {shape}")
        if self.points.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"points must be float32 or float64, got {self.points.dtype}")
        for name, value in (("normals", self.normals), ("colors", self.colors)):
            if value is not None and tuple(value.shape) != shape:
                raise ValueError(
                    f"{name} must have the shape of points, {shape}, got {tuple(value.shape)}"
                )
        if self.normals is not None and not self.normals.is_floating_point():
            raise TypeError(f"normals must be floating point, got {self.normals.dtype}")
        if self.colors is not None and self.colors.dtype != torch.uint8:
            raise TypeError(f"colors must be uint8, got {self.colors.dtype}")
        if self.weights is not None and tuple(self.weights.shape) != shape[:1]:
            raise ValueError(
                f"weights must have shape {shape[:1]}, got {tuple(self.weights.shape)}"
            )
        if self.sensor is not None:
            sensor = torch.as_tensor(self.sensor, dtype=torch.float64, device="cpu")
            if tuple(sensor.shape) != (3,) or not bool(sensor.isfinite().all()):
                raise ValueError(f"sensor must be three finite numbers, got {self.sensor}")
            object.__setattr__(self, "sensor", sensor)

    def __len__(self) -> int:
        return self.points.shape[0]

    def select(self, index: Tensor | slice) -> Self:
        """The points at `index`, an integer or bool tensor or a slice, with all they carry."""
        rows = index.cpu().numpy() if self.fields and isinstance(index, Tensor) else index
        return replace(
            self,
            points=self.points[index],
            normals=None if self.normals is None else self.normals[index],
            colors=None if self.colors is None else self.colors[index],
            fields={name: column[rows] for name, column in self.fields.items()},
            weights=None if self.weights is None else self.weights[index],
        )

    def to(self, where: torch.device | torch.dtype | str) -> Self:
        """The same cloud on another device, or with coordinates of another dtype."""
        colors = self.colors
        if colors is not None and not isinstance(where, torch.dtype):
            colors = colors.to(where)
        normals = None if self.normals is None else self.normals.to(where)
        return replace(self, points=self.points.to(where), normals=normals, colors=colors)

    def with_normals(self, k: int = 16) -> Self:
        """This cloud if it has normals, else with those of `estimate_normals(points, k)`.

        >>> Cloud(torch.rand(100, 3)).with_normals().normals.shape
        torch.Size([100, 3])
        """
        if self.normals is not None:
            return self
        return replace(self, normals=estimate_normals(self.points, k))


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles over V vertices.

    Attributes:
        vertices: (V, 3) float32 or float64.
        faces: (F, 3) int64, positions in `vertices`, counter-clockwise seen from outside.
        colors: (V, 3) uint8, red, green, blue of each vertex; or None.
        dropped: how many vertices were left out because they were not finite.
        fields: all columns of the vertices, as for a cloud.
        header: as for a cloud.

    >>> corner = Mesh(torch.eye(3), torch.tensor([[0, 1, 2]]))
    >>> corner.sample(100).normals[0]
    tensor([0.5774, 0.5774, 0.5774])
    """

    vertices: Tensor
    faces: Tensor
    colors: Tensor | None = None
    dropped: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    header: Any = None

    def __post_init__(self) -> None:
        for name, value in (("vertices", self.vertices), ("faces", self.faces)):
            if value.ndim != 2 or value.shape[1] != 3:
                raise ValueError(f"{name} must have shape (count, 3), got {tuple(value.shape)}")
        if self.vertices.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"vertices must be float32 or float64, got {self.vertices.dtype}")
        if self.faces.dtype != torch.int64:
            raise TypeError(f"faces must be int64, got {self.faces.dtype}")
        if self.colors is not None:
            if self.colors.shape != self.vertices.shape:
                raise ValueError(
                    f"colors must have the shape of vertices, {tuple(self.vertices.shape)}, "
                    f"got {tuple(self.colors.shape)}"
                )
            if self.colors.dtype != torch.uint8:
                raise TypeError(f"colors must be uint8, got {self.colors.dtype}")
        if self.faces.numel():
            first, last = int(self.faces.min()), int(self.faces.max())
            if first < 0 or last >= len(self.vertices):
                raise ValueError(
                    f"faces name vertices {first} to {last}, but there are {len(self.vertices)}"
                )

    def sample(self, count: int, generator: torch.Generator | None = None) -> Cloud:
        """`count` points spread uniformly by area, with the normals of their triangles alone."""
        sample = sample_surface(self.vertices, self.faces, count, generator)
        return Cloud(sample.points, sample.normals, dropped=self.dropped)
