"""A device that is not there, for tests of what would run on a GPU.

Within `Elsewhere()`, tensors that are moved to `DEVICE` are kept on the CPU, but say that they are
on `DEVICE`. As on a GPU, an operation on tensors of two devices fails, and so does `numpy()`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = "lazy"  # any that torch knows and that needs no driver
_WAITS = ("_local_scalar_dense", "nonzero", "_unique2", "bincount", "masked_select")
_INDEXING = ("index", "index_put", "index_put_", "_index_put_impl_")


class _There(Tensor):
    """A tensor that says that it is on `DEVICE`."""

    here: Tensor

    @staticmethod
    def __new__(cls, here: Tensor) -> _There:
        made = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            here.shape,
            strides=here.stride(),
            storage_offset=here.storage_offset(),
            dtype=here.dtype,
            device=DEVICE,
        )
        made.here = here
        return made

    def tolist(self) -> Any:
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError(f"{func} outside of Elsewhere()")


class Elsewhere(TorchDispatchMode):
    """Emulate `DEVICE`. `calls` counts operations there, `waits` those that wait for a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise the first operation would import Dynamo, which takes seconds

    def __enter__(self) -> Elsewhere:
        # `torch.tensor` makes its tensor on the CPU and moves it, where the mode sees it.
        torch._C._set_only_lift_cpu_tensors(True)
        # Other threads would not know the mode.
        self.threads = torch.get_num_threads()
        torch.set_num_threads(1)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        torch._C._set_only_lift_cpu_tensors(False)
        torch.set_num_threads(self.threads)
        super().__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [x for x in _flat((args, tuple(kwargs.values()))) if isinstance(x, Tensor)]
        there = any(isinstance(x, _There) for x in tensors)
        device = kwargs.get("device")
        to = there if device is None else torch.device(device).type == DEVICE
        if not there and not to:
            return func(*args, **kwargs)
        name = func.__name__.split(".")[0]
        copies = name in ("_to_copy", "copy_")
        # As on a GPU: numbers and positions may come from the CPU.
        checked = tensors[:1] if name in _INDEXING else tensors
        if not copies and any(x.ndim and not isinstance(x, _There) for x in checked if there):
            raise RuntimeError(f"{name}: tensors on {DEVICE} and on the CPU")
        self.calls[name] += 1
        masks = name in _INDEXING and any(x.dtype == torch.bool for x in tensors[1:])
        if name in _WAITS or masks or (copies and there and not to):
            self.waits[name] += 1
        out = func(*_here(args), **{k: _here(v) for k, v in kwargs.items() if k != "device"})
        if name.endswith("_"):
            return args[0]
        if "out" in kwargs:
            return kwargs["out"]
        return _there(out) if to else out


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _here(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_here, value))
    return value.here if isinstance(value, _There) else value


def _there(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_there, value))
    return _There(value) if isinstance(value, Tensor) else value
