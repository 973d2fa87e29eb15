"""Registration without training: the methods a learned one has to beat.

Every method is a `ClassicalMethod`, a frozen dataclass of its settings: `method(batch)` registers
a batch, `method.register(source, target)` registers one pair of any size.
"""

from spoonful.classical.contract import ClassicalMethod, PairwiseMethod

__all__ = [
    "ClassicalMethod",
    "PairwiseMethod",
]
