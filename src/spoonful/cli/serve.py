"""`spoonful serve`: a local page to drop two files on."""

from __future__ import annotations

import errno
import ipaddress
import socket
import webbrowser
from typing import Annotated

import typer
from rich.console import Console

from spoonful.cli.durations import duration
from spoonful.extras import require


def serve_command(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 8765,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Listen where other machines can reach it.")
    ] = False,
    max_mb: Annotated[int, typer.Option(help="The most for two files together, in MB.")] = 200,
    workers: Annotated[
        int | None,
        typer.Option(help="Registrations at a time, by default one a core, up to 4."),
    ] = None,
    timeout: Annotated[
        str, typer.Option(metavar="90s", help="The longest that a registration may take.")
    ] = "2m",
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
) -> None:
    """Serve a page on which one drops two files and gets the report of their registration.

    Only this machine can reach it, unless told otherwise. Uploads are deleted once they are
    registered; reports, poses and aligned sources after half an hour or when the server stops.

    [bold]Examples[/bold]

      spoonful serve

      spoonful serve --port 9000 --open

      spoonful serve --host 0.0.0.0 --allow-network --max-mb 50
    """
    for module in ("starlette", "python_multipart"):
        require(module, extra="serve", why="The local page")
    uvicorn = require("uvicorn", extra="serve", why="The local page")
    from spoonful.serve import Limits, make_app

    local = is_local(host)
    if not local and not allow_network:
        raise ValueError(
            f"--host {host} lets other machines in; add --allow-network if that is what you want"
        )
    if max_mb < 1:
        raise ValueError(f"--max-mb must be at least 1, got {max_mb}")
    if workers is not None and workers < 1:
        raise ValueError(f"--workers must be at least 1, got {workers}")
    limit = duration(timeout, "--timeout")
    chosen = {} if workers is None else {"workers": workers}
    limits = Limits(upload=max_mb * 2**20, seconds=limit, **chosen)
    names = () if local else (host, socket.gethostname())
    app = make_app(limits, hosts=names, any_address=not local)

    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}"
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if host in ("0.0.0.0", "::"):
        address = address.replace(shown, socket.gethostname())
    if not local:
        console.print(
            "[yellow]warning:[/yellow] whoever reaches this machine can use this server, "
            "without a password and without encryption"
        )
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none",
        timeout_graceful_shutdown=3,
    )  # fmt: skip

    class Announced(uvicorn.Server):  # type: ignore[misc, name-defined]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if not self.should_exit:
                console.print(f"Spoonful is at [bold]{address}[/bold]  (Ctrl-C ends it)")
                if open_browser:
                    webbrowser.open(address)

    server = Announced(config)
    server.run(sockets=[listening])
    if not server.started:
        raise RuntimeError("the server could not start")


def is_local(host: str) -> bool:
    """Whether an address can be reached from this machine alone.

    >>> [is_local(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "192.168.1.2")]
    [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or an error that says why it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except (OSError, OverflowError) as error:
        made.close()
        why = str(error)
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            why = "it is taken; --port 0 takes any that is free"
        raise OSError(f"cannot listen on {host}, port {port}: {why}") from None
    return made
