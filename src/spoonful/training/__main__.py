"""`python -m spoonful.training`: train without the command-line extra, with torch alone.

    python -m spoonful.training quick --out runs/quick
    python -m spoonful.training dcp/unseen --data shapes.pt --budget 10m --out runs/a
    python -m spoonful.training dcp/unseen dcp/unseen+perturbed --seeds 3 --jobs 2 \
        --set budget.steps=4000 --seconds 500 --out runs

One preset is one run in the folder `--out`; several presets, seeds or a grid are a sweep, with a
folder for each run in it. The same command again goes on where it stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from spoonful.training import presets
from spoonful.training.options import configure, folder_name, grid, numbers
from spoonful.training.schedule import seconds
from spoonful.training.sweep import jobs, sweep, table
from spoonful.training.trainer import TrainingFailed, train


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 0, or 2 with one line about what is wrong."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except (ValueError, OSError, ImportError, TrainingFailed) as error:
        if options.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    limit = None if options.seconds is None else seconds(options.seconds)
    if options.until is not None:
        limit = max(options.until - time.time(), 0.0)
    configs = [
        configure(
            preset,
            file=options.config,
            settings=options.set,
            budget=options.budget,
            seed=options.seed,
            corpus=options.data,
        )
        for preset in options.preset or [None]
    ]
    if len(configs) > 1 or options.seeds or options.grid:
        todo = jobs(configs, seeds=numbers(options.seeds), grid=grid(options.grid))
        out = Path(options.out or "runs")
        outcomes = sweep(
            todo,
            out,
            at_once=options.jobs,
            seconds=limit,
            cluster=options.ray,
            quiet=options.quiet,
        )
        print(table(outcomes))
        return 1 if any(outcome.state == "failed" for outcome in outcomes) else 0
    out = Path(options.out or Path("runs") / folder_name(configs[0]))
    result = train(configs[0], out=out, seconds=limit, quiet=options.quiet)
    state = "finished" if result.finished else "stopped"
    untrained = f"{result.untrained['rotation_degrees']:.3f}°"
    best = f"{result.best['rotation_degrees']:.3f}°" if result.best else "not measured yet"
    print(
        f"{state} at step {result.step} of {result.total} after {result.seconds:.0f} s; "
        f"validation error {best} (untrained {untrained}); {out}"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m spoonful.training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "preset",
        nargs="*",
        help=f"{', '.join(presets.names())}; +MODE for the layer, +matches for a loss on them",
    )
    add("--config", help="a JSON or YAML file of settings")
    add("--set", action="append", default=[], metavar="A.B=C", help="change a setting")
    add("--data", help="the corpus: synthetic, a file, or a folder")
    add("--budget", help="how long to train: 10m, '4000 steps', '20 epochs'")
    add("--seconds", help="stop this call after that time; the same command goes on")
    add("--until", type=float, help="the same, as a time in seconds since 1970")
    add("--seed", type=int)
    add("--seeds", help="several runs: 3, or 0,4,7, or 10-12")
    add("--grid", action="append", default=[], metavar="A.B=C,D", help="several runs: each value")
    add("--jobs", type=int, default=1, help="how many runs at a time")
    add("--ray", action="store_true", help="run the sweep on a Ray cluster")
    add("--out", help="the run's folder, or the sweep's")
    add("--quiet", action="store_true")
    add("--debug", action="store_true", help="show tracebacks")
    return parser


if __name__ == "__main__":
    sys.exit(main())
