"""What one server takes on, so that no visitor can take the machine down."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much, how long and how many.

    Attributes:
        upload: bytes of both files together.
        upload_seconds: how long an upload may take.
        seconds: how long a registration may take.
        memory: bytes that a registration may ask for; watched on Linux.
        workers: registrations at a time, one process each.
        waiting: visitors in line; the next is told to come back later.
        keep_seconds: how long a report and what belongs to it can be fetched.
        reports: how many are kept at most, the newest.
        kept: bytes of all that is kept; the oldest go first. A moved source that is larger than
            this alone is not kept.
    """

    upload: int = 200 * 2**20
    upload_seconds: float = 300.0
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
