"""A backend for torch.compile that traces forward and backward, and compiles nothing."""

from __future__ import annotations

from typing import Any


def whole_graph(module: Any, inputs: Any) -> Any:
    """As torch's "aot_eager", without its search for what to compute again in the backward pass.

    geometry/test_compile.py uses torch's own for the layer.
    """
    from functorch.compile import default_partition, nop  # here: they take seconds
    from torch._dynamo.backends.common import aot_autograd

    return aot_autograd(fw_compiler=nop, partition_fn=default_partition)(module, inputs)
