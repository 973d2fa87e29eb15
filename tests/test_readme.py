"""The README and the documentation: code runs, links lead somewhere, the words are plain."""

from __future__ import annotations

import ast
import importlib
import io
import json
import re
import tomllib
from contextlib import redirect_stdout
from importlib.resources import files
from pathlib import Path

import pytest
from typer.main import get_command

from spoonful.cli.app import app, run

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
# Phrases that a reader has to read twice. Use: resume, per, fall back, if, when.
BANNED = [
    "whoever",
    "nobody",
    "somebody",
    "the same command goes on",
    "call again to go on",
    "one a core",
    "one a shape",
    "is none of",
    "what is said",
    "who asks",
    "who proposes",
    "of every random choice",
    "first so many",
    "for so long in all",
    "half as long again",
    "where there are none",
    "an old friend",
    "for want of",
    "leave it to us",
    "where its file has it",
    "is not far-fetched",
    "if only just",
    "so many degrees",
    "a row a line",
    "each with each",
    "predicted and came out",
    "was slow",
    "were not kept",
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


def test_the_readme_is_short():
    assert len(prose(README).split()) <= 600


def test_the_readmes_code_prints_what_it_says():
    code = "\n".join(blocks(README, "python"))
    promised = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert "nan" in promised[0], "the SVD's NaN is not shown"
    assert "nan" not in promised[1]
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue().splitlines() == promised


@pytest.mark.slow
def test_the_readme_shows_what_register_prints(capsys):
    folder = files("spoonful") / "examples"
    scans = [str(folder / name) for name in ("room-2.ply", "room-1.ply")]
    assert run(["register", *scans, "--unit", "m"]) == 0
    printed = capsys.readouterr().out
    shown = next(block for block in blocks(README, "") if block.startswith("T_target_source"))
    for line in shown.splitlines():
        label = line.split("  ")[0]
        assert label in printed, f"register does not print {label!r}"
    angles = [float(re.search(r"rotation +([\d.]+)°", text)[1]) for text in (shown, printed)]
    assert angles[0] == pytest.approx(angles[1], abs=0.2)


@pytest.mark.parametrize(
    ("row", "file", "methods"),
    [
        ("pose and gradient", "layer-cpu", ["ours: Kabsch alone", "SVD Kabsch alone", "RoMa"]),
        ("the same, H200", "layer-cuda", ["ours: Kabsch alone", "SVD Kabsch alone"]),
    ],
)
def test_the_readmes_times_are_those_of_their_file(row, file, methods):
    shown = re.findall(
        r"([\d.]+) ms", re.search(rf"^\| {row}.*", README.read_text(), re.MULTILINE)[0]
    )
    table = (ROOT / f"benchmarks/results/{file}.md").read_text()
    for method, time in zip(methods, shown, strict=True):
        true = re.search(rf"^\| {method}[^|]*\| +32x1024 \| +([\d.]+)", table, re.MULTILINE)[1]
        assert f"{float(true):.1f}" == time


@pytest.mark.parametrize(
    ("row", "pairs"),
    [
        ("61 pairs of a 3DMatch", "3dmatch"),
        ("42 pairs of 3DLoMatch", "3dlomatch"),
        ("23 pairs from 12", "pairs"),
        ("23 pairs of the Stanford", "bunny"),
    ],
)
def test_the_readmes_scans_are_those_of_their_file(row, pairs):
    _, _, ours, others, _, _ = re.search(rf"^\| {row}.*", README.read_text(), re.M)[0].split("|")
    table = (ROOT / "benchmarks/results/scans-cpu.md").read_text()
    names = [name.strip() for name in re.search(r"^\| method.*", table, re.M)[0].split("|")]
    shown = {"auto": ours}
    shown |= dict(zip(("ransac", "fgr", "kiss"), re.split("FGR|KISS", others), strict=True))
    for method, text in shown.items():
        line = re.search(rf"^\| {method} +\| +{pairs} \|.*", table, re.M)[0].split("|")
        right, of = map(int, re.findall(r"\d+", line[names.index("right")]))
        percent, *seconds = map(float, re.findall(r"[\d.]+", text.replace("Open3D", "")))
        assert abs(percent - 100 * right / of) < 0.51, f"{method}: {text}"
        true = float(line[names.index("seconds")])
        assert all(abs(s - true) < 0.0501 for s in seconds), f"{method}: {text}"


@pytest.mark.parametrize(
    "name", [pytest.param("start-scans", marks=pytest.mark.slow), "start-layer"]
)
def test_the_first_five_minutes_run(name, monkeypatch):
    code = "\n".join(blocks(ROOT / f"docs/{name}.md", "python"))
    exec(compile(code, f"{name}.md", "exec"), names := {"__name__": name})
    assert "found" not in names or names["found"].confident


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_that_the_documentation_imports_exist(page):
    for code in blocks(page, "python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("spoonful"):
                module = importlib.import_module(node.module)
                missing = [name.name for name in node.names if not hasattr(module, name.name)]
                assert not missing, f"{page.name}: {node.module} has no {missing}"


def test_the_page_on_procrustes_prints_what_it_says():
    page = ROOT / "docs/replace-your-procrustes.md"
    code = "\n".join(blocks(page, "python"))
    promised = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, page.name, "exec"), {})
    assert printed.getvalue().splitlines() == promised


