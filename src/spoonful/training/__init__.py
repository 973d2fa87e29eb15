"""Training: configurations, a trainer that can be stopped at any moment, sweeps of many runs.

`spoonful train quick` trains a small network on the built-in corpus. `python -m spoonful.training`
does the same without the command-line extra: it needs torch, safetensors and numpy.
"""

from spoonful.training.checkpoint import Checkpoint, load_model
from spoonful.training.config import Config, from_dict, override
from spoonful.training.trainer import TrainingFailed, TrainingResult, train

__all__ = [
    "Checkpoint",
    "Config",
    "TrainingFailed",
    "TrainingResult",
    "from_dict",
    "load_model",
    "override",
    "train",
]
