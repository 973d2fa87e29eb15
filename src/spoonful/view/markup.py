"""What all pages are made with: files of the package, and text that stays text."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib import resources


def asset(name: str) -> str:
    """A style, a script or a template that lies beside this file."""
    return resources.files("spoonful.view").joinpath(name).read_text("utf-8")


def policy(script: str, style: str, *more: str) -> str:
    """The content security policy of a page in which these two texts alone may act.

    It may fetch nothing, but for what `more` allows.
    """
    allowed = ("default-src 'none'", f"script-src {_digest(script)}", f"style-src {_digest(style)}")
    return "; ".join((*allowed, *more, "base-uri 'none'"))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def clean(text: str) -> str:
    """Text that UTF-8 and HTML can hold: file names may be neither."""
    text = str(text).encode("utf-8", "replace").decode()
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", text)


def escaped(text: str) -> str:
    """Text as HTML, whatever it contains.

    >>> escaped("<b> & co")
    '&lt;b&gt; &amp; co'
    """
    return html.escape(clean(text))
