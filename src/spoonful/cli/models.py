"""`spoonful models`: list, show, check, export and share weights."""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from spoonful.evaluation import open_method
from spoonful.evaluation.result import Result
from spoonful.files import check_folder
from spoonful.models import RegistrationModel, hub, save_program
from spoonful.training import load_model, shipped

app = typer.Typer(no_args_is_help=True, help="List, show, export and share trained weights.")


@app.command(name="list")
def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the shipped models with their training data and validation error.

    [bold]Examples[/bold]

      spoonful models list

      spoonful models list --json
    """
    cards = [shipped.card(name) for name in shipped.names()]
    if as_json:
        typer.echo(json.dumps([{**vars(card)} for card in cards], indent=1))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("name", "layer", "trained on", "protocol", "MiB", "validation °"):
        table.add_column(title, justify="right" if title in ("MiB", "validation °") else "left")
    for card in cards:
        error = card.validation.get("rotation_degrees", float("nan"))
        size = f"{card.bytes / 2**20:.1f}"
        table.add_row(card.name, card.layer, card.data, card.protocol["name"], size, f"{error:.3g}")
    Console().print(table)


@app.command(name="show")
def show_model(
    name: Annotated[str, typer.Argument(help="A name of `spoonful models list`, or a method.")],
) -> None:
    """Show a model's card: data, protocol, errors, seed, hash, licence.

    [bold]Examples[/bold]

      spoonful models show rpmnet

      spoonful models show rpmnet-shapes > card.md
    """
    card = shipped.card(shipped.DEFAULTS.get(name, name))
    text, console = shipped.as_markdown(card), Console()
    if not console.is_terminal:
        typer.echo(text)
        return
    # In two halves, because rich cuts off a word that is wider than its column.
    middle = len(card.sha256) // 2
    halves = f"{card.sha256[:middle]} {card.sha256[middle:]}"
    console.print(Markdown(text.replace(card.sha256, halves)))


@app.command(name="check")
def check_models() -> None:
    """Load every shipped model and compare its file with the hash in its card.

    [bold]Examples[/bold]

      spoonful models check
    """
    for name in shipped.names():
        shipped.load(name)
        typer.echo(f"{name}: ok")


@app.command(name="export")
def export_model(
    model: Annotated[
        str,
        typer.Argument(help="A shipped model, a training run's folder, or weights as dcp-v2:FILE."),
    ],
    file: Annotated[
        Path, typer.Argument(help="File to write: NAME.pt2 for torch, NAME.onnx for ONNX.")
    ],
    points: Annotated[
        int | None,
        typer.Option(help="Fix the number of points per cloud.", show_default="any"),
    ] = None,
) -> None:
    """Export a model as a program that runs without this package.

    [bold]Examples[/bold]

      spoonful models export dcp-v2 dcp.onnx

      spoonful models export runs/mine mine.pt2 --points 717
    """
    network = open_method(model).run
    if not isinstance(network, RegistrationModel):
        raise ValueError(f"{model} is not a network: there is nothing to export")
    # torch warns of its own deprecated names and of packages that are not needed.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(action="ignore"):
        path = save_program(network, file, points=None if points is None else (points, points))
    typer.echo(f"wrote {path}, {path.stat().st_size / 2**20:.1f} MiB")


@app.command(name="push")
def push_model(
    model: Annotated[
        str, typer.Argument(help="A shipped model, a training run, or a folder of `pull`.")
    ],
    repo: Annotated[str, typer.Argument(help="Hub repository to write to, USER/NAME.")],
    summary: Annotated[str, typer.Option(help="A sentence for the card of a run.")] = "",
    licence: Annotated[str, typer.Option(help="A licence for the card of a run.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Create it private.")] = False,
) -> None:
    """Upload a model and its card to the Hugging Face hub; log in with `hf auth login` first.

    [bold]Examples[/bold]

      spoonful models push rpmnet-shapes me/rpmnet-shapes

      spoonful models push runs/mine me/mine --summary "DCP on my scans" --private
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if (Path(model) / hub.FILE).is_file():
            folder = Path(model)
        elif Path(model).exists():
            name = repo.rpartition("/")[2]
            card = shipped.publish(
                model, name, folder=folder / "run", summary=summary, licence=licence
            )
            load_model(model).save_pretrained(folder, card=shipped.hub_card(card))
        else:
            card = shipped.card(shipped.DEFAULTS.get(model, model))
            shipped.load(card.name).save_pretrained(folder, card=shipped.hub_card(card))
        typer.echo(f"pushed to {hub.push(folder, repo, private=private)}")


@app.command(name="pull")
def pull_model(
    model: Annotated[
        str, typer.Argument(help="A hub name, USER/NAME, or https://ADDRESS#sha256=DIGITS.")
    ],
    folder: Annotated[Path, typer.Argument(help="Folder to write to.")],
) -> None:
    """Download a model and its card; the folder can then be used as a method.

    [bold]Examples[/bold]

      spoonful models pull me/rpmnet-shapes rpmnet

      spoonful evaluate rpmnet --protocol rpm-clean
    """
    typer.echo(f"wrote {hub.pull(model, folder) / hub.FILE}")


@app.command(name="publish")
def publish(
    run: Annotated[Path, typer.Argument(help="A training run's folder.")],
    name: Annotated[str, typer.Argument(help="Name of the published model.")],
    summary: Annotated[str, typer.Option(help="One sentence that describes it.")],
    result: Annotated[
        list[Path] | None, typer.Option(help="Results of `spoonful evaluate`, for the card.")
    ] = None,
    half: Annotated[bool, typer.Option("--half", help="Store it in half precision.")] = False,
    licence: Annotated[str, typer.Option(help="A note for the card.")] = "",
    folder: Annotated[
        Path, typer.Option(help="Folder to write to.", show_default="the package's own weights")
    ] = shipped.FOLDER,
) -> None:
    """Copy a run's best weights to the shipped ones, and write their card.

    [bold]Examples[/bold]

      spoonful models publish runs/mine mine --summary "RPM-Net" --folder out
    """
    check_folder("--folder", folder)
    evaluation: dict[str, dict[str, float]] = {}
    versions: dict[str, str] = {}
    for path in result or []:
        found = Result.load(path)
        evaluation[f"{found.protocol} on {found.data.name}, {len(found)} items"] = {
            metric: some.summary.mean for metric, some in found.statistics.items()
        }
        versions = {**found.versions, "device": str(found.machine["device"])}
    card = shipped.publish(
        run,
        name,
        summary=summary,
        half=half,
        evaluation=evaluation,
        versions=versions,
        licence=licence,
        folder=folder,
    )
    typer.echo(f"{card.name}: {card.bytes / 2**20:.1f} MiB, {card.sha256}")
