"""Rows of a batch, and the part files that keep finished rows: one row of JSON on a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from spoonful.pipeline.runner import Request, run

Row = dict[str, Any]
Task = Callable[[Request], Row]
PARTS = "parts"
# The columns of the results, and their values for a pair that failed.
COLUMNS: Row = {
    "id": "",
    "source": "",
    "target": "",
    "status": "failed",
    "message": "",
    "method": "",
    "confidence": None,
    "inlier_ratio": None,
    "rmse": None,
    "radius": None,
    "overlap": None,
    "rotation_degrees": None,
    "T_target_source": None,
    "seconds": None,
    "warnings": (),
}


def register_pair(request: Request) -> Row:
    """Register one pair; the columns of its record, with a status and a message."""
    outputs = run(request)
    row = {name: outputs.record[name] for name in COLUMNS if name in outputs.record}
    row["status"] = "confident" if outputs.alignment.confident else "doubtful"
    # A page that cannot be written does not lose the pose.
    row["message"] = "; ".join(
        f"no {name}: {_message(error)}" for name, error in outputs.failures.items()
    )
    return row


def completed(request: Request, row: Row) -> Row:
    """The row of a pair, with the request's own columns."""
    return {"id": request.id, "source": request.source, "target": request.target, **row}


def failed(request: Request, error: Exception) -> Row:
    """The row of a pair that failed."""
    return completed(request, {"status": "failed", "message": _message(error)})


def line_of(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON."""
    return json.dumps(row, separators=(",", ":")) + "\n"


def rows_in(path: Path) -> Iterator[Row]:
    """The complete rows of a part file; a line that a kill cut off is skipped."""
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(row, dict) and "id" in row and "key" in row:
            yield row


def _message(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
