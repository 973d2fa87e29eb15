"""The figures that answer what the paper leaves open."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from spoonful.analysis.cases import (
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
from spoonful.analysis.drawing import Drawing, Table, number
from spoonful.analysis.plots import (
    DASHES,
    MARKERS,
    PAGE,
    Theme,
    canvas,
    legend_below,
    scatter,
)
from spoonful.analysis.subject import Curve, Key, Step, Subject, compared
from spoonful.batch import Batch
from spoonful.geometry import kabsch, random_rotation, refine, rotation_from_vector
from spoonful.geometry.exact import matmul3
from spoonful.geometry.moments import moments
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
    """What makes the refinement diverge, and whether it does: on the test pairs of the model.

    And in the training steps from fresh weights, where these have been taken for another figure.
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
    columns = ("pairs", "a, median", "form", "rho, median", "rho > 1", "have left Kabsch")
    table = Table(columns, rows)
    return Drawing(
        "What makes it diverge",
        "A rho above 1. Started at Kabsch's rotation, the refinement has nothing but rounding "
        "errors to work on, and each iteration multiplies them by rho. Where the matches are the "
        "turned source scaled by a, rho is |1 - a| in source form and |1 - 1/a| in target form: "
        "matches less than half as large as their source make the target form diverge, matches "
        "more than twice as large the source form. The last column counts the pairs that have left "
        f"Kabsch after {PATIENCE} iterations in float32; training is its first steps, from fresh "
        "weights.",
        table,
        shown=table,
        facts=facts,
    )


def divergence_vs_rho(subject: Subject) -> Drawing:
    """Measured growth and divergence against the predicted spectral radius."""
    network = _joined([subject.epoch.cases, subject.cases])
    found: dict[tuple[str, str, str], dict[str, Tensor]] = {}
    for form in FORMS:
        for name, dtype in _DTYPES.items():
            for origin, cases in (("network", network), ("resized", resized(network))):
                found[form, name, origin] = measure(cases, form, dtype)
    rows = [
        (form, name, origin, *values)
        for (form, name, origin), columns in found.items()
        for values in zip(
            *(columns[key].tolist() for key in ("rho", "growth", "divergence", "left")), strict=True
        )
    ]
    facts: dict[str, float] = {}
    shown = []
    for form in FORMS:
        both = {
            key: torch.cat([found[form, "float32", o][key] for o in ("network", "resized")])
            for key in found[form, "float32", "network"]
        }
        within = ((both["growth"] / both["rho"] - 1).abs() < 0.05).double().mean()
        facts[f"growth within 5 % of rho, {form} form, float32"] = float(within)
        for indicator, sign in INDICATORS.items():
            values = sign * both[indicator]
            # Below that, D is the rounding of the last digit, and says nothing.
            grown = both["divergence"] > 1e-5
            correlation = spearman(values[grown], both["divergence"][grown])
            auc = ranked_right(values, both["left"])
            bound, right = best_threshold(values, both["left"])
            if indicator == "rho":  # the theory says where the bound is: no fitting
                bound = 1.0
                right = float(((values > 1) == both["left"].bool()).double().mean())
            facts[f"{indicator}, {form} form: rank correlation with D"] = correlation
            facts[f"{indicator}, {form} form: share predicted"] = right
            shown.append(
                (
                    form,
                    _NAMES[indicator],
                    f"{correlation:.2f}",
                    number(auc),
                    f"{100 * right:.1f} %",
                    number(sign * bound) + ("" if indicator == "rho" else " (fitted)"),
                )
            )

    def draw(theme: Theme) -> Figure:
        figure, (left, right) = canvas(1, 2, width=PAGE, height=3.2)
        series = [(form, name) for form in FORMS for name in _DTYPES]
        for place, (form, name) in enumerate(series):
            columns = [found[form, name, origin] for origin in ("network", "resized")]
            rho = torch.cat([c["rho"] for c in columns]).tolist()
            look = {
                "color": theme.series[0 if form == "source" else 1],
                "marker": MARKERS[place],
                "hollow": name == "float64",
                "label": f"{form} form, {name}",
            }
            for axes, key, floor in ((left, "growth", 1e-4), (right, "divergence", 1e-17)):
                values = torch.cat([c[key] for c in columns]).clamp_min(floor).tolist()
                scatter(axes, rho, values, **look)  # type: ignore[arg-type]
        every = torch.cat([columns["rho"] for columns in found.values()])
        ends = (max(float(every.min()) / 2, 1e-3), float(every.max()) * 2)
        left.plot(ends, ends, color=theme.ink, lw=0.7, label="as predicted")
        steps = torch.logspace(math.log10(ends[0]), math.log10(ends[1]), 90)
        # Kabsch and each iteration round nine entries, and pass on what those before them left.
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

    return Drawing(
        "Divergence and rho",
        f"Left: a small error of the rotation, refined; its measured growth per iteration against "
        f"the spectral radius rho, for {len(network)} cases of the network, and the same with "
        "matches 0.02 to 20 times as large as their sources. "
        "Right: the paper's divergence D, started at Kabsch, where rounding is the only error. In "
        "float64 the same cases have the same rho and diverge by 2^29 times less; lines: one "
        "rounding an iteration, grown by rho. The table says, over the cases with D > 1e-5, "
        "how well each indicator goes with D, how often it ranks a case that has left Kabsch after "
        "100 iterations above one that has not, and for how many cases the best bound on it says "
        "rightly which; for rho the bound is 1 and nothing is fitted.",
        Table(("form", "geometry", "origin", "rho", "growth", "divergence", "left"), rows),
        draw,
        Table(
            (
                "form",
                "indicator",
                "rank correlation with D",
                "ranked rightly",
                "predicted",
                "bound",
            ),
            shown,
        ),
        facts,
    )


