"""From what was typed to a configuration: a preset, a file, settings, a budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from spoonful.training import config as configs
from spoonful.training import presets
from spoonful.training.config import Config
from spoonful.training.schedule import seconds


def configure(
    preset: str | None = None,
    *,
    file: str | Path | None = None,
    settings: Sequence[str] = (),
    budget: str | None = None,
    seed: int | None = None,
    corpus: str | None = None,
) -> Config:
    """The configuration that a command line asks for; what comes later wins.

    Args:
        preset: the name of a preset; None for the defaults.
        file: a JSON or YAML file of settings.
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


def folder_name(config: Config) -> str:
    """A name for a run's folder.

    >>> folder_name(configure("dcp/unseen+perturbed", seed=2))
    'dcp-unseen-perturbed-seed2'
    """
    return re.sub(r"[^\w.=-]+", "-", f"{config.name}-seed{config.seed}")


def numbers(text: str | None) -> list[int] | None:
    """Seeds: "3" is 0, 1, 2; "0,4,7" is a list, as is "10-12".

    >>> numbers("3"), numbers("0,4"), numbers("10-12"), numbers(None)
    ([0, 1, 2], [0, 4], [10, 11, 12], None)
    >>> numbers("0")
    Traceback (most recent call last):
    ValueError: seeds read 3, or 0,4,7, or 10-12, and are one at least; got '0'
    """
    if not text:
        return None
    found: list[int] = []
    try:
        if "," not in text and "-" not in text:
            found += range(int(text))
        else:
            for piece in text.split(","):
                first, _, last = piece.partition("-")
                found += range(int(first), int(last or first) + 1)
    except ValueError:
        pass
    if not found:
        raise ValueError(f"seeds read 3, or 0,4,7, or 10-12, and are one at least; got {text!r}")
    return found


def grid(texts: Sequence[str]) -> dict[str, list[str]]:
    """A grid from "name=a,b,c" texts.

    >>> grid(["refine.iterations=1,2,5"])
    {'refine.iterations': ['1', '2', '5']}
    """
    found = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals:
            raise ValueError(f"a grid reads name=a,b,c, as in refine.iterations=1,5; got {text!r}")
        found[name] = values.split(",")
    return found
