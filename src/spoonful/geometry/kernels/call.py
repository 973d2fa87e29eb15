"""One call of a compiled pose head: what to compute, and where everything lies."""

from __future__ import annotations

import ctypes
from typing import Literal, NamedTuple, get_args

from torch import Tensor

Form = Literal["source", "target"]
# In the order of `enum start` in pose_head.c.
Start = Literal["given", "kabsch", "detached", "perturbed"]
STARTS: tuple[Start, ...] = get_args(Start)
STATE = 34  # doubles in `struct state`


class Plan(NamedTuple):
    """What a pose head does: so many refinements, in this form, from such a start.

    A "given" start is a rotation for each cloud, and Kabsch is not computed. For a "perturbed" one
    the turns are given. No iterations: Kabsch alone.
    """

    iterations: int
    form: Form
    start: Start


class Call(ctypes.Structure):
    """`struct call` of pose_head.c."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("clouds", "points", "starts", "iterations")),
        *((name, ctypes.c_int32) for name in ("target_form", "start_kind", "threads")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("source", "target", "weights", "mask", "offsets", "start"),
                *("rotation", "translation", "state", "g_rotation", "g_translation"),
                *("d_source", "d_target", "d_weights", "d_start"),
            )
        ),
    ]


def call_of(
    plan: tuple[int, str, str],
    size: tuple[int, int, int],
    threads: int,
    tensors: dict[str, Tensor | None],
) -> Call:
    """A call with these tensors, by their names in `Call`; those left out are null."""
    iterations, form, start = plan
    clouds, points, starts = size
    return Call(
        clouds=clouds,
        points=points,
        starts=starts,
        iterations=iterations,
        target_form=form == "target",
        start_kind=STARTS.index(start),
        threads=threads,
        **{name: tensor.data_ptr() for name, tensor in tensors.items() if tensor is not None},
    )
