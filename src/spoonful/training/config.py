"""The settings of a training run: small frozen dataclasses, with a default for every setting.

A setting is named by its path, `optimizer.lr`. Values come from a preset, from a file and from
`--set`, in that order; each is checked for its type and range when it is set.

>>> config = override(Config(), ["optimizer.lr=3e-4", "refine=perturbed"])
>>> config.optimizer.lr, config.refine.mode
(0.0003, 'perturbed')
>>> override(config, ["optimizer.rl=1"])
Traceback (most recent call last):
ValueError: there is no setting 'optimizer.rl'; did you mean 'optimizer.lr'?
"""

from __future__ import annotations

import functools
import inspect
import json
import tomllib
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, make_dataclass, replace
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from spoonful import models
from spoonful.data import protocols
from spoonful.extras import require
from spoonful.geometry.plan import Form, Mode
from spoonful.names import closest


def _in(low: float, high: float = float("inf")) -> dict[str, tuple[float, float]]:
    """The closed range of a number."""
    return {"range": (low, high)}


@dataclass(frozen=True)
class Data:
    """The corpus and the protocol of the pairs."""

    corpus: str = "synthetic"
    """"synthetic" (built in), a .pt, .npz, .npy or .safetensors file, or a folder of clouds, of
    meshes or of ModelNet40's HDF5 files."""
    per_category: int | None = field(default=None, metadata=_in(2))
    """Shapes of each category of the synthetic corpus; None for all of them."""
    protocol: str = "dcp-clean"
    """The card by which pairs are made."""
    points: int | None = field(default=None, metadata=_in(8, 1 << 20))
    """Points of a cloud before it is cropped; None for what the card says."""
    batch_size: int = field(default=32, metadata=_in(1, 1 << 16))
    """Pairs in a step, over all processes."""
    stretch: float = field(default=1.0, metadata=_in(1, 4))
    """Training shapes are stretched at random, by about this factor at most; 1 leaves them."""
    validation: float = field(default=0.1, metadata=_in(0.001, 0.9))
    """The share of the training shapes that picks the best epoch. 3DMatch has scenes for it."""
    validation_files: bool = False
    """Pick it on the test files of the training categories instead, as RPM-Net does: of ModelNet40
    5,112 shapes to fit, 1,202 for validation, 1,266 for test. Only for protocols that test on other
    categories."""


def _section(model: type) -> Any:
    """The dataclass of a model's settings: the parameters of its constructor, but for the layer's.

    Numbers must not be negative; the constructor checks the rest, before any data are loaded.
    """
    kinds = get_type_hints(model.__init__)  # type: ignore[misc]
    made: list[tuple[str, Any, Any]] = []
    for name, parameter in inspect.signature(model).parameters.items():
        if name in ("refine", "loss_on"):  # these are settings of the section `refine`
            continue
        kind = kinds[name]
        if get_origin(kind) is Sequence:
            kind = tuple[get_args(kind)[0], ...]  # type: ignore[misc]
        limits = _in(0, 1 << 16) if kind in (int, float) else {}
        made.append((name, kind, field(default=parameter.default, metadata=limits)))
    return make_dataclass(model.__name__, made, frozen=True, namespace={"__module__": __name__})


DCP = _section(models.DCP)
RPMNet = _section(models.RPMNet)
PointNetLK = _section(models.PointNetLK)


@dataclass(frozen=True)
class Refine:
    """The refinement layer; see `spoonful.geometry.SpoonfulLayer`."""

    mode: Mode = "none"
    """No layer; the paper's layer in source or target form; or a perturbed or detached start."""
    form: Form = "source"
    """The form used with a perturbed or detached start."""
    iterations: int = field(default=5, metadata=_in(1, 1000))
    loss_on: Literal["all", "last"] = "all"
    """Which poses the loss looks at."""
    max_degrees: float = field(default=60.0, metadata=_in(1e-6, 180))
    """The bound of a perturbation."""
    schedule: Literal["constant", "shrinking"] = "constant"
    """A constant bound, or one that falls linearly to zero at the end of the run."""
    starts: int = field(default=1, metadata=_in(1, 1000))
    """Perturbed starts for each pair."""
    precision: Literal["float32", "float64"] = "float32"
    """Precision of the layer; that of the network is `runtime.precision`."""


@dataclass(frozen=True)
class Loss:
    """Terms beside the model's own loss, to compare the layer with; see `spoonful.losses`."""

    matches: float = field(default=0.0, metadata=_in(0))
    """Weight of `match_loss`, the distance of matches from the truth where the clouds overlap."""
    extent: float = field(default=0.0, metadata=_in(0))
    """Weight of `extent_loss`, the size of the matches relative to the source."""


