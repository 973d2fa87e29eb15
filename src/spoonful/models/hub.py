"""Share models as files: `save_pretrained`, `from_pretrained`, and the Hugging Face hub.

A saved model is one file, `model.safetensors`. It holds the weights, the name of the model's class
and the arguments it was built with. `README.md` beside it is the model card.
"""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from spoonful.data.fetch import download, verify
from spoonful.data.places import cache
from spoonful.extras import require
from spoonful.files import naming, write_whole
from spoonful.geometry import SpoonfulLayer
from spoonful.models.checkpoints import DamagedFile, built, read_tensors, write_tensors

FILE, CARD = "model.safetensors", "README.md"
_LAYER = ("iterations", "form", "start", "max_degrees", "starts")
_NAME = re.compile(r"(?:hub:)?(\w[\w.-]*/\w[\w.-]*)(?:@([\w./-]+))?")
_ADDRESS = re.compile(r"(https?://[^#]+)(?:#sha256=([0-9a-fA-F]{64}))?")
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)

Model = TypeVar("Model", bound=nn.Module)


def remote(where: str) -> bool:
    """True for a web address and for a hub name that begins with "hub:"."""
    return where.startswith(("hub:", "https://", "http://"))


def locate(where: str | os.PathLike[str], file: str = FILE) -> Path:
    """The path of a model's file; a hub's or an address's file is downloaded to a cache first.

    Args:
        where: a file; a folder that `save_pretrained` wrote; a hub repository as "USER/NAME",
            "hub:USER/NAME" or "USER/NAME@REVISION"; or "https://...#sha256=DIGITS".
        file: the file of the folder or repository.

    Raises:
        ValueError: `where` has another form, or the repository or file does not exist.
        OSError: the network or the disk failed; no partial file is left.
    """
    text, path = os.fspath(where), Path(where)
    if path.exists():
        return path / file if path.is_dir() else path
    if address := _ADDRESS.fullmatch(text):
        return _downloaded(*address.groups())
    if not (name := _NAME.fullmatch(text)):
        raise ValueError(
            f"no model at {text!r}: give a file, a folder of save_pretrained, a hub name USER/NAME "
            "or https://ADDRESS#sha256= and 64 digits"
        )
    repo, revision = name.groups()
    with _hub_errors(repo) as hub:
        return Path(hub.hf_hub_download(repo, file, revision=revision))


def save(model: nn.Module, arguments: Mapping[str, Any], folder: Path, card: str) -> Path:
    """Write a model's file and card; see `RegistrationModel.save_pretrained`."""
    kept = {name: _plain(value, name) for name, value in arguments.items()}
    about = json.dumps({"class": type(model).__name__, "arguments": kept})
    write_tensors(folder / FILE, model.state_dict(), {"format": "pt", "model": about})
    write_whole(folder / CARD, card or front_matter({}) + f"\n# {type(model).__name__}\n")
    return folder


def load(where: str | os.PathLike[str], kind: type[Model]) -> Model:
    """Read what `save` wrote, as `kind` or one of its subclasses, on the CPU."""
    path = locate(where)
    tensors, text = read_tensors(path)
    if "model" not in text:
        raise ValueError(
            f"{path} does not say which model it is: it was not written by save_pretrained. "
            "spoonful.training.load_model reads training runs, load_published reads bare weights"
        )
    kinds = {one.__name__: one for one in (kind, *_subclasses(kind))}
    try:
        about = json.loads(text["model"])
        arguments = {name: _built(value) for name, value in about["arguments"].items()}
        name = str(about["class"])
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise DamagedFile(f"{path} describes no model of this version: {error}") from error
    if name not in kinds:
        raise ValueError(
            f"{path} holds a model of class {name}; {kind.__name__}.from_pretrained reads "
            f"{', '.join(kinds)}. RegistrationModel.from_pretrained reads all classes whose module "
            "is imported"
        )
    return built(lambda: kinds[name](**arguments), tensors, path)


