"""Compile the C of this folder once for each user and machine, at first use, or do without.

Nothing here raises: without a compiler, or with a cache that cannot be written, `library` returns
None and says why in one debug line, and the geometry runs in torch's own operations.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

SOURCE = Path(__file__).with_name("pose_head.c")
# No -ffast-math: NaN must be seen, and sums must keep their order.
FLAGS = ("-O3", "-fno-math-errno", "-fPIC", "-shared", "-pthread")
NATIVE = (("-march=native",), ("-mcpu=native",), ())
PATIENCE = 300.0  # seconds; C takes one or two, torch's C++ headers twenty

_log = logging.getLogger(__name__)
_lock = threading.Lock()


def library(real: str) -> ctypes.CDLL | None:
    """The compiled pose head for `real`, "float" or "double"; None if there is none to be had."""
    with _lock:  # so that threads that arrive together compile once
        return _library(real)


def cache_folder() -> Path:
    """Where compiled kernels are kept: $SPOONFUL_CACHE, or the user's cache folder."""
    if own := os.environ.get("SPOONFUL_CACHE"):
        return Path(own) / "kernels"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spoonful" / "kernels"


@functools.cache
def _library(real: str) -> ctypes.CDLL | None:
    try:
        return _load(_compiled(real))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        _log.debug("no compiled kernel, using torch's own operations: %s", error)
        return None


def _compiled(real: str) -> Path:
    flags = [[*FLAGS, *native, f"-DREAL={real}"] for native in NATIVE]
    command, target = compiler("CC", ["cc", "gcc", "clang"], "c", flags)
    path = place(SOURCE, f"pose_head_{real}", command, target)
    return make(path, SOURCE, command, "-lm")


def place(source: Path, name: str, command: list[str], target: bytes) -> Path:
    """Where a library is kept, by all that it depends on."""
    key = hashlib.sha256()
    for part in (source.read_bytes(), shlex.join(command).encode(), target):
        key.update(hashlib.sha256(part).digest())
    return cache_folder() / f"{name}_{key.hexdigest()[:20]}.so"


def make(path: Path, source: Path, command: list[str], *libraries: str) -> Path:
    """The library at `path`, made if it is not there yet."""
    if path.exists():
        return path
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Made beside its place and moved there whole: processes that build at once do not disturb
    # each other, and whoever looks sees all of it or nothing.
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        made = Path(scratch) / path.name
        _run([*command, str(source), "-o", str(made), *libraries])
        made.replace(path)
    return path


def compiler(
    variable: str, names: list[str], language: str, choices: list[list[str]]
) -> tuple[list[str], bytes]:
    """The command to compile with, and what the compiler says of itself and its target.

    Its predefined macros name its version and the processor's features, so a cache that several
    kinds of machines share holds a library for each.

    Args:
        variable: of the environment, with the user's own compiler.
        names: compilers to look for where it is not set.
        language: "c" or "c++".
        choices: sets of flags, of which the first that the compiler knows is taken.
    """
    if os.name != "posix":
        raise RuntimeError(f"no kernels for {os.name}")
    refusals = []
    own = shlex.split(os.environ.get(variable, ""))
    for start in [own] if own else [[name] for name in names]:
        if not shutil.which(start[0]):
            refusals.append(f"{start[0]} not found")
            continue
        for flags in choices:
            command = [*start, *flags]
            try:
                return command, _run([*command, "-dM", "-E", "-x", language, os.devnull])
            except RuntimeError as error:
                refusals.append(str(error))
    raise RuntimeError("; ".join(refusals))


def _run(command: list[str]) -> bytes:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise RuntimeError(f"{shlex.join(command)} failed: {lines[0]}")
    return done.stdout


def check_owner(path: Path) -> None:
    """Raise if what is to be loaded was put there by another user."""
    if path.stat().st_uid not in (0, os.geteuid()):
        raise RuntimeError(f"{path} belongs to somebody else")


def _load(path: Path) -> ctypes.CDLL:
    check_owner(path)
    loaded = ctypes.CDLL(str(path))
    for entry in (loaded.pose_head_forward, loaded.pose_head_backward):
        entry.argtypes, entry.restype = [ctypes.c_void_p], ctypes.c_int
    return loaded
