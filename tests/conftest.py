"""Fixtures for all tests; see also the conftest.py above this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from view.chromium import Chromium, find_chromium

if TYPE_CHECKING:
    import torch

settings.register_profile(
    "spoonful",
    derandomize=True,
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("spoonful")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Look for examples in test modules only: helpers and scripts import much, and have none."""
    helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if helper else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            item.add_marker("slow")


@pytest.fixture
def generator() -> torch.Generator:
    import torch

    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def golden_folder() -> Path:
    """Inputs and outputs of the published code."""
    return Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    """A headless browser; skips the test if this machine has none.

    For one module and not for the session: while Playwright runs, this thread has a running event
    loop, and other tests could not start theirs.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    if find_chromium() is None:
        pytest.skip("no Chromium or Chrome on the path")
    with playwright.sync_playwright() as driver, Chromium(driver.chromium) as browser:
        yield browser
