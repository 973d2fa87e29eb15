"""What the README shows runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_first_block_runs():
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(block.group(1), "README.md", "exec"), {})


def test_a_network_of_your_own_trains_and_is_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/network.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    smaller = {
        "200": "2",
        "limit=64": "limit=2",
        "batch_size=8": "batch_size=2",
        'load("train"': 'load("train", per_category=1',
        'load("test"': 'load("test", per_category=1',
    }
    for many, few in smaller.items():
        assert many in code
        code = code.replace(many, few)
    exec(compile(code, "network.md", "exec"), names := {"__name__": "network"})
    assert len(names["ours"]) == 2
    assert (tmp_path / "fingerprints.json").is_file()


def test_every_linked_file_is_there():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name} links to {link}"


def anchors(page: Path) -> set[str]:
    """What a page's headings are called in links, as GitHub makes it of their words."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ +(.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_linked_heading_is_there():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for link, heading in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
            there = anchors(page.parent / link if link else page)
            assert heading in there, f"{page.name} links to {link}#{heading}"


def test_the_make_commands_it_promises_exist():
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"`make ([\w-]+)", (ROOT / "README.md").read_text()):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command
