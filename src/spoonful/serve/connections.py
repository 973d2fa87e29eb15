"""Connections that a slow client cannot hold, and a log that a client cannot fill.

uvicorn waits without limit for the rest of a header, of a body, or for a client that does not read.
Here each wait for a client has an end: `Connection.due`. If there are too many connections, the one
that is due first is closed, so that slow clients make room for quick ones.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from dataclasses import replace
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from spoonful.serve.limits import Limits


def server_options(limits: Limits) -> dict[str, Any]:
    """The options of `uvicorn.Config` that enforce the limits on connections."""
    # An upload opens up to three files besides its connection.
    most = max(1, min(limits.connections, open_files(4 * limits.connections) // 4))
    limits = replace(limits, connections=most)
    return {
        "http": type("Limited", (Connection,), {"limits": limits}),
        "ws": "none",
        # asyncio accepts this many connections before any of them can be closed.
        "backlog": most,
    }


def open_files(wanted: int) -> int:
    """Raise the number of files that this process may open to `wanted`, if it can; that number."""
    try:
        import resource
    except ImportError:  # Windows has no such limit on sockets
        return wanted
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now == resource.RLIM_INFINITY or now >= wanted:
        return wanted
    more = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (more, most))
    return more


class Connection(H11Protocol):
    """A connection that is aborted if the server has waited for its client until `due`.

    The client has `stall_seconds` to send a header, to begin a body and to take a part of a
    response. Each byte of a body adds `1 / upload_rate` seconds, up to `stall_seconds` from now.
    """

    limits = Limits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a header; close another connection if there are too many."""
        super().connection_made(transport)
        self.due = self.latest()
        self.watch()
        limits = self.limits
        if len(self.connections) <= min(limits.per_client, limits.connections):
            return
        all_open = [other for other in self.connections if isinstance(other, Connection)]
        host = self.client and self.client[0]
        theirs = [other for other in all_open if other.client and other.client[0] == host]
        for group, most in ((theirs, limits.per_client), (all_open, limits.connections)):
            if len(group) > most:
                # This connection is due last, so it is closed only if all others are served.
                min(group, key=lambda other: (other.due, other is self)).close_now()

    def close_now(self) -> None:
        """Drop the connection without waiting for the client."""
        self.connections.discard(self)
        self.transport.abort()

    def latest(self) -> float:
        """The end of a wait that begins now."""
        return self.loop.time() + self.limits.stall_seconds

    def watch(self) -> None:
        """Abort the connection when it is due."""
        if self.flow.read_paused:  # the server is busy with what has been sent
            self.due = max(self.due, self.latest())
        if self.loop.time() >= self.due:
            self.close_now()
        else:
            self.watching = self.loop.call_later(self.limits.stall_seconds / 10, self.watch)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request, and extend the wait if they are of its body."""
        before = self.conn.their_state
        super().data_received(data)
        if self.conn.their_state is h11.SEND_BODY:
            more = len(data) / self.limits.upload_rate
            begins = before is not h11.SEND_BODY
            self.due = self.latest() if begins else min(self.due + more, self.latest())
        elif self.cycle is not None and not self.cycle.response_complete:
            self.due = math.inf  # the request is complete: it is the server's turn

    def on_response_complete(self) -> None:
        """Start to wait for the next request."""
        self.due = self.latest()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start to wait for a client that does not read its response."""
        super().pause_writing()
        self.due = self.latest()

    def resume_writing(self) -> None:
        """Continue a response."""
        super().resume_writing()
        self.due = self.latest() if self.cycle.response_complete else math.inf

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.watching.cancel()
        super().connection_lost(exc)


# Loggers that a client can make write, once for each request.
FILTERED = ("uvicorn.error", "asyncio", "python_multipart.multipart")


class SeldomFilter(logging.Filter):
    """Pass one record per place in the code and interval, with the number of those left out."""

    def __init__(self, seconds: float = 10.0) -> None:
        super().__init__()
        self.seconds = seconds
        self.last: dict[tuple[str, int], float] = {}
        self.left_out: dict[tuple[str, int], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """True if the record is to be logged."""
        place, now = (record.pathname, record.lineno), time.monotonic()
        if now - self.last.get(place, -math.inf) < self.seconds:
            self.left_out[place] = self.left_out.get(place, 0) + 1
            return False
        self.last[place] = now
        if count := self.left_out.pop(place, 0):
            record.msg = f"{record.getMessage()} (and {count} more like it)"
            record.args = ()
        return True
