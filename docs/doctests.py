"""Show the examples in docstrings as code: Markdown would take `>>>` for a quotation."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^[ \t]*>>> .*(?:\n(?!\s*\n|\s*$).*)*\n?)", re.MULTILINE)


class FenceExamples(griffe.Extension):
    """Put each example of a docstring between fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object that was just loaded."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(match: re.Match[str]) -> str:
    lines = match[0].rstrip("\n").splitlines()
    indent = re.match(r"\s*", lines[0])[0]
    return "\n".join([f"{indent}```pycon", *lines, f"{indent}```", ""])
