r"""`python -m spoonful.training`: train without the command-line extra.

    python -m spoonful.training quick --out runs/quick
    python -m spoonful.training dcp/unseen --data shapes.pt --budget 10m --out runs/a
    python -m spoonful.training dcp/unseen dcp/unseen+perturbed --seeds 3 --jobs 2 \
        --set budget.steps=4000 --seconds 500 --out runs

One preset is one run in the folder `--out`. Several presets, seeds or a grid are a sweep, with a
folder for each run in it. Run the same command again to resume.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from spoonful.training.command import HELP, configure, run_many, run_one
from spoonful.training.trainer import TrainingFailed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code. Mistakes are one line on standard error and 2."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except (ValueError, OSError, ImportError, TrainingFailed) as error:
        if options.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    limit = options.seconds
    if options.until is not None:
        limit = f"{max(options.until - time.time(), 0.0):f}"
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
    if len(configs) == 1 and not options.seeds and not options.grid:
        return run_one(configs[0], options.out, limit=limit, quiet=options.quiet)
    return run_many(
        configs,
        options.out,
        seeds=options.seeds,
        grids=options.grid,
        limit=limit,
        jobs=options.jobs,
        ray=options.ray,
        quiet=options.quiet,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m spoonful.training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("preset", nargs="*", help=HELP["preset"])
    for name in ("config", "data", "budget", "seconds", "seeds"):
        parser.add_argument(f"--{name}", help=HELP[name])
    for name in ("set", "grid"):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="A.B=C", help=HELP[name]
        )
    for name in ("ray", "quiet"):
        parser.add_argument(f"--{name}", action="store_true", help=HELP[name])
    parser.add_argument("--until", type=float, help="--seconds as a time in seconds since 1970.")
    parser.add_argument("--seed", type=int, help=HELP["seed"])
    parser.add_argument("--jobs", type=int, default=1, help=HELP["jobs"])
    parser.add_argument("--out", type=Path, help=HELP["out"])
    parser.add_argument("--debug", action="store_true", help="Show tracebacks.")
    return parser


if __name__ == "__main__":
    sys.exit(main())
