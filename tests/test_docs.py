"""The documentation site: it builds, and its reference has every public name."""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spoonful

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def public_names() -> list[tuple[str, str]]:
    """Each module with an `__all__`, and each name in it, as (module, name)."""
    modules = ["spoonful"]
    modules += [m.name for m in pkgutil.walk_packages(spoonful.__path__, "spoonful.") if m.ispkg]
    found = []
    for module in modules:
        names = getattr(importlib.import_module(module), "__all__", [])
        found += [(module, name) for name in names]
    return found


# Packages that only other parts of Spoonful import.
INTERNAL = ("spoonful.cli", "spoonful.geometry.kernels", "spoonful.models.kernels")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "NO_MKDOCS_2_WARNING": "1",
            "DOCS_SEARCH": "false",  # an index takes seconds, and no test uses it
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    pages = "".join(page.read_text() for page in (site / "reference").rglob("*.html"))
    anchors = set(re.findall(r'id="(spoonful[\w.]*)"', pages))
    shown = []
    for anchor in anchors:
        with contextlib.suppress(AttributeError):  # fields of a class have no object
            shown.append(pkgutil.resolve_name(anchor))
    missing = [
        f"{module}.{name}"
        for module, name in public_names()
        if not module.startswith(INTERNAL)
        and not name.isupper()  # constants are in the prose
        and not any(thing is getattr(importlib.import_module(module), name) for thing in shown)
    ]
    assert missing == []


@pytest.mark.slow
def test_every_command_is_on_the_page_of_commands(site: Path) -> None:
    text = (site / "commands" / "index.html").read_text()
    for command in ("register", "demo", "data fetch", "models export", "reproduce"):
        assert f'id="spoonful-{command.replace(" ", "-")}"' in text, command


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert pages == listed


def test_no_page_is_long() -> None:
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
        assert len(prose.split()) <= 1250, page.name
