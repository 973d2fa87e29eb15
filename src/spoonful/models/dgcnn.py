"""DCP's DGCNN: per-point embeddings from a fixed graph of nearest neighbours."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spoonful.models.edges import Entry, edge_linear, edge_stack, stackable
from spoonful.models.neighborhoods import knn
from spoonful.models.norms import batch_affine, batch_norm, linear_batch_norm, running_affine


class DGCNN(nn.Module):
    """Four edge convolutions on one graph, each pooled over the neighbours, and a fifth on all.

    As published for DCP, and unlike the DGCNN paper: the graph joins each point to its 20
    nearest in space, itself included, once; edges carry (x_j, x_i), not differences; the later
    layers keep working on edges.

    Args:
        emb_dims: size of the embedding.
        k: neighbours of a point, itself included.
    """

    def __init__(self, emb_dims: int = 512, k: int = 20) -> None:
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv2d(6, 64, kernel_size=1, bias=False)
        self.conv2 = nn.Conv2d(64, 64, kernel_size=1, bias=False)
        self.conv3 = nn.Conv2d(64, 128, kernel_size=1, bias=False)
        self.conv4 = nn.Conv2d(128, 256, kernel_size=1, bias=False)
        self.conv5 = nn.Conv2d(512, emb_dims, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.bn2 = nn.BatchNorm2d(64)
        self.bn3 = nn.BatchNorm2d(128)
        self.bn4 = nn.BatchNorm2d(256)
        self.bn5 = nn.BatchNorm2d(emb_dims)

    def forward(self, points: Tensor, *, mask: Tensor | None = None, clouds: int = 1) -> Tensor:
        """Embed clouds.

        Args:
            points: (B, N, 3).
            mask: (B, N) bool, False for padding, or None.
            clouds: parts of the batch with batch statistics of their own in training mode.

        Returns:
            (B, N, emb_dims), all >= 0.
        """
        index = knn(points, self.k, mask=mask)
        layers = [self.conv1, self.conv2, self.conv3, self.conv4]
        norms = [self.bn1, self.bn2, self.bn3, self.bn4]
        if stackable(points, layers):
            weight = self.conv1.weight.flatten(1)
            pooled = edge_stack(
                points,
                index,
                Entry(weight[:, :3], weight[:, 3:]),
                layers[1:],
                norms,
                lambda stats, norm, count: batch_affine(stats, norm, clouds=clouds, count=count),
                mask=mask,
                pool_all=True,
            )
        else:
            edges = F.relu(self._first(points, index, mask=mask, clouds=clouds))
            pooled = [edges.amax(dim=-2)]
            for conv, norm in zip(layers[1:], norms[1:], strict=True):
                edges = F.relu(linear_batch_norm(edges, conv, norm, clouds=clouds, mask=mask))
                pooled.append(edges.amax(dim=-2))
        together = torch.cat(pooled, dim=-1)
        return F.relu(linear_batch_norm(together, self.conv5, self.bn5, clouds=clouds, mask=mask))

    def _first(self, points: Tensor, index: Tensor, *, mask: Tensor | None, clouds: int) -> Tensor:
        """The first convolution and its norm, on edges that are never concatenated."""
        weight = self.conv1.weight.flatten(1)
        if self.bn1.training:
            edges = edge_linear(points, index, weight[:, :3], weight[:, 3:])
            return batch_norm(edges, self.bn1, clouds=clouds, mask=mask)
        scale, shift = running_affine(self.bn1)
        weight = weight * scale.unsqueeze(-1)
        return edge_linear(points, index, weight[:, :3], weight[:, 3:], shift)
