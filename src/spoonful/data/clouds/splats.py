"""Gaussian splats in PLY files (Kerbl et al. 2023): a Gaussian for each vertex.

Its size is `exp(scale_k)` along axes that the quaternion (rot_0, ..., rot_3), real part first,
turns. Its opacity is `1 / (1 + exp(-opacity))`. Its colour from all sides is 0.5 + 0.282 `f_dc_k`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spoonful.data.clouds.arrays import Arrays, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Columns = dict[str, Any]

_DC = 0.28209479177387814  # the spherical harmonic of degree 0
_COLOR = ("f_dc_0", "f_dc_1", "f_dc_2")
_TURN = ("rot_0", "rot_1", "rot_2", "rot_3")
_SIZE = ("scale_0", "scale_1", "scale_2")


def is_splats(columns: Mapping[str, Any]) -> bool:
    """True if the columns of a file are those of Gaussian splats."""
    return all(name in columns for name in ("opacity", *_SIZE, *_TURN))


def with_splats(arrays: Arrays, columns: Mapping[str, NDArray[Any]]) -> Arrays:
    """Arrays with opacities as weights and with colours."""
    opacity = columns["opacity"].astype(np.float64)
    weights = 1 / (1 + np.exp(-opacity.clip(-50, 50)))
    colors = arrays.colors
    if all(name in columns for name in _COLOR):
        shades = 0.5 + _DC * np.stack([columns[name] for name in _COLOR], -1).astype(np.float64)
        colors = (255 * shades.clip(0, 1)).round().astype(np.uint8)
    return replace(arrays, colors=colors, weights=np.nan_to_num(weights))


def turned(columns: Mapping[str, Any], quaternion: tuple[float, float, float, float]) -> Columns:
    """The columns with the axes of all splats turned; `quaternion` has its real part first.

    Colours that depend on the direction of view, `f_rest`, stay as they are.
    """
    turns = (np.asarray(columns[name], np.float64) for name in _TURN)
    both = zip(_TURN, quaternion_product(quaternion, turns), strict=True)
    return {**columns} | {name: part.astype(columns[name].dtype) for name, part in both}


def quaternion_product(one: Iterable[Any], other: Iterable[Any]) -> tuple[Any, Any, Any, Any]:
    """The turn `other`, then `one`; quaternions have their real part first."""
    (w, x, y, z), (a, b, c, d) = one, other
    return (
        w * a - x * b - y * c - z * d,
        w * b + x * a + y * d - z * c,
        w * c - x * d + y * a + z * b,
        w * d + x * c - y * b + z * a,
    )


def grown(columns: Mapping[str, Any], factor: float) -> Columns:
    """The columns with all splats scaled."""
    return {**columns} | {name: columns[name] + math.log(factor) for name in _SIZE}
