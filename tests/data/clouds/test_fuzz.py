"""Spoiled files of every kind: the outcome is a cloud or the one clear error, and soon."""

from __future__ import annotations

import resource
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.clouds.seeds import seeds, spoiled
from spoonful.data.clouds import CloudFileError, read_cloud

pytest.importorskip("laspy")  # one of the seeds is made with it

MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def _memory_is_limited() -> Iterator[None]:
    """Two GiB above what is mapped now: an allocation on a header's word fails at once.

    tracemalloc sees what Python and NumPy allocate; this limit also binds the C and Rust code
    that decompresses.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = Path("/proc/self/statm")
    if pages.exists():
        mapped = int(pages.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + 2048 * MIB, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.slow
@pytest.mark.parametrize("name", seeds())
def test_a_spoiled_file_is_a_cloud_or_a_clear_error(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    suffix, good = seeds()[name]
    path = tmp_path_factory.mktemp("fuzz") / f"spoiled{suffix}"
    path.write_bytes(good)
    # Also imports the libraries, whose memory is not the file's.
    assert len(read_cloud(path)) > 0

    @settings(max_examples=60, database=None)
    @given(data=spoiled(good), drop_nonfinite=st.booleans())
    def check(data: bytes, drop_nonfinite: bool) -> None:
        path.write_bytes(data)
        message, began = f"{path}: ", time.process_time()
        tracemalloc.start()
        try:
            cloud = read_cloud(path, drop_nonfinite=drop_nonfinite)
        except CloudFileError as error:
            cloud, message = None, str(error)
        finally:
            held = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert message.startswith(f"{path}: ")
        assert held < 16 * MIB, f"{held / MIB:.1f} MiB for a file of {len(data)} bytes"
        assert time.process_time() - began < 5
        if cloud is not None:
            assert len(cloud) > 0
            assert cloud.points.isfinite().all()
            if cloud.normals is not None:
                assert ((cloud.normals.norm(dim=-1) - 1).abs() < 1e-3).all()

    check()
