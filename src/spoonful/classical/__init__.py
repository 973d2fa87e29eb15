"""Registration without training: the methods a learned one has to beat.

Every method is a `ClassicalMethod`, a frozen dataclass of its settings: `method(batch)` registers
a batch, `method.register(source, target)` registers one pair of any size. `ICP`, `FGR`, `RPM` and
`GoICP` are written in torch. The others call compiled libraries, which are extras, in a helper
process.
`presets` has all of them by name, with published and with tuned settings.
"""

from spoonful.classical.contract import ClassicalMethod, PairwiseMethod
from spoonful.classical.fgr import FGR
from spoonful.classical.goicp import GoICP
from spoonful.classical.icp import ICP
from spoonful.classical.kiss_matcher import KISSMatcher
from spoonful.classical.rpm import RPM
from spoonful.classical.small_gicp import SmallGICP

__all__ = [
    "FGR",
    "ICP",
    "RPM",
    "ClassicalMethod",
    "GoICP",
    "KISSMatcher",
    "PairwiseMethod",
    "SmallGICP",
]
