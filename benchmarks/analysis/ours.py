"""Figures about what the paper leaves open: when the refinement diverges, and why."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from analysis.cases import (
    FORMS,
    INDICATORS,
    PATIENCE,
    Cases,
    best_threshold,
    measure,
    ranked_right,
    resized,
    spearman,
)
from analysis.plots import (
    DASHES,
    MARKERS,
    PAGE,
    Drawing,
    Table,
    Theme,
    canvas,
    legend_below,
    number,
    scatter,
)
from analysis.subject import Curve, Key, Step, Subject, compared
from spoonful.batch import Batch
from spoonful.geometry import Pose, random_rotation, rotation_from_vector
from spoonful.geometry.exact import matmul3
from spoonful.geometry.moments import moments
from spoonful.geometry.plan import Form
from spoonful.models import RegistrationModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMES = {
    "rho": "rho (ours)",
    "distance": "distance to the unconstrained solution",
    "angle_degrees": "angle to the unconstrained solution",
    "target_det": "det G, small",
}
_DTYPES = {"float32": torch.float32, "float64": torch.float64}


def in_short(subject: Subject) -> Drawing:
    """A summary of why the refinement diverges, and how often on the model's test pairs.

    Training steps from fresh weights are included if another figure has computed them.
    """
    groups = {"test": subject.cases}
    if "epoch" in vars(subject):
        groups["training"] = subject.epoch.cases
    rows, facts = [], {}
    for name, cases in groups.items():
        ratio = moments(cases.source, cases.matches, cases.weights).extent_ratio()
        extent = float((1 / ratio).median())
        facts[f"{name}: extent of the matches over their source's, median"] = extent
        for form in FORMS:
            found = measure(cases, form)
            rho, above = float(found["rho"].median()), int((found["rho"] > 1).sum())
            left, count = int(found["left"].sum()), len(cases)
            rows.append((name, number(extent), form, number(rho), f"{above} of {count}", f"{left}"))
            facts |= {
                f"{name}, {form} form: rho, median": rho,
                f"{name}, {form} form: share with rho above 1": above / count,
                f"{name}, {form} form: share that has left Kabsch": left / count,
            }
    columns = ("pairs", "a, median", "form", "rho, median", "rho > 1", "diverged")
    table = Table(columns, rows)
    return Drawing(
        "What makes it diverge",
        "A rho above 1. Started at the Kabsch rotation, the refinement only changes rounding "
        "errors: each iteration multiplies them by rho. If the matches are the rotated source "
        "scaled by a, rho is |1 - a| in source form and |1 - 1/a| in target form. So the target "
        "form diverges if a is below 1/2, and the source form if a is above 2. The last column "
        f"counts the pairs that diverged from Kabsch within {PATIENCE} iterations in float32. "
        "Training means its first steps, from fresh weights.",
        table,
        shown=table,
        facts=facts,
    )


def divergence_vs_rho(subject: Subject) -> Drawing:
    """Measured growth and divergence against the predicted spectral radius."""
    network = Cases.joined([subject.epoch.cases, subject.cases])
    found: dict[tuple[str, str, str], dict[str, Tensor]] = {
        (form, name, origin): measure(cases, form, dtype)
        for form in FORMS
        for name, dtype in _DTYPES.items()
        for origin, cases in (("network", network), ("resized", resized(network)))
    }

    def both(form: str, name: str, key: str) -> Tensor:
        """A quantity of the network's cases, then of the resized ones."""
        return torch.cat([found[form, name, origin][key] for origin in ("network", "resized")])

    keys = ("rho", "growth", "divergence", "left")
    rows = [
        (form, name, origin, *values)
        for (form, name, origin), columns in found.items()
        for values in zip(*(columns[key].tolist() for key in keys), strict=True)
    ]
    facts: dict[str, float] = {}
    shown = []
    for form in FORMS:
        rho, grows, divergence, left = (both(form, "float32", key) for key in keys)
        within = ((grows / rho - 1).abs() < 0.05).double().mean()
        facts[f"growth within 5 % of rho, {form} form, float32"] = float(within)
        for indicator, sign in INDICATORS.items():
            values = sign * both(form, "float32", indicator)
            # Below that, D is the rounding of the last digit, and says nothing.
            grown = divergence > 1e-5
            correlation = spearman(values[grown], divergence[grown])
            bound, right = best_threshold(values, left)
            limit = number(sign * bound) + " (fitted)"
            if indicator == "rho":  # the theory gives the bound
                right, limit = float(((values > 1) == left.bool()).double().mean()), number(1.0)
            facts[f"{indicator}, {form} form: rank correlation with D"] = correlation
            facts[f"{indicator}, {form} form: share predicted"] = right
            auc = number(ranked_right(values, left))
            name = _NAMES[indicator]
            shown.append((form, name, f"{correlation:.2f}", auc, f"{100 * right:.1f} %", limit))

    def draw(theme: Theme) -> Figure:
        figure, (left, right) = canvas(1, 2, width=PAGE, height=3.2)
        series = [(form, name) for form in FORMS for name in _DTYPES]
        for place, (form, name) in enumerate(series):
            rho = both(form, name, "rho").tolist()
            for axes, key, floor in ((left, "growth", 1e-4), (right, "divergence", 1e-17)):
                scatter(
                    axes,
                    rho,
                    both(form, name, key).clamp_min(floor).tolist(),
                    theme.series[FORMS.index(form)],
                    marker=MARKERS[place],
                    hollow=name == "float64",
                    label=f"{form} form, {name}",
                )
        every = torch.cat([columns["rho"] for columns in found.values()])
        ends = (max(float(every.min()) / 2, 1e-3), float(every.max()) * 2)
        left.plot(ends, ends, color=theme.ink, lw=0.7, label="as predicted")
        steps = torch.logspace(math.log10(ends[0]), math.log10(ends[1]), 90)
        # Kabsch and each iteration round nine entries, and pass on the errors before them.
        sums = [torch.stack([steps**j for j in range(k + 1)]).sum(0) for k in range(1, 6)]
        for digits, dash in ((24, "-"), (53, "--")):
            # No two rotations are farther apart than 2.8, and random ones about 2.
            gaps = torch.stack([(2.0**-digits * part).clamp(max=2) for part in sums])
            right.plot(steps, gaps.sum(0), color=theme.ink, lw=0.7, ls=dash)
        for axes in (left, right):
            axes.axvline(1, color=theme.faint, lw=0.7, ls=":")
            axes.set(xscale="log", yscale="log", xlabel="predicted rho", xlim=ends)
        left.set(ylabel="measured growth per iteration", ylim=ends, title="a small error grows")
        right.set(ylabel="divergence D from Kabsch", title="rounding alone grows, five iterations")
        legend_below(figure, left, 5)
        return figure

    columns = ("form", "indicator", "rank correlation with D", "ranked rightly", "predicted")
    return Drawing(
        "Divergence and rho",
        f"Left: the measured growth of a small error of the rotation per iteration, against the "
        f"spectral radius rho, for {len(network)} cases of the network, and the same with matches "
        "0.02 to 20 times as large as their sources. Right: the paper's divergence D, started at "
        "Kabsch, where rounding is the only error. In float64 the same cases have the same rho and "
        "diverge by 2^29 times less. Lines: one rounding per iteration, grown by rho. The table "
        "has, for each indicator, its rank correlation with D over the cases with D > 1e-5, how "
        "often it ranks a case that diverged within 100 iterations above one that did not, "
        "and the share of cases that the best bound on it predicts. For rho the bound is 1, and "
        "nothing is fitted.",
        Table(("form", "geometry", "origin", *keys), rows),
        draw,
        Table((*columns, "bound"), shown),
        facts,
    )


