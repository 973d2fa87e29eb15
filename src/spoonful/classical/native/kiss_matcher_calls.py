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
    source_normals: Any,
    target_normals: Any,
    start: Any,
    *,
    scale: float,
    voxel: float,
    thin: bool,
    normal_gain: float,
    feature_gain: float,
    pruning_gain: float,
    solver_gain: float,
) -> tuple[Any, Any, str]:
    """See `spoonful.classical.kiss_matcher`."""
    config = kiss_matcher.KISSMatcherConfig(
        voxel_size=voxel,
        use_voxel_sampling=thin,
        normal_r_gain=normal_gain,
        fpfh_r_gain=feature_gain,
        robin_noise_bound_gain=pruning_gain,
        solver_noise_bound_gain=solver_gain,
    )
    # Scaled about the centroids, so that distant clouds keep their digits in its float32.
    middles = source.mean(0), target.mean(0)
    found = kiss_matcher.KISSMatcher(config).estimate(
        *(
            np.ascontiguousarray(scale * (points - middle), dtype=np.float32)
            for points, middle in zip((source, target), middles, strict=True)
        )
    )
    if not found.valid:
        return start, None, "failed"
    # It works in float32; what it calls a rotation is one but for rounding.
    left, _, right = np.linalg.svd(np.asarray(found.rotation, dtype=np.float64))
    matrix = np.eye(4)
    matrix[:3, :3] = left @ right
    shift = np.asarray(found.translation, dtype=np.float64).reshape(3) / scale
    matrix[:3, 3] = shift + middles[1] - matrix[:3, :3] @ middles[0]
    return matrix, None, "ok"
