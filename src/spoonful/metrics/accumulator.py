"""Errors of many registrations, collected batch by batch and process by process."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from spoonful.batch import Batch
from spoonful.geometry import Pose
from spoonful.inputs import check_poses
from spoonful.metrics.clouds import (
    chamfer_distance,
    correspondence_error,
    mean_point_distance,
    modified_chamfer_distance,
    relative_correspondence_error,
)
from spoonful.metrics.poses import (
    anisotropic_error_degrees,
    relative_rotation_error,
    relative_translation_error,
    rotation_error_degrees,
    translation_error,
)
from spoonful.metrics.summary import Summary, summarize
from spoonful.names import named
from spoonful.registration import Registration

# The rows of some items: their poses, their numbers ("index") and their errors on clouds.
_Table = dict[str, Tensor]
_POSES = ("rotation", "translation", "true_rotation", "true_translation")


@dataclass(frozen=True)
class Report:
    """The result of `PoseErrors.compute`.

    Attributes:
        count: number of different items.
        nonfinite: items whose pose holds NaN or inf. Their errors count as infinite.
        repeated: times an item came again, as samplers that fill up the last batch let it;
            only its first pose counts.
        summaries: a `Summary` of each metric, by name; `report["chamfer"]` is short for it.
    """

    count: int
    nonfinite: int
    repeated: int
    summaries: Mapping[str, Summary]

    def __getitem__(self, name: str) -> Summary:
        return self.summaries[name]

    def __str__(self) -> str:
        head = f"{self.count} items, {self.nonfinite} with a non-finite pose"
        if self.repeated:
            head += f", {self.repeated} repeated"
        lines = [head, f"{'':24}{'mean':>11}{'rmse':>11}{'median':>11}{'p95':>11}{'max':>11}"]
        for name, s in self.summaries.items():
            numbers = (s.mean, s.rmse, s.median, s.p95, s.max)
            note = f"  ({s.nonfinite} not finite)" if s.nonfinite > self.nonfinite else ""
            lines.append(f"{name:24}" + "".join(f"{number:11.4g}" for number in numbers) + note)
        return "\n".join(lines)


class PoseErrors:
    """Collects the errors of registrations; every item is kept, and counts once.

    `update` with each batch, then `compute` a `Report`. Several processes each take a share of
    the items and `reduce` to the same whole. Metrics, by the names they have in the report:

    - from the poses: `rotation_degrees` (isotropic), `rotation_dcp_degrees`,
      `rotation_paper_degrees`, `rotation_rpmnet_degrees` (anisotropic, by axis),
      `relative_rotation`, `translation` (L2), `translation_l1`, `translation_axes` (by axis: its
      rmse and mae are DCP's RMSE(t) and MAE(t)), `relative_translation`;
    - with a `Batch`: `mean_point_distance`, `chamfer`, and, where it has clean clouds,
      `modified_chamfer`;
    - with a `Registration` that has matches: `correspondence`, `relative_correspondence`.

    Args:
        chamfer: whether to compute the Chamfer distances, the one costly part.

    >>> errors = PoseErrors()
    >>> errors.update(Pose.identity(2), Pose(torch.eye(3).repeat(2, 1, 1), torch.ones(2, 3)))
    >>> errors.update(Pose.identity(1), Pose.identity(1))
    >>> report = errors.compute()
    >>> report.count, report["translation_l1"].mean, report["rotation_degrees"].max
    (3, 2.0, 0.0)
    >>> errors.values("translation_l1")
    tensor([3., 3., 0.], dtype=torch.float64)
    """

    def __init__(self, *, chamfer: bool = True) -> None:
        self.chamfer = chamfer
        self._tables: list[_Table] = []
        self._whole: _AllItems | None = None

    def update(
        self,
        estimate: Pose | Registration,
        truth: Pose | Batch,
        *,
        matches: Tensor | None = None,
        index: Tensor | None = None,
    ) -> None:
        """Add items.

        Args:
            estimate: the poses found, (..., 3, 3), or a `Registration` with them.
            truth: the true poses, with the same leading dimensions, or the `Batch` they are in.
            matches: (..., N, 3) for the correspondence errors, if `estimate` does not bring them.
            index: (...) the items' numbers in their dataset, if `truth` does not bring them. An
                item counts once however often it comes; items without a number always count.
        """
        batch = truth if isinstance(truth, Batch) else None
        true_pose = truth.pose if isinstance(truth, Batch) else truth
        if true_pose is None:
            raise ValueError("truth must be known, got a Batch without a pose")
        pose = estimate.pose if isinstance(estimate, Registration) else estimate
        if matches is None and isinstance(estimate, Registration) and batch is not None:
            matches = estimate.matches
        if matches is not None and batch is None:
            raise ValueError("matches need the source cloud: give the Batch as truth")
        if index is None and batch is not None:
            index = batch.index
        check_poses(pose, true_pose)
        if pose.rotation.shape != true_pose.rotation.shape:
            raise ValueError(
                "estimate and truth must hold the same number of poses, "
                f"got {tuple(pose.rotation.shape)} and {tuple(true_pose.rotation.shape)}"
            )
        if not (true_pose.rotation.isfinite().all() and true_pose.translation.isfinite().all()):
            raise ValueError("truth must be finite, got NaN or inf")
        columns = {
            "rotation": pose.rotation,
            "translation": pose.translation,
            "true_rotation": true_pose.rotation,
            "true_translation": true_pose.translation,
        }
        if batch is not None:
            with torch.no_grad():
                columns |= self._measure(pose, true_pose, batch, matches)
        lead = pose.translation.shape[:-1]
        count = math.prod(lead)
        table = {"index": _numbers(index, lead)}
        for name, column in columns.items():
            rows = column.detach().reshape(count, *column.shape[len(lead) :])
            table[name] = rows.to("cpu", torch.float64, copy=True)
        if count:
            self._append([table])

    def _measure(
        self, pose: Pose, truth: Pose, batch: Batch, matches: Tensor | None
    ) -> dict[str, Tensor]:
        """The errors that need the clouds."""
        source, mask = batch.source, batch.source_mask
        found = {"mean_point_distance": mean_point_distance(pose, truth, source, mask=mask)}
        if self.chamfer:
            masks = {"source_mask": mask, "target_mask": batch.target_mask}
            found["chamfer"] = chamfer_distance(pose.apply(source), batch.target, **masks)
            if batch.clean is not None:
                found["modified_chamfer"] = modified_chamfer_distance(
                    pose, truth, source, batch.target, batch.clean, **masks
                )
        if matches is not None:
            found["correspondence"] = correspondence_error(matches, truth, source, mask=mask)
            found["relative_correspondence"] = relative_correspondence_error(
                matches, truth, source, mask=mask
            )
        return found

    def __len__(self) -> int:
        """The number of different items."""
        return len(self.index) if self._tables else 0

    @property
    def names(self) -> list[str]:
        """The metrics that `values` and `compute` know, given what `update` was given."""
        return list(self._join().errors)

    @property
    def index(self) -> Tensor:
        """(K,) the items' numbers, in the order of `values`; -1 for items without one."""
        return self._join().index

    def values(self, name: str) -> Tensor:
        """(K,) or, by axis, (K, 3): a metric's error for each item, ordered by the items' numbers.

        Whatever it measures, the error of an item whose pose is not finite is inf.
        """
        return named(name, self._join().errors, what="metric")

    def compute(self) -> Report:
        """Summaries of all metrics over all items."""
        whole = self._join()
        return Report(
            count=len(whole.index),
            nonfinite=int(whole.failed.sum()),
            repeated=whole.repeated,
            summaries={name: summarize(errors) for name, errors in whole.errors.items()},
        )

    def reduce(self, group: dist.ProcessGroup | None = None) -> PoseErrors:
        """The items of all processes of `torch.distributed`, as a new collection on each of them.

        Without a process group, or alone in it, it is this collection itself. Every process of
        the group must call it, also one that had no items.

        >>> errors = PoseErrors()
        >>> errors.reduce() is errors
        True
        """
        if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size(group) == 1:
            return self
        shares: list[list[_Table]] = [[] for _ in range(dist.get_world_size(group))]
        dist.all_gather_object(shares, self._tables, group=group)
        if any((table["index"] < 0).any() for share in shares for table in share):
            # after the exchange, so that all processes raise and none is left waiting
            raise ValueError(
                "reduce needs every item's number, because processes may share items: "
                "give update a Batch with an index, or index=..."
            )
        whole = PoseErrors(chamfer=self.chamfer)
        for share in shares:
            whole._append(share)
        return whole

    def _append(self, tables: Iterable[_Table]) -> None:
        for table in tables:
            if self._tables and table.keys() != self._tables[0].keys():
                missing = sorted(table.keys() ^ self._tables[0].keys())
                raise ValueError(
                    f"all items must be measured alike, but only some have {', '.join(missing)}"
                )
            self._tables.append(table)
            self._whole = None

    def _join(self) -> _AllItems:
        """All items with all their errors, each item once."""
        if not self._tables:
            raise ValueError("there are no items yet: call update first")
        if self._whole is None:
            self._whole = _joined(self._tables)
        return self._whole


class _AllItems(NamedTuple):
    """Different items, those with a number first and in order."""

    index: Tensor  # type: ignore[assignment]  # hides tuple.index
    failed: Tensor
    errors: dict[str, Tensor]
    repeated: int


def _joined(tables: list[_Table]) -> _AllItems:
    table = {name: torch.cat([some[name] for some in tables]) for name in tables[0]}
    numbers = table["index"].tolist()
    first: dict[int, int] = {}
    for row, number in enumerate(numbers):
        if number >= 0 and row != (earlier := first.setdefault(number, row)):
            for name in ("true_rotation", "true_translation"):
                if not torch.equal(table[name][row], table[name][earlier]):
                    raise ValueError(
                        f"item {number} came twice with different true poses: "
                        "use one PoseErrors for each dataset"
                    )
    rows = [first[number] for number in sorted(first)]
    rows += [row for row, number in enumerate(numbers) if number < 0]
    table = {name: column[rows] for name, column in table.items()}

    pose = Pose(table["rotation"], table["translation"])
    truth = Pose(table["true_rotation"], table["true_translation"])
    finite = pose.rotation.isfinite().all(-1).all(-1) & pose.translation.isfinite().all(-1)
    errors = _errors_of_poses(pose, truth)
    errors |= {name: table[name] for name in table if name not in (*_POSES, "index")}
    for name, values in errors.items():
        failed = ~finite if values.ndim == 1 else ~finite.unsqueeze(-1)
        errors[name] = values.masked_fill(failed, math.inf)
    return _AllItems(table["index"], ~finite, errors, len(numbers) - len(rows))


def _errors_of_poses(pose: Pose, truth: Pose) -> dict[str, Tensor]:
    """The errors that follow from the poses alone."""
    R, R_gt, t, t_gt = pose.rotation, truth.rotation, pose.translation, truth.translation
    return {
        "rotation_degrees": rotation_error_degrees(R, R_gt),
        "rotation_dcp_degrees": anisotropic_error_degrees(R, R_gt, "dcp"),
        "rotation_paper_degrees": anisotropic_error_degrees(R, R_gt, "paper"),
        "rotation_rpmnet_degrees": anisotropic_error_degrees(R, R_gt, "rpmnet"),
        "relative_rotation": relative_rotation_error(R, R_gt),
        "translation": translation_error(t, t_gt),
        "translation_l1": translation_error(t, t_gt, p=1),
        "translation_axes": t - t_gt,
        "relative_translation": relative_translation_error(t, t_gt),
    }


def _numbers(index: Tensor | None, lead: torch.Size) -> Tensor:
    """The items' numbers as a (K,) column, -1 for none."""
    if index is None:
        return torch.full((math.prod(lead),), -1)
    if index.is_floating_point() or index.dtype == torch.bool or index.shape != lead:
        raise ValueError(
            f"index must hold whole numbers with shape {tuple(lead)}, "
            f"got {index.dtype} {tuple(index.shape)}"
        )
    column = index.detach().cpu().long().reshape(-1)
    if (column < 0).any():
        raise ValueError("index must not be negative")
    return column
