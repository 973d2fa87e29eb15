"""Two scans in, one trusted or doubted pose out: the whole registration, for users.

`register(source, target)` takes arrays, files and objects of other libraries, whatever their
units, density and overlap, and returns an `Alignment`.
"""

from spoonful.pipeline.alignment import Alignment, Candidate, Matches
from spoonful.pipeline.auto import METHODS, register
from spoonful.pipeline.inputs import as_cloud
from spoonful.pipeline.posefile import read_pose

__all__ = ["METHODS", "Alignment", "Candidate", "Matches", "as_cloud", "read_pose", "register"]
