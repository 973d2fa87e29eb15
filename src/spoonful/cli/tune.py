"""`spoonful tune`: settings for a classical method, found on training pairs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spoonful.classical import presets
from spoonful.cli.durations import duration
from spoonful.cli.evaluate import bar, number, pick_device, processes, span
from spoonful.data import protocols
from spoonful.data.corpus import Corpus
from spoonful.evaluation import open_data
from spoonful.evaluation.tuning import Search, Trial, tune
from spoonful.files import write_whole


def tune_command(
    method: Annotated[str, typer.Argument(metavar="METHOD", help=", ".join(presets.names()) + ".")],
    protocol: Annotated[str, typer.Option(help="The pairs to be good at.")] = "rpm-crop",
    data: Annotated[
        str, typer.Option(help="'synthetic' (embedded), or a folder; its training split is used.")
    ] = "synthetic",
    trials: Annotated[int, typer.Option(help="Settings to try.")] = 20,
    seconds: Annotated[
        str | None, typer.Option(metavar="10m", help="Start no trial after this time.")
    ] = None,
    items: Annotated[int, typer.Option(help="Training pairs, at most one per shape.")] = 64,
    seed: Annotated[int, typer.Option(help="Random seed of the pairs and of the settings.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto; for batched methods.")] = "cpu",
    out: Annotated[Path | None, typer.Option(help="Write the settings to this file.")] = None,
) -> None:
    """Find good settings for a classical method, on training pairs alone.

    A third of the pairs ranks the trials, half of which are drawn at random, the others near the
    best; the rest of the pairs compares the best three with the published settings, which stay
    unless another is surely better. The score is the mean angle between the rotation found and the
    true one, in degrees.

    [bold]Examples[/bold]

      spoonful tune icp --protocol rpm-crop --data shapes --trials 30 --out icp.json

      spoonful evaluate icp icp@icp.json --protocol rpm-crop --data shapes

      torchrun --no-python --nproc-per-node 4 spoonful tune goicp --trials 30 --out goicp.json
    """
    presets.kind(method)  # raises if there is no such method
    card = protocols.get(protocol)
    # What would be an error at the end is better one at the beginning.
    if out is not None and out.is_dir():
        raise ValueError(f"--out must be a file, and {out} is a folder")
    limit = math.inf if seconds is None else duration(seconds, "--seconds")
    corpus = open_data(data, "train", card)
    if not isinstance(corpus, Corpus):
        raise ValueError(f"protocol {card.name} is of scans, and settings are tuned on shapes")
    with processes() as rank:
        console = Console(quiet=rank != 0)
        with bar(console, f"{method}, trials") as advance:

            def tell(trial: Trial) -> None:
                advance(trial.number + 1, trials)

            found = tune(
                method,
                card,
                corpus,
                trials=trials,
                seconds=limit,
                items=items,
                seed=seed,
                device=pick_device(device, rank),
                progress=tell,
            )
        show(console, found)
        if out is not None and rank == 0:
            file = write_whole(out, found.tuned.as_json())
            console.print(f"wrote {file}", highlight=False, soft_wrap=True)


def show(console: Console, found: Search) -> None:
    """Print the best trials, and what the winner's settings are."""
    how = found.tuned.search
    console.print(
        f"[bold]{found.tuned.method}[/bold] on {how['protocol']} ({how['protocol_hash']}) of "
        f"{escape(str(how['data']))}: trials {how['trials']}, training pairs {how['items']}",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("trial", "ranking °", "final °", "gain ° (95 %)", "ms per pair"):
        table.add_column(title, justify="right")
    table.add_column("settings")
    published = found.trials[0].method
    for trial in sorted(found.trials, key=lambda t: (t.final is None, t.final, t.score)):
        if trial.final is None:
            continue
        changed = [
            f"{name}={value}"
            for name, value in vars(trial.method).items()
            if name != "settings" and value != getattr(published, name)
        ]
        table.add_row(
            str(trial.number),
            number(trial.score),
            number(trial.final),
            "" if trial.gain is None else span(trial.gain),
            number(1000 * trial.seconds, 3),
            ", ".join(changed) or "published",
        )
    console.print(table)
    before = f"{number(found.before)} ° with the published settings"
    if how["winner"] == 0:
        words = f"{before}, which stay: no trial was surely better."
    else:
        words = f"{before}, {number(found.after)} ° with those of trial {how['winner']}."
    console.print(f"[dim]{words} Scores are mean angles, gains their 95 % intervals.[/dim]")
