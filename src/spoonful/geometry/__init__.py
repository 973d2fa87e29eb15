"""Rigid geometry on point clouds, in torch and nothing else."""

from spoonful.geometry.pose import Pose

__all__ = ["Pose"]
