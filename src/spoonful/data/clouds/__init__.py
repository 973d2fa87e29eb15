"""Read and write point clouds and meshes."""

from spoonful.data.clouds.formats import FORMATS
from spoonful.data.clouds.reading import DEFAULT_SAMPLES, read, read_cloud, read_mesh
from spoonful.data.clouds.types import Cloud, CloudFileError, Mesh
from spoonful.data.clouds.writing import lost, write_cloud, write_mesh

__all__ = [
    "DEFAULT_SAMPLES",
    "FORMATS",
    "Cloud",
    "CloudFileError",
    "Mesh",
    "lost",
    "read",
    "read_cloud",
    "read_mesh",
    "write_cloud",
    "write_mesh",
]