def rho_during_training(subject: Subject) -> Drawing:
    """rho, and the extent of the matches, over training runs."""
    runs = [(curve.name, seen) for curve in subject.curves if (seen := _seen(curve))]
    if not runs:
        raise ValueError(
            "rho-during-training shows the logs of training runs: give a run's folder as the "
            "model, or folders of runs"
        )
    columns = ("rho_target", "rho_source", "extent_ratio", "divergence_median")
    rows = [
        (name, step, *(values.get(column) for column in columns))
        for name, seen in runs
        for step, values in seen
    ]
    last = {name: seen[-1][1] for name, seen in runs}

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(1, 3, width=PAGE, height=2.5)
        titles = ("rho, target form", "rho, source form", "extent of source / matches")
        names = list(last)
        for panel, key, title in zip(axes, columns[:3], titles, strict=True):
            labelled = set()
            for name, seen in runs:
                place = names.index(name)
                again = place // len(theme.series)  # the colours begin again, with other dashes
                panel.plot(
                    [step for step, _ in seen],
                    [values.get(key, math.nan) for _, values in seen],
                    color=theme.series[place % len(theme.series)],
                    ls=DASHES[(place + again) % len(DASHES)],
                    lw=0.9,
                    label=None if name in labelled else name,
                )
                labelled.add(name)
            panel.axhline(1, color=theme.faint, lw=0.7, ls=":")
            panel.set(xlabel="training step", title=title)
        axes[0].set_yscale("log")
        axes[2].set_yscale("log")
        legend_below(figure, axes[0], 4)
        return figure

    ends = "; ".join(
        f"{name}: {number(values['extent_ratio'])}" for name, values in list(last.items())[:6]
    )
    return Drawing(
        "rho during training",
        "Medians over validation pairs. Soft matches lie near the centroid at first, so that the "
        "source extends many times as far as its matches; then the target form diverges (rho > 1) "
        "and the source form contracts slowly (rho near 1). A loss on poses refined from perturbed "
        f"starts rewards rho near 0. Extent ratios at the end: {ends}.",
        Table(("run", "step", *columns), rows),
        draw,
        facts={
            f"{name}: {key}": values.get(key) for name, values in last.items() for key in columns
        },
    )