@dataclass(frozen=True)
class Optimizer:
    """Adam, which both networks were published with, and its schedule."""

    lr: float = field(default=1e-3, metadata=_in(0, 10))
    weight_decay: float = field(default=1e-4, metadata=_in(0, 10))
    milestones: tuple[float, ...] = (0.3, 0.6, 0.8)
    """When the rate falls, as shares of the whole run, so that a short run has them too."""
    gamma: float = field(default=0.1, metadata=_in(0, 1))
    """The factor by which it falls."""
    warmup: float = field(default=0.0, metadata=_in(0, 1))
    """The share of the run in which the rate rises from zero."""
    clip: float | None = field(default=None, metadata=_in(1e-12))
    """The gradient's largest norm; None to leave it as it is."""
    ema: float = field(default=0.0, metadata=_in(0, 1))
    """Decay of an average of the weights, which is then validated and kept; 0 for none."""


@dataclass(frozen=True)
class Budget:
    """The length of the run; steps come before seconds, and seconds before epochs."""

    epochs: float = field(default=250.0, metadata=_in(0.001))
    steps: int | None = field(default=None, metadata=_in(1))
    seconds: float | None = field(default=None, metadata=_in(1))
    """As many steps as fit; the first steps measure how many, and then the number is fixed."""


@dataclass(frozen=True)
class Runtime:
    """The execution of the run; these settings change results by rounding only."""

    device: str = "auto"
    """"auto" takes an accelerator if there is one."""
    precision: Literal["auto", "bf16", "tf32", "float32"] = "auto"
    """Precision of the network; geometry is always float32. "auto" is bf16 on accelerators. "tf32"
    is float32 with matrix products in TF32, which GPUs compute much faster."""
    compile: Literal["auto", "on", "off"] = "auto"
    """Compile the network's parts, which takes a minute or two; "auto" does on a GPU."""
    graph: Literal["auto", "on", "off"] = "auto"
    """Record steps, and the network's part of validations, as CUDA graphs and replay them; on one
    CUDA device, and steps only where the perturbation does not change from one to the next. "auto"
    does."""
    validate_every: int = field(default=1, metadata=_in(1))
    """Epochs from one validation to the next; the last is always validated."""
    checkpoint_seconds: float = field(default=60.0, metadata=_in(0))
    """At least this long between checkpoints; 0 for one after every epoch."""
    keep: int = field(default=2, metadata=_in(1))
    """Number of checkpoints to keep."""
    max_skipped: int = field(default=20, metadata=_in(1))
    """Stop after this many batches in a row without a finite loss."""
    tensorboard: bool = True
    """Write TensorBoard files if the package is installed."""


