"""Who may talk to the server, and how much they may say.

A page anywhere on the web can send requests to a server on the reader's own machine. Two checks
keep it out. `Host` must be a name this server goes by, or a bare address: a page that has pointed
its own name at 127.0.0.1 (DNS rebinding) still sends that name. And `Origin`, which browsers add
to every request that does something, must be this server's own.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
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
    """A request's body is longer than it may be."""


class Guard:
    """Lets through what comes from the server's own page or from no page at all.

    Args:
        app: the application behind it.
        hosts: names the server goes by, besides those of the local machine.
        any_address: take any bare IP address for a name of the server's. An address cannot be
            rebound, so this is safe where others of the network are welcome.
        largest: bytes of a request's body.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Iterable[str] = (), any_address: bool = False, largest: int
    ) -> None:
        self.app = app
        self.hosts = {host.lower() for host in (*LOCAL, *hosts)}
        self.any_address = any_address
        self.largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge a request, then count what it sends and add the headers for what it gets."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        refusal = self.refusal(Headers(scope=scope))
        if refusal is not None:
            code, reason = refusal
            await PlainTextResponse(f"{reason}\n", code, HEADERS)(scope, receive, send)
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
        """A status and a sentence for a request that goes no further."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.known(host_of(hosts[0])):
            return 421, "This server does not go by that name."
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{hosts[0].lower()}":
            return 403, "Another site's page may not use this server."
        # Browsers say where a request comes from even where they send no Origin. A link to the page
        # may be followed from anywhere.
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
        """Whether the server goes by this name."""
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
    """The name in a Host header, without its port.

    >>> host_of("LocalHost:8000"), host_of("[::1]:8000"), host_of("127.0.0.1"), host_of("a@b")
    ('localhost', '::1', '127.0.0.1', '')
    """
    if "@" in header or "/" in header:
        return ""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def too_large(limit: int) -> str:
    """What to say about a request that is too large."""
    return f"The files are too large: {limit // 2**20:,} MB for both together is the most."
