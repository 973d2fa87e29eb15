"""Train under many conditions, with and without the refinement; write a table.

    python benchmarks/experiment.py --list
    python benchmarks/experiment.py --data data/shapes --device cuda --steps 1500 --out DIR
    python benchmarks/experiment.py --data data/shapes --only kabsch,perturbed-60 --models dcp ...
    python benchmarks/experiment.py --table DIR [DIR...] --into docs/analysis.md
    python benchmarks/experiment.py --table DIR --answer --into docs/does-the-layer-help.md
    python benchmarks/experiment.py --test dcp-v2-shapes --models dcp --data data/shapes ...

Runs go one after the other, each ending in one small file DIR/MODEL-CONDITION-seedN.json. The same
command resumes. Several processes with the same --work share the runs. `--seconds` is a time
limit: a run that it stops leaves a checkpoint. `--test` has the same tests for a shipped model
or a run's folder.
Needs torch, numpy and, for folders in ModelNet40's layout, h5py.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "src")]

from spoonful.files import json_ready
from spoonful.training import shipped
from spoonful.training.sweep import seed_list
from training_grid import runs, tables
from training_grid.answer import answer


def main() -> int:
    """Run the command."""
    options = _parser().parse_args()
    if options.table:
        finished = tables.results(options.table)
        if options.picture:
            from training_grid.picture import picture  # needs matplotlib

            Path(options.picture).write_bytes(picture(finished))
        if options.answer:
            text = answer(finished)
        else:
            text = tables.table(
                finished, against=_names(options.against), only=_names(options.only)
            )
        if options.into:
            tables.put_into(text, options.into)
        else:
            print(text)
        return 0
    if options.test:
        _test(options)
        return 0
    jobs = runs.grid(options.models.split(","), seed_list(options.seeds), _names(options.only))
    if options.list:
        for job in jobs:
            settings = " ".join(runs.CONDITIONS[job.condition])
            print(f"{job.name:40} {settings}")
        return 0
    left = runs.run(
        jobs,
        options.out,
        data=options.data,
        other=options.other,
        steps=options.steps,
        seconds=options.seconds,
        device=options.device,
        settings=options.set,
        limit=options.limit,
        done=options.done,
        work=options.work,
        keep_weights=_names(options.keep_weights),
        say=lambda text: print(text, flush=True),
    )
    print(f"{len(left)} runs are left" if left else "all runs are done")
    return 0


def _test(options: argparse.Namespace) -> None:
    found = runs.measure(
        options.models,
        shipped.find(options.test),
        data=options.data,
        other=options.other,
        device=options.device,
        settings=options.set,
        limit=options.limit,
    )
    for name, values in found.items():
        print(f"{name}: {values['rotation_degrees']['mean']:.2f}° ({values['count']} pairs)")
    made = {"torch": torch.__version__, "machine": platform.machine(), "settings": options.set}
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    content = json_ready({"weights": options.test, **made, "tests": found})
    (out / f"{Path(options.test).stem}.json").write_text(json.dumps(content))


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", default="synthetic", help="corpus: a folder, a file, or synthetic")
    add("--other", help="a second corpus, for test alone")
    add("--models", default=",".join(runs.MODELS))
    add("--only", default="", help="conditions to run, or to show with --table")
    add("--seeds", default="3", help="a count (3), a list (0,4,7) or a range (10-12)")
    add("--steps", type=int, default=1500)
    add("--seconds", type=float, default=math.inf, help="time limit of this command")
    add("--device", default="auto")
    add("--set", action="append", default=[], metavar="A.B=C", help="a setting of all runs")
    add("--limit", type=int, help="at most so many test pairs of each kind")
    add("--out", default="runs/experiment-results")
    add("--done", action="append", default=[], metavar="DIR", help="results that are there already")
    add("--work", default="runs/experiment", help="for checkpoints; emptied as runs finish")
    add("--keep-weights", default="", metavar="NAMES", help="of these runs, dcp-kabsch-seed0,...")
    add("--list", action="store_true", help="show the runs in their order")
    add("--test", metavar="NAME", help="test a shipped model or a run; --models names its kind")
    add("--table", nargs="+", metavar="DIR", help="print the table of the results in these folders")
    add("--against", default=runs.BASELINE, help="compare with these conditions, pooled")
    add("--answer", action="store_true", help="with --table: the planned comparisons too")
    add("--into", metavar="FILE", help="put it between the marks in this file instead")
    add("--picture", metavar="FILE", help="with --table: draw it too, as a PNG file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
