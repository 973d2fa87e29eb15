"""DCP's PointNet: embeddings that look at one point at a time."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from spoonful.geometry.exact import matmul3
from spoonful.models.norms import batch_norm, linear_batch_norm, running_affine
from spoonful.models.precision import at_least_float32, full_precision, network_dtype


class PointNet(nn.Module):
    """Five shared layers on each point's coordinates.

    Args:
        emb_dims: size of the embedding.
    """

    def __init__(self, emb_dims: int = 512) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(3, 64, kernel_size=1, bias=False)
        self.conv2 = nn.Conv1d(64, 64, kernel_size=1, bias=False)
        self.conv3 = nn.Conv1d(64, 64, kernel_size=1, bias=False)
        self.conv4 = nn.Conv1d(64, 128, kernel_size=1, bias=False)
        self.conv5 = nn.Conv1d(128, emb_dims, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm1d(64)
        self.bn2 = nn.BatchNorm1d(64)
        self.bn3 = nn.BatchNorm1d(64)
        self.bn4 = nn.BatchNorm1d(128)
        self.bn5 = nn.BatchNorm1d(emb_dims)

    def forward(self, points: Tensor, *, mask: Tensor | None = None, clouds: int = 1) -> Tensor:
        """Embed clouds: (B, N, 3) to (B, N, emb_dims); arguments as `DGCNN.forward`."""
        x = F.relu(self._first(points, mask=mask, clouds=clouds))
        for conv, norm in (
            (self.conv2, self.bn2),
            (self.conv3, self.bn3),
            (self.conv4, self.bn4),
            (self.conv5, self.bn5),
        ):
            x = F.relu(linear_batch_norm(x, conv, norm, clouds=clouds, mask=mask))
        return x

    def _first(self, points: Tensor, *, mask: Tensor | None, clouds: int) -> Tensor:
        """The first layer: coordinates are multiplied in float32."""
        weight = self.conv1.weight.flatten(1)
        dtype = network_dtype(weight)
        with full_precision(points):
            x = matmul3(at_least_float32(points), weight.mT)
            if self.bn1.training:
                x = batch_norm(x, self.bn1, clouds=clouds, mask=mask)
            else:
                scale, shift = running_affine(self.bn1)
                x = x * scale + shift
            return x.to(dtype)
