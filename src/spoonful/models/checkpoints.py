"""Files of weights: published checkpoints, and safetensors files with text beside the tensors."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from spoonful.extras import require
from spoonful.files import write_whole

Model = TypeVar("Model", bound=nn.Module)

_CHECKSUM = "sha256"

# Weight decay makes weights that the loss does not need smaller with every step: the published
# DCP-v1 has 260,228 below 1e-20 in its last layer alone. Products with them are subnormal numbers,
# with which a CPU is many times slower than with zeros; the poses are the same.
_TOO_SMALL = 1e-20


class DamagedFile(ValueError):
    """A file is truncated, was changed, or is no file of tensors; the message names it."""


def load_published(path: str | Path, model: Model) -> Model:
    """Load a published checkpoint into a model of the same shape.

    The models keep the published parameter names, so every tensor must find its place, and every
    place its tensor. Supported are plain state dicts, such as DCP's `.t7` files, those wrapped
    in a dictionary under "state_dict", such as RPM-Net's, those saved from `nn.DataParallel`
    (names start with "module."), and safetensors files. Weights below 1e-20 are loaded as zeros.

    Files are read with `weights_only=True`: a checkpoint cannot run code. One that contains
    more than tensors and plain containers is refused.

    Args:
        path: the file.
        model: e.g. `DCP.v1()`; it is changed in place.

    Returns:
        The model, in the mode it was in.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, is not such a checkpoint, or is another model's. The
            message begins with the file's name.

    >>> import tempfile
    >>> from spoonful.models import DCP
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save(DCP(emb_dims=16, ff_dims=16).state_dict(), f"{folder}/dcp.t7")
    ...     model = load_published(f"{folder}/dcp.t7", DCP(emb_dims=16, ff_dims=16))
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint at {path}")
    content = read_tensors(path)[0] if path.suffix == ".safetensors" else read_pickled(path)
    fit(model, _state_dict(content, path), path)
    return model


def built(make: Callable[[], Model], state: Mapping[str, Tensor], path: Path) -> Model:
    """The model that `make` builds from a file's settings, with the file's weights.

    It is built on the meta device first, with a limit on its parameters: a crafted file cannot
    make it allocate much more memory than the file's own tensors take.

    Raises:
        DamagedFile: the settings are not those of a model.
        ValueError: the weights are those of another model.
    """
    count, most = 0, 2 * len(state) + 100  # a constructor may replace some

    def counted(*_: object) -> None:
        nonlocal count
        count += 1
        if count > most:
            raise ValueError(f"its settings need more than {most} tensors, it has {len(state)}")

    hook = register_module_parameter_registration_hook(counted)
    try:
        with torch.device("meta"):
            empty = make()
    except Exception as error:  # constructors raise errors of many classes for crafted settings
        raise DamagedFile(f"{path} describes no model of this version: {error}") from error
    finally:
        hook.remove()
    check_fit(empty, state, path)
    model = make()
    fit(model, state, path)
    return model


def fit(model: nn.Module, state: Mapping[str, Tensor], path: Path) -> None:
    """Load weights into a model, those below 1e-20 as zeros.

    Raises:
        ValueError: names or shapes differ from the model's own; the message says how.
    """
    check_fit(model, state, path)
    try:
        model.load_state_dict(state, strict=True)
    except (RuntimeError, TypeError, NotImplementedError) as error:  # a tensor without values
        raise DamagedFile(f"{path}: its tensors cannot be copied: {error}") from error
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.masked_fill_(parameter.abs() < _TOO_SMALL, 0.0)


