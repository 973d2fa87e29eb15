"""The server: a page for two files, their registration, and its results for a limited time."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.requests import Request as WebRequest
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import Message

from spoonful.data.clouds import FORMATS
from spoonful.files import naming
from spoonful.locking import LOCK, locked
from spoonful.pipeline import METHODS
from spoonful.pipeline.lengths import UNITS
from spoonful.pipeline.runner import PRELOAD, Request
from spoonful.serve.guard import Guard, TooLarge, refused, too_large
from spoonful.serve.jobs import run_limited, shown_name, suffix_of
from spoonful.serve.limits import Limits
from spoonful.version import __version__
from spoonful.view.markup import asset, policy
from spoonful.workers import TimeLimit, WarmWorker, Worker, WorkerDied

Task = Callable[[Request, int], dict[str, Any]]
FIELDS = ("method", "voxel", "unit", "scale")
PREFIX = "spoonful-serve-"  # of the folder in the temporary directory


class StoredResult(NamedTuple):
    """The files of a result, which can be fetched until they are deleted.

    Attributes:
        report: the page.
        pose: the pose file.
        aligned: the moved source; the file may be missing.
        record: the result as JSON.
        size: bytes of all files.
        made: when, by `time.monotonic`.
    """

    report: Path
    pose: Path
    aligned: Path
    record: dict[str, Any]
    size: int
    made: float


def make_app(
    limits: Limits | None = None,
    *,
    hosts: Iterable[str] = (),
    any_address: bool = False,
    task: Task = run_limited,
) -> Starlette:
    """The server as an ASGI application.

    Args:
        limits: None takes the defaults.
        hosts: host names of the server, besides localhost, 127.0.0.1 and ::1.
        any_address: accept any bare IP address as host name; for servers on a network.
        task: the function that a worker runs with a request, at the top level of a module.

    Returns:
        An application with these routes. `GET /` is the page. `POST /register` takes a form with
        the files `source` and `target` and perhaps `method`, `voxel`, `unit` and `scale`. It
        answers with JSON if the client accepts that, else with a redirect to the report.
        `GET /reports/NAME` is the report, `GET /reports/NAME.json` the numbers; `?save` makes a
        download of either. `GET /reports/NAME/pose` is the pose file and `GET
        /reports/NAME/aligned` the moved source, both as downloads.
    """
    server = Server(limits or Limits(), task)
    return Starlette(
        routes=[
            Route("/", server.front),
            Route("/register", server.register, methods=["POST"]),
            Route("/reports/{name}.json", server.numbers),
            Route("/reports/{name}", server.report),
            Route("/reports/{name}/pose", server.pose),
            Route("/reports/{name}/aligned", server.aligned),
        ],
        middleware=[
            Middleware(
                Guard,
                hosts=tuple(hosts),
                any_address=any_address,
                largest=server.limits.upload + 2**16,  # the form around the files
            )
        ],
        exception_handlers={HTTPException: _refused},
        lifespan=server.open,
    )


class Server:
    """Receives files, has workers register them, and keeps the results for a while."""

    def __init__(self, limits: Limits, task: Task) -> None:
        self.limits = limits
        self.task = task
        self.stored: dict[str, StoredResult] = {}
        self.in_line = 0
        self.uploaded = 0  # bytes of the uploads on the disk
        self.page, self.policy = _front(limits)

    @asynccontextmanager
    async def open(self, app: Starlette) -> AsyncIterator[None]:
        """Hold the workers and a private folder while the server runs."""
        del app
        remove_abandoned()
        with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, locked(folder):
            self.folder = Path(folder, "files")
            self.folder.mkdir()
            self.free: asyncio.Queue[Worker] = asyncio.Queue()
            workers = [WarmWorker(self.task, preload=PRELOAD) for _ in range(self.limits.workers)]
            self.threads = ThreadPoolExecutor(len(workers))  # one thread waits per worker
            for worker in workers:
                worker.start()
                self.free.put_nowait(worker)
            tidying = asyncio.create_task(self.tidy())
            try:
                yield
            finally:
                tidying.cancel()
                for worker in workers:
                    worker.kill()
                self.threads.shutdown()
                for worker in workers:
                    worker.stop()

    async def tidy(self) -> None:
        """Delete old results, again and again."""
        while True:
            await asyncio.sleep(min(5.0, self.limits.keep_seconds / 2))
            self.drop_old()

    def drop_old(self) -> None:
        """Delete the oldest results beyond the limits on age, number and size."""
        oldest = time.monotonic() - self.limits.keep_seconds
        total = sum(result.size for result in self.stored.values())
        for name, result in [*self.stored.items()]:  # in the order they were made
            crowded = total > self.limits.kept and len(self.stored) > 1
            if len(self.stored) > self.limits.reports or result.made < oldest or crowded:
                total -= result.size
                del self.stored[name]
                # Windows does not delete a file that is being sent; it is deleted at the end.
                shutil.rmtree(result.report.parent, ignore_errors=True)

    async def front(self, request: WebRequest) -> Response:
        """Answer with the page for two files."""
        del request
        return HTMLResponse(self.page, headers={"Content-Security-Policy": self.policy})

    async def register(self, request: WebRequest) -> Response:
        """Answer two uploaded files with the result."""
        name, result = await self.take(request)
        if "application/json" not in request.headers.get("accept", ""):
            return RedirectResponse(f"/reports/{name}", 303)
        report = f"/reports/{name}"
        aligned = f"{report}/aligned" if result.aligned.is_file() else None
        links = {"report": report, "pose": f"{report}/pose", "aligned": aligned}
        return JSONResponse(result.record | links)

    async def take(self, request: WebRequest) -> tuple[str, StoredResult]:
        """Receive the files, register and delete them; the name and files of the results."""
        with ExitStack() as held, self.counted(request) as request:
            try:
                async with asyncio.timeout(self.limits.upload_seconds):
                    asked = await self.receive(request, held)
            except TimeoutError:
                raise HTTPException(408, "The upload took too long.") from None
            except TooLarge:
                raise HTTPException(413, too_large(self.limits.upload)) from None
            except ClientDisconnect:
                raise HTTPException(400, "The upload was broken off.") from None
            except OSError as error:
                raise _not_stored(error) from None
            if self.in_line >= self.limits.waiting:
                raise _too_many()
            self.in_line += 1
            try:
                record = await self.work(asked)
            except TimeLimit:
                limit = f"{self.limits.seconds:g} s"
                raise HTTPException(422, f"The registration took more than {limit}.") from None
            except WorkerDied as error:
                raise HTTPException(422, f"The registration broke off: {error}.") from None
            except MemoryError:
                raise HTTPException(422, "The files need more memory than there is.") from None
            except Exception as error:
                if str(Path(asked.report).parent) in str(error):  # an output, on a full disk
                    raise _not_stored(error) from None
                raise HTTPException(422, _with_own_names(error, asked)) from None
            finally:
                self.in_line -= 1
            name = secrets.token_urlsafe(16)
            result = self.store(asked, record, self.folder / name)
        self.stored[name] = result
        self.drop_old()
        return name, result

    @contextmanager
    def counted(self, request: WebRequest) -> Iterator[WebRequest]:
        """The request, its bytes counted among those on the disk until the end of the block."""
        own = 0

        async def receive() -> Message:
            nonlocal own
            message = await request.receive()
            size = len(message.get("body", b""))
            own += size
            self.uploaded += size
            if self.uploaded > self.limits.uploads:
                raise _too_many()
            return message

        try:
            yield WebRequest(request.scope, receive)
        finally:
            self.uploaded -= own

    def store(self, asked: Request, record: dict[str, Any], folder: Path) -> StoredResult:
        """Move the outputs of a request out of the upload's folder, which will be deleted."""
        made, output = Path(asked.report).parent, Path(asked.output)
        if output.is_file() and output.stat().st_size > self.limits.kept:
            output.unlink()
        size = sum(path.stat().st_size for path in made.iterdir())
        made.rename(folder)
        report, pose, aligned = (
            folder / Path(path).name for path in (asked.report, asked.pose, asked.output)
        )
        return StoredResult(report, pose, aligned, record, size, time.monotonic())

    async def work(self, asked: Request) -> dict[str, Any]:
        """Run a request in the next worker that is free."""
        worker = await self.free.get()

        def finished(future: asyncio.Future[dict[str, Any]]) -> None:
            self.free.put_nowait(worker)
            if not future.cancelled():
                future.exception()  # mark it as retrieved, in case the client has disconnected

        call = partial(worker, asked, self.limits.memory, timeout=self.limits.seconds)
        future = asyncio.get_running_loop().run_in_executor(self.threads, call)
        future.add_done_callback(finished)
        # If the client disconnects, the worker still finishes before it is free again.
        return await asyncio.shield(future)

    async def receive(self, request: WebRequest, held: ExitStack) -> Request:
        """Write the files of a form to a folder that `held` deletes; the request for them."""
        if not request.headers.get("content-type", "").startswith("multipart/form-data"):
            raise HTTPException(415, "Send a form with the files source and target.")
        try:
            async with request.form(max_files=2, max_fields=len(FIELDS)) as form:
                for name in form:
                    if name not in ("source", "target", *FIELDS):
                        known = ", ".join(FIELDS)
                        raise HTTPException(400, f"There is no option {name[:50]}, only {known}.")
                # Not before the form is complete: slow clients do not use the disk.
                made = tempfile.TemporaryDirectory(dir=self.folder, prefix="upload-")
                folder = Path(held.enter_context(made))
                out = folder / "out"
                out.mkdir()
                options = {name: str(form.get(name, "")).strip()[:50] for name in FIELDS}
                paths, names = [], []
                for role in ("source", "target"):
                    file = form.get(role)
                    if not isinstance(file, UploadFile) or not file.filename:
                        raise HTTPException(400, f"There is no {role}: send a file of that name.")
                    name = shown_name(file.filename, role)
                    path = folder / f"{role}{suffix_of(name)}"
                    with naming(path), path.open("wb") as copy:
                        await asyncio.to_thread(shutil.copyfileobj, file.file, copy, 1 << 20)
                    paths.append(path)
                    names.append(name)
            return Request(
                source=str(paths[0]),
                target=str(paths[1]),
                method=options["method"] or "auto",
                voxel=options["voxel"] or None,
                unit=options["unit"],
                scale=options["scale"] or None,
                output=str(out / f"aligned{_written_as(paths[0].suffix)}"),
                pose=str(out / "pose.json"),
                report=str(out / "report.html"),
                names=(names[0], names[1]),
            )
        except HTTPException as error:
            # Starlette's own message about a form that it cannot read.
            raise HTTPException(error.status_code, error.detail, error.headers) from None
        except (ValueError, MultiPartException) as error:
            raise HTTPException(400, str(error)) from None

    async def report(self, request: WebRequest) -> Response:
        """Answer with a report, to view or to save."""
        result = self.find(request)
        # The page has its own policy; only our own page may show it in a frame.
        headers = {"Content-Security-Policy": "frame-ancestors 'self'"}
        saved = "registration.html" if "save" in request.query_params else None
        return FileResponse(result.report, headers=headers, media_type="text/html", filename=saved)

    async def numbers(self, request: WebRequest) -> Response:
        """Answer with the result as JSON, to view or to save; it is also a pose file."""
        result = self.find(request)
        save = {"Content-Disposition": 'attachment; filename="pose.json"'}
        headers = save if "save" in request.query_params else {}
        text = json.dumps(result.record, indent=1) + "\n"
        return Response(text, headers=headers, media_type="application/json")

    async def pose(self, request: WebRequest) -> Response:
        """Answer with the pose file, to save."""
        path = self.find(request).pose
        return FileResponse(path, media_type="application/json", filename=path.name)

    async def aligned(self, request: WebRequest) -> Response:
        """Answer with the moved source, to save."""
        result = self.find(request)
        if not result.aligned.is_file():
            raise HTTPException(404, "The moved source is too large to be kept.")
        saved = f"{Path(result.record['source']).stem}-aligned{result.aligned.suffix}"
        return FileResponse(result.aligned, media_type="application/octet-stream", filename=saved)

    def find(self, request: WebRequest) -> StoredResult:
        """The results that an address names."""
        result = self.stored.get(request.path_params["name"])
        if result is None:
            raise HTTPException(404, "There is no such report, or no longer.")
        return result


