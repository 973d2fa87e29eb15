"""Learned 3D point-cloud registration."""

__version__ = "0.1.0"
