"""Write figures as SVG and PNG files, their numbers, and one page with all of them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import torch

from analysis import ours, paper
from analysis.plots import Drawing, Mode, Table, rendered, settled, styled
from analysis.subject import Subject
from spoonful.files import json_ready
from spoonful.names import named
from spoonful.version import __version__

FIGURES: dict[str, Callable[[Subject], Drawing]] = {
    "feasible-set": paper.feasible_set,
    "loss-landscape": paper.loss_landscape,
    "divergence-vs-gradient": paper.divergence_vs_gradient,
    "divergence-vs-distance": paper.divergence_vs_distance,
    "distance-vs-det": paper.distance_vs_det,
    "divergence-vs-angle": paper.divergence_vs_angle,
    "correspondences": paper.correspondences,
    "errors": paper.errors_table,
    "divergence-vs-rho": ours.divergence_vs_rho,
    "rho-during-training": ours.rho_during_training,
    "precision": ours.precision,
    "convergence": ours.convergence,
}
"""All figures by name: the paper's first, then ours."""

WITHOUT_MODEL = frozenset({"feasible-set", "rho-during-training"})
"""Figures that do not need the model's results."""

_MODES: tuple[Mode, Mode] = ("light", "dark")


def check_names(names: Iterable[str]) -> list[str]:
    """The names; those of all figures if there are none.

    >>> check_names(["precison"])
    Traceback (most recent call last):
    ValueError: no figure named 'precison'; did you mean 'precision'? There are: feasible-set, ...
    """
    chosen = list(names) or list(FIGURES)
    for name in chosen:
        named(name, FIGURES, what="figure")
    return chosen


def analyze(
    subject: Subject,
    out: str | Path,
    names: Sequence[str] = (),
    *,
    say: Callable[[str], None] | None = None,
) -> Path:
    """Draw figures, and write them with their numbers and a report.

    Args:
        subject: the model and its data.
        out: the folder. It gets NAME.svg, NAME.png and NAME.csv of each figure, numbers.json with
            the single numbers found, and report.html, which begins with `in_short`.
        names: of `FIGURES`; all of them if empty. A figure that cannot be drawn of this subject
            is left out, and the report says why.
        say: called with the name of each figure before it is drawn.

    Returns:
        The report's path.
    """
    chosen = check_names(names)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    sections, facts = [], {}
    for name in chosen:
        if say is not None:
            say(name)
        try:
            if name not in WITHOUT_MODEL:
                _ = subject.cases  # raises if the model makes no matches
            drawing = FIGURES[name](subject)
        except ValueError as error:
            if len(chosen) == 1:
                raise
            sections.append(_missing(name, str(error)))
            continue
        (out / f"{name}.csv").write_text(drawing.data.csv(), encoding="utf-8")
        facts[name] = dict(drawing.facts)
        pictures: dict[str, bytes] = {}
        for mode in _MODES:
            if drawing.draw is not None:
                with styled(mode) as theme:
                    figure = settled(drawing.draw(theme))
                    pictures[mode] = rendered(figure, "svg")
                    if mode == "light":
                        (out / f"{name}.svg").write_bytes(pictures[mode])
                        (out / f"{name}.png").write_bytes(rendered(figure, "png"))
        sections.append(_section(name, drawing, pictures))
    short = in_short(subject, chosen)  # after the figures, some of which train
    if short is not None:
        (out / "in-short.csv").write_text(short.data.csv(), encoding="utf-8")
        sections.insert(0, _section("in-short", short, {}))
    about = {
        "model": subject.name,
        "data": subject.data.name,
        "protocol": subject.protocol.name,
        "device": str(subject.device),
        "spoonful": __version__,
        "torch": torch.__version__,
        "date": date.today().isoformat(),
    }
    answer = {} if short is None else dict(short.facts)
    content = json.dumps(
        json_ready({"about": about, "in_short": answer, "figures": facts}), indent=1
    )
    (out / "numbers.json").write_text(content, encoding="utf-8")
    path = out / "report.html"
    path.write_text(_page(about, sections), encoding="utf-8")
    return path


def in_short(subject: Subject, names: Sequence[str] = ()) -> Drawing | None:
    """The first section of the report; None if no figure of `names` needs the model's matches."""
    if WITHOUT_MODEL.issuperset(check_names(names)):
        return None
    try:
        return ours.in_short(subject)
    except ValueError:  # it makes no matches, as the figures say
        return None


def _section(name: str, drawing: Drawing, pictures: Mapping[str, bytes]) -> str:
    parts = [f'<section id="{name}"><h2>{html.escape(drawing.title)}</h2>']
    if pictures:
        light, dark = (_embedded(pictures[mode]) for mode in _MODES)
        width = _width(pictures["light"])
        parts.append(
            f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" alt="{html.escape(drawing.title)}" style="width:{width:.0f}px">'
            "</picture>"
        )
    if drawing.shown is not None:
        parts.append(_table(drawing.shown))
    parts.append(f"<p>{html.escape(drawing.caption)}</p>")
    links = f'<a href="{name}.csv">data</a>'
    if pictures:
        links = f'<a href="{name}.svg">SVG</a> <a href="{name}.png">PNG</a> ' + links
    parts.append(f'<p class="files"><code>{name}</code> {links}</p></section>')
    return "\n".join(parts)


def _missing(name: str, why: str) -> str:
    return f'<section id="{name}"><h2>{name}</h2><p>Not drawn: {html.escape(why)}</p></section>'


def _embedded(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


def _width(svg: bytes) -> float:
    """The drawing's width on screen, in pixels."""
    match = re.search(rb'<svg[^>]*\bwidth="([\d.]+)pt"', svg)
    return 1.6 * float(match.group(1)) if match else 640.0


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in table.columns)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="table"><table>{rows}</table></div>'


def _page(about: Mapping[str, Any], sections: Sequence[str]) -> str:
    facts = " · ".join(f"{name} {html.escape(str(value))}" for name, value in about.items())
    names = [re.search(r'id="([\w-]+)"', section) for section in sections]
    links = " ".join(f'<a href="#{m.group(1)}">{m.group(1)}</a>' for m in names if m)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>What the refinement does: {html.escape(str(about["model"]))}</title>
<style>{_STYLE}</style>
<main>
<h1>What the refinement does</h1>
<p class="about">{facts}</p>
<nav>{links}</nav>
{chr(10).join(sections)}
</main>
</html>
"""


_STYLE = """
:root { --paper: #ffffff; --ink: #1b1b1b; --faint: #6a6a6a; --line: #dddddd; --link: #0060a0; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e8e8e8; --faint: #9aa3ad; --line: #333a42; --link: #7cc4f5; }
}
body { margin: 0; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2rem 1.2rem 5rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 3rem 0 .8rem; }
.about, .files, nav { color: var(--faint); font-size: .85rem; }
nav a { margin-right: .8em; }
a { color: var(--link); }
img { max-width: 100%; height: auto; display: block; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
code { background: none; }
@media print { main { max-width: none; } section { break-inside: avoid; } }
"""