def push(folder: Path, repo: str, *, private: bool = False) -> str:
    """Upload a folder of `save_pretrained` to a hub repository; returns its address.

    Raises:
        ValueError: the name is not USER/NAME, or the folder has no model.
        OSError: the hub cannot be reached, or refuses.
    """
    name = _NAME.fullmatch(repo)
    if name is None or name[2]:
        raise ValueError(f"repo must be a hub name USER/NAME, got {repo!r}")
    if not (folder / FILE).is_file():
        raise ValueError(f"{folder} has no {FILE}: write it with save_pretrained")
    with _hub_errors(name[1]) as hub:
        api = hub.HfApi()
        address = str(api.create_repo(name[1], private=private, exist_ok=True))
        api.upload_folder(repo_id=name[1], folder_path=folder, allow_patterns=[FILE, CARD])
        return address


def pull(where: str, folder: Path) -> Path:
    """Copy a model's file and, from the hub, its card to a folder; returns the folder."""
    files = {FILE: locate(where)}
    if not _ADDRESS.fullmatch(where):
        files[CARD] = locate(where, CARD)
    contents = {name: path.read_bytes() for name, path in files.items()}
    for name, content in contents.items():
        write_whole(folder / name, content)
    return folder


def front_matter(about: Mapping[str, Any]) -> str:
    """The opening lines of a model card, which the hub reads.

    >>> print(front_matter({"license": "apache-2.0"}))
    ---
    library_name: "spoonful"
    pipeline_tag: "other"
    tags: ["point-cloud", "registration", "3d"]
    license: "apache-2.0"
    ---
    <BLANKLINE>
    """
    fixed = {
        "library_name": "spoonful",
        "pipeline_tag": "other",
        "tags": ["point-cloud", "registration", "3d"],
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in {**fixed, **about}.items()]
    return "\n".join(["---", *lines, "---", ""])


def _downloaded(url: str, sha256: str | None) -> Path:
    """The file at an address, from the cache or downloaded and verified."""
    if not sha256:
        raise ValueError(f"{url} needs its checksum: write {url}#sha256= and 64 digits")
    path = cache() / "models" / f"{sha256.lower()}.safetensors"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with naming(path), tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            got = download(url, Path(scratch))
            verify(got, sha256.lower(), url)
            got.replace(path)
    return path


@contextmanager
def _hub_errors(repo: str) -> Iterator[Any]:
    """The library of the hub, with its errors as ours."""
    why = "Using the Hugging Face hub"
    hub = require("huggingface_hub", extra="hub", why=why)
    known = require("huggingface_hub.errors", extra="hub", why=why)
    try:
        yield hub
    except known.LocalEntryNotFoundError as error:
        raise OSError(f"the hub cannot be reached, and {repo} is not in its cache") from error
    except known.EntryNotFoundError as error:
        raise ValueError(f"{repo} has no such file: is it a model of spoonful?") from error
    except known.RevisionNotFoundError as error:
        raise ValueError(f"{repo} has no such revision") from error
    except known.RepositoryNotFoundError as error:
        raise ValueError(
            f"the hub has no model {repo}, or it is private: check the name, or run `hf auth login`"
        ) from error
    except known.HfHubHTTPError as error:
        raise OSError(f"the hub refused {repo}: {error}. Run `hf auth login` to write") from error
    except ValueError:
        raise
    except Exception as error:  # no network, in the classes of a library that differs by release
        if isinstance(error, OSError) and error.errno in _DISK:
            place = hub.constants.HF_HUB_CACHE
            raise OSError(f"{repo} cannot be stored in {place}: {error.strerror}") from error
        raise OSError(f"the hub did not answer for {repo}: {error}") from error


def _subclasses(kind: type[Model]) -> Iterator[type[Model]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def _plain(value: Any, name: str) -> Any:
    """An argument of a model as JSON holds it."""
    if type(value) is SpoonfulLayer:
        return {"SpoonfulLayer": {key: getattr(value, key) for key in _LAYER}}
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be plain numbers, text or a SpoonfulLayer to be saved, "
            f"got {type(value).__name__}"
        ) from None
    return value


def _built(value: Any) -> Any:
    """The reverse of `_plain`."""
    return SpoonfulLayer(**value["SpoonfulLayer"]) if isinstance(value, dict) else value
