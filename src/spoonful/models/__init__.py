"""Learned registration: Deep Closest Point, RPM-Net and PointNetLK.

The first two have the refinement layer where it is asked for.

Every model is a `RegistrationModel`: `model(batch)` registers a batch, `model.loss(output, batch)`
is what to train on, `model.register(source, target)` registers one pair of any size. Read in this
order: `contract`; `dcp` with its parts `dgcnn`, `transformer` and `heads`; `rpmnet` with
`features`, `parameters`, `matcher` and `sinkhorn`; `alignment`, where both call the layer;
`pointnetlk`. What they share is in `clouds`, `precision`, `norms`, `neighborhoods` and `edges`.
"""

from spoonful.models.checkpoints import load_published
from spoonful.models.contract import RegistrationModel
from spoonful.models.dcp import DCP, cycle_loss
from spoonful.models.export import Inference, save_program
from spoonful.models.pointnetlk import PointNetLK
from spoonful.models.polish import polish
from spoonful.models.rpmnet import RPMNet
from spoonful.models.sinkhorn import sinkhorn

__all__ = [
    "DCP",
    "Inference",
    "PointNetLK",
    "RPMNet",
    "RegistrationModel",
    "cycle_loss",
    "load_published",
    "polish",
    "save_program",
    "sinkhorn",
]
