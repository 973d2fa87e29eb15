"""Fewer points, and points of triangles.

Every random choice takes a `torch.Generator`, on the device of the points; without one, torch's
own generator is used.
"""

from spoonful.data.sampling.subsets import random_points
from spoonful.data.sampling.surface import SurfaceSample, sample_surface
from spoonful.data.sampling.voxels import VoxelAverage, voxel_average, voxel_average_to

__all__ = [
    "SurfaceSample",
    "VoxelAverage",
    "random_points",
    "sample_surface",
    "voxel_average",
    "voxel_average_to",
]
