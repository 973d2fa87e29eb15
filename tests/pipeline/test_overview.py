"""The page that leads to the reports of many pairs."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from pipeline.standins import reporting
from spoonful.pipeline.batches import register_pairs
from spoonful.pipeline.overview import OVERVIEW, report_name, write_overview
from spoonful.pipeline.parts import COLUMNS
from spoonful.pipeline.runner import Request
from view.helpers import Page


def shown(path: Path) -> dict[str, str]:
    """Each pair's name, in the order of the page, and where it leads."""
    page = path.read_text()
    cells = re.findall(r'<tr[^>]*><td>(?:<a href="([^"]*)">)?(.*?)(?:</a>)?</td>', page)
    return {name.replace("<wbr>", ""): link for link, name in cells}


@pytest.mark.slow
def test_what_went_wrong_comes_first_and_every_report_is_one_click_away(tmp_path: Path) -> None:
    names = ["a", "doubtful <&>", "wrong", "b/../c %41", "index", "INDEX"]
    pairs = [
        Request(f"{tmp_path}/x/{i}.ply", f"{tmp_path}/b.ply", id=name, unit="mm")
        for i, name in enumerate(names)
    ]
    (tmp_path / "x").mkdir()
    reports = tmp_path / "out" / "reports"
    reports.mkdir(parents=True)
    register_pairs(pairs, tmp_path / "out", reports=reports, workers=1, task=reporting)
    page = reports / OVERVIEW
    listed = shown(page)
    escaped = {"doubtful <&>": "doubtful &lt;&amp;&gt;"}
    order = ["wrong", "doubtful <&>", "a", "b/../c %41", "index", "INDEX"]
    assert list(listed) == [escaped.get(name, name) for name in order]
    for name in order[1:]:
        link = listed[escaped.get(name, name)]
        assert (reports / unquote(link)).read_text() == f"the page of {name}"
    text = Page(page, payload=False).text
    for said in (
        "6 pairs registered", f"1 failed · 1 doubtful · 4 confident · files in {tmp_path}",
        "this pair is wrong", "RMSE [mm]", "x/0.ply", "10%", "90%",
    ):  # fmt: skip
        assert said in text

    # The same again, when a page has been lost and nothing is left to do.
    (reports / report_name("index")).unlink()
    rows = register_pairs(
        [pair for pair in pairs if pair.id != "wrong"],
        tmp_path / "out",
        reports=reports,
        task=reporting,
    )
    listed = shown(page)
    assert (len(listed), listed["index"], listed["a"]) == (5, "", "a.html")
    # The page of a pair that fails now is one of an earlier day.
    write_overview(reports, [rows[0] | {"status": "failed", "message": "no such file"}])
    assert shown(page) == {"a": ""}


@pytest.mark.slow
def test_thousands_of_pairs_take_a_few_megabytes(tmp_path: Path) -> None:
    row = COLUMNS | {
        "source": "/data/scans/a.ply", "target": "/data/scans/b.ply", "status": "doubtful",
        "confidence": 1 / 3, "overlap": 1 / 3, "inlier_ratio": 1 / 3, "radius": 1 / 3,
        "rmse": 1 / 3, "warnings": ["low overlap: 12% of the smaller cloud lies on the other"],
    }  # fmt: skip
    page = write_overview(tmp_path, [row | {"id": f"pair-{i}"} for i in range(5000)])
    assert page.stat().st_size < 3_000_000
    assert "5,000 pairs registered" in page.read_text()


def test_files_from_all_over_are_named_in_full(tmp_path: Path) -> None:
    row = COLUMNS | {
        "id": "a",
        "source": "/a/x.ply",
        "target": "b/y.ply",
        "message": "no such file",
    }
    page = Page(write_overview(tmp_path, [row]), payload=False)
    assert "/a/x.ply" in page.text
    assert "files in" not in page.text
    assert "0 pairs registered" in write_overview(tmp_path, []).read_text()
