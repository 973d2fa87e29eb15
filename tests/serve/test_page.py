"""The page to drop files on, in a real browser."""

from __future__ import annotations

from pathlib import Path

from serve.conftest import Site
from view.chromium import Chromium

Files = dict[str, tuple[str, bytes]]


def visit(browser: Chromium, server: Site, width: int = 1000) -> None:
    browser.open(f"{server.url}/", width=width, height=700, phone=width < 500)


def choose(browser: Chromium, role: str, path: Path) -> None:
    browser.page.set_input_files(f"#{role}", path)


def test_two_files_become_a_report_in_the_page(
    browser: Chromium, server: Site, files: Files, tmp_path: Path
) -> None:
    paths = {}
    for role, (name, content) in files.items():
        paths[role] = tmp_path / name
        paths[role].write_bytes(content)
    (tmp_path / "torn.ply").write_bytes(b"ply\n")
    visit(browser, server)
    disabled = "document.getElementById('go').disabled"
    text = "document.querySelector('.zone.source .file').innerText"
    problem = "document.getElementById('problem').innerText"
    assert browser.evaluate(disabled)

    choose(browser, "source", tmp_path / "torn.ply")
    choose(browser, "target", paths["target"])
    browser.wait(f"!{disabled}")
    browser.evaluate("document.getElementById('go').click()")
    browser.wait("!document.getElementById('problem').hidden")
    assert browser.evaluate(problem).startswith("torn.ply: not a readable PLY file")
    browser.problems.clear()  # the browser's own note on the answer's status

    choose(browser, "source", paths["source"])
    browser.wait(f"{text}.startsWith('my scan.ply')")
    assert browser.evaluate("document.getElementById('problem').hidden")
    browser.evaluate("document.getElementById('swap').click()")
    assert browser.evaluate(text).startswith("target.pcd")
    browser.evaluate("document.getElementById('go').click()")
    browser.wait("!document.getElementById('result').hidden")
    inside = "document.getElementById('frame').contentDocument"
    browser.wait(f"{inside}?.documentElement?.dataset.state === 'ready'")
    assert browser.evaluate("document.getElementById('verdict').innerText") == "Confident"
    title = browser.evaluate(f"{inside}.querySelector('h1').innerText")
    assert title == "target.pcd onto my scan.ply"
    for link in ("tab", "save-report", "save-pose", "save-aligned"):
        status = browser.evaluate(
            f"fetch(document.getElementById('{link}').href).then(a => a.status)"
        )
        assert status == 200
    browser.evaluate("document.getElementById('again').click()")
    assert browser.evaluate("document.getElementById('desk').offsetHeight") > 0
    assert browser.problems == []

    visit(browser, server, width=360)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    assert browser.problems == []
