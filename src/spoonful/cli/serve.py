"""`spoonful serve`: a local page that registers two files."""

from __future__ import annotations

import errno
import gc
import ipaddress
import logging
import socket
import webbrowser
from typing import Annotated

import typer
from rich.console import Console

from spoonful.training.schedule import duration


def serve_command(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8765,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Let other machines connect.")
    ] = False,
    max_mb: Annotated[int, typer.Option(help="Size limit of both files together, in MB.")] = 200,
    workers: Annotated[
        int | None,
        typer.Option(help="Registrations at a time. Default: one per core, up to 4."),
    ] = None,
    timeout: Annotated[
        str, typer.Option(metavar="90s", help="Time limit for one registration.")
    ] = "2m",
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
) -> None:
    """Serve a local page: drop two files on it and see the report of their registration.

    Only this machine can connect, unless you add --allow-network. Uploads are deleted once they are
    registered; results after half an hour or when the server stops.

    [bold]Examples[/bold]

      spoonful serve

      spoonful serve --port 9000 --open

      spoonful serve --host 0.0.0.0 --allow-network --max-mb 50
    """
    import uvicorn

    from spoonful.serve import Limits, make_app
    from spoonful.serve.connections import FILTERED, SeldomFilter, server_options

    local = is_local(host)
    if not local and not allow_network:
        raise ValueError(
            f"--host {host} lets other machines connect; add --allow-network if you want that"
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
            "[yellow]warning:[/yellow] every machine that can connect can use this server, "
            "without a password and without encryption"
        )
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=3, **server_options(limits),
    )  # fmt: skip
    for logger in FILTERED:
        logging.getLogger(logger).addFilter(SeldomFilter())

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            gc.freeze()  # a collection of all imported modules takes 0.1 s, and clients wait
            if not self.should_exit:
                console.print(f"Spoonful is at [bold]{address}[/bold]  (Ctrl-C stops it)")
                if open_browser:
                    webbrowser.open(address)

    server = Announced(config)
    server.run(sockets=[listening])
    if not server.started:
        raise RuntimeError("the server could not start")


def is_local(host: str) -> bool:
    """True if only this machine can connect to an address.

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
    """A listening socket; an error says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except (OSError, OverflowError) as error:
        made.close()
        why = str(error)
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            why = "the port is in use; --port 0 takes any free one"
        raise OSError(f"cannot listen on {host}, port {port}: {why}") from None
    return made
