"""Parts that all pages share: assets, the security policy, and escaped text."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib import resources


def asset(name: str) -> str:
    """The text of a style, a script or a template of this package."""
    return resources.files("spoonful.view").joinpath(name).read_text("utf-8")


def policy(script: str, style: str, *more: str) -> str:
    """A content security policy that allows only this script and this style.

    The page may fetch nothing, except what `more` allows.
    """
    allowed = ("default-src 'none'", f"script-src {_digest(script)}", f"style-src {_digest(style)}")
    return "; ".join((*allowed, *more, "base-uri 'none'"))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def clean(text: str) -> str:
    """Replace characters that UTF-8 or HTML cannot hold, as in some file names."""
    text = str(text).encode("utf-8", "replace").decode()
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", text)


def escaped(text: str) -> str:
    """Escape text for HTML.

    >>> escaped("<b> & co")
    '&lt;b&gt; &amp; co'
    """
    return html.escape(clean(text))
