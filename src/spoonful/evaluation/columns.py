"""The columns of the tables that DCP, RPM-Net and the paper print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spoonful.metrics import Convention


@dataclass(frozen=True)
class Column:
    """A column of numbers.

    Attributes:
        label: as printed.
        metric: its name in `spoonful.metrics.PoseErrors`.
        statistic: which statistic of it over the test items.
        unit: "deg", "deg2", "%" or "", the clouds' unit.
    """

    label: str
    metric: str
    statistic: Literal["mean", "rmse", "mse"]
    unit: str = ""

    @property
    def scale(self) -> float:
        """The factor of our numbers: metrics are fractions where the paper has %."""
        return 100.0 if self.unit == "%" else 1.0


# DCP's figures: all axes of all items enter alike, and angles are differences of Euler angles.
DCP = (
    Column("RMSE(R)", "rotation_dcp_degrees", "rmse", "deg"),
    Column("MAE(R)", "rotation_dcp_degrees", "mean", "deg"),
    Column("RMSE(t)", "translation_axes", "rmse"),
    Column("MAE(t)", "translation_axes", "mean"),
)
RPM = (
    Column("aniso. R", "rotation_rpmnet_degrees", "mean", "deg"),
    Column("aniso. t", "translation_axes", "mean"),
    Column("iso. R", "rotation_degrees", "mean", "deg"),
    Column("iso. t", "translation", "mean"),
    Column("Chamfer", "modified_chamfer", "mean"),
)


def columns(convention: Convention) -> tuple[Column, ...]:
    """The columns of a convention's tables: those of "rpmnet", or those of "dcp" and "paper".

    >>> [column.label for column in columns("dcp")]
    ['RMSE(R)', 'MAE(R)', 'RMSE(t)', 'MAE(t)']
    """
    return RPM if convention == "rpmnet" else DCP
