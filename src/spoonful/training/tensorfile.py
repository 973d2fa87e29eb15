"""Tensors and text in one file, in the safetensors format, with nothing but torch.

The format (github.com/huggingface/safetensors) is simple: eight bytes with the length of a JSON
header, the header with each tensor's dtype, shape and place, then the bytes. Writing it here
means that a training machine needs no package but torch, and that a file is either wholly there
or not there at all. Any safetensors reader reads these files, and `read` reads any such file.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.files import replacing

_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_DIGEST = "sha256"
_LONGEST_HEADER = 100 << 20


class DamagedFile(ValueError):
    """A file is cut short, was changed, or is no such file at all."""


def write(path: str | Path, tensors: Mapping[str, Tensor], text: Mapping[str, str]) -> None:
    """Write a file at once or not at all: to a temporary one, flushed to disk, then renamed.

    Args:
        path: where to; a file that is there is replaced.
        tensors: by name, on any device.
        text: by name; beside it goes a checksum of everything.

    Raises:
        OSError: the disk is full, say. What was at `path` before is still there, untouched.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> write(f"{folder.name}/a.safetensors", {"x": torch.ones(2)}, {"note": "two ones"})
    >>> read(f"{folder.name}/a.safetensors")
    ({'x': tensor([1., 1.])}, {'note': 'two ones'})
    """
    path = Path(path)
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())}
    layout: dict[str, Any] = {}
    end = 0
    for name, tensor in kept.items():
        start, end = end, end + tensor.numel() * tensor.element_size()
        layout[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    digest = _digest(layout, text)
    for tensor in kept.values():
        digest.update(_bytes(tensor))
    metadata = {**text, _DIGEST: digest.hexdigest()}
    header = json.dumps({"__metadata__": metadata, **layout}).encode()
    header += b" " * (-len(header) % 8)
    with replacing(path) as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for tensor in kept.values():
            file.write(_bytes(tensor))


def read(path: str | Path, *, ours: bool = False) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors, on the CPU, and the text of a file.

    Args:
        path: any safetensors file.
        ours: whether it must have the checksum that `write` gives; where there is one, it is
            checked always.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedFile: it is cut short, its checksum is wrong, or it is something else.
    """
    path = Path(path)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise DamagedFile(f"{path} is cut short or is no safetensors file ({size} bytes)")
        try:
            header = json.loads(file.read(length))
            text: dict[str, str] = header.pop("__metadata__", {})
            ends = [entry["data_offsets"][1] for entry in header.values()]
        except (ValueError, TypeError, KeyError, AttributeError, UnicodeDecodeError):
            raise DamagedFile(f"{path} has no readable header: it is damaged") from None
        wanted = 8 + length + max(ends, default=0)
        if size != wanted:
            raise DamagedFile(f"{path} has {size} bytes, but its header says {wanted}: it is cut")
        data = bytearray(size - 8 - length)
        file.readinto(data)
    expected = text.pop(_DIGEST, None)
    if expected is None and ours:
        raise DamagedFile(f"{path} has no checksum: it was changed, or comes from elsewhere")
    if expected is not None:
        digest = _digest(header, text)
        digest.update(data)
        if digest.hexdigest() != expected:
            raise DamagedFile(f"{path} was changed or damaged: its checksum does not match")
    return {name: _tensor(data, entry, name, path) for name, entry in header.items()}, text


def _tensor(data: bytearray, entry: Mapping[str, Any], name: str, path: Path) -> Tensor:
    try:
        dtype, shape = _DTYPES[entry["dtype"]], entry["shape"]
        start, end = entry["data_offsets"]
        if start == end:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(
            data, dtype=dtype, offset=start, count=(end - start) // dtype.itemsize
        ).reshape(shape)
    except (KeyError, ValueError, RuntimeError, TypeError) as error:
        raise DamagedFile(f"{path} has no readable tensor {name!r}: {error}") from error


def _digest(layout: Mapping[str, Any], text: Mapping[str, str]) -> Any:
    return hashlib.sha256(json.dumps([layout, dict(text)], sort_keys=True).encode())


def _bytes(tensor: Tensor) -> memoryview:
    """The memory of a contiguous CPU tensor, not copied, and without numpy."""
    size = tensor.numel() * tensor.element_size()
    if size == 0:
        return memoryview(b"")
    return memoryview((ctypes.c_char * size).from_address(tensor.data_ptr()))
