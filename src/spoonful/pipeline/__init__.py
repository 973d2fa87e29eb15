"""Register two scans: `register(source, target)` returns an `Alignment`, a pose with a confidence.

It accepts arrays, files and objects of other libraries.
"""

from spoonful.pipeline.alignment import Alignment, Candidate, Matches
from spoonful.pipeline.auto import METHODS, register
from spoonful.pipeline.inputs import as_cloud
from spoonful.pipeline.posefile import read_pose

__all__ = ["METHODS", "Alignment", "Candidate", "Matches", "as_cloud", "read_pose", "register"]
