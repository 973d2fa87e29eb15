"""Deep Closest Point (Wang & Solomon, ICCV 2019): learned embeddings, soft matches, Kabsch."""

from __future__ import annotations

from typing import Literal, Self

import torch
from torch import Tensor, nn

from spoonful.batch import Batch
from spoonful.geometry import Pose, SpoonfulLayer
from spoonful.geometry.checks import check_choice
from spoonful.geometry.exact import rotate
from spoonful.losses import dcp_loss
from spoonful.models.alignment import align, check_layer, repeated
from spoonful.models.clouds import stack
from spoonful.models.contract import RegistrationModel, known_pose
from spoonful.models.dgcnn import DGCNN
from spoonful.models.heads import MLPHead, SVDHead
from spoonful.models.pointnet import PointNet
from spoonful.models.transformer import Transformer
from spoonful.registration import Registration


class DCP(RegistrationModel):
    """DCP with any of its published parts, and the refinement layer after Kabsch.

    Parameter names are those of the published code, so its checkpoints load with `load_published`.
    Two properties of that code are kept because its weights were trained with them. The identity
    pointer doubles the embeddings in version 1. Source and target have separate batch statistics.

    Args:
        embedding: "dgcnn" or "pointnet".
        pointer: "transformer" (version 2) or "identity" (version 1).
        head: "svd" (soft matches and Kabsch) or "mlp" (a regressed pose, no matches).
        emb_dims: size of the embeddings.
        n_blocks: encoder and decoder layers of the transformer.
        n_heads: its attention heads.
        ff_dims: hidden size of its feed-forward parts.
        cycle: "on" also registers target to source, and adds a tenth of `cycle_loss` to the loss;
            "published" adds the published term, whose translations do not cancel (`cycle_loss`).
        loss_on: whether the loss is the mean over "all" poses, the first and the refined ones, or
            that of the "last".
        refine: a `SpoonfulLayer`, or None for Kabsch alone.

    >>> model = DCP(emb_dims=32, ff_dims=64).eval()
    >>> cloud = torch.randn(1, 40, 3, generator=torch.Generator().manual_seed(0))
    >>> model(Batch(cloud, cloud[:, :30])).pose.rotation.shape
    torch.Size([1, 3, 3])
    """

    def __init__(
        self,
        *,
        embedding: Literal["dgcnn", "pointnet"] = "dgcnn",
        pointer: Literal["transformer", "identity"] = "transformer",
        head: Literal["svd", "mlp"] = "svd",
        emb_dims: int = 512,
        n_blocks: int = 1,
        n_heads: int = 4,
        ff_dims: int = 1024,
        cycle: Literal["off", "on", "published"] = "off",
        loss_on: Literal["all", "last"] = "all",
        refine: SpoonfulLayer | None = None,
    ) -> None:
        super().__init__()
        check_choice("embedding", embedding, ("dgcnn", "pointnet"))
        check_choice("pointer", pointer, ("transformer", "identity"))
        check_choice("head", head, ("svd", "mlp"))
        check_choice("cycle", cycle, ("off", "on", "published"))
        check_choice("loss_on", loss_on, ("all", "last"))
        check_layer(refine)
        if head == "mlp" and refine is not None:
            raise ValueError("refine needs matches, and the 'mlp' head has none; use head='svd'")
        if pointer == "transformer" and (n_heads < 1 or emb_dims % n_heads):
            raise ValueError(f"emb_dims ({emb_dims}) must be a multiple of n_heads ({n_heads})")
        self.cycle = cycle
        self.loss_on = loss_on
        self.emb_nn = DGCNN(emb_dims) if embedding == "dgcnn" else PointNet(emb_dims)
        self.pointer = (
            Transformer(emb_dims, n_blocks, n_heads, ff_dims)
            if pointer == "transformer"
            else IdentityPointer()
        )
        self.head = SVDHead() if head == "svd" else MLPHead(emb_dims)
        self.refine = refine

    @classmethod
    def v1(cls, *, refine: SpoonfulLayer | None = None) -> Self:
        """DCP-v1: DGCNN, no attention, Kabsch."""
        return cls(pointer="identity", refine=refine)

    @classmethod
    def v2(cls, *, refine: SpoonfulLayer | None = None) -> Self:
        """DCP-v2: DGCNN, transformer, Kabsch."""
        return cls(refine=refine)

    def forward(self, batch: Batch) -> Registration:
        """Register a batch.

        Returns:
            `Registration` whose poses are Kabsch's and its refinements (P = 1 in eval mode). With
            `cycle`, `extras` holds "cycle_rotation" (B, 3, 3) and "cycle_translation" (B, 3), the
            pose found from target to source.
        """
        both = stack(batch)
        embeddings = self.emb_nn(both.points, mask=both.mask, clouds=2)
        embeddings = embeddings + self.pointer(embeddings, mask=both.mask)

        source, target = both.split(both.points)
        of_source, of_target = both.split(embeddings)
        source_mask, target_mask = both.masks()

        if isinstance(self.head, MLPHead):
            poses = repeated(
                self.head(of_source, of_target, mask=source_mask, other_mask=target_mask)
            )
            matches = None
        else:
            matches = self.head(of_source, of_target, target, mask=target_mask)
            poses = align(self.refine, source, matches, mask=source_mask)
        extras = {}
        if self.cycle != "off":
            if isinstance(self.head, MLPHead):
                back = self.head(of_target, of_source, mask=target_mask, other_mask=source_mask)
            else:
                back_matches = self.head(of_target, of_source, source, mask=source_mask)
                back = align(None, target, back_matches, mask=target_mask).at(..., 0)
            extras = {"cycle_rotation": back.rotation, "cycle_translation": back.translation}
        return Registration(poses.at(..., 0), poses, matches, extras=extras)

    def loss(self, output: Registration, batch: Batch) -> Tensor:
        """`|R^T R_gt - I|^2 + |t - t_gt|^2` as published, over the poses chosen by `loss_on`."""
        assert output.poses is not None
        truth = repeated(known_pose(batch), output.poses.rotation.shape[1])
        # `losses.over_poses` without its loop over the poses.
        losses = dcp_loss(output.poses, truth, reduction="none")
        loss = (losses.mean(1) if self.loss_on == "all" else losses[:, -1]).mean()
        if self.cycle != "off":
            back = Pose(output.extras["cycle_rotation"], output.extras["cycle_translation"])
            loss = loss + 0.1 * cycle_loss(output.pose, back, published=self.cycle == "published")
        return loss


def cycle_loss(there: Pose, back: Pose, *, published: bool = False) -> Tensor:
    """The cycle consistency loss: `|R' R - I|^2 + |R' t + t'|^2`, mean squares.

    Args:
        there: source to target, (B, 3, 3).
        back: target to source.
        published: compute `R'^T t + t'` as the published code does. That is not zero for poses
            that undo each other, so it pulls translations away from the truth.

    >>> turn = torch.tensor([[[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]])
    >>> pose = Pose(turn, torch.ones(1, 3))
    >>> cycle_loss(pose, pose.inverse()), cycle_loss(pose, pose.inverse(), published=True)
    (tensor(0.), tensor(2.6667))
    """
    round_trip = back.compose(there)
    back_again = round_trip.rotation
    turn = back_again - torch.eye(3, dtype=back_again.dtype, device=back_again.device)
    shift = round_trip.translation
    if published:
        shift = rotate(back.rotation.mT, there.translation.unsqueeze(1)).squeeze(1)
        shift = shift + back.translation
    return turn.square().mean() + shift.square().mean()


class IdentityPointer(nn.Module):
    """The identity pointer of version 1: it adds the embeddings to themselves."""

    def forward(self, embeddings: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """Return `embeddings`."""
        return embeddings
