"""Draw the paper's figures of the refinement for a model, and ours.

    python benchmarks/analyze.py                          # or: spoonful analyze
    python benchmarks/analyze.py divergence-vs-rho convergence --model runs/mine --data shapes
    python benchmarks/analyze.py rho-during-training --runs results/experiment

Prints what makes the refinement diverge, and whether it does for this model. Writes each figure as
an SVG, a PNG and a CSV file, and report.html with all of them. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from rich.console import Console
from rich.markup import escape
from rich.table import Table

sys.path[:0] = [str(Path(__file__).parent)]

from analysis.report import FIGURES, WITHOUT_MODEL, analyze, check_names, in_short
from analysis.subject import open_subject, read_curves, small
from spoonful.cli.evaluate import pick_device
from spoonful.extras import require
from spoonful.files import check_folder


def main() -> None:
    options = _parser().parse_args()
    chosen = check_names(options.names)
    require("matplotlib", extra="plot", why="Drawing figures")  # before any work
    console = Console()
    check_folder("--out", options.out)
    for name in ("pairs", "steps", "batch_size"):
        if getattr(options, name) < 2:
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(f"{flag} must be at least 2, got {getattr(options, name)}")
    with console.status("") as status:
        if options.model is None:
            needless = WITHOUT_MODEL if options.runs else {"feasible-set"}
            torch.set_num_threads(1)  # more threads are slower for tensors this small
            status.update("training a small network")
            trained = not set(chosen) <= needless
            subject = small(pairs=options.pairs, steps=options.steps, trained=trained)
            if options.runs:
                subject.curves = [curve for run in options.runs for curve in read_curves(run)]
        else:
            status.update("opening the model")
            subject = open_subject(
                options.model,
                data=options.data,
                protocol=options.protocol,
                points=options.points,
                pairs=options.pairs,
                steps=options.steps,
                batch_size=options.batch_size,
                runs=options.runs,
                device=str(pick_device(options.device, 0)),
            )
        path = analyze(subject, options.out, chosen, say=status.update)
        short = in_short(subject, chosen)
    if short is not None:
        console.print(f"[bold]{short.title}[/bold] [dim]({escape(subject.name)})[/dim]")
        console.print(short.caption, highlight=False)
        table = Table(*short.data.columns, box=None, pad_edge=False, header_style="bold")
        for row in short.data.rows:
            table.add_row(*row)
        console.print(table)
    console.print(f"wrote {path}", highlight=False, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spoonful analyze",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="FIGURE", help=f"{', '.join(FIGURES)}; all by default")
    add(
        "--model",
        help="a training run's folder, a checkpoint, weights as dcp-v2:FILE, or a name; "
        "by default, a small network is trained first",
    )
    add("--data", default="synthetic", help="'synthetic' (embedded), or a folder with data")
    add("--protocol", help="how pairs are made; by default as in training")
    add(
        "--runs",
        action="append",
        default=[],
        type=Path,
        help="a folder of a training run or of experiment results, with logs to show; repeatable",
    )
    add("--out", type=Path, default=Path("analysis"), help="folder for figures, data and report")
    add("--pairs", type=int, default=64, help="number of test pairs")
    add("--steps", type=int, default=48, help="number of training steps")
    add("--points", type=int, help="points per cloud")
    add("--batch-size", type=int, default=8, help="pairs per batch")
    add("--device", default="auto", help="cpu, cuda, or auto")
    return parser


if __name__ == "__main__":
    main()
