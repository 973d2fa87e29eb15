"""The table of many results: text stays text, and a click sorts it."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from spoonful.view.listing import Cell, write_listing
from view.chromium import Chromium
from view.helpers import Page
from view.test_page import HOSTILE

ROWS = [
    [Cell("pair 10"), Cell("Failed", 0, mark="failed"), Cell(""), Cell("it broke")],
    [
        Cell("pair 9", link="9.html"),
        Cell("Good", 2, mark="good"),
        Cell("over 99%", 0.995),
        Cell(""),
    ],
    [Cell("pair 1"), Cell("Good", 2, mark="good"), Cell("60%", 0.6), Cell("")],
]
COLUMNS = ("Pair", "Result", "Sure", "Warnings")


def written(path: Path, rows: list[list[Cell]] = ROWS, title: str = "All") -> Path:
    return write_listing(path, title=title, columns=COLUMNS, rows=rows, sorted_by="Result")


def test_text_stays_text_wherever_it_stands(tmp_path: Path) -> None:
    row = [Cell(HOSTILE, link='"><img src=x>'), Cell(HOSTILE, 1, mark="good"), *2 * [Cell(HOSTILE)]]
    page = Page(written(tmp_path / "a.html", [row], HOSTILE), payload=False)
    assert len(page.scripts) == 1
    assert not any(tag == "img" or "onerror" in a for tag, a in page.tags)
    assert ("a", {"href": '"><img src=x>'}) in page.tags
    assert page.text.count(HOSTILE) == 6


def test_the_page_may_fetch_nothing_and_run_nothing_but_the_sorting(tmp_path: Path) -> None:
    page = Page(written(tmp_path / "a.html"), payload=False)
    sorting = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
    policy = page.meta("Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{sorting}';" in policy
    assert not any({"src", "style"} & attributes.keys() for _, attributes in page.tags)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([Cell("a")], "rows must have 4 cells each, got one with 1"),
        ([*3 * [Cell("a")], Cell("a", mark="bad")], "mark must be 'good', .* got 'bad'"),
    ],
)
def test_what_cannot_be_shown_is_named(tmp_path: Path, row: list[Cell], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written(tmp_path / "a.html", [row])
    assert list(tmp_path.iterdir()) == []


def test_a_click_on_a_columns_head_sorts_by_it(browser: Chromium, tmp_path: Path) -> None:
    path = written(tmp_path / "a.html")

    def click(column: int) -> tuple[list[str], str]:
        browser.evaluate(f"document.querySelectorAll('th button')[{column}].click()")
        first = "[...document.querySelectorAll('td:first-child')].map(cell => cell.textContent)"
        sorts = "document.querySelector('[aria-sort]').ariaSort"
        return browser.evaluate(first), browser.evaluate(sorts)

    for width in (1200, 360):
        browser.open(path, width=width)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    # Numbers in names are numbers, and what has none comes last either way.
    assert click(0) == (["pair 1", "pair 9", "pair 10"], "ascending")
    assert click(2) == (["pair 1", "pair 9", "pair 10"], "ascending")
    assert click(2) == (["pair 9", "pair 1", "pair 10"], "descending")
    assert click(1) == (["pair 10", "pair 9", "pair 1"], "ascending")
    assert browser.problems == []


def test_on_a_phone_sentences_stay_in_view_while_the_table_moves(
    browser: Chromium, tmp_path: Path
) -> None:
    browser.open(written(tmp_path / "a.html"), width=400)
    for moved in (0, 300):
        browser.evaluate(f"document.querySelector('.list').scrollLeft = {moved}")
        box = browser.evaluate("document.querySelector('td.sentences').getBoundingClientRect()")
        assert 0 <= box["left"] < box["right"] <= 400
        assert box["height"] < 30  # "it broke" has a line of its own
