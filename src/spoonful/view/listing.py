"""One HTML file with a table of many results, sorted by a click on a column's head."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from spoonful.files import write_whole
from spoonful.geometry.checks import check_choice
from spoonful.version import __version__
from spoonful.view.markup import asset, escaped, policy

MARKS = ("good", "doubtful", "failed")
# The kinds of columns.
WIDTHS = {
    "words": "minmax(0, 1fr)",
    "mark": "6.6rem",
    "number": "5.6rem",
    "sentences": "minmax(0, var(--sentences, 2.4fr))",
}
_SORTED = ' aria-sort="ascending"'


@dataclass(frozen=True)
class Cell:
    """One entry of the table.

    Attributes:
        text: the text to show; it is escaped.
        value: the number that the cell is sorted by; None is sorted by its text.
        link: the address that the text leads to, for HTML's `href`; "" for none.
        mark: one of `MARKS`, by which its row is seen from afar; "" for none.
    """

    text: str
    value: float | None = None
    link: str = ""
    mark: str = ""


def write_listing(
    path: str | os.PathLike[str],
    *,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    subtitle: str = "",
    sorted_by: str = "",
) -> Path:
    """Write one self-contained HTML file with a table, which fetches nothing.

    Columns of numbers are set to the right; the last has room for sentences. Cells without text
    come last however one sorts.

    Args:
        path: the file to write; its folder is created, and an existing file is replaced.
        title: the page's heading.
        columns: their names.
        rows: as many cells each, in the order that the page opens with.
        subtitle: a line under the title.
        sorted_by: the column that the rows are given in the order of, upwards.

    Returns:
        The path that was written.

    >>> import tempfile
    >>> rows = [[Cell("b", link="b.html"), Cell("5%", 0.05)], [Cell("a"), Cell("93%", 0.93)]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_listing(f"{folder}/all.html", title="All", columns="xy", rows=rows)
    ...     '<td><a href="b.html">b</a></td><td class="number" data-value="0.05">5%</td>' in (
    ...         page.read_text()
    ...     )
    True
    """
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"rows must have {len(columns)} cells each, got one with {len(row)}")
    kinds = [_kind(rows, i) for i in range(len(columns))]
    widths = " ".join(WIDTHS[kind] for kind in kinds)
    style = asset("base.css") + asset("listing.css") + f"tr {{ grid-template-columns: {widths}; }}"
    script = asset("listing.js")
    page = Template(asset("listing.html")).substitute(
        policy=policy(script, style, "form-action 'none'"),
        generator=f"Spoonful {__version__}",
        title=escaped(title),
        style=style,
        subtitle=f'<p class="subtitle">{escaped(subtitle)}</p>\n' if subtitle else "",
        head="".join(
            f'<th scope="col"{_class(kind)}'
            f"{_SORTED if name == sorted_by else ''}>{escaped(name)}</th>"
            for name, kind in zip(columns, kinds, strict=True)
        ),
        body="".join(_row(row, kinds) for row in rows),
        script=script,
    )
    return write_whole(path, page.encode())


def _kind(rows: Sequence[Sequence[Cell]], column: int) -> str:
    """The style of a column: marks, numbers, sentences or words."""
    cells = [row[column] for row in rows]
    if any(cell.mark for cell in cells):
        return "mark"
    if any(cell.value is not None for cell in cells):
        return "number"
    return "sentences" if rows and column == len(rows[0]) - 1 else "words"


def _row(row: Sequence[Cell], kinds: Sequence[str]) -> str:
    mark = next((cell.mark for cell in row if cell.mark), "")
    if mark:
        check_choice("mark", mark, MARKS)
    cells = "".join(_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True))
    opening = f'<tr class="{mark}">' if mark else "<tr>"
    return f"{opening}{cells}</tr>\n"


def _cell(cell: Cell, kind: str) -> str:
    text = escaped(cell.text).replace("/", "/<wbr>")  # where a path may be broken
    if cell.link:
        text = f'<a href="{escaped(cell.link)}">{text}</a>'
    value = "" if cell.value is None else f' data-value="{cell.value:.6g}"'
    return f"<td{_class(kind)}{value}>{text}</td>"


def _class(kind: str) -> str:
    return "" if kind == "words" else f' class="{kind}"'