def check_fit(model: nn.Module, state: Mapping[str, Tensor], path: Path) -> None:
    """Raise a `ValueError` if names or shapes of weights differ from those of a model."""
    wanted = model.state_dict()
    differ = {
        "missing": wanted.keys() - state.keys(),
        "unexpected": state.keys() - wanted.keys(),
        "of another shape": {
            name for name in wanted.keys() & state.keys() if wanted[name].shape != state[name].shape
        },
    }
    problems = [
        f"{len(names)} {what} ({', '.join(sorted(names)[:3])}{', ...' if len(names) > 3 else ''})"
        for what, names in differ.items()
        if names
    ]
    if problems:
        raise ValueError(
            f"{path} is not a checkpoint of this {type(model).__name__}: of {len(wanted)} tensors "
            f"{'; '.join(problems)}"
        )


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], text: Mapping[str, str]) -> None:
    """Write a safetensors file atomically, with a checksum of everything in it.

    Args:
        path: where to; an existing file is replaced.
        tensors: by name, on any device.
        text: by name.

    Raises:
        OSError: the disk is full, for example. An existing file at `path` is left unchanged.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_tensors(f"{folder.name}/a.safetensors", {"x": torch.ones(2)}, {"note": "two ones"})
    >>> read_tensors(f"{folder.name}/a.safetensors")
    ({'x': tensor([1., 1.])}, {'note': 'two ones'})
    """
    save = require("safetensors.torch", extra="train", why="Writing weights").save
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # The checksum covers the layout, which the library chooses: so it has to choose it first.
    layout, _, data = _parts(save(kept))
    write_whole(path, save(kept, {**text, _CHECKSUM: _checksum(layout, text, data)}))


def read_tensors(
    path: str | Path, *, need_checksum: bool = False
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors, on the CPU, and the text of a safetensors file.

    Args:
        path: any safetensors file.
        need_checksum: refuse a file without the checksum that `write_tensors` adds. A checksum
            that is there is always verified.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedFile: it is truncated, its checksum is wrong, or it is something else.
    """
    library = require("safetensors.torch", extra="train", why="Reading weights")
    content = Path(path).read_bytes()
    try:
        tensors = library.load(content)
        layout, text, data = _parts(content)
        expected = text.pop(_CHECKSUM, None)
        found = None if expected is None else _checksum(layout, text, data)
    except Exception as error:  # the library has its own classes, one for each kind of damage
        raise DamagedFile(f"{path} is damaged or is no safetensors file: {error}") from error
    if expected is None and need_checksum:
        raise DamagedFile(f"{path} has no checksum: it was changed, or comes from elsewhere")
    if found != expected:
        raise DamagedFile(f"{path} was changed or damaged: its checksum does not match")
    return tensors, text


def _parts(content: bytes) -> tuple[dict[str, Any], dict[str, str], memoryview]:
    """The layout of the tensors, the text, and the bytes of the tensors of a safetensors file."""
    start = 8 + int.from_bytes(content[:8], "little")
    layout = json.loads(content[8:start])
    return layout, layout.pop("__metadata__", {}), memoryview(content)[start:]


def _checksum(layout: Mapping[str, Any], text: Mapping[str, str], data: memoryview) -> str:
    digest = hashlib.sha256(json.dumps([layout, dict(text)], sort_keys=True).encode())
    digest.update(data)
    return digest.hexdigest()


def read_pickled(path: Path) -> Any:
    """The tensors and plain containers in a file of `torch.save`.

    Raises:
        DamagedFile: it is damaged, holds anything else, or is something else.
    """
    content = io.BytesIO(path.read_bytes())
    try:
        return torch.load(content, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise DamagedFile(
            f"{path} was refused: it is not a checkpoint of tensors and plain containers alone, "
            "and loading anything more could run code hidden in it. If you trust its origin, "
            "save its state dict again with torch.save(model.state_dict(), ...). "
            f"({str(error).splitlines()[0]})"
        ) from error
    except Exception as error:  # damaged pickles raise errors of many classes
        raise DamagedFile(f"{path} is not a torch checkpoint: {error!r}") from error


def _state_dict(content: Any, path: Path) -> dict[str, Tensor]:
    """The tensors by name, without the dictionary that wraps them and the prefix "module."."""
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not (
        isinstance(content, Mapping)
        and content
        and all(isinstance(name, str) for name in content)
        and all(isinstance(value, Tensor) for value in content.values())
    ):
        raise DamagedFile(f"{path} holds no state dict, but a {type(content).__name__}")
    state = dict(content)
    if all(name.startswith("module.") for name in state):
        state = {name.removeprefix("module."): value for name, value in state.items()}
    return state
