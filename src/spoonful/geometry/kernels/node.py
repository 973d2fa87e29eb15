"""The pose head's node in autograd without Python: how node.cpp is compiled, loaded and used.

A `torch.autograd.Function` written in Python costs more time on a fast GPU than its kernels do.
node.cpp does the same in C++. It takes some twenty seconds to compile, which happens in the
background, for those who call often, once for each version of torch; until then, and wherever it
cannot be compiled, Python's node does the same with the same kernels.
"""

from __future__ import annotations

import ctypes
import logging
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spoonful.geometry.kernels import build
from spoonful.geometry.kernels.call import STARTS, Call, Plan

SOURCE = Path(__file__).with_name("node.cpp")
STANDARDS = ("-std=c++20", "-std=c++17")  # torch's headers want the one or the other
OFTEN = 100  # calls, after which it is worth compiling
KINDS = 64  # of backward kernels, as in node.cpp

_log = logging.getLogger(__name__)
_lock = threading.RLock()


class Kernel(ctypes.Structure):
    """`Kernel` of node.cpp."""

    _fields_ = [
        ("function", ctypes.c_void_p),
        *((name, ctypes.c_int32) for name in ("threads", "shared", "scratch")),
    ]


class _Gpu(ctypes.Structure):
    """`Gpu` of node.cpp."""

    _fields_ = [
        (name, ctypes.c_void_p)
        for name in ("launch", "stream", "context", "device", "retain", "enter")
    ]


class _State:
    """How far we are."""

    calls = 0
    settled = False  # loaded, or known not to be had
    thread: threading.Thread | None = None
    made: Path | None = None
    library: Any = None


_state = _State()
# torch's operator, once it is loaded.
operator: Any = None


# ---- Compiling and loading -----------------------------------------------------------------------


def want() -> None:
    """Say that a call could have used the node: loads it if it is there, or has it compiled."""
    if _state.settled:
        return
    with _lock:
        _state.calls += 1
        try:
            if _state.calls == 1:
                _load(next((path for path, _ in _places() if path.exists()), None))
            elif _state.calls == OFTEN:
                _state.thread = threading.Thread(target=_make, name="spoonful-build", daemon=True)
                _state.thread.start()
            elif _state.thread is not None and not _state.thread.is_alive():
                _load(_state.made)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            _refuse(error)


def build_now() -> bool:
    """Compile and load the node now, if that has not happened yet; whether it is there."""
    with _lock:
        if not _state.settled:
            try:
                if _state.thread is not None:
                    _state.thread.join()
                else:
                    _make()
                _load(_state.made)
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                _refuse(error)
    return operator is not None


def _places() -> list[tuple[Path, list[str]]]:
    """Where the library is kept, and the command that makes it, in the order to try them."""
    include = Path(torch.__file__).parent / "include"
    if not (include / "torch" / "library.h").is_file():
        raise RuntimeError(f"no headers in {include}")
    flags = [
        *("-O1", "-fPIC", "-shared", "-w"),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        f"-I{include}",
    ]
    command, target = build.compiler("CXX", ["c++", "g++", "clang++"], "c++", [flags])
    target += f"{torch.__version__} {torch.version.git_version}".encode()
    commands = [[*command, standard] for standard in STANDARDS]
    return [(build.place(SOURCE, "node", each, target), each) for each in commands]


def _make() -> None:
    """Compile it. (In a thread of its own, where nobody is there to catch.)"""
    try:
        libraries = [f"-L{Path(torch.__file__).parent / 'lib'}", "-ltorch_cpu", "-lc10"]
        *others, (path, command) = _places()
        for first, other in others:
            try:
                _state.made = build.make(first, SOURCE, other, *libraries)
                return
            except RuntimeError as error:
                _log.debug("trying another standard: %s", error)
        _state.made = build.make(path, SOURCE, command, *libraries)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        _refuse(error)


def _load(path: Path | None) -> None:
    global operator
    if _state.settled or path is None:
        return
    build.check_owner(path)
    torch.ops.load_library(str(path))
    library = ctypes.CDLL(str(path))
    library.spoonful_stream.restype = ctypes.c_void_p
    library.spoonful_new_program.restype = ctypes.c_int64
    library.spoonful_run.argtypes = [
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int)
    ]
    library.spoonful_add_backward.argtypes = [ctypes.c_int64, ctypes.c_int, ctypes.c_void_p]
    _state.library = library
    _state.settled = True
    operator = torch.ops.spoonful.pose_head_node.default


def _refuse(error: Exception) -> None:
    _state.settled = True
    _log.debug("no node in C++, using Python's: %s", error)


# ---- Programs: kernels that belong together ------------------------------------------------------


