"""The version of the package: one place, which imports nothing."""

__version__ = "0.2.0"