def _joined(parts: Sequence[Cases]) -> Cases:
    """The first kind of cases, and those of the others that have clouds of the same size."""
    size = parts[0].source.shape[1]
    return Cases.joined(part for part in parts if part.source.shape[1] == size)


def rho_during_training(subject: Subject) -> Drawing:
    """rho, and the extent of the matches, over training runs."""
    curves = [curve for curve in subject.curves if _seen(curve)]
    if not curves:
        raise ValueError(
            "rho-during-training shows the logs of training runs: give a run's folder as the "
            "model, or folders of runs"
        )
    columns = ("rho_target", "rho_source", "extent_ratio", "divergence_median")
    rows = [
        (curve.name, step, *(values.get(name) for name in columns))
        for curve in curves
        for step, values in _seen(curve)
    ]

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(1, 3, width=PAGE, height=2.5)
        groups: dict[str, list[Curve]] = {}
        for curve in curves:
            groups.setdefault(curve.name, []).append(curve)
        for place, (name, members) in enumerate(groups.items()):
            color = theme.series[place % len(theme.series)]
            dash = DASHES[place % len(DASHES)]
            for number_, curve in enumerate(members):
                seen = _seen(curve)
                steps = [step for step, _ in seen]
                for panel, key in zip(axes, columns[:3], strict=True):
                    panel.plot(
                        steps,
                        [values.get(key, math.nan) for _, values in seen],
                        color=color,
                        ls=dash,
                        label=name if number_ == 0 else None,
                    )
        for panel, title in zip(
            axes,
            ("rho, target form", "rho, source form", "extent of source / matches"),
            strict=True,
        ):
            panel.axhline(1, color=theme.faint, lw=0.7, ls=":")
            panel.set(xlabel="training step", title=title)
        axes[0].set_yscale("log")
        axes[2].set_yscale("log")
        legend_below(figure, axes[0], 4)
        return figure

    last = {curve.name: _seen(curve)[-1][1] for curve in curves}
    ends = "; ".join(
        f"{name}: {number(values['extent_ratio'])}" for name, values in list(last.items())[:6]
    )
    return Drawing(
        "rho during training",
        "Medians over validation pairs. Soft matches huddle around the centroid at first, so that "
        "the source extends many times as far as its matches; then the target form diverges "
        "(rho > 1) and the source form contracts slowly (rho near 1). A loss on poses refined "
        f"from perturbed starts rewards rho near 0. Extent ratios at the end: {ends}.",
        Table(("run", "step", *columns), rows),
        draw,
        facts={
            f"{name}: {key}": values.get(key) for name, values in last.items() for key in columns
        },
    )