def _seen(curve: Curve) -> list[tuple[int, dict[str, float]]]:
    """Steps and validations with values of rho."""
    return [
        (line["step"], line["validation"])
        for line in curve.lines
        if "rho_target" in line.get("validation", {})
    ]


class _Setting(NamedTuple):
    """The precision of the network; the layer runs in float32 and float64 in each."""

    name: str
    dtype: torch.dtype
    tf32: bool = False
    autocast: bool = False


def precision(subject: Subject) -> Drawing:
    """The same training step in several precisions: what the layer changes in each."""
    cuda = subject.device.type == "cuda"
    settings = [_Setting("float64", torch.float64), _Setting("float32", torch.float32)]
    missing = []
    if cuda:
        settings.append(_Setting("TF32", torch.float32, tf32=True))
    else:
        missing.append("TF32, which needs a CUDA device")
    if cuda or torch.ops.mkldnn._is_mkldnn_bf16_supported():
        settings.append(_Setting("bf16", torch.float32, autocast=True))
    else:
        missing.append("bf16, whose products this processor does not have")
    batches = list(subject.training_batches(min(6, subject.steps)))
    rows: list[tuple[Any, ...]] = []
    trained = copy.deepcopy(subject.model)
    states = (
        ("fresh weights", subject.fresh().train(), None),
        ("trained weights", trained, None),
        ("trained, matches 1/10 as large", trained, 0.1),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for state, model, extent in states:
            for setting in settings:
                for number_, batch in enumerate(batches):
                    changes = _step_in(setting, model, batch, extent)
                    rows += [
                        (state, setting.name, form, geometry, number_, *step)
                        for (form, geometry), step in changes.items()
                        # A float64 network has no float32 geometry.
                        if setting.dtype != torch.float64 or geometry == "float64"
                    ]
    absent = f" Not measured here: {' and '.join(missing)}." if missing else ""

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(1, 3, width=PAGE, height=2.7, sharey=True)
        names = [setting.name for setting in settings]
        series = [(form, geometry) for form in FORMS for geometry in _DTYPES]
        for panel, (state, _, _) in zip(axes, states, strict=True):
            for place, (form, geometry) in enumerate(series):
                chosen = [r for r in rows if (r[0], r[2], r[3]) == (state, form, geometry)]
                scatter(
                    panel,
                    [max(row[7], 1e-18) for row in chosen],
                    [names.index(row[1]) + 0.16 * (place - 1.5) for row in chosen],
                    theme.series[FORMS.index(form)],
                    marker=MARKERS[place],
                    hollow=geometry == "float64",
                    label=f"{form} form, {geometry} geometry",
                    size=12,
                )
            panel.set(xscale="log", xlabel="relative change of the gradient", title=state)
            panel.set(xlim=(1e-19, 1e2), ylim=(len(names) - 0.5, -0.5))
            panel.set_yticks(range(len(names)), [f"{name}\nnetwork" for name in names])
            panel.grid(axis="x", color=theme.faint, lw=0.3, alpha=0.5)
            panel.tick_params(axis="y", length=0)
        legend_below(figure, axes[0], 2)
        return figure

    medians = {
        key: float(torch.tensor([row[7] for row in rows if row[:4] == key]).median())
        for key in sorted({row[:4] for row in rows})
    }
    columns = ("weights", "network", "form", "geometry", "batch", "divergence")
    return Drawing(
        "The same step in several precisions",
        "What the layer changes in the gradient of the last layer, |g' - g| / |g|, in "
        f"{len(batches)} training steps; a mark at the left edge is no change at all. Whatever the "
        "network computes in, the change is the rounding of the geometry, grown by rho; matches a "
        "tenth as large as their sources have a rho of about 9 in target form. In float64 geometry "
        "it is 2^29 times smaller, and mostly lost when a float32 network rounds it."
        f"{absent}",
        Table((*columns, "gradient_elementwise", "gradient_relative"), rows),
        draw,
        facts={", ".join(key): value for key, value in medians.items()},
    )


def _step_in(
    setting: _Setting, model: RegistrationModel, batch: Batch, extent: float | None
) -> dict[Key, Step]:
    """`compared` with a copy of the model, in a precision."""
    mine = copy.deepcopy(model).to(setting.dtype)
    cast: dict[str, Any] = {
        each.name: value.to(setting.dtype)
        for each in fields(batch)
        if isinstance(value := getattr(batch, each.name), Pose)
        or (isinstance(value, Tensor) and value.is_floating_point())
    }
    moved = replace(batch, **cast)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if setting.tf32 else "highest")
    device = batch.source.device.type
    try:
        with torch.autocast(device, dtype=torch.bfloat16, enabled=setting.autocast):
            found = mine(moved)
        return compared(mine, found, moved, extent)[0]
    finally:
        torch.set_float32_matmul_precision(before)


