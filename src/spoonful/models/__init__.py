"""Learned registration: Deep Closest Point and RPM-Net, with or without the refinement layer.

Every model is a `RegistrationModel`: `model(batch)` registers a batch, `model.loss(output, batch)`
is what to train on, `model.register(source, target)` registers one pair of any size.
"""

from spoonful.models.checkpoints import load_published
from spoonful.models.contract import RegistrationModel
from spoonful.models.dcp import DCP, cycle_loss
from spoonful.models.export import Inference
from spoonful.models.polish import polish
from spoonful.models.rpmnet import RPMNet
from spoonful.models.sinkhorn import sinkhorn

__all__ = [
    "DCP",
    "Inference",
    "RPMNet",
    "RegistrationModel",
    "cycle_loss",
    "load_published",
    "polish",
    "sinkhorn",
]
