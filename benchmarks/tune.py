"""Find good settings for a classical method, on training pairs alone.

    python benchmarks/tune.py icp --protocol rpm-crop --data shapes --trials 30 --out icp.json
    spoonful evaluate icp icp@icp.json --protocol rpm-crop --data shapes
    torchrun --nproc-per-node 4 benchmarks/tune.py goicp --trials 30 --out goicp.json

A third of the pairs ranks the trials, half of which are drawn at random, the others near the best;
the rest of the pairs compares the best three with the published settings, which stay unless another
is surely better. The score is the mean angle between the rotation found and the true one, in
degrees.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

sys.path[:0] = [str(Path(__file__).parent)]

from paper.tuning import Search, Trial, check_counts, tune
from spoonful.classical import presets
from spoonful.cli.evaluate import bar, number, pick_device, processes, span
from spoonful.data import protocols
from spoonful.data.corpus import Corpus
from spoonful.evaluation import open_data
from spoonful.files import write_whole
from spoonful.training.schedule import duration


def main() -> None:
    options = _parser().parse_args()
    presets.kind(options.method)  # raises if there is no such method
    card = protocols.get(options.protocol)
    if options.out is not None and options.out.is_dir():
        raise ValueError(f"--out must be a file, and {options.out} is a folder")
    check_counts(options.trials, options.items)
    limit = math.inf if options.seconds is None else duration(options.seconds, "--seconds")
    corpus = open_data(options.data, "train", card)
    if not isinstance(corpus, Corpus):
        raise ValueError(f"protocol {card.name} is of scans, and settings are tuned on shapes")
    with processes() as rank:
        console = Console(quiet=rank != 0)
        with bar(console, f"{options.method}, trials") as advance:

            def tell(trial: Trial) -> None:
                advance(trial.number + 1, options.trials)

            found = tune(
                options.method,
                card,
                corpus,
                trials=options.trials,
                seconds=limit,
                items=options.items,
                seed=options.seed,
                device=pick_device(options.device, rank),
                progress=tell,
            )
        show(console, found)
        if options.out is not None and rank == 0:
            file = write_whole(options.out, found.tuned.as_json())
            console.print(f"wrote {file}", highlight=False, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spoonful tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("method", help=", ".join(presets.names()))
    add("--protocol", default="rpm-crop", help="the pairs to be good at")
    add("--data", default="synthetic", help="'synthetic' (embedded), or a folder")
    add("--trials", type=int, default=20, help="settings to try")
    add("--seconds", metavar="10m", help="start no trial after this time")
    add("--items", type=int, default=64, help="training pairs, at most one per shape")
    add("--seed", type=int, default=0, help="random seed of the pairs and of the settings")
    add("--device", default="cpu", help="cpu, cuda, or auto; for batched methods")
    add("--out", type=Path, help="write the settings to this file")
    return parser


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


if __name__ == "__main__":
    main()
