"""Methods of compiled libraries: what they share.

Each such method is a few settings and a small script in `spoonful.classical.native`, which calls
the library for one pair in a helper process (`spoonful.classical.isolate`). A crash in it, a hang
or a pose that is none ends in a status, with the pose that the method started from.

A library may be installed in another Python than this one: `SPOONFUL_PYTHON_` and the name of its
module, in capitals, is an environment variable that says which.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import sys
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from spoonful.classical import isolate
from spoonful.classical.contract import FAILED, PairwiseMethod
from spoonful.extras import MissingExtra, require
from spoonful.geometry import Pose
from spoonful.geometry.exact import matvec3
from spoonful.inputs import rigid_pose
from spoonful.registration import Registration

_NATIVE = Path(__file__).parent / "native"


@dataclass(frozen=True, kw_only=True)
class LibraryMethod(PairwiseMethod):
    """A method of a library that is an extra.

    To write one, give the class variables, implement `_options`, and write the script.

    Attributes:
        seconds: how long one pair may take, after which its status is "time-limit".
    """

    library: ClassVar[str]
    """The module to import."""
    extra: ClassVar[str]
    """The extra that installs it."""
    script: ClassVar[str]
    """"FILE.py:FUNCTION" in `spoonful.classical.native`. The function takes the source (N, 3), the
    target (M, 3) and the start (4, 4) as float64 arrays, then the options by name. It returns a
    matrix (4, 4), or None for the start, and a status."""
    centred: ClassVar[bool] = False
    """True if the script gets clouds with their centroids at zero."""
    only_on: ClassVar[tuple[str, str] | None] = None
    """The one system and processor that the library has packages for, as `sys.platform` and
    `platform.machine()` call them; None where it has them for all."""

    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"seconds must be positive, got {self.seconds}")

    @abstractmethod
    def _options(self, source: Tensor, target: Tensor) -> dict[str, Any]:
        """The script's options for a pair."""

    def check(self) -> None:
        """Raise a `MissingExtra` if the library is not there or does not load.

        The import is tried in the helper: it may take the process down where it is broken.
        """
        require("numpy", extra=self.extra, why=self.name)
        python = interpreter(self.library)
        there = f"in the Python of {_variable(self.library)}" if python else "here"
        try:
            isolate.prepare(f"{_NATIVE / self.script}", python=python)
        except ModuleNotFoundError as error:
            missing = (error.name or "").split(".")[0]
            if python and missing in (self.library, "numpy"):
                raise MissingExtra(f"{self.name} needs {missing}, which is not {there}") from None
            if missing != self.library:
                raise
            if self.only_on not in (None, (sys.platform, platform.machine())):
                raise MissingExtra(
                    f"{self.name} needs {self.library}, which exists only for "
                    f"{' on '.join(self.only_on)}; if another Python here has it, set "
                    f"{_variable(self.library)} to that Python"
                ) from None
            raise MissingExtra(
                f"{self.name} needs {self.library}: pip install 'spoonful[{self.extra}]'"
            ) from None
        except ImportError as error:
            raise MissingExtra(
                f"{self.name} needs {self.library}, which does not load {there}: {error}"
            ) from None
        except OSError as error:
            raise MissingExtra(
                f"{self.name} cannot run the Python of {_variable(self.library)}: {error}"
            ) from None

    def _solve_pair(self, source: Tensor, target: Tensor, init: Pose | None) -> Registration:
        self.check()
        start = Pose.identity(dtype=source.dtype, device=source.device) if init is None else init
        middle = [points.double().mean(0) * self.centred for points in (source, target)]
        found = isolate.call(
            f"{_NATIVE / self.script}",
            *map(_array, (source - middle[0], target - middle[1], start.matrix())),
            seconds=self.seconds,
            python=interpreter(self.library),
            **self._options(source, target),
        )
        if found.value is None:
            return Registration(start, status=(found.status,))
        matrix, status = found.value
        if matrix is None:
            return Registration(start, status=(status,))
        try:
            rotation, shift = rigid_pose(matrix).to(source.device)
        except ValueError:
            return Registration(start, status=(FAILED,))
        shift = shift + middle[1] - matvec3(rotation, middle[0])
        return Registration(Pose(rotation, shift).to(source.dtype), status=(status,))


def interpreter(library: str) -> tuple[str, ...]:
    """The command of the Python that has a library, by its module; empty where that is this one.

    >>> os.environ["SPOONFUL_PYTHON_SOME_LIBRARY"] = "/opt/other/bin/python -X utf8"
    >>> interpreter("some_library"), interpreter("another")
    (('/opt/other/bin/python', '-X', 'utf8'), ())
    """
    return tuple(shlex.split(os.environ.get(_variable(library), "")))


def library_version(library: str) -> str:
    """The version of a library, by its module, in the Python that has it; "none" if none has.

    >>> import torch
    >>> library_version("torch") == torch.__version__, library_version("no_such_library")
    (True, 'none')
    """
    with contextlib.suppress(ModuleNotFoundError, OSError):
        found = isolate.call("importlib.metadata:version", library, python=interpreter(library))
        if found.value is not None:
            return str(found.value)
    return "none"


def _variable(library: str) -> str:
    return f"SPOONFUL_PYTHON_{library.upper()}"


def _array(values: Tensor) -> Any:
    return values.detach().cpu().double().contiguous().numpy()
