"""Refuse requests from other sites' pages, and requests that are too large.

A page anywhere on the web can send requests to a server on the reader's own machine. Two checks
refuse them. `Host` must be a name of this server or a bare address: a page that has pointed its own
name at 127.0.0.1 (DNS rebinding) still sends that name. `Origin`, which browsers add to every
request that changes something, must be this server's own.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class TooLarge(Exception):
    """A request's body is longer than the limit."""


class Guard:
    """Middleware that accepts requests of the server's own page and of programs.

    Args:
        app: the application behind it.
        hosts: names of the server, besides those of the local machine.
        any_address: accept any bare IP address as a name of the server. An address cannot be
            rebound, so this is safe on a network whose users are welcome.
        largest: the limit on a request's body, in bytes.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Iterable[str] = (), any_address: bool = False, largest: int
    ) -> None:
        self.app = app
        self.hosts = {host.lower() for host in (*LOCAL, *hosts)}
        self.any_address = any_address
        self.largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, count the bytes of its body and add headers to the response."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope)
        refusal = self.refusal(asked)
        if refusal is not None:
            await refused(*refusal, asked, HEADERS)(scope, receive, send)
            return

        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.largest:
                raise TooLarge
            return message

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, counted, with_headers)

    def refusal(self, headers: Headers) -> tuple[int, str] | None:
        """The status and message for a request that is refused; None for one that is accepted."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.known(host_of(hosts[0])):
            return 421, "This server does not go by that name."
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{hosts[0].lower()}":
            return 403, "Another site's page may not use this server."
        # Browsers send this header even without Origin. Links from other sites may be followed.
        where, how = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode")
        if where == "cross-site" and how != "navigate":
            return 403, "Another site's page may not use this server."
        declared = headers.get("content-length", "0")
        if not declared.isascii() or not declared.isdigit():
            return 400, "Content-Length must be a number."
        if int(declared) > self.largest:
            return 413, too_large(self.largest)
        return None

    def known(self, host: str) -> bool:
        """True if this is a name of the server."""
        if host in self.hosts:
            return True
        if not self.any_address:
            return False
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True


def host_of(header: str) -> str:
    """Parse the name in a Host header, without its port.

    >>> host_of("LocalHost:8000"), host_of("[::1]:8000"), host_of("127.0.0.1"), host_of("a@b")
    ('localhost', '::1', '127.0.0.1', '')
    """
    if "@" in header or "/" in header:
        return ""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def refused(
    code: int, reason: str, asked: Headers, headers: Mapping[str, str] | None = None
) -> Response:
    """An error response: JSON if the headers of the request accept it, else one line of text."""
    if "application/json" in asked.get("accept", ""):
        return JSONResponse({"error": reason}, code, headers)
    return PlainTextResponse(f"{reason}\n", code, headers)


def too_large(limit: int) -> str:
    """The message for a request that is too large."""
    return f"The files are too large: {limit // 2**20:,} MB for both together is the most."