@dataclass(frozen=True)
class Config:
    """One training run."""

    name: str = "custom"
    """The preset it came from."""
    seed: int = field(default=0, metadata=_in(0, 2**63 - 1))
    """Seed of the weights, the pairs and the perturbed starts."""
    init: str = ""
    """Weights to start from: a shipped model, a run, a file or a pulled folder; "" for none."""
    model: Literal["dcp", "rpmnet", "pointnetlk"] = "dcp"
    data: Data = field(default_factory=Data)
    dcp: Any = field(default_factory=DCP)
    rpmnet: Any = field(default_factory=RPMNet)
    pointnetlk: Any = field(default_factory=PointNetLK)
    refine: Refine = field(default_factory=Refine)
    loss: Loss = field(default_factory=Loss)
    optimizer: Optimizer = field(default_factory=Optimizer)
    budget: Budget = field(default_factory=Budget)
    runtime: Runtime = field(default_factory=Runtime)

    def __post_init__(self) -> None:
        for path, value, kind, allowed in _settings(self):
            if _converted(path, value, kind, allowed) != value:
                raise ValueError(f"{path} must be of type {_name(kind)}, got {value!r}")
        protocols.get(self.data.protocol)
        if self.model == "pointnetlk" and self.refine.mode != "none":
            raise ValueError(
                "refine.mode must be none for pointnetlk: it has no matches that the layer could "
                f"refine; got {self.refine.mode!r}"
            )
        marks = self.optimizer.milestones
        if any(not 0 < mark < 1 for mark in marks) or list(marks) != sorted(marks):
            raise ValueError(
                "optimizer.milestones must be shares of the run, rising and between 0 and 1, "
                f"got {marks}"
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain nested dictionaries, for JSON."""
        return cast(dict[str, Any], json.loads(json.dumps(asdict(self))))

    @property
    def what(self) -> dict[str, Any]:
        """The settings that decide what is learned: all but `runtime`."""
        content = self.as_dict()
        del content["runtime"]
        return content


def from_dict(values: Mapping[str, Any], base: Config | None = None) -> Config:
    """A configuration from nested dictionaries; missing settings are those of `base`.

    >>> from_dict({"optimizer": {"lr": 0.01}}).optimizer.lr
    0.01
    """
    config = base or Config()
    for path, value in flat(values):
        config = _with(config, path, value)
    return config


def override(config: Config, settings: Iterable[str]) -> Config:
    """The configuration with settings of the form "a.b=value" changed."""
    for setting in settings:
        path, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(
                f"a setting reads name=value, as in optimizer.lr=1e-4; got {setting!r}"
            )
        config = _with(config, path.strip(), value.strip())
    return config


def load(path: str | Path, base: Config | None = None) -> Config:
    """A configuration from a YAML, TOML or JSON file; other settings are those of `base`."""
    path = Path(path)
    content = path.read_bytes()
    mistakes: tuple[type[Exception], ...] = (ValueError,)
    if path.suffix in (".yaml", ".yml"):
        yaml = require("yaml", extra="train", why="Reading YAML files")
        read, mistakes = yaml.safe_load, (ValueError, yaml.YAMLError)
    else:
        read = tomllib.loads if path.suffix == ".toml" else json.loads
    try:
        values = read(content.decode())
    except mistakes as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold settings by name, got a {type(values).__name__}")
    return from_dict(values, base)


@functools.cache
def _kinds(section: type) -> dict[str, Any]:
    """The types of a section's settings. (To evaluate annotations takes longer than all else.)"""
    return get_type_hints(section)


def _settings(
    section: Any, prefix: str = ""
) -> Iterator[tuple[str, Any, Any, tuple[float, float] | None]]:
    """Path, value, type and range of every setting."""
    kind: Any = type(section)
    kinds = _kinds(kind)
    for each in fields(section):
        value = getattr(section, each.name)
        if is_dataclass(value):
            yield from _settings(value, f"{prefix}{each.name}.")
        else:
            yield f"{prefix}{each.name}", value, kinds[each.name], each.metadata.get("range")


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The paths and values of nested dictionaries.

    >>> list(flat({"seed": 1, "optimizer": {"lr": 0.01}}))
    [('seed', 1), ('optimizer.lr', 0.01)]
    """
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _with(config: Config, path: str, value: Any) -> Config:
    if path == "refine":  # the one section with an obvious short form
        path = "refine.mode"
    known = {name: limits for name, _, *limits in _settings(config)}
    if path not in known:
        if (meant := _meant(path, list(known))) is not None:
            raise ValueError(f"there is no setting {path!r}; did you mean {meant!r}?")
        sections = dict.fromkeys(name.split(".")[0] for name in known if "." in name)
        raise ValueError(
            f"there is no setting {path!r}; they are named as 'optimizer.lr', in the sections "
            f"{', '.join(sections)}"
        )
    return _replaced(config, path.split("."), _converted(path, value, *known[path]))


def _meant(path: str, known: Sequence[str]) -> str | None:
    """The setting that was perhaps meant: one much like it, or of its last word, or a bit like it.

    >>> known = ["seed", "optimizer.lr"]
    >>> _meant("optimiser.lr", known), _meant("lr", known), _meant("shoe.size", known)
    ('optimizer.lr', 'optimizer.lr', None)
    """
    if (much := closest(path, known, likeness=0.75)) is not None:
        return much
    last = {name.split(".")[-1]: name for name in reversed(known)}  # the first one stays
    word = closest(path.split(".")[-1], last, likeness=0.7)
    return closest(path, known) if word is None else last[word]


def _replaced(section: Any, path: list[str], value: Any) -> Any:
    if len(path) > 1:
        value = _replaced(getattr(section, path[0]), path[1:], value)
    return replace(section, **{path[0]: value})


_BOOLS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def _converted(path: str, value: Any, kind: Any, allowed: tuple[float, float] | None) -> Any:
    """Text or plain data as the type of a setting, or a `ValueError` that names the setting."""
    if get_origin(kind) in (types.UnionType, Union):
        if value in (None, "none", "null", ""):
            return None
        kind = next(option for option in get_args(kind) if option is not type(None))
    if get_origin(kind) is tuple:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            raise ValueError(f"{path} must be a list, got {value!r}")
        one = get_args(kind)[0]
        return tuple(_converted(path, part, one, allowed) for part in parts if part != "")
    word = str(value).lower()
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        if "on" in choices and word in _BOOLS:  # YAML reads the words as booleans
            value = "on" if _BOOLS[word] else "off"
        if value not in choices:
            close = closest(str(value), choices)
            hint = "" if close is None else f"; did you mean {close!r}?"
            raise ValueError(f"{path} must be one of {', '.join(choices)}; got {value!r}{hint}")
        return value
    if kind is bool and word in _BOOLS:
        return _BOOLS[word]
    if kind in (int, float) and not isinstance(value, bool):
        return _number(path, value, kind, allowed)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{path} must be of type {_name(kind)}, got {value!r}")
    return value


def _number(path: str, value: Any, kind: type, allowed: tuple[float, float] | None) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{path} must be a number, got {value!r}") from None
    if kind is int:
        if not number.is_integer():
            raise ValueError(f"{path} must be a whole number, got {value!r}")
        number = value if isinstance(value, int) else int(number)
    if allowed is not None and not allowed[0] <= number <= allowed[1]:
        low, high = allowed
        most = "" if high == float("inf") else f" and at most {high:.10g}"
        raise ValueError(f"{path} must be at least {low:.10g}{most}, got {number:.10g}")
    return number


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