def _seen(curve: Curve) -> list[tuple[int, dict[str, float]]]:
    """Steps and validations that say how the layer would behave."""
    return [
        (line["step"], line["validation"])
        for line in curve.lines
        if "rho_target" in line.get("validation", {})
    ]


class _Setting(NamedTuple):
    """How a step is computed: the network's numbers; the layer's are float32 and float64."""

    name: str
    dtype: torch.dtype
    tf32: bool = False
    autocast: bool = False


def precision(subject: Subject) -> Drawing:
    """The same training step in several precisions: what the layer changes in each."""
    device = subject.device
    settings = [_Setting("float64", torch.float64), _Setting("float32", torch.float32)]
    missing = []
    if device.type == "cuda":
        settings.append(_Setting("TF32", torch.float32, tf32=True))
    else:
        missing.append("TF32, which needs a CUDA device")
    if device.type == "cuda" or torch.ops.mkldnn._is_mkldnn_bf16_supported():
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
                        # A float64 network has no float32 geometry to it.
                        if setting.dtype != torch.float64 or geometry == "float64"
                    ]
    absent = f" Not measured here: {' and '.join(missing)}." if missing else ""

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(1, 3, width=PAGE, height=2.7, sharey=True)
        names = [setting.name for setting in settings]
        series = [(form, geometry) for form in FORMS for geometry in _DTYPES]
        for panel, state in zip(axes, (name for name, *_ in states), strict=True):
            for place, (form, geometry) in enumerate(series):
                chosen = [r for r in rows if (r[0], r[2], r[3]) == (state, form, geometry)]
                offset = 0.16 * (place - 1.5)
                scatter(
                    panel,
                    [max(row[7], 1e-18) for row in chosen],
                    [names.index(row[1]) + offset for row in chosen],
                    theme.series[0 if form == "source" else 1],
                    marker=MARKERS[place],
                    hollow=geometry == "float64",
                    label=f"{form} form, {geometry} geometry",
                    size=12,
                )
            panel.set(
                xscale="log",
                xlabel="relative change of the gradient",
                xlim=(1e-19, 1e2),
                title=state,
                ylim=(len(names) - 0.5, -0.5),
            )
            panel.set_yticks(range(len(names)), [f"{name}\nnetwork" for name in names])
            panel.grid(axis="x", color=theme.faint, lw=0.3, alpha=0.5)
            panel.tick_params(axis="y", length=0)
        legend_below(figure, axes[0], 2)
        return figure

    medians = {
        (state, name, form, geometry): float(
            torch.tensor([r[7] for r in rows if r[:4] == (state, name, form, geometry)]).median()
        )
        for state, name, form, geometry in sorted({tuple(r[:4]) for r in rows})
    }
    return Drawing(
        "The same step in several precisions",
        "What the layer changes in the gradient of the last layer, |g' - g| / |g|, in "
        f"{len(batches)} training steps; a mark at the left edge is no change at all. Whatever the "
        "network computes in, the change is the rounding of the geometry, grown by rho; matches a "
        "tenth as large as their sources have a rho of about 9 in target form. In float64 geometry "
        "it is 2^29 times smaller, and mostly lost when a float32 network rounds it."
        f"{absent}",
        Table(
            (
                "weights",
                "network",
                "form",
                "geometry",
                "batch",
                "divergence",
                "gradient_elementwise",
                "gradient_relative",
            ),
            rows,
        ),
        draw,
        facts={", ".join(key): value for key, value in medians.items()},
    )


def _step_in(
    setting: _Setting, model: RegistrationModel, batch: Batch, extent: float | None
) -> dict[Key, Step]:
    """`compared` with a copy of the model, in a precision."""
    mine = copy.deepcopy(model).to(setting.dtype)
    moved = _cast(batch, setting.dtype)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if setting.tf32 else "highest")
    try:
        with torch.autocast(
            batch.source.device.type, dtype=torch.bfloat16, enabled=setting.autocast
        ):
            found = mine(moved)
        return compared(mine, found, moved, extent)[0]
    finally:
        torch.set_float32_matmul_precision(before)