def test_extras_that_the_documentation_names_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for page in PAGES:
        for named in re.findall(r"(?:spoonful|\.)\[([a-z0-9,]+)\]'", page.read_text()):
            missing = set(named.split(",")) - set(extras["optional-dependencies"])
            assert not missing, f"{page.name} names the extras {missing}"


@pytest.mark.slow
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


def links(page: Path) -> list[str]:
    """Targets of inline links and of reference links, those on the web left out."""
    text = prose(page)
    inline = re.findall(r"\]\(([^)\s]+)\)", text)
    listed = re.findall(r"^\[[^\]]+\]: +(\S+)$", text, re.MULTILINE)
    return [link for link in inline + listed if not link.startswith(("http", "mailto:"))]


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub and mkdocs name them in links."""
    headings = re.findall(r"^#+ +(.*)", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for link in links(page):
        name, _, heading = link.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), f"{page.name} links to {link}"
        if heading and linked.suffix == ".md":
            assert heading in anchors(linked), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_words_are_plain(page):
    text = " ".join(prose(page).lower().split())
    assert [phrase for phrase in BANNED if phrase in text] == []


def test_the_words_of_the_source_are_plain():
    for path in (ROOT / "src/spoonful").rglob("*.py"):
        text = path.read_text()
        words = " ".join(text.lower().replace('"\n', " ").split())
        assert [phrase for phrase in BANNED if phrase in words] == [], path.name
        assert re.findall(r'"""(?:What|Whether|How|Of|Who)\b.*', text) == [], path.name


def help_texts(command):
    yield command.help or ""
    for parameter in command.params:
        yield getattr(parameter, "help", "") or ""
    for inner in getattr(command, "commands", {}).values():
        yield from help_texts(inner)


def test_the_words_of_the_help_are_plain():
    text = " ".join(" ".join(help_texts(get_command(app))).lower().split())
    assert [phrase for phrase in BANNED if phrase in text] == []


def test_examples_in_the_help_fit_in_80_columns():
    texts = "\n\n".join(help_texts(get_command(app))).split("\n\n")
    examples = [text.removeprefix("[dim]  [/dim]") for text in texts if text.startswith("[dim]")]
    assert len(examples) > 30
    assert [text for text in examples if len(text) > 76] == []


def test_the_make_commands_it_promises_exist():
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"`make ([\w-]+)", README.read_text()):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command


@pytest.mark.parametrize("name", ["layer", pytest.param("scans", marks=pytest.mark.slow)])
def test_the_notebooks_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / f"docs/notebooks/{name}.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell.get("outputs") for cell in notebook["cells"]), "clear the outputs"
    names = {"__name__": name}
    for cell in cells:
        exec(compile(cell.replace("range(150)", "range(2)"), f"{name}.ipynb", "exec"), names)
    if name == "layer":
        assert len(names["error"]) == 256
    else:
        assert (tmp_path / "report.html").is_file()
        assert "<iframe" in names["found"]._repr_html_()
