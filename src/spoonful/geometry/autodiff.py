"""Hand-written derivatives that work in every mode of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import Function


def applier(function: type[Function]) -> Callable[..., Any]:
    """`function.apply`, in a form that torch.compile can trace.

    Dynamo declines a Function that has a jvp of its own, so while it traces, a twin without one
    stands in; forward-mode AD inside a compiled graph is not supported by torch either way.
    """
    twin: type[Function] = type(f"{function.__name__}Traced", (function,), {"jvp": Function.jvp})

    def apply(*arguments: Any) -> Any:
        if torch.compiler.is_compiling():
            return twin.apply(*arguments)
        return function.apply(*arguments)

    return apply
