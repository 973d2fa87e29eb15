from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from data.corpora import blobs
from spoonful.cli import show as command
from spoonful.data import protocols


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setattr(command, "open_data", lambda name, split, card: blobs(8))
    made = typer.Typer()
    made.command()(command.show)
    return made


@pytest.mark.parametrize("name", ["rpm-crop", "dcp-noise"])
def test_an_item_becomes_a_page(name: str, app: typer.Typer, tmp_path: Path) -> None:
    out = tmp_path / "pair.html"
    result = CliRunner().invoke(app, [name, "--item", "3", "--out", str(out)])
    assert result.exit_code == 0, result.output
    page = out.read_text()
    card = protocols.get(name)
    for text in (f"{name}, item 3", card.hash, "true pose", "Overlap", card.summary):
        assert text in page
    assert card.hash in result.output
    assert str(out) in result.output.replace("\n", "")


def test_an_item_that_is_not_there_is_refused(app: typer.Typer, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["rpm-crop", "--item", "4", "--out", str(tmp_path / "x.html")])
    assert isinstance(result.exception, ValueError)
    assert str(result.exception) == "--item must be from 0 to 3, got 4"
    assert not (tmp_path / "x.html").exists()
