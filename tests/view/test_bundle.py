from __future__ import annotations

import hashlib
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

VIEWER = Path(__file__).parents[2] / "viewer"
BUNDLE = resources.files("spoonful.view").joinpath("viewer.js").read_text("utf-8")

pytestmark = pytest.mark.skipif(not VIEWER.is_dir(), reason="the viewer's sources are not here")


def test_the_bundle_was_built_from_these_sources() -> None:
    digest = hashlib.sha256()
    for name in ("build.mjs", "package-lock.json"):
        digest.update((VIEWER / name).read_bytes())
    for source in sorted((VIEWER / "src").iterdir()):
        digest.update(source.read_bytes())
    assert f"sources {digest.hexdigest()}" in BUNDLE[:200], "run `make viewer`"


def test_the_bundle_carries_the_licence_of_what_it_contains() -> None:
    notice = resources.files("spoonful.view").joinpath("LICENSE-three.txt").read_text("utf-8")
    licence = notice.split("\n\n", 1)[1].strip()
    assert "Permission is hereby granted, free of charge" in licence
    assert licence in BUNDLE


def test_the_bundle_can_stand_in_a_script_element() -> None:
    assert "</script" not in BUNDLE.lower()
    assert "<!--" not in BUNDLE
    assert len(BUNDLE) < 700_000


@pytest.mark.skipif(
    shutil.which("npm") is None or not (VIEWER / "node_modules").is_dir(),
    reason="needs npm, and `npm ci` in viewer/",
)
def test_the_build_gives_the_bundle_byte_for_byte() -> None:
    subprocess.run(["npm", "run", "--silent", "check"], cwd=VIEWER, check=True)
