"""`spoonful demo`: the main job on a built-in pair."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the page.")] = Path("demo"),
) -> None:
    """Register a built-in pair of clouds and show the result.

    [bold]Example[/bold]

      spoonful demo --out demo
    """
    raise NotImplementedError
