"""`spoonful analyze`: figures of what the refinement does to a model, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spoonful.analysis.report import FIGURES, WITHOUT_MODEL, analyze, check_names, in_short
from spoonful.analysis.subject import open_subject, read_curves, small
from spoonful.cli.evaluate import pick_device
from spoonful.extras import require
from spoonful.files import check_folder


def analyze_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIGURE", help=f"{', '.join(FIGURES)}; all by default."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="A training run's folder, a checkpoint, weights as dcp-v2:FILE, or a name. "
            "By default, a small network is trained first."
        ),
    ] = None,
    data: Annotated[
        str, typer.Option(help="'synthetic' (embedded), or a folder with data.")
    ] = "synthetic",
    protocol: Annotated[
        str | None, typer.Option(help="How pairs are made; by default as in training.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(help="Folders of training runs, or of experiment results, with logs to show."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for figures, data and report.")] = Path(
        "analysis"
    ),
    pairs: Annotated[int, typer.Option(help="Number of test pairs.")] = 64,
    steps: Annotated[int, typer.Option(help="Number of training steps.")] = 48,
    points: Annotated[int | None, typer.Option(help="Points per cloud.")] = None,
    batch_size: Annotated[int, typer.Option(help="Pairs per batch.")] = 8,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
) -> None:
    """Draw what the refinement does to a model, and why: the paper's figures and ours.

    Prints what makes the refinement diverge, and whether it does for this model. Writes each figure
    as an SVG, a PNG and a CSV file, and report.html with all of them.

    [bold]Examples[/bold]

      spoonful analyze

      spoonful analyze divergence-vs-rho convergence --model runs/mine --data shapes --out analysis

      spoonful analyze rho-during-training --runs results/experiment
    """
    chosen = check_names(names or ())
    require("matplotlib", extra="plot", why="Drawing figures")  # before any work
    console = Console()
    check_folder("--out", out)
    for name, value in (("--pairs", pairs), ("--steps", steps), ("--batch-size", batch_size)):
        if value < 2:
            raise ValueError(f"{name} must be at least 2, got {value}")
    with console.status("") as status:
        if model is None:
            needless = WITHOUT_MODEL if runs else {"feasible-set"}
            torch.set_num_threads(1)  # more threads are slower for tensors this small
            status.update("training a small network")
            subject = small(pairs=pairs, steps=steps, trained=not set(chosen) <= needless)
            if runs:
                subject.curves = [curve for run in runs for curve in read_curves(run)]
        else:
            status.update("opening the model")
            subject = open_subject(
                model,
                data=data,
                protocol=protocol,
                points=points,
                pairs=pairs,
                steps=steps,
                batch_size=batch_size,
                runs=runs or (),
                device=str(pick_device(device, 0)),
            )
        path = analyze(subject, out, chosen, say=status.update)
        short = in_short(subject, chosen)
    if short is not None:
        console.print(f"[bold]{short.title}[/bold] [dim]({escape(subject.name)})[/dim]")
        console.print(short.caption, highlight=False)
        table = Table(*short.data.columns, box=None, pad_edge=False, header_style="bold")
        for row in short.data.rows:
            table.add_row(*row)
        console.print(table)
    console.print(f"wrote {path}", highlight=False, soft_wrap=True)
