"""Find and load the compiled pose_head.c, and report why it is missing.

The package's build compiles it (hatch_build.py) and puts it beside this file; nothing is compiled
at run time. Without it torch's own operations do the work.
"""

from __future__ import annotations

import ctypes
import functools
import logging
from pathlib import Path

import torch
from torch import Tensor

from spoonful.geometry.plan import STARTS, Plan

STATE = 35  # doubles in `struct state`
_FOLDER = Path(__file__).parent
_REALS = {torch.float32: "float", torch.float64: "double"}  # C's names
_ENTRIES = ("pose_head_forward", "pose_head_backward", "robust_forward", "robust_backward")
_log = logging.getLogger(__name__)


class Call(ctypes.Structure):
    """`struct call` of pose_head.c."""

    _fields_ = [
        *(
            (name, ctypes.c_int64)
            for name in ("clouds", "points", "starts", "iterations", "rounds")
        ),
        *(
            (name, ctypes.c_int32)
            for name in ("target_form", "start_kind", "threads", "loss", "estimate")
        ),
        ("cutoff", ctypes.c_double),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("source", "target", "weights", "mask", "offsets", "start"),
                *("rotation", "translation", "state", "g_rotation", "g_translation"),
                *("d_source", "d_target", "d_weights", "d_start", "factor", "g_factor"),
                *("robust_start", "noise", "factors"),
            )
        ),
    ]


@functools.cache
def library(dtype: torch.dtype) -> ctypes.CDLL | None:
    """The compiled pose head for float32 or float64; None if it was not built, or does not load."""
    path = next((path for path in _candidates(_REALS[dtype]) if path.is_file()), None)
    if path is None:
        _log.debug("no compiled kernel in %s, using torch's own operations", _FOLDER)
        return None
    try:
        loaded = ctypes.CDLL(str(path))
        for name in _ENTRIES:
            entry = getattr(loaded, name)
            entry.argtypes, entry.restype = [ctypes.c_void_p], ctypes.c_int
        if (loaded.pose_head_state(), loaded.pose_head_call()) != (STATE, ctypes.sizeof(Call)):
            raise OSError(f"{path} belongs to another version of spoonful")
    except (OSError, AttributeError) as error:  # of another machine, or of another version
        _log.debug("no compiled kernel, using torch's own operations: %s", error)
        return None
    return loaded


def _candidates(real: str) -> list[Path]:
    """Files to look for, the fastest that this processor can run first."""
    names = [f"pose_head_{real}"]
    if torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512"):
        names.insert(0, f"pose_head_{real}_avx2")
    return [_FOLDER / f"{name}.{suffix}" for name in names for suffix in ("so", "dylib", "dll")]


def built() -> bool:
    """True if the CPU has its compiled kernel."""
    return all(library(dtype) is not None for dtype in _REALS)


def status() -> str:
    """One line that says if the CPU has its compiled kernel.

    >>> status().startswith("CPU kernel: ")
    True
    """
    if built():
        return "CPU kernel: compiled"
    return "CPU kernel: not built (no C compiler at installation); torch's own operations are used"


def call(
    entry: str,
    plan: Plan,
    size: tuple[int, int, int],
    tensors: dict[str, Tensor | None],
    **numbers: float,
) -> bool:
    """Run an entry of pose_head.c on contiguous tensors, by their names in `Call`.

    Returns:
        False if the entry leaves the work to the reference.
    """
    source = tensors["source"]
    assert source is not None
    loaded = library(source.dtype)
    assert loaded is not None
    clouds, points, starts = size
    arguments = Call(
        clouds=clouds,
        points=points,
        starts=starts,
        iterations=plan.iterations,
        target_form=plan.form == "target",
        start_kind=STARTS.index(plan.start),
        threads=torch.get_num_threads(),
        **{name: tensor.data_ptr() for name, tensor in tensors.items() if tensor is not None},
        **numbers,
    )
    status = getattr(loaded, entry)(ctypes.byref(arguments))
    if status == 1:
        raise MemoryError(f"no memory for the sums of {clouds} clouds")
    return bool(status == 0)
