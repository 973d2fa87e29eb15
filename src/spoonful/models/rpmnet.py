"""RPM-Net (Yew & Lee, CVPR 2020): robust point matching with learned features and annealing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from spoonful.batch import Batch
from spoonful.geometry import Pose, SpoonfulLayer
from spoonful.geometry.checks import check_choice, check_count
from spoonful.losses import discounted, point_loss
from spoonful.models.alignment import align, check_layer, join, repeated
from spoonful.models.clouds import stack
from spoonful.models.contract import RegistrationModel, known_pose
from spoonful.models.features import FeatureNet, Neighborhood, Surroundings
from spoonful.models.matcher import Matcher, Matching
from spoonful.models.parameters import Annealing, ParameterNet
from spoonful.registration import Registration


class RPMNet(RegistrationModel):
    """RPM-Net with early fusion, as published, and the refinement layer after each Kabsch.

    Each outer iteration moves the source by the last pose, describes and matches the clouds anew,
    and solves for the pose of the *original* source. Poses pass no gradient to the next iteration.
    Parameter names are those of the published code, so its checkpoints load with
    `load_published`.

    Args:
        features: which of "xyz", "dxyz" and "ppf" describe a point; normals are needed for "ppf".
        feat_dim: size of the features.
        radius: of the neighbourhoods, in the clouds' unit.
        neighbors: at most this many in a neighbourhood.
        sinkhorn_iterations: normalisations of the match matrix.
        slack: whether points may go unmatched.
        train_iterations: outer iterations in training mode.
        test_iterations: outer iterations in eval mode.
        inlier_weight: of the loss term that rewards matches; 0 switches it off.
        loss_on: whether an iteration's loss is the mean over "all" its poses, the first and the
            refined ones, or that of the "last".
        refine: a `SpoonfulLayer`, or None for Kabsch alone.

    >>> model = RPMNet(features=("xyz", "dxyz")).eval()
    >>> cloud = torch.rand(1, 50, 3, generator=torch.Generator().manual_seed(0))
    >>> model(Batch(cloud, cloud[:, :40])).poses.rotation.shape
    torch.Size([1, 5, 3, 3])
    """

    def __init__(
        self,
        *,
        features: Sequence[str] = ("xyz", "dxyz", "ppf"),
        feat_dim: int = 96,
        radius: float = 0.3,
        neighbors: int = 64,
        sinkhorn_iterations: int = 5,
        slack: bool = True,
        train_iterations: int = 2,
        test_iterations: int = 5,
        inlier_weight: float = 0.01,
        loss_on: Literal["all", "last"] = "all",
        refine: SpoonfulLayer | None = None,
    ) -> None:
        super().__init__()
        check_choice("loss_on", loss_on, ("all", "last"))
        check_layer(refine)
        check_count("neighbors", neighbors)
        check_count("sinkhorn_iterations", sinkhorn_iterations, least=0)
        check_count("train_iterations", train_iterations)
        check_count("test_iterations", test_iterations)
        if not radius > 0:
            raise ValueError(f"radius must be > 0, got {radius}")
        self.loss_on = loss_on
        self.weights_net = ParameterNet()
        self.feat_extractor = FeatureNet(features, feat_dim)
        self.surroundings = Surroundings(radius, neighbors, "ppf" in features)
        self.matcher = Matcher(sinkhorn_iterations, slack)
        self.train_iterations = train_iterations
        self.test_iterations = test_iterations
        self.inlier_weight = inlier_weight
        self.refine = refine

    @property
    def needs_normals(self) -> bool:
        """True if batches must have normals."""
        return self.surroundings.ppf

    def forward(
        self, batch: Batch, *, iterations: int | None = None, keep_matches: bool = False
    ) -> Registration:
        """Register a batch.

        Args:
            batch: B pairs, with normals if `needs_normals`.
            iterations: outer iterations I; by default those of the mode the model is in.
            keep_matches: also return all match matrices; they are large.

        Returns:
            `Registration` with P = I poses, or in training mode with a layer I times its number.
            Pose, matches and weights are those of the last iteration. `extras` holds, for each
            iteration, "alpha" and "beta" (B, I), "source_inliers" (B, I, N) and "target_inliers"
            (B, I, M), the sums of the match matrix's rows and columns and, with `keep_matches`,
            "match_matrix" (B, I, N, M).
        """
        if iterations is None:
            iterations = self.train_iterations if self.training else self.test_iterations
        check_count("iterations", iterations)
        both = stack(batch, normals=self.needs_normals)
        source, target = both.split(both.points)
        source_mask, target_mask = both.masks()

        around = self.surroundings(both.points, both.normals, mask=both.mask)
        # The target never moves: it is described once, together with the source's first pose.
        of_source, of_target = both.split(self.feat_extractor(both.points, around, mask=both.mask))
        around_source = Neighborhood(
            both.split(around.neighbors)[0],
            None if around.ppf is None else both.split(around.ppf)[0],
        )

        moved = source
        poses: list[Pose] = []
        annealings: list[Annealing] = []
        matchings: list[Matching] = []
        for iteration in range(iterations):
            if iteration > 0:
                moved = poses[-1].at(..., 0).detach().apply(source)
                of_source = self.feat_extractor(moved, around_source, mask=source_mask)
            masks = {"source_mask": source_mask, "target_mask": target_mask}
            annealings.append(self.weights_net(moved, target, **masks))
            matchings.append(
                self.matcher(
                    of_source,
                    of_target,
                    target,
                    annealings[-1],
                    keep_shares=keep_matches,
                    **masks,
                )
            )
            poses.append(
                align(
                    self.refine,
                    source,
                    matchings[-1].matches,
                    weights=matchings[-1].source_inliers,
                    mask=source_mask,
                )
            )
        extras = {
            "alpha": torch.stack([one.alpha for one in annealings], dim=1),
            "beta": torch.stack([one.beta for one in annealings], dim=1),
            "source_inliers": torch.stack([one.source_inliers for one in matchings], dim=1),
            "target_inliers": torch.stack([one.target_inliers for one in matchings], dim=1),
        }
        if keep_matches:
            shares = [one.shares for one in matchings if one.shares is not None]
            extras["match_matrix"] = torch.stack(shares, dim=1)
        last = matchings[-1]
        return Registration(
            poses[-1].at(..., 0), join(poses), last.matches, last.source_inliers, extras=extras
        )

    def loss(self, output: Registration, batch: Batch) -> Tensor:
        """The published loss: distances of points to their true places, plus the unmatched share.

        `sum_i 0.5^(I-1-i) (point_loss_i + inlier_weight inlier_loss_i)` over I outer iterations,
        with the point loss of an iteration over the poses chosen by `loss_on`. This is
        `losses.rpmnet_loss`, from the sums of the match matrices, which are all that is kept.
        """
        assert output.poses is not None
        truth = known_pose(batch)
        iterations = output.extras["alpha"].shape[1]
        pairs, count = output.poses.rotation.shape[:2]
        mask = batch.source_mask
        far = point_loss(
            output.poses,
            repeated(truth, count),
            batch.source.unsqueeze(1).expand(-1, count, -1, -1),
            mask=None if mask is None else mask.unsqueeze(1).expand(-1, count, -1),
            reduction="none",
        ).reshape(pairs, iterations, -1)
        losses = (far.mean(-1) if self.loss_on == "all" else far[..., -1]).mean(0)
        if self.inlier_weight != 0:
            unmatched = _unmatched(output.extras["source_inliers"], batch.source_mask)
            unmatched = unmatched + _unmatched(output.extras["target_inliers"], batch.target_mask)
            losses = losses + self.inlier_weight * unmatched
        return discounted(losses.unbind())


def _unmatched(inliers: Tensor, mask: Tensor | None) -> Tensor:
    """The mean of one less the sum of each point's matches: (B, I, N) to (I,)."""
    lack = 1 - inliers
    if mask is None:
        return lack.mean((0, 2))
    mask = mask.unsqueeze(1)
    return ((lack * mask).sum(-1) / mask.sum(-1).clamp_min(1)).mean(0)