def new_program(plan: tuple[int, str, str], forward: Kernel) -> int | None:
    """Register a forward kernel; None if there are too many."""
    _, form, start = plan
    number = _state.library.spoonful_new_program(
        int(form == "target"),
        STARTS.index(start),
        ctypes.byref(forward),
    )
    return None if number < 0 else number


def add_backward(program: int, kernel: Kernel, kind: int) -> None:
    """Register a backward kernel beside a program's forward one."""
    _state.library.spoonful_add_backward(program, kind, ctypes.byref(kernel))


def kind_of(call: Call) -> int:
    """Which backward kernel a call needs."""
    return int(_state.library.spoonful_kind(ctypes.byref(call)))


def run(kernel: Kernel, call: Call, parts: int, device: int) -> int:
    """Run a kernel as the node would: 0, or what went wrong."""
    return int(_state.library.spoonful_run(ctypes.byref(kernel), ctypes.byref(call), parts, device))


_of_cpu: dict[tuple[str, str, str], int | None] = {}


def cpu_program(real: str, plan: Plan) -> int | None:
    """The program of pose_head.c's two entries."""
    key = (real, plan.form, plan.start)
    if key not in _of_cpu:
        library = build.library(real)
        assert library is not None
        forward, backward = (
            Kernel(ctypes.cast(entry, ctypes.c_void_p).value, 0, 0, 0)
            for entry in (library.pose_head_forward, library.pose_head_backward)
        )
        program = new_program(plan, forward)
        if program is not None:
            for kind in range(KINDS):
                add_backward(program, backward, kind)
        _of_cpu[key] = program
    return _of_cpu[key]


# ---- CUDA ----------------------------------------------------------------------------------------


def kernel_of(compiled: Any, pointers: int) -> Kernel | None:
    """How to launch what Triton compiled, with so many pointers and three sizes; None if unsure.

    Its machine code is asked which arguments it has. Behind ours come those that Triton adds:
    pointers to memory that these kernels do not need.
    """
    about = compiled.metadata
    ptx = compiled.asm["ptx"]
    entry = re.search(r"\.entry\s+\w+\s*\((.*?)\)([^{]*)\{", ptx, re.DOTALL)
    if entry is None or ptx.count(".entry") != 1:
        return None
    types = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)([^,]*)", entry[1])
    bits = [int(width) for width, rest in types if "[" not in rest]
    threads = re.search(r"\.reqntid\s+(\d+)", entry[2])
    known = [64] * pointers + [32] * 3
    added = bits[len(known) :]
    plain = not any(
        getattr(about, name, 0)
        for name in (
            "global_scratch_size",
            "profile_scratch_size",
            "launch_cooperative_grid",
            "launch_pdl",
            "tmem_size",
        )
    )
    if (
        not plain
        or about.num_ctas != 1
        or len(bits) != len(types)
        or bits[: len(known)] != known
        or len(added) > 4
        or any(width != 64 for width in added)
        or (threads is not None and int(threads[1]) != 32 * about.num_warps)
    ):
        return None
    return Kernel(compiled.function, 32 * about.num_warps, about.shared, len(added))


_cuda_is_there: bool | None = None


def has_cuda(device: int) -> bool:
    """Whether the node can launch on CUDA devices. Looks once."""
    global _cuda_is_there
    if _cuda_is_there is None:
        try:
            _find_cuda(device)
            _cuda_is_there = True
        except (OSError, AttributeError, RuntimeError) as error:
            _log.debug("no launches from C++, using Python's: %s", error)
            _cuda_is_there = False
    return _cuda_is_there


def _find_cuda(device: int) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    torchs = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10_cuda.so"))
    functions = _Gpu(
        *(
            ctypes.cast(function, ctypes.c_void_p)
            for function in (
                driver.cuLaunchKernel,
                # c10::cuda::CUDAStream::stream() const, of an object that holds a c10::Stream alone
                torchs._ZNK3c104cuda10CUDAStream6streamEv,
                driver.cuCtxGetCurrent,
                driver.cuDeviceGet,
                driver.cuDevicePrimaryCtxRetain,
                driver.cuCtxSetCurrent,
            )
        )
    )
    library = _state.library
    library.spoonful_use_gpu(ctypes.byref(functions))
    for stream in (torch.cuda.current_stream(device), torch.cuda.Stream(device)):
        with torch.cuda.stream(stream):
            if (library.spoonful_stream(device) or 0) != stream.cuda_stream:
                raise RuntimeError("streams are not where they were expected")


def same(ours: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors hold the same bits."""
    bits = torch.int64 if ours.dtype == torch.float64 else torch.int32
    return torch.equal(ours.view(bits), theirs.view(bits))
