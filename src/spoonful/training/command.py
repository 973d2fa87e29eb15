"""The options that `spoonful train`, `spoonful sweep` and `python -m spoonful.training` share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args, get_type_hints

from spoonful.training import checkpoint, presets
from spoonful.training import config as configs
from spoonful.training.config import Config
from spoonful.training.schedule import clock, seconds
from spoonful.training.trainer import train
from spoonful.workers import STOPPED

HELP = {
    "preset": f"{', '.join(presets.names())}; +source, +target, +perturbed or +detached adds the "
    "layer, +matches a loss on the matches.",
    "set": "Change a setting; may be repeated.",
    "config": "A YAML, TOML or JSON file of settings.",
    "data": "The shapes: synthetic, a dataset's name, a file or a folder.",
    "budget": "Length: 10m, '4000 steps' or '20 epochs'.",
    "seconds": "Stop after this time; run the same command to resume.",
    "seed": "Seed of the weights and the pairs.",
    "out": "Folder of the run; for a sweep, of all runs.",
    "quiet": "Show no progress.",
}


def configure(
    preset: str | None = None,
    *,
    file: str | Path | None = None,
    settings: Sequence[str] = (),
    budget: str | None = None,
    seed: int | None = None,
    corpus: str | None = None,
) -> Config:
    """The configuration for a command line; a later option overrides an earlier one.

    Args:
        preset: the name of a preset; None for the defaults.
        file: a YAML, TOML or JSON file of settings.
        settings: "a.b=c", each.
        budget: how long: "10m" or "500s" of time, "4000 steps", or "20 epochs".
        seed: the run's seed.
        corpus: what to train on.

    >>> configure("dcp/unseen", budget="10m").budget
    Budget(epochs=250.0, steps=None, seconds=600.0)
    >>> configure("quick", budget="4000 steps", seed=3).budget.steps
    4000
    """
    config = presets.get(preset) if preset else Config()
    if file is not None:
        config = configs.load(file, config)
    if corpus is not None:
        config = configs.override(config, [f"data.corpus={corpus}"])
    if budget is not None:
        config = configs.override(config, budget_settings(budget))
    if seed is not None:
        config = configs.override(config, [f"seed={seed}"])
    return configs.override(config, settings)


def budget_settings(text: str) -> list[str]:
    """A budget as settings.

    >>> budget_settings("20 epochs")
    ['budget.steps=none', 'budget.seconds=none', 'budget.epochs=20']
    >>> budget_settings("long")
    Traceback (most recent call last):
    ValueError: a budget reads 10m, '4000 steps' or '20 epochs'; got 'long'
    """
    none = ["budget.steps=none", "budget.seconds=none"]
    if match := re.fullmatch(r"\s*([\d.]+)\s*(steps?|epochs?)\s*", text):
        return [*none, f"budget.{match[2].rstrip('s')}s={match[1]}"]
    try:
        return [*none, f"budget.seconds={seconds(text)}"]
    except ValueError:
        raise ValueError(f"a budget reads 10m, '4000 steps' or '20 epochs'; got {text!r}") from None


def check_used(config: Config, settings: Sequence[str]) -> None:
    """Raise if a setting of the form "a.b=value" has no effect on the run.

    >>> check_used(configure("dcp/unseen"), ["refine.iterations=10"])
    Traceback (most recent call last):
    ValueError: refine.iterations=10 has no effect without the layer; add +source ...
    """
    mode = config.refine.mode
    for setting in settings:
        section, _, name = setting.partition("=")[0].strip().partition(".")
        why = None
        if section in get_args(get_type_hints(Config)["model"]) and section != config.model:
            why = f"; the model is {config.model}"
        elif section != "refine" or name in ("", "mode"):
            continue
        elif mode == "none":
            why = " without the layer; add +source or another mode to the preset's name"
        elif name in ("max_degrees", "schedule", "starts") and mode != "perturbed":
            why = f"; it is for +perturbed, and the mode is {mode}"
        elif name == "form" and mode in ("source", "target"):
            why = f"; the mode {mode} is the form"
        if why is not None:
            raise ValueError(f"{setting} has no effect{why}")


def folder_name(config: Config) -> str:
    """A name for a run's folder.

    >>> folder_name(configure("dcp/unseen+perturbed", seed=2))
    'dcp-unseen-perturbed-seed2'
    """
    return re.sub(r"[^\w.=-]+", "-", f"{config.name}-seed{config.seed}")


def run_one(config: Config, out: Path | None, *, limit: str | None, quiet: bool) -> int:
    """Train one model and print the result; returns the exit code."""
    folder = out or Path("runs") / folder_name(config)
    result = train(config, out=folder, seconds=seconds(limit) if limit else None, quiet=quiet)
    state = "finished" if result.finished else "stopped; run the same command to resume"
    print(
        f"{config.name}: {state}; step {result.step} of {result.total}, "
        f"{clock(result.seconds)}, {result.skipped} batches skipped"
    )
    print(f"{'validation error, mean':24}{'start':>12}{'best':>12}")
    for name, unit in (("rotation_degrees", "°"), ("translation", ""), ("correspondence", "")):
        if name in result.untrained:
            values = (errors.get(name) for errors in (result.untrained, result.best))
            cells = ("-" if value is None else f"{value:.4f}{unit}" for value in values)
            print(f"{name.removesuffix('_degrees'):24}" + "".join(f"{cell:>12}" for cell in cells))
    weights = folder / checkpoint.BEST
    none_yet = f"none before the next validation; checkpoints in {folder}"
    none = checkpoint.missing(folder) if result.finished else none_yet
    print(f"weights  {weights if weights.is_file() else none}")
    return STOPPED if limit is None and not result.finished else 0
