"""Write the index page of a batch: a table of all pairs with their numbers and links."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from spoonful.pipeline.alignment import share_text
from spoonful.view.layers import number
from spoonful.view.listing import Cell, write_listing

OVERVIEW = "index.html"
# In the order of the table.
MARKS = {"failed": "failed", "doubtful": "doubtful", "confident": "good"}


def report_name(pair: str) -> str:
    """The file name of a pair's report, valid for any id and never that of the index page.

    >>> report_name("hall 1/b"), report_name("Büro"), report_name("Index")
    ('hall 1%2Fb.html', 'Büro.html', '%49ndex.html')
    """
    name = "".join(c if c.isalnum() or c == " " else quote(c, safe="") for c in pair) + ".html"
    # Some file systems ignore case.
    return f"%{ord(name[0]):X}{name[1:]}" if name.lower() == OVERVIEW else name


def write_overview(
    folder: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]], unit: str = ""
) -> Path:
    """Write a page with a table of all pairs that links to the reports beside it.

    Failed pairs come first, then doubtful ones, each in the order of the rows. A click on a
    column's head sorts by it. A report that does not exist is not linked.

    Args:
        folder: where the reports are, `report_name(id)` each.
        rows: what `register_pairs` returns.
        unit: of the files, for the heads of columns; "" if it is not known.

    Returns:
        The page, `index.html` in that folder.
    """
    folder = Path(folder)
    counts = Counter(row["status"] for row in rows)
    home = _common([row[role] for row in rows for role in ("source", "target")])
    told = [f"{counts[status]:,} {status}" for status in MARKS if counts[status]]
    told += [f"files in {home}"] if home else []
    length = f" [{unit}]" if unit else ""
    ranks = {status: rank for rank, status in enumerate(MARKS)}
    return write_listing(
        folder / OVERVIEW,
        title=f"{len(rows):,} pair{'s' if len(rows) != 1 else ''} registered",
        subtitle=" · ".join(told),
        columns=(
            "Pair", "Result", "Confidence", "Overlap", "Inliers", f"Within{length}",
            f"RMSE{length}", "Source", "Target", "Warnings",
        ),
        rows=[
            _cells(row, folder, home, ranks[row["status"]])
            for row in sorted(rows, key=lambda row: ranks[row["status"]])
        ],
        sorted_by="Result",
    )  # fmt: skip


def _cells(row: Mapping[str, Any], folder: Path, home: str, rank: int) -> list[Cell]:
    status = row["status"]
    outside = f"{home}{os.sep}" if home else ""
    # If a pair failed, its report is from an earlier run.
    name = "" if status == "failed" else report_name(row["id"])
    link = quote(name) if name and os.path.isfile(folder / name) else ""
    remarks = [text for text in (row["message"], *row["warnings"]) if text]
    return [
        Cell(row["id"], link=link),
        Cell(status.capitalize(), rank, mark=MARKS[status]),
        _number(row["confidence"], share_text),
        _number(row["overlap"], "{:.0%}".format),
        _number(row["inlier_ratio"], "{:.0%}".format),
        _number(row["radius"], number),
        _number(row["rmse"], number),
        *(Cell(row[role].removeprefix(outside)) for role in ("source", "target")),
        Cell("\n".join(remarks)),
    ]


def _number(value: float | None, shown: Callable[[float], str]) -> Cell:
    return Cell("") if value is None else Cell(shown(value), value)


def _common(paths: Sequence[str]) -> str:
    """The common folder of all files; "" if it is the root or there is none."""
    try:
        home = os.path.commonpath([os.path.dirname(path) for path in paths])
    except ValueError:  # some from the root and some not, on several drives, or none at all
        return ""
    return "" if home == os.path.dirname(home) else home
