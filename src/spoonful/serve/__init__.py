"""A local page on which one drops two files and gets the report of their registration.

>>> from spoonful.serve import Limits, make_app
"""

from spoonful.serve.app import make_app
from spoonful.serve.limits import Limits

__all__ = ["Limits", "make_app"]
