"""The server: a page to drop two files on, their registration, and what it gave for a while."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
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
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

import spoonful
from spoonful.data.clouds import FORMATS
from spoonful.pipeline import METHODS
from spoonful.pipeline.batches import PRELOAD
from spoonful.pipeline.lengths import UNITS, length
from spoonful.serve.guard import Guard, TooLarge, too_large
from spoonful.serve.jobs import Job, run_job, shown_name, suffix_of
from spoonful.serve.limits import Limits
from spoonful.view.markup import asset, policy
from spoonful.workers import TimeLimit, WarmWorker, Worker, WorkerDied

Task = Callable[[Job], dict[str, Any]]
FIELDS = ("method", "voxel", "unit", "scale")


class Kept(NamedTuple):
    """A report that can still be fetched, with the pose and the moved source."""

    job: Job  # its files are those in `folder` now
    folder: Path
    record: dict[str, Any]
    size: int
    made: float

    @property
    def aligned(self) -> Path:
        """The moved source, which may not be there."""
        return self.folder / self.job.aligned.name


def make_app(
    limits: Limits | None = None,
    *,
    hosts: Iterable[str] = (),
    any_address: bool = False,
    task: Task = run_job,
) -> Starlette:
    """The server as an ASGI application.

    Args:
        limits: None takes the defaults.
        hosts: names the server goes by, besides localhost, 127.0.0.1 and ::1.
        any_address: whether it also goes by any bare IP address; for servers others may use.
        task: what is done with two files, at the top level of a module.

    Returns:
        An application with these routes. `GET /` is the page. `POST /register` takes a form with
        the files `source` and `target` and perhaps `method`, `voxel`, `unit` and `scale`, and
        answers with JSON where that is accepted, else by leading to the report.
        `GET /reports/NAME` is the report, `GET /reports/NAME.json` the numbers; `?save` makes a
        download of either. `GET /reports/NAME/pose` is the pose file and `GET
        /reports/NAME/aligned` the moved source, both as downloads.
    """
    desk = Desk(limits or Limits(), task)
    return Starlette(
        routes=[
            Route("/", desk.front),
            Route("/register", desk.register, methods=["POST"]),
            Route("/reports/{name}.json", desk.numbers),
            Route("/reports/{name}", desk.report),
            Route("/reports/{name}/pose", desk.pose),
            Route("/reports/{name}/aligned", desk.aligned),
        ],
        middleware=[
            Middleware(
                Guard,
                hosts=tuple(hosts),
                any_address=any_address,
                largest=desk.limits.upload + 2**16,  # the form around the files
            )
        ],
        exception_handlers={HTTPException: _refused},
        lifespan=desk.open,
    )


class Desk:
    """Takes files, has them registered, keeps the reports."""

    def __init__(self, limits: Limits, task: Task) -> None:
        self.limits = limits
        self.task = task
        self.kept: dict[str, Kept] = {}
        self.in_line = 0
        self.page, self.policy = _front(limits)

    @asynccontextmanager
    async def open(self, app: Starlette) -> AsyncIterator[None]:
        """The workers and a private folder, for as long as the server runs."""
        del app
        with tempfile.TemporaryDirectory(prefix="spoonful-") as folder:
            self.folder = Path(folder)
            # Some upload while others are registered, and no more: the disk is finite.
            self.uploads = asyncio.Semaphore(self.limits.workers + 2)
            self.free: asyncio.Queue[Worker] = asyncio.Queue()
            workers = [WarmWorker(self.task, preload=PRELOAD) for _ in range(self.limits.workers)]
            self.threads = ThreadPoolExecutor(len(workers))  # each waits for one worker
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
        """Delete reports whose time has come."""
        while True:
            await asyncio.sleep(min(5.0, self.limits.keep_seconds / 2))
            self.drop_old()

    def drop_old(self) -> None:
        """Delete reports that are too old, too many or too large together."""
        oldest = time.monotonic() - self.limits.keep_seconds
        total = sum(kept.size for kept in self.kept.values())
        for name, kept in [*self.kept.items()]:  # in the order they were made
            crowded = total > self.limits.kept and len(self.kept) > 1
            if len(self.kept) > self.limits.reports or kept.made < oldest or crowded:
                total -= kept.size
                del self.kept[name]
                # Some systems delete no file that is being sent: it goes with the server.
                shutil.rmtree(kept.folder, ignore_errors=True)

    async def front(self, request: Request) -> Response:
        """The page to drop files on."""
        del request
        return HTMLResponse(self.page, headers={"Content-Security-Policy": self.policy})

    async def register(self, request: Request) -> Response:
        """Take two files and answer with the result."""
        if self.in_line >= self.limits.waiting:
            raise HTTPException(503, "Too many are waiting. Try again.", {"Retry-After": "10"})
        self.in_line += 1
        try:
            # Nothing of the files is read before their turn has come.
            async with self.uploads:
                name, kept = await self.take(request)
        finally:
            self.in_line -= 1
        if "application/json" not in request.headers.get("accept", ""):
            return RedirectResponse(f"/reports/{name}", 303)
        report = f"/reports/{name}"
        aligned = f"{report}/aligned" if kept.aligned.is_file() else None
        links = {"report": report, "pose": f"{report}/pose", "aligned": aligned}
        return JSONResponse(kept.record | links)

    async def take(self, request: Request) -> tuple[str, Kept]:
        """Receive the files, have them registered, delete them; the report's name and the rest."""
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="upload-") as folder:
            try:
                async with asyncio.timeout(self.limits.upload_seconds):
                    job = await self.receive(request, Path(folder))
            except TimeoutError:
                raise HTTPException(408, "The upload took too long.") from None
            except TooLarge:
                raise HTTPException(413, too_large(self.limits.upload)) from None
            except ClientDisconnect:
                raise HTTPException(400, "The upload was broken off.") from None
            try:
                record = await self.work(job)
            except TimeLimit:
                limit = f"{self.limits.seconds:g} s"
                raise HTTPException(422, f"The registration took more than {limit}.") from None
            except WorkerDied as error:
                raise HTTPException(422, f"The registration broke off: {error}.") from None
            except MemoryError:
                raise HTTPException(422, "The files need more memory than there is.") from None
            except Exception as error:
                raise HTTPException(422, _own_words(error, job)) from None
            name = secrets.token_urlsafe(16)
            kept = self.keep(job, record, self.folder / name)
        self.kept[name] = kept
        self.drop_old()
        return name, kept

    def keep(self, job: Job, record: dict[str, Any], folder: Path) -> Kept:
        """Take what a job has made out of the folder of the upload, which goes."""
        if job.aligned.is_file() and job.aligned.stat().st_size > self.limits.kept:
            job.aligned.unlink()
        size = sum(path.stat().st_size for path in Path(job.out).iterdir())
        Path(job.out).rename(folder)
        return Kept(job, folder, record, size, time.monotonic())

    async def work(self, job: Job) -> dict[str, Any]:
        """Have a job done by the next worker that is free."""
        worker = await self.free.get()

        def finished(future: asyncio.Future[dict[str, Any]]) -> None:
            self.free.put_nowait(worker)
            if not future.cancelled():
                future.exception()  # has been seen, also where nobody waits any more

        call = partial(worker, job, timeout=self.limits.seconds)
        future = asyncio.get_running_loop().run_in_executor(self.threads, call)
        future.add_done_callback(finished)
        # Whoever waits may be gone before the worker is done with it.
        return await asyncio.shield(future)

    async def receive(self, request: Request, folder: Path) -> Job:
        """The files of a form, in a folder, under names of our own."""
        if not request.headers.get("content-type", "").startswith("multipart/form-data"):
            raise HTTPException(415, "Send a form with the files source and target.")
        try:
            async with request.form(max_files=2, max_fields=len(FIELDS)) as form:
                options = {name: str(form.get(name, "")).strip() for name in FIELDS}
                paths, names = [], []
                for role in ("source", "target"):
                    file = form.get(role)
                    if not isinstance(file, UploadFile) or not file.filename:
                        raise HTTPException(400, f"There is no {role}: send a file of that name.")
                    name = shown_name(file.filename, role)
                    path = folder / f"{role}{suffix_of(name)}"
                    with path.open("wb") as copy:
                        await asyncio.to_thread(shutil.copyfileobj, file.file, copy, 1 << 20)
                    paths.append(str(path))
                    names.append(name)
            method, unit = options["method"] or "auto", options["unit"]
            if method not in METHODS:
                raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method[:50]!r}")
            if unit and unit not in UNITS:
                raise ValueError(f"unit must be one of {', '.join(UNITS)}, got {unit[:50]!r}")
            voxel = length(options["voxel"][:50], unit, "voxel") if options["voxel"] else None
            scale = _factor(options["scale"][:50])
        except HTTPException as error:
            # What Starlette says of a form it cannot read.
            raise HTTPException(error.status_code, error.detail) from None
        except (ValueError, MultiPartException) as error:
            raise HTTPException(400, str(error)) from None
        out = folder / "out"
        out.mkdir()
        return Job(
            source=paths[0],
            target=paths[1],
            names=(names[0], names[1]),
            out=str(out),
            method=method,
            voxel=voxel,
            unit=unit,
            scale=scale,
            memory=self.limits.memory,
        )

    async def report(self, request: Request) -> Response:
        """A report, to look at or to save."""
        kept = self.find(request)
        # The page has a policy of its own; it may stand in a frame of ours alone.
        headers = {"Content-Security-Policy": "frame-ancestors 'self'"}
        saved = "registration.html" if "save" in request.query_params else None
        page = kept.folder / kept.job.report.name
        return FileResponse(page, headers=headers, media_type="text/html", filename=saved)

    async def numbers(self, request: Request) -> Response:
        """The result for programs, to look at or to save: a pose file with more in it."""
        kept = self.find(request)
        save = {"Content-Disposition": 'attachment; filename="pose.json"'}
        headers = save if "save" in request.query_params else {}
        text = json.dumps(kept.record, indent=1) + "\n"
        return Response(text, headers=headers, media_type="application/json")

    async def pose(self, request: Request) -> Response:
        """The pose file, to save."""
        kept = self.find(request)
        path = kept.folder / kept.job.pose.name
        return FileResponse(path, media_type="application/json", filename=path.name)

    async def aligned(self, request: Request) -> Response:
        """The moved source, to save."""
        kept = self.find(request)
        if not kept.aligned.is_file():
            raise HTTPException(404, "The moved source is too large to be kept.")
        saved = f"{Path(kept.job.names[0]).stem}-aligned{kept.aligned.suffix}"
        return FileResponse(kept.aligned, media_type="application/octet-stream", filename=saved)

    def find(self, request: Request) -> Kept:
        """The report that an address names."""
        kept = self.kept.get(request.path_params["name"])
        if kept is None:
            raise HTTPException(404, "There is no such report, or no longer.")
        return kept


