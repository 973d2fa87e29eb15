"""Hand-written derivatives that work in every mode of torch, each at its best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import Function


def applier(function: type[Function]) -> Callable[..., Any]:
    """A call of `function.apply` that suits the mode torch is in.

    - In `torch.func` transforms, `function` itself, with its `setup_context` and vmap rule.
    - While torch.compile traces, a twin without `jvp`, which Dynamo declines. (Forward-mode AD
      inside a compiled graph is not supported by torch either way.)
    - Otherwise a twin whose `forward` takes the context: torch binds the signature of a function
      with `setup_context` anew in every call, which takes longer than our arithmetic.
    """

    def forward(ctx: Any, *arguments: Any) -> Any:
        output = function.forward(*arguments)
        function.setup_context(ctx, arguments, output)
        return output

    direct = {"forward": staticmethod(forward), "setup_context": Function.setup_context}
    traced: type[Function] = type(f"{function.__name__}Traced", (function,), {"jvp": Function.jvp})
    eager: type[Function] = type(function.__name__, (function,), direct)

    def apply(*arguments: Any) -> Any:
        if torch.compiler.is_compiling():
            return traced.apply(*arguments)
        if torch._C._are_functorch_transforms_active():
            return function.apply(*arguments)
        return eager.apply(*arguments)

    return apply
