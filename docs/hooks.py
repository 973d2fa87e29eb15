"""Fill in what the site takes from the code and from the repository, when it is built.

- The page of commands lists every command with its options, from the command line itself.
- Measurements in benchmarks/results become pages; links that leave docs/ lead to them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
COMMANDS = "<!-- commands -->"
PAGE = r"benchmarks/results/[\w-]+\.md"  # a measurement that the site shows


def on_files(files: Files, config: Any) -> Files:
    """Add the measurements, the changelog and the guide for contributors to the site."""
    added = [*sorted((ROOT / "benchmarks/results").glob("*.md"))]
    added += [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    for path in added:
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, content=_inside(path.read_text(), name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Insert the commands, and turn links that leave docs/ into links within the site."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, commands())
    return re.sub(
        r"\]\((?:\.\./)+(benchmarks/results/[\w-]+\.md|C\w+\.md)", r"](\1", _plain(markdown)
    )


def _inside(text: str, name: str) -> str:
    """Text of a file outside docs/, with links to docs/ as the site needs them."""
    up = "../" * name.count("/")
    return re.sub(r"\]\((?:\.\./)*docs/", f"]({up}", text)


def _plain(markdown: str) -> str:
    """Links to files that are not pages (folders, data, code) become their names."""
    pattern = (
        r"\[([^\]]+)\]\((?:\.\./)+(?:benchmarks/(?!results/[\w-]+\.md)|src/|tests/|LICENSE)[^)]*\)"
    )
    return re.sub(pattern, r"\1", markdown)


def commands() -> str:
    """Every command: what it does, its arguments and options, as Markdown."""
    from typer.main import get_command

    from spoonful.cli.app import app

    out: list[str] = []

    def walk(command: Any, name: str) -> None:
        for key, inner in sorted(getattr(command, "commands", {}).items()):
            walk(inner, f"{name} {key}")
        if not getattr(command, "commands", None):
            out.append(_command(command, name))

    walk(get_command(app), "spoonful")
    return "\n\n".join(out)


def _command(command: Any, name: str) -> str:
    """One command as a section."""
    text = re.sub(r"\[/?(?:bold|dim)\]", "", command.help or "").strip()
    prose, _, examples = text.partition("Examples")
    lines = [f"## {name}", "", prose.strip(), ""]
    rows = []
    for parameter in command.params:
        if "--help" in parameter.opts:
            continue
        option = ", ".join(f"`{opt}`" for opt in [*parameter.opts, *parameter.secondary_opts])
        if parameter.param_type_name == "argument":
            option = f"`{parameter.name.upper()}`"
        default = parameter.default
        given = "" if default in (None, "", False, ()) or callable(default) else f"`{default}`"
        rows.append(f"| {option} | {getattr(parameter, 'help', '') or ''} | {given} |")
    if rows:
        lines += ["| option | meaning | default |", "|---|---|---|", *rows, ""]
    if examples.strip():
        shown = [line.strip() for line in examples.splitlines() if line.strip()]
        lines += ["```", *shown, "```"]
    return "\n".join(lines)
