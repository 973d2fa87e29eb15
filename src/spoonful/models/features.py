"""RPM-Net's feature network: what the neighbourhood of a point looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spoonful.models.edges import Entry, edge_linear, edge_stack, stackable
from spoonful.models.neighborhoods import ball
from spoonful.models.norms import group_affine, pointwise
from spoonful.models.ppf import point_pair_features
from spoonful.models.precision import at_least_float32, full_precision

# Channels of the raw features, in the order in which the published network concatenates them.
CHANNELS = {"xyz": 3, "dxyz": 3, "ppf": 4}


class Neighborhood(NamedTuple):
    """A cloud's neighbourhoods, which do not change as the cloud is turned and shifted.

    Attributes:
        neighbors: (B, N, k) the neighbours of each point.
        ppf: (B, N, k, 4) point-pair features, or None where the network reads none.
    """

    neighbors: Tensor
    ppf: Tensor | None


class Surroundings(nn.Module):
    """Finds neighbourhoods; without parameters.

    Args:
        radius: how far neighbours are.
        neighbors: how many at most.
        ppf: whether to compute point-pair features, which needs normals.
    """

    def __init__(self, radius: float = 0.3, neighbors: int = 64, ppf: bool = True) -> None:
        super().__init__()
        self.radius = radius
        self.neighbors = neighbors
        self.ppf = ppf

    def forward(
        self, points: Tensor, normals: Tensor | None, *, mask: Tensor | None = None
    ) -> Neighborhood:
        """The neighbourhoods of clouds (B, N, 3)."""
        neighbors = ball(points, self.radius, self.neighbors, mask=mask)
        if not self.ppf:
            return Neighborhood(neighbors, None)
        assert normals is not None
        with full_precision(points):
            return Neighborhood(neighbors, point_pair_features(points, normals, neighbors))


class FeatureNet(nn.Module):
    """A small PointNet on the neighbourhood of every point, with group norms.

    Each neighbour brings its centre's position (xyz), its own relative to it (dxyz) and the
    pair's four invariants (ppf). A rigid motion changes neither the neighbours nor the
    invariants, so both are found once (`Surroundings`) and serve every outer iteration, where the
    published network recomputes them.

    Args:
        features: which of "xyz", "dxyz" and "ppf" to read; their order does not matter.
        dim: size of the features.
    """

    def __init__(self, features: Sequence[str] = ("xyz", "dxyz", "ppf"), dim: int = 96) -> None:
        super().__init__()
        unknown = set(features) - set(CHANNELS)
        if unknown or not features:
            raise ValueError(f"features must be some of {list(CHANNELS)}, got {list(features)}")
        self.features = tuple(name for name in CHANNELS if name in features)
        wide = 2 * dim
        raw = sum(CHANNELS[name] for name in self.features)
        self.prepool = nn.Sequential(
            *_layer(nn.Conv2d(raw, wide // 2, 1)),
            *_layer(nn.Conv2d(wide // 2, wide // 2, 1)),
            *_layer(nn.Conv2d(wide // 2, wide, 1)),
        )
        self.postpool = nn.Sequential(
            *_layer(nn.Conv1d(wide, wide, 1)),
            *_layer(nn.Conv1d(wide, dim, 1)),
            nn.Conv1d(dim, dim, 1),
        )

    def forward(
        self, points: Tensor, neighborhood: Neighborhood, *, mask: Tensor | None = None
    ) -> Tensor:
        """Unit feature vectors of the points of clouds.

        Args:
            points: (B, N, 3), as they lie now.
            neighborhood: of these clouds, found in any pose.
            mask: (B, N) bool, False for padding, or None.

        Returns:
            (B, N, dim) of norm 1, float32.
        """
        pooled = self._pooled(points, neighborhood, mask)
        # From here on there is one vector per point, not 64: float32 is cheap.
        with full_precision(points):
            out = pointwise(self.postpool, at_least_float32(pooled), mask=mask)
            return F.normalize(out, dim=-1)

    def _pooled(self, points: Tensor, neighborhood: Neighborhood, mask: Tensor | None) -> Tensor:
        """The maximum of each neighbourhood, (B, N, 2 dim)."""
        entry = self._entry(neighborhood)
        layers = list(self.prepool)
        if stackable(points, layers[::3]):
            (pooled,) = edge_stack(
                points,
                neighborhood.neighbors,
                entry,
                layers[3::3],
                layers[1::3],
                lambda stats, norm, count: group_affine(stats, norm, count=count),
                mask=mask,
            )
            return pooled
        edges = edge_linear(points, neighborhood.neighbors, *entry)
        return pointwise(layers[1:], edges, mask=mask).amax(dim=-2)

    def _entry(self, neighborhood: Neighborhood) -> Entry:
        """The first convolution, on features that are never concatenated."""
        layer = self.prepool[0]
        assert isinstance(layer, nn.Conv2d)
        parts = torch.split(
            layer.weight.flatten(1), [CHANNELS[name] for name in self.features], dim=1
        )
        weight = dict(zip(self.features, parts, strict=True))
        none = parts[0].new_zeros(parts[0].shape[0], 3)
        # dxyz is x_j - x_i: its weights act on the neighbour, and against the centre.
        to_neighbor = weight.get("dxyz", none)
        to_center = weight.get("xyz", none) - to_neighbor
        return Entry(to_neighbor, to_center, layer.bias, neighborhood.ppf, weight.get("ppf"))


def _layer(conv: nn.Conv1d | nn.Conv2d) -> tuple[nn.Module, ...]:
    return conv, nn.GroupNorm(8, conv.out_channels), nn.ReLU()
