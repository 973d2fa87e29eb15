"""One server for all tests, on a free port of this machine, in a thread of its own."""

from __future__ import annotations

import faulthandler
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from spoonful.data.clouds import Cloud, write_cloud
from spoonful.geometry import Pose, random_rotation
from view.helpers import box

httpx = pytest.importorskip("httpx")
uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("python_multipart")


class Site(NamedTuple):
    url: str
    folder: Callable[[], Path]  # where it keeps uploads and reports

    def post(self, files: dict[str, Any], data: Any = None, **headers: str) -> Any:
        headers = {"Accept": "application/json", **headers}
        return httpx.post(
            f"{self.url}/register", files=files, data=data, headers=headers, timeout=60
        )


@contextmanager
def running(**options: Any) -> Iterator[Site]:
    from serve.standins import job
    from spoonful.serve import Limits
    from spoonful.serve.app import Server, make_app
    from spoonful.serve.connections import server_options

    servers: list[Server] = []
    opened = Server.open

    def noted(self: Server, app: Any) -> AbstractContextManager[None]:
        servers.append(self)
        return opened(self, app)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "open", noted)
        app = make_app(**{"task": job, **options})
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        log_level="critical",
        timeout_graceful_shutdown=1,
        **server_options(options.get("limits") or Limits()),
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until = time.monotonic() + 300
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    try:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        yield Site(url, lambda: servers[0].folder)
    finally:
        server.should_exit = True
        thread.join(120)
    if thread.is_alive():
        faulthandler.dump_traceback()
    assert not thread.is_alive(), "the server does not stop"
    assert not servers[0].folder.exists(), "the server left its folder"


@pytest.fixture(scope="session")
def server() -> Iterator[Site]:
    from spoonful.serve import Limits

    with running(limits=Limits(upload=2**20, seconds=5, workers=2, waiting=100)) as server:
        yield server


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, bytes]]:
    """A form with a cloud and the same cloud elsewhere."""
    folder = tmp_path_factory.mktemp("clouds")
    target = box().float()
    turn = random_rotation(generator=torch.Generator().manual_seed(0))
    pose = Pose(turn, torch.tensor([1.0, 2, 3]))
    write_cloud(folder / "source.ply", Cloud(pose.inverse().apply(target)))
    write_cloud(folder / "target.pcd", Cloud(target))
    return {
        "source": ("my scan.ply", (folder / "source.ply").read_bytes()),
        "target": ("target.pcd", (folder / "target.pcd").read_bytes()),
    }
