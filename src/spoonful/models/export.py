"""The inference path as a module of plain tensors, for `torch.export` and other languages.

(ONNX has no singular value decomposition, which Kabsch needs, so it is not offered.)
"""

from __future__ import annotations

from torch import Tensor, nn

from spoonful.batch import Batch
from spoonful.geometry import Pose
from spoonful.models.contract import RegistrationModel


class Inference(nn.Module):
    """A model as a function from tensors to tensors, in eval mode.

    Args:
        model: any registration model; it is put in eval mode.

    >>> import torch
    >>> from spoonful.models import DCP
    >>> clouds = torch.rand(1, 32, 3), torch.rand(1, 32, 3)
    >>> program = torch.export.export(Inference(DCP(emb_dims=16, ff_dims=16)), clouds)
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
