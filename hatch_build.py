"""Compile the C of spoonful/geometry/kernels when the package is built, never at run time.

    python hatch_build.py        # compile in place, in a checkout; needs a C compiler alone

`pip install -e .` compiles in place too, for this machine's processor. A wheel gets libraries that
run on every machine of its platform. Without a compiler the build succeeds, with a warning: torch's
own operations then do the work of the kernels.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script, outside a build
    BuildHookInterface = object

KERNELS = Path("spoonful", "geometry", "kernels")
REALS = ("float", "double")
# No -ffast-math: NaN must be kept, and sums must keep their order.
FLAGS = ["-std=c11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fPIC", "-shared"]
NATIVE = (["-march=native"], ["-mcpu=native"], [])  # the first that the compiler knows
AVX2 = ["-mavx2", "-mfma"]
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def compile_all(source: Path, folder: Path, *, portable: bool) -> list[Path]:
    """Compile the pose head for float and double; the libraries, in `folder`.

    Args:
        source: pose_head.c.
        folder: where to put the libraries.
        portable: for every machine of this platform, instead of for this one. On x86-64 there are
            two of each then: one for all, and one for processors with AVX2.

    Raises:
        RuntimeError: if there is no compiler, or it fails.
    """
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    variants: list[tuple[str, tuple[list[str], ...]]] = [("", ([],) if portable else NATIVE)]
    if portable and x86:
        variants.append(("_avx2", (AVX2,)))
    made = []
    # Beside their place first, and moved when they are complete.
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for real in REALS:
            for name, choices in variants:
                path = Path(scratch, f"pose_head_{real}{name}{SUFFIX}")
                _compile(source, path, [f"-DREAL={real}"], choices)
                made.append(path)
        return [path.replace(folder / path.name) for path in made]


def _compile(source: Path, path: Path, flags: list[str], choices: tuple[list[str], ...]) -> None:
    refusals = []
    own = shlex.split(os.environ.get("CC", ""))
    for compiler in [own] if own else [["cc"], ["gcc"], ["clang"], ["cl"]]:
        if not shutil.which(compiler[0]):
            refusals.append(f"{compiler[0]} not found")
            continue
        for choice in choices:
            if Path(compiler[0]).stem.lower() == "cl":  # MSVC
                there = [flag.replace("-D", "/D") for flag in flags]
                there += ["/arch:AVX2"] if choice == AVX2 else []
                command = [*compiler, "/nologo", "/std:c11", "/O2", "/LD", *there, str(source)]
                command += [f"/Fe:{path}", f"/Fo:{path.with_suffix('.obj')}"]
            else:
                threads = [] if sys.platform == "win32" else ["-pthread", "-lm"]
                if sys.platform == "darwin":
                    threads.append("-mmacosx-version-min=11.0")
                command = [*compiler, *FLAGS, *choice, *flags, str(source), "-o", str(path)]
                command += threads
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            refusals.append(f"{shlex.join(command)} failed: {lines[0]}")
    raise RuntimeError("; ".join(refusals))


def platform_tag() -> str:
    """The wheel's platform, as pip names it."""
    if sys.platform == "darwin":
        return f"macosx_11_0_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Adds the compiled kernel to wheels, and compiles it in place for editable installs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        folder = root / "src" / KERNELS
        editable = version == "editable"
        self._scratch = tempfile.TemporaryDirectory()
        try:
            made = compile_all(
                folder / "pose_head.c",
                folder if editable else Path(self._scratch.name),
                portable=not editable,
            )
        except RuntimeError as error:
            self.app.display_warning(f"no compiled kernel, torch's operations are used: {error}")
            return
        if not editable:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"
            build_data["force_include"].update(
                {str(path): str(KERNELS / path.name) for path in made}
            )

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when the wheel is written."""
        if self.target_name == "wheel":
            self._scratch.cleanup()


if __name__ == "__main__":
    folder = Path(__file__).parent / "src" / KERNELS
    for path in compile_all(folder / "pose_head.c", folder, portable=False):
        print(path)
