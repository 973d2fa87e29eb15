"""The origin of a result: hashes of its data and weights, versions and machine."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import torch
from torch import Tensor, nn

from spoonful.data.corpus import Corpus
from spoonful.version import __version__


def fingerprint(data: Corpus | Sequence[Any]) -> str:
    """Sixteen hexadecimal digits of all that items are made of: points, normals, labels, names.

    Args:
        data: a corpus, or pairs of scans with `source`, `target` and `pose`.

    >>> shapes = torch.zeros(2, 8, 3)
    >>> one = Corpus("toy", shapes, None, torch.tensor([0, 1]), ("cup", "hat"))
    >>> other = Corpus("toy", shapes + 1, None, torch.tensor([0, 1]), ("cup", "hat"))
    >>> fingerprint(one) == fingerprint(one), fingerprint(one) == fingerprint(other)
    (True, False)
    """
    digest = hashlib.sha256()
    if isinstance(data, Corpus):
        digest.update("\0".join(data.categories).encode())
        tensors = {"points": data.points, "labels": data.labels}
        if data.normals is not None:
            tensors["normals"] = data.normals
        _add(digest, tensors)
    else:
        for pair in data:
            parts = {"source": pair.source, "target": pair.target}
            _add(digest, parts | {"rotation": pair.pose.rotation, "shift": pair.pose.translation})
    return digest.hexdigest()[:16]


def weights_sha256(model: nn.Module) -> str:
    """The SHA-256 of a model's parameters and buffers, by name; the file they came in is no part.

    >>> weights_sha256(nn.Identity())[:8]
    'e3b0c442'
    """
    digest = hashlib.sha256()
    _add(digest, dict(sorted(model.state_dict().items())))
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """The versions of this package, of Python, and of the libraries that compute.

    >>> sorted(versions())[:2]
    ['cuda', 'numpy']
    """
    try:
        numpy = metadata.version("numpy")
    except metadata.PackageNotFoundError:
        numpy = "none"
    return {
        "spoonful": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy,
        "cuda": torch.version.cuda or "none",
    }


def machine(device: torch.device | str = "cpu") -> dict[str, str | int]:
    """The kind of machine, never its name.

    >>> machine()["device"]
    'cpu'
    """
    device = torch.device(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        "device": name,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
    }


def _add(digest: Any, tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        values = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {values.dtype} {tuple(values.shape)}\n".encode())
        # Straight from memory: numpy may not be there, and Python's own way goes byte by byte.
        digest.update(ctypes.string_at(values.data_ptr(), values.nbytes) if values.nbytes else b"")
