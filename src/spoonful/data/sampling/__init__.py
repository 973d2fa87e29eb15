"""Fewer points, points of triangles, and a common size for the clouds of a pair.

Every random choice takes a `torch.Generator`, on the device of the points; without one, torch's
own generator is used.
"""

from spoonful.data.sampling.frame import PairFrame, normalize_pair
from spoonful.data.sampling.subsets import farthest_points, random_points, take
from spoonful.data.sampling.surface import SurfaceSample, sample_surface
from spoonful.data.sampling.voxels import VoxelAverage, voxel_average, voxel_average_to

__all__ = [
    "PairFrame",
    "SurfaceSample",
    "VoxelAverage",
    "farthest_points",
    "normalize_pair",
    "random_points",
    "sample_surface",
    "take",
    "voxel_average",
    "voxel_average_to",
]
