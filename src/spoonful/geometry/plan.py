"""The words for what the layer computes: its form, where it starts, and how often it refines.

Everything that names a mode of the layer imports it from here: the layer's arguments, the kernels
and the configuration of a training.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from spoonful.geometry.checks import check_choice

Form = Literal["source", "target"]
"""Whose points the refinement's system is made of: the paper's main text, or its supplement."""

Start = Literal["given", "kabsch", "detached", "perturbed"]
"""Where refinements start: at given rotations (`refine`), or at Kabsch's (`SpoonfulLayer`): with
its gradient, without it, or turned at random and without it."""

Mode = Literal["none", "source", "target", "perturbed", "detached"]
"""Form and start in one word, as configurations have it; see `form_and_start`."""

FORMS: tuple[Form, ...] = get_args(Form)
STARTS: tuple[Start, ...] = get_args(Start)  # in the order of `enum start` in pose_head.c
LAYER_STARTS = STARTS[1:]
MODES: tuple[Mode, ...] = get_args(Mode)


class Plan(NamedTuple):
    """A pose head's work: so many refinements, in this form, from such a start.

    With a "given" start Kabsch is not computed. With no iterations it is all that is computed; then
    it may be with a scale.
    """

    iterations: int
    form: Form
    start: Start
    scaled: bool = False


KABSCH = Plan(0, "source", "kabsch")
SIMILARITY = Plan(0, "source", "kabsch", scaled=True)


def form_and_start(mode: Mode, form: Form = "source") -> tuple[Form, Start] | None:
    """The form and start that a mode stands for; None for no layer.

    Args:
        mode: "source" and "target" are the paper's layer in that form, started at Kabsch;
            "detached" and "perturbed" are starts, and take their form from `form`.
        form: the form of a detached or perturbed start.

    >>> form_and_start("target"), form_and_start("perturbed"), form_and_start("none")
    (('target', 'kabsch'), ('source', 'perturbed'), None)
    """
    check_choice("mode", mode, MODES)
    check_choice("form", form, FORMS)
    if mode == "none":
        return None
    if mode == "source" or mode == "target":
        return mode, "kabsch"
    return form, mode
