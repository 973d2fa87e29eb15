"""Measure methods on protocols, compare them, and set them beside the paper's tables.

`evaluate` gives a `Result`, which saves to one JSON file; `compare` takes two of them on the same
items; `reproduce` makes the numbers of a table of the paper.
"""

from spoonful.evaluation import methods, tables
from spoonful.evaluation.bootstrap import Interval, bootstrap
from spoonful.evaluation.compare import Comparison, Difference, compare
from spoonful.evaluation.evaluate import evaluate
from spoonful.evaluation.methods import Method
from spoonful.evaluation.reproduce import Reproduction, reproduce
from spoonful.evaluation.result import Result, write_csv
from spoonful.evaluation.sources import open_data, open_method

__all__ = [
    "Comparison",
    "Difference",
    "Interval",
    "Method",
    "Reproduction",
    "Result",
    "bootstrap",
    "compare",
    "evaluate",
    "methods",
    "open_data",
    "open_method",
    "reproduce",
    "tables",
    "write_csv",
]
