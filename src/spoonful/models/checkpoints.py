"""Published weights, loaded by name and by nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from spoonful.extras import require

Model = TypeVar("Model", bound=nn.Module)


def load_published(path: str | Path, model: Model) -> Model:
    """Load a published checkpoint into a model of the same shape.

    The models keep the published parameter names, so every tensor must find its place, and every
    place its tensor. Understood are plain state dicts, such as DCP's `.t7` files, those wrapped
    in a dictionary under "state_dict", such as RPM-Net's, those saved from `nn.DataParallel`
    (names start with "module."), and safetensors files.

    Files are read with `weights_only=True`: a checkpoint cannot run code. One that contains
    more than tensors and plain containers is refused.

    Args:
        path: the file.
        model: e.g. `DCP.v1()`; it is changed in place.

    Returns:
        The model, in the mode it was in.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not such a checkpoint, or it is another model's.

    >>> import tempfile
    >>> from spoonful.models import DCP
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save(DCP(emb_dims=16, ff_dims=16).state_dict(), f"{folder}/dcp.t7")
    ...     model = load_published(f"{folder}/dcp.t7", DCP(emb_dims=16, ff_dims=16))
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint at {path}")
    state = _state_dict(_read(path), path)
    _check_fit(state, model, path)
    model.load_state_dict(state, strict=True)
    return model


def _read(path: Path) -> Any:
    if path.suffix == ".safetensors":
        library = require("safetensors.torch", extra="data", why="Reading safetensors files")
        return library.load_file(path)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{path} was refused: it is not a checkpoint of tensors and plain containers alone, "
            "and loading anything more could run code hidden in it. Where you trust its origin, "
            "save its state dict again with torch.save(model.state_dict(), ...). "
            f"({str(error).splitlines()[0]})"
        ) from error
    except (RuntimeError, EOFError) as error:
        raise ValueError(f"{path} is not a torch checkpoint: {error}") from error


def _state_dict(content: Any, path: Path) -> dict[str, Tensor]:
    """The tensors by name, out of whatever wraps them."""
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not (
        isinstance(content, Mapping)
        and content
        and all(isinstance(value, Tensor) for value in content.values())
    ):
        raise ValueError(f"{path} holds no state dict, but a {type(content).__name__}")
    state = dict(content)
    if all(name.startswith("module.") for name in state):
        state = {name.removeprefix("module."): value for name, value in state.items()}
    return state


def _check_fit(state: dict[str, Tensor], model: nn.Module, path: Path) -> None:
    wanted = model.state_dict()
    problems = [
        f"{len(names)} {what} ({', '.join(sorted(names)[:3])}{', ...' if len(names) > 3 else ''})"
        for what, names in (
            ("missing", wanted.keys() - state.keys()),
            ("unexpected", state.keys() - wanted.keys()),
            (
                "of another shape",
                {
                    name
                    for name in wanted.keys() & state.keys()
                    if wanted[name].shape != state[name].shape
                },
            ),
        )
        if names
    ]
    if problems:
        raise ValueError(
            f"{path} is no checkpoint of this {type(model).__name__}: of its {len(wanted)} tensors "
            f"{'; '.join(problems)}"
        )
