"""Point clouds and meshes in and out of files."""

from spoonful.data.clouds.files import (
    DEFAULT_SAMPLES,
    FORMATS,
    read_cloud,
    read_mesh,
    write_cloud,
    write_mesh,
)
from spoonful.data.clouds.types import Cloud, CloudFileError, Mesh

__all__ = [
    "DEFAULT_SAMPLES",
    "FORMATS",
    "Cloud",
    "CloudFileError",
    "Mesh",
    "read_cloud",
    "read_mesh",
    "write_cloud",
    "write_mesh",
]
