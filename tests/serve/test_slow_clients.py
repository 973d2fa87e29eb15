"""Slow clients: each is cut off in time, and none keeps the others from being served."""

from __future__ import annotations

import logging
import os
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import holding
from serve.conftest import Site, httpx, running
from spoonful.serve import Limits
from spoonful.serve.connections import FILTERED, SeldomFilter

Files = dict[str, tuple[str, bytes]]

HEADER = b"POST /register HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
FORM = b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"


@pytest.fixture(scope="module")
def strict() -> Iterator[Site]:
    limits = Limits(
        upload=2**20, workers=1, stall_seconds=1.0, upload_rate=1000, connections=12, per_client=10
    )
    with running(limits=limits) as server:
        yield server


def connect(server: Site, *parts: bytes) -> socket.socket:
    address = server.url.removeprefix("http://").split(":")
    made = socket.create_connection((address[0], int(address[1])), timeout=60)
    for part in parts:
        made.sendall(part)
    return made


def closed(client: socket.socket) -> bool:
    """True if the server has ended the connection, without waiting."""
    try:
        while select.select([client], [], [], 0)[0]:
            if not client.recv(2**16):
                return True
    except OSError:
        return True
    return False


def until_closed(client: socket.socket, seconds: float, more: bytes = b"") -> float:
    """Seconds until the server ends the connection, while the client sends a little."""
    began = time.monotonic()
    while not closed(client):
        assert time.monotonic() - began < seconds, "the server still waits"
        if more:
            try:
                client.sendall(more)
            except OSError:
                break
        time.sleep(0.05)
    return time.monotonic() - began


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "more"),
    [
        ((), b""),
        ((b"GET / HTTP/1.1\r\nHost: localhost\r\n",), b""),
        ((b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",), b"x"),
        ((HEADER + FORM,), b""),
        ((HEADER + FORM,), b"x"),  # 20 bytes per second, and 1000 are wanted
        ((b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",), b"G"),  # after a good request
    ],
    ids=["silent", "half-header", "slow-header", "no-body", "slow-body", "second-request"],
)
def test_a_slow_client_is_cut_off(strict: Site, parts: tuple[bytes, ...], more: bytes) -> None:
    with connect(strict, *parts) as client:
        assert until_closed(client, 60, more) > 0.5


@pytest.mark.slow
def test_an_upload_at_the_least_rate_is_taken_to_its_end(strict: Site, files: Files) -> None:
    request = httpx.Request("POST", f"{strict.url}/register", files=files)
    body = request.read()
    header = f"POST /register HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    header += f"Content-Type: {request.headers['content-type']}\r\nConnection: close\r\n\r\n"
    with connect(strict, header.encode()) as client:
        pieces = 15  # over 3 seconds, three times as long as the server waits for a silent client
        size = -(-len(body) // pieces)
        for start in range(0, len(body), size):
            client.sendall(body[start : start + size])
            time.sleep(0.2)
        answer = b"".join(iter(lambda: client.recv(2**16), b""))
    assert answer.startswith(b"HTTP/1.1 303 ")


def trickle(client: socket.socket, part: bytes) -> None:
    for _ in range(50):
        client.sendall(part)
        time.sleep(0.05)


@pytest.mark.slow
def test_a_client_that_does_not_read_is_cut_off(strict: Site, files: Files) -> None:
    page = strict.post(files).json()["report"]
    ask = f"GET {page} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    address = strict.url.removeprefix("http://").split(":")
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((address[0], int(address[1])))
        client.sendall(ask * 200)  # more than the buffers of both sides take
        time.sleep(4)
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):
            trickle(client, ask)


@pytest.mark.slow
def test_slow_clients_make_room_for_quick_ones(strict: Site, files: Files) -> None:
    slow = [connect(strict, HEADER, FORM if i % 2 else b"") for i in range(30)]
    try:
        for _ in range(3):
            assert httpx.get(strict.url, timeout=60).status_code == 200
        assert strict.post(files).status_code == 200
        assert sum(not closed(client) for client in slow) <= 10
    finally:
        for client in slow:
            client.close()


def test_a_burst_of_slow_clients_costs_a_server_little_time(server: Site) -> None:
    assert httpx.get(server.url).status_code == 200
    everything, own = time.process_time(), time.thread_time()
    slow = [connect(server, HEADER, FORM if i % 2 else b"") for i in range(300)]
    try:
        assert httpx.get(server.url, timeout=30).status_code == 200
        spent = time.process_time() - everything - (time.thread_time() - own)
        assert spent < 0.6  # usually a tenth of it
    finally:
        for client in slow:
            client.close()


@pytest.mark.slow
def test_idle_uploads_do_not_hold_the_workers(files: Files) -> None:
    with running(limits=Limits(workers=1, stall_seconds=60)) as server:
        slow = [connect(server, HEADER, FORM) for _ in range(20)]
        assert server.post(files).status_code == 200
        assert not [*server.folder().glob("upload-*")]  # they use no disk
        for client in slow:
            client.close()


def test_uploads_beyond_the_room_on_the_disk_are_refused(files: Files) -> None:
    with running(limits=Limits(workers=1, uploads=1000)) as server:
        answer = server.post(files)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "10"
        assert list(server.folder().iterdir()) == []


@pytest.mark.slow
def test_a_log_passes_each_message_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("spoonful.test.seldom")
    logger.addFilter(SeldomFilter(0.3))
    for count in (1000, 1):
        for i in range(count):
            logger.warning("bad request %d", i)
        time.sleep(0.4)
    said = [record.getMessage() for record in caplog.records]
    assert said == ["bad request 0", "bad request 0 (and 999 more like it)"]


def test_the_log_of_bad_forms_is_limited_too() -> None:
    from python_multipart import multipart

    assert multipart.__name__ in FILTERED


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
def test_the_next_server_deletes_the_folder_of_a_killed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / "spoonful-serve-other"
    other = tmp_path / "spoonful-serve-without-a-lock"
    other.mkdir()
    with holding(folder), running(limits=Limits(workers=1)):
        assert folder.is_dir()  # its server runs
    with running(limits=Limits(workers=1)):
        assert not folder.exists()
    assert other.is_dir()
