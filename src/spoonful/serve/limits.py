"""Limits of the server, so that no client can overload the machine."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits on size, time and number.

    Attributes:
        upload: bytes of both files together.
        upload_seconds: seconds that an upload may take.
        upload_rate: bytes per second that a client must send, averaged over `stall_seconds`.
        stall_seconds: seconds that the server waits for a header, or for a client that neither
            sends nor reads.
        uploads: bytes of all uploads on the disk; the next one gets status 503.
        connections: connections at a time. One more closes the slowest connection.
        per_client: connections of one address at a time, likewise.
        seconds: seconds that a registration may take.
        memory: bytes that a registration may allocate; enforced on Linux.
        workers: registrations at a time, in one process each.
        waiting: requests that may wait; the next one gets status 503.
        keep_seconds: seconds that results can be fetched.
        reports: results that are kept, the newest.
        kept: bytes of all results together; the oldest are deleted first. A moved source that is
            larger than this alone is not kept.
    """

    upload: int = 200 * 2**20
    upload_seconds: float = 300.0
    upload_rate: float = 16e3
    stall_seconds: float = 10.0
    uploads: int = 2 * 2**30
    connections: int = 1024
    per_client: int = 768
    seconds: float = 120.0
    memory: int = 4 * 2**30
    workers: int = max(1, min(4, (os.cpu_count() or 1)))
    waiting: int = 200
    keep_seconds: float = 1800.0
    reports: int = 100
    kept: int = 2 * 2**30

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name} must be more than 0, got {value}")
