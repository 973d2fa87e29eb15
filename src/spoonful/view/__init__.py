"""Show a registration as an HTML page to turn with the mouse.

>>> from spoonful.view import CloudLayer, Fact, PoseStop, write_page
"""

from spoonful.view.layers import (
    CloudLayer,
    ColorScale,
    Fact,
    GraphLayer,
    LinkLayer,
    PoseStop,
    Table,
    Verdict,
    View,
)
from spoonful.view.page import write_page

__all__ = [
    "CloudLayer",
    "ColorScale",
    "Fact",
    "GraphLayer",
    "LinkLayer",
    "PoseStop",
    "Table",
    "Verdict",
    "View",
    "write_page",
]
