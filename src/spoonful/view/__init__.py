"""Show a registration: an HTML page to turn with the mouse, or a picture.

>>> from spoonful.view import CloudLayer, Fact, PoseStop, write_page
"""

from spoonful.view.layers import (
    CloudLayer,
    ColorScale,
    Fact,
    LinkLayer,
    PoseStop,
    Table,
    Verdict,
    View,
)
from spoonful.view.page import write_page
from spoonful.view.picture import write_picture

__all__ = [
    "CloudLayer",
    "ColorScale",
    "Fact",
    "LinkLayer",
    "PoseStop",
    "Table",
    "Verdict",
    "View",
    "write_page",
    "write_picture",
]