async def _refused(request: Request, error: Exception) -> Response:
    """An error for whoever asked: JSON for programs and our page, a sentence for the rest."""
    assert isinstance(error, HTTPException)
    if "application/json" in request.headers.get("accept", ""):
        body: Response = JSONResponse(
            {"error": error.detail}, error.status_code, headers=error.headers
        )
    else:
        headers = dict(error.headers or {})
        body = Response(f"{error.detail}\n", error.status_code, headers, "text/plain")
    return body


def _factor(text: str) -> float:
    """A number to multiply by; one where none is given."""
    try:
        value = float(text or 1)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ValueError(f"scale must be a number above 0, such as 0.001, got {text!r}")
    return value


def _own_words(error: Exception, job: Job) -> str:
    """An error's message with the files' names as their owner knows them."""
    message = " ".join(str(error).split()) or type(error).__name__
    for path, name in zip((job.source, job.target), job.names, strict=True):
        message = message.replace(path, name)
    return message


def _front(limits: Limits) -> tuple[str, str]:
    """The page to drop files on, and the policy it is served under."""

    def read(name: str) -> str:
        return resources.files("spoonful.serve").joinpath(name).read_text("utf-8")

    style, script = asset("base.css") + read("drop.css"), read("drop.js")
    page = Template(read("drop.html")).substitute(
        style=style,
        script=script,
        version=spoonful.__version__,
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
