"""The log of a run: one line of JSON for each epoch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spoonful.files import json_ready, naming, write_whole


class Journal:
    """`log.jsonl` in a run's folder.

    A killed run may have logged an epoch that it will repeat: `rewind` drops such lines.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log.jsonl"

    def add(self, line: dict[str, Any]) -> None:
        """Append a line. Numbers that are not finite become null."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with naming(self.path), open(self.path, "a") as file:
            file.write(json.dumps(json_ready(line)) + "\n")

    def rewind(self, epochs: int) -> None:
        """Keep the lines of the first `epochs` epochs."""
        if self.path.is_file():
            kept = [line for line in self.lines() if line["epoch"] < epochs]
            text = "".join(json.dumps(line) + "\n" for line in kept)
            write_whole(self.path, text)

    def lines(self) -> list[dict[str, Any]]:
        """All complete lines; a truncated last line is left out."""
        if not self.path.is_file():
            return []
        whole = self.path.read_text().split("\n")[:-1]
        return [json.loads(line) for line in whole]