def _cast(batch: Batch, dtype: torch.dtype) -> Batch:
    assert batch.pose is not None
    return replace(
        batch,
        source=batch.source.to(dtype),
        target=batch.target.to(dtype),
        source_normals=None if batch.source_normals is None else batch.source_normals.to(dtype),
        target_normals=None if batch.target_normals is None else batch.target_normals.to(dtype),
        pose=batch.pose.to(dtype),
    )


def convergence(subject: Subject) -> Drawing:
    """The error left after k refinements, from starts that are 1 to 90 degrees away."""
    angles = (1.0, 5.0, 15.0, 30.0, 60.0, 90.0)
    most = 20
    exactly = Cases(subject.cases.source, _turned(subject.cases.source), subject.cases.weights)
    panels = [
        ("isometric matches, source form", exactly, "source"),
        ("this model's matches, source form", subject.cases, "source"),
        ("this model's matches, target form", subject.cases, "target"),
    ]
    curves: dict[tuple[str, float], Tensor] = {}
    for title, cases, form in panels:
        exact = cases.to(torch.float64)
        best = kabsch(exact.source, exact.matches, exact.weights).rotation
        for angle in angles:
            turn = _turns(len(cases), angle)
            refined = refine(
                exact.source,
                exact.matches,
                matmul3(best, turn),
                weights=exact.weights,
                iterations=most,
                form=form,  # type: ignore[arg-type]
            ).rotation
            start = matmul3(best, turn).unsqueeze(1)
            path = torch.cat([start, refined], dim=1)
            gap = torch.linalg.matrix_norm(path - best.unsqueeze(1)) / 2**1.5
            curves[title, angle] = torch.rad2deg(2 * torch.asin(gap.clamp(max=1.0)))
    rows = [
        (title, angle, k, *torch.quantile(errors[:, k], _QUARTILES).tolist())
        for (title, angle), errors in curves.items()
        for k in range(most + 1)
    ]

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(1, 3, width=PAGE, height=2.7, sharey=True)
        for panel, (title, _, _) in zip(axes, panels, strict=True):
            for place, angle in enumerate(angles):
                chosen = [row for row in rows if row[:2] == (title, angle)]
                steps = [row[2] for row in chosen]
                middle = [max(row[4], 1e-14) for row in chosen]
                panel.plot(
                    steps, middle, color=theme.series[place], ls=DASHES[place], label=f"{angle:g}°"
                )
            panel.axvline(5, color=theme.faint, lw=0.7, ls=":")
            panel.set(yscale="log", xlabel="refinements", title=title, ylim=(1e-13, 300))
            panel.set_xticks(range(0, most + 1, 5))
        axes[0].set_ylabel("error of the rotation (degrees)")
        legend_below(figure, axes[0], 6)
        return figure

    left = {
        f"{title}, from {angle:g} degrees": float(errors[:, 5].median())
        for (title, angle), errors in curves.items()
    }
    return Drawing(
        "Convergence from a perturbed start",
        "The angle to Kabsch's rotation after k refinements (float64), from starts turned by 1 to "
        f"90 degrees about random axes: medians over {len(subject.cases)} cases. "
        "With isometric matches each refinement squares the error or better; with a network's, "
        "the error shrinks by rho each time, or grows. The dotted line is at the paper's five "
        "refinements: what is left there is what a loss on perturbed starts punishes.",
        Table(
            ("matches", "start_degrees", "refinements", "quartile1", "median", "quartile3"), rows
        ),
        draw,
        facts=left,
    )


_QUARTILES = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)


def _turned(source: Tensor) -> Tensor:
    """The source under a rotation of its own for each cloud."""
    generator = torch.Generator().manual_seed(1)
    return source @ random_rotation(len(source), generator=generator).mT


def _turns(count: int, degrees: float) -> Tensor:
    """Rotations by an angle about random axes, (count, 3, 3) float64."""
    generator = torch.Generator().manual_seed(2)
    axis = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    axis = axis / axis.norm(dim=-1, keepdim=True)
    return rotation_from_vector(axis * torch.deg2rad(torch.tensor(degrees, dtype=torch.float64)))