def remove_abandoned() -> None:
    """Delete the folders of this user's servers that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is of a running server, or of another user
            if hasattr(os, "getuid") and folder.lstat().st_uid != os.getuid():
                continue
            # A server writes to its lock file when it holds the lock, and empties it at its end.
            if (folder / LOCK).stat().st_size:
                with locked(folder):
                    pass
                shutil.rmtree(folder)


def _too_many() -> HTTPException:
    return HTTPException(503, "Too many are waiting. Try again.", {"Retry-After": "10"})


def _not_stored(error: Exception) -> HTTPException:
    """The answer if the disk is full; the server's terminal shows which file."""
    logging.getLogger("uvicorn.error").error("%s", error)
    return HTTPException(507, "The server could not store the files: its disk may be full.")


async def _refused(request: WebRequest, error: Exception) -> Response:
    """Answer with an error."""
    assert isinstance(error, HTTPException)
    return refused(error.status_code, error.detail, request.headers, error.headers)


def _written_as(suffix: str) -> str:
    """The extension of the moved source: that of the source, or .ply for a format only read."""
    return suffix if FORMATS[suffix].write else ".ply"


def _with_own_names(error: Exception, asked: Request) -> str:
    """An error's message with the names of the files as they were uploaded."""
    message = " ".join(str(error).split()) or type(error).__name__
    for path, name in zip((asked.source, asked.target), asked.shown, strict=True):
        message = message.replace(path, name)
    return message


def _front(limits: Limits) -> tuple[str, str]:
    """The page for two files, and its content security policy."""

    def read(name: str) -> str:
        return resources.files("spoonful.serve").joinpath(name).read_text("utf-8")

    style, script = asset("base.css") + read("drop.css"), read("drop.js")
    page = Template(read("drop.html")).substitute(
        style=style,
        script=script,
        version=__version__,
        suffixes=",".join(FORMATS),
        formats=", ".join(suffix.removeprefix(".") for suffix in FORMATS),
        methods="".join(f"<option>{name}</option>" for name in METHODS),
        units="".join(f"<option>{name}</option>" for name in UNITS),
        limit=limits.upload,
        megabytes=f"{limits.upload // 2**20:,}",
        minutes=f"{limits.keep_seconds / 60:g}",
    )
    own = ("connect-src 'self'", "frame-src 'self'", "form-action 'self'", "img-src data:")
    return page, policy(script, style, *own, "frame-ancestors 'none'")
