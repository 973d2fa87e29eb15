"""Serve a local page that registers two files and shows the report.

>>> from spoonful.serve import Limits, make_app
"""

from spoonful.serve.app import make_app
from spoonful.serve.limits import Limits

__all__ = ["Limits", "make_app"]