def convergence(subject: Subject) -> Drawing:
    """The error left after k refinements, from starts that are 1 to 90 degrees away."""
    angles = (1.0, 5.0, 15.0, 30.0, 60.0, 90.0)
    most = 20
    source = subject.cases.source
    turn = random_rotation(len(source), generator=torch.Generator().manual_seed(1))
    isometric = Cases(source, source @ turn.mT, subject.cases.weights)
    panels: list[tuple[str, Cases, Form]] = [
        ("isometric matches, source form", isometric, "source"),
        ("this model's matches, source form", subject.cases, "source"),
        ("this model's matches, target form", subject.cases, "target"),
    ]
    curves: dict[tuple[str, float], Tensor] = {}
    for title, cases, form in panels:
        exact = cases.to(torch.float64)
        best = exact.kabsch()
        for angle in angles:
            start = matmul3(best, _turns(len(cases), angle))
            path = torch.cat([start.unsqueeze(1), exact.refined(start, most, form)], dim=1)
            gap = torch.linalg.matrix_norm(path - best.unsqueeze(1)) / 2**1.5
            curves[title, angle] = torch.rad2deg(2 * torch.asin(gap.clamp(max=1.0)))
    quartiles = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
    rows = [
        (title, angle, k, *torch.quantile(errors[:, k], quartiles).tolist())
        for (title, angle), errors in curves.items()
        for k in range(most + 1)
    ]

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(1, 3, width=PAGE, height=2.7, sharey=True)
        for panel, (title, _, _) in zip(axes, panels, strict=True):
            for place, angle in enumerate(angles):
                middle = [max(row[4], 1e-14) for row in rows if row[:2] == (title, angle)]
                style: dict[str, Any] = {"color": theme.series[place], "ls": DASHES[place]}
                panel.plot(range(most + 1), middle, label=f"{angle:g}°", **style)
            panel.axvline(5, color=theme.faint, lw=0.7, ls=":")
            panel.set(yscale="log", xlabel="refinements", title=title, ylim=(1e-13, 300))
            panel.set_xticks(range(0, most + 1, 5))
        axes[0].set_ylabel("error of the rotation (degrees)")
        legend_below(figure, axes[0], 6)
        return figure

    columns = ("matches", "start_degrees", "refinements", "quartile1", "median", "quartile3")
    return Drawing(
        "Convergence from a perturbed start",
        "The angle to the Kabsch rotation after k refinements (float64), from starts turned by 1 "
        f"to 90 degrees about random axes: medians over {len(subject.cases)} cases. With isometric "
        "matches each refinement squares the error or better; with a network's, the error shrinks "
        "by rho each time, or grows. The dotted line is at the paper's five refinements: a loss on "
        "perturbed starts punishes the error left there.",
        Table(columns, rows),
        draw,
        facts={
            f"{title}, from {angle:g} degrees": float(errors[:, 5].median())
            for (title, angle), errors in curves.items()
        },
    )


def _turns(count: int, degrees: float) -> Tensor:
    """Rotations by an angle about random axes, (count, 3, 3) float64."""
    generator = torch.Generator().manual_seed(2)
    axis = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    axis = axis / axis.norm(dim=-1, keepdim=True)
    return rotation_from_vector(axis * math.radians(degrees))
