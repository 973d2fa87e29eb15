"""Measure methods on protocols, and compare them.

`evaluate` gives a `Result`, which saves to one JSON file; `compare` takes two of them on the same
items.
"""

from spoonful.evaluation import methods
from spoonful.evaluation.bootstrap import Interval, bootstrap
from spoonful.evaluation.compare import Comparison, Difference, compare
from spoonful.evaluation.evaluate import evaluate
from spoonful.evaluation.methods import Method
from spoonful.evaluation.result import Result, write_csv
from spoonful.evaluation.sources import open_data, open_method

__all__ = [
    "Comparison",
    "Difference",
    "Interval",
    "Method",
    "Result",
    "bootstrap",
    "compare",
    "evaluate",
    "methods",
    "open_data",
    "open_method",
    "write_csv",
]
