"""Rigid geometry on point clouds, in torch and nothing else.

Clouds are (..., N, 3) with any leading batch dimensions; a pose maps source to target,
`target ~ R source + t`. Each module imports those before it: `so3` (hat and vee), `spread`,
`plan`, `moments`, `packed`, `rotation`, `refinement`, `head` (the reference), `kernels` (the same,
compiled), and the public functions: `kabsch`, `refine`, `layer` and `stability`; `similarity` (with
a scale), `inverse` (of the 6x6 systems that follow), `robust` (with wrong matches),
`point_to_plane`, and `covariance` (of any of these fits).

"The paper" is Agostinho et al., "(Just) A Spoonful of Refinements Helps the Registration Error Go
Down", ICCV 2021; its equations are numbered as in arXiv:2108.03257.
"""

from spoonful.geometry.covariance import covariance, plane_covariance, to_ros
from spoonful.geometry.kabsch import kabsch, kabsch_packed
from spoonful.geometry.layer import LayerOutput, SpoonfulLayer
from spoonful.geometry.moments import Moments, moments
from spoonful.geometry.neighbors import Neighbors, nearest
from spoonful.geometry.packed import moments_packed
from spoonful.geometry.point_to_plane import plane_minimum, point_to_plane
from spoonful.geometry.pose import Pose
from spoonful.geometry.refine import linearized_step, refine
from spoonful.geometry.robust import RobustFit, robust_kabsch, robust_similarity
from spoonful.geometry.rotation import nearest_rotation
from spoonful.geometry.similarity import Similarity, similarity, similarity_packed
from spoonful.geometry.so3 import (
    gram_schmidt,
    hat,
    random_rotation,
    rotation_from_vector,
    vee,
)
from spoonful.geometry.stability import Stability, Status, stability

__all__ = [
    "LayerOutput",
    "Moments",
    "Neighbors",
    "Pose",
    "RobustFit",
    "Similarity",
    "SpoonfulLayer",
    "Stability",
    "Status",
    "covariance",
    "gram_schmidt",
    "hat",
    "kabsch",
    "kabsch_packed",
    "linearized_step",
    "moments",
    "moments_packed",
    "nearest",
    "nearest_rotation",
    "plane_covariance",
    "plane_minimum",
    "point_to_plane",
    "random_rotation",
    "refine",
    "robust_kabsch",
    "robust_similarity",
    "rotation_from_vector",
    "similarity",
    "similarity_packed",
    "stability",
    "to_ros",
    "vee",
]
