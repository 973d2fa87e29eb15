"""`python -m spoonful.training`: train without the command-line extra.

    python -m spoonful.training quick --out runs/quick
    python -m spoonful.training dcp/unseen --data shapes.pt --budget 10m --out runs/a
    torchrun --nproc-per-node 4 -m spoonful.training dcp/unseen --out runs/four

Run the same command again to resume. `spoonful sweep` trains many models.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from spoonful.training.command import HELP, check_used, configure, run_one
from spoonful.training.trainer import TrainingFailed
from spoonful.workers import STOPPED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code. Mistakes are one line on standard error and 2."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.error(f"no such option: {' '.join(unknown)}; `spoonful sweep` trains many models")
    try:
        limit = options.seconds
        if options.until is not None:
            limit = f"{max(options.until - time.time(), 0.0):f}"
        config = configure(
            options.preset,
            file=options.config,
            settings=options.set,
            budget=options.budget,
            seed=options.seed,
            corpus=options.data,
        )
        check_used(config, options.set)
        return run_one(config, options.out, limit=limit, quiet=options.quiet)
    except KeyboardInterrupt:  # before the first step, or a second one
        print("stopped; run the same command to resume", file=sys.stderr)
        return STOPPED
    except (ValueError, OSError, ImportError, TrainingFailed) as error:
        if options.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m spoonful.training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("preset", nargs="?", help=HELP["preset"])
    for name in ("config", "data", "budget", "seconds"):
        parser.add_argument(f"--{name}", help=HELP[name])
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C", help=HELP["set"])
    parser.add_argument("--quiet", action="store_true", help=HELP["quiet"])
    parser.add_argument("--until", type=float, help="--seconds as a time in seconds since 1970.")
    parser.add_argument("--seed", type=int, help=HELP["seed"])
    parser.add_argument("--out", type=Path, help=HELP["out"])
    parser.add_argument("--debug", action="store_true", help="Show tracebacks.")
    return parser


if __name__ == "__main__":
    sys.exit(main())
