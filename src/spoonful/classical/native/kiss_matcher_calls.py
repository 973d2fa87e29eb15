"""KISS-Matcher in the helper."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

kiss_matcher: Any = None


def load() -> None:
    """Import the library."""
    global kiss_matcher
    kiss_matcher = importlib.import_module("kiss_matcher")


def estimate(
    source: Any,
    target: Any,
    start: Any,
    *,
    scale: float,
    voxel: float,
    thin: bool,
    normal_gain: float,
    feature_gain: float,
    pruning_gain: float,
    solver_gain: float,
) -> tuple[Any, str]:
    """See `spoonful.classical.kiss_matcher`."""
    config = kiss_matcher.KISSMatcherConfig(
        voxel_size=voxel,
        use_voxel_sampling=thin,
        normal_r_gain=normal_gain,
        fpfh_r_gain=feature_gain,
        robin_noise_bound_gain=pruning_gain,
        solver_noise_bound_gain=solver_gain,
    )
    found = kiss_matcher.KISSMatcher(config).estimate(
        *(np.ascontiguousarray(scale * points, dtype=np.float32) for points in (source, target))
    )
    if not found.valid:
        return None, "failed"
    matrix = np.eye(4)
    matrix[:3, :3] = found.rotation
    matrix[:3, 3] = np.asarray(found.translation, dtype=np.float64).reshape(3) / scale
    return matrix, "ok"
