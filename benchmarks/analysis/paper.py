"""The figures and the table of the paper's analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from analysis.cases import FORMS, Cases, measure, resized, scaled, spearman
from analysis.plots import (
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
from analysis.subject import Key, Subject
from spoonful.geometry import linearized_step
from spoonful.geometry.exact import matmul3
from spoonful.geometry.moments import moments
from spoonful.metrics import PoseErrors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Where "no change at all" is drawn on a logarithmic axis.
_NOTHING = 1e-9


def feasible_set(subject: Subject) -> Drawing:
    """The linearised constraints around a rotation, in the plane of its first two columns."""
    del subject  # depends on the constraints alone
    turn = 0.45
    rows = [
        ("r1 before", 1.0, 0.0),
        ("r2 before", 0.0, 1.0),
        ("r1 after", 1.0, turn),
        ("r2 after", -turn, 1.0),
    ]

    def draw(theme: Theme) -> Figure:
        figure, (axes,) = canvas(height=3.0)
        angle = torch.linspace(0, 2 * torch.pi, 181)
        axes.plot(angle.cos(), angle.sin(), color=theme.faint, lw=0.8)
        axes.axvline(1, color=theme.blue, lw=1.2)
        axes.axhline(1, color=theme.orange, lw=1.2, ls="--")
        for (_, x, y), color in zip(
            rows, (theme.faint, theme.faint, theme.blue, theme.orange), strict=True
        ):
            style = {"arrowstyle": "-|>", "color": color, "lw": 1.2, "shrinkB": 0}
            axes.annotate("", (x, y), (0, 0), arrowprops=style)
        axes.plot([1, 1], [0, turn], color=theme.blue, lw=3, alpha=0.35, solid_capstyle="butt")
        axes.plot([0, -turn], [1, 1], color=theme.orange, lw=3, alpha=0.35, solid_capstyle="butt")
        for text, x, y, color in (
            ("$r_1$", 0.72, -0.17, theme.ink),
            ("$r_2$", 0.06, 0.7, theme.ink),
            ("$r_1'$", 0.6, 0.4, theme.blue),
            ("$r_2'$", -0.52, 0.7, theme.orange),
            ("$r_1^\\top r_1' = 1$", 1.04, -1.15, theme.blue),
            ("$r_2^\\top r_2' = 1$", -1.32, 1.08, theme.orange),
            ("$+a$", 1.06, turn / 2 - 0.03, theme.blue),
            ("$-a$", -turn / 2 - 0.1, 1.08, theme.orange),
            ("unit circle", -0.3, -0.9, theme.faint),
        ):
            axes.annotate(text, (x, y), color=color)
        axes.set(aspect="equal", xlim=(-1.35, 1.75), ylim=(-1.25, 1.35))
        axes.set(xlabel="along $r_1$", ylabel="along $r_2$")
        return figure

    return Drawing(
        "The linearised constraints around a rotation",
        "Each column of the new matrix lies on the plane that touches the unit sphere at the old "
        "column, so no column is shorter than 1. What the first column gains along the second, the "
        "second loses along the first, so the two are never parallel. The three numbers that stay "
        "free are a rotation vector.",
        Table(("vector", "x", "y"), rows),
        draw,
    )


def loss_landscape(subject: Subject) -> Drawing:
    """The loss of each column on its own, for a benign and a divergent case, in target form."""
    calm, wild = _calm_and_wild(subject)
    panels = {
        "benign": _Landscape(calm.case, moved=0.0),
        "divergent": _Landscape(wild.case, moved=0.03),
    }
    rows = [
        (name, what, column + 1, *point.tolist())
        for name, panel in panels.items()
        for what, matrix in panel.solutions.items()
        for column, point in enumerate(matrix.mT)
    ]

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(3, 2, width=PAGE, height=8.6)
        benign, divergent = panels.values()
        benign.draw(axes[0:2], theme, "benign")
        divergent.draw(axes[2:4], theme, "divergent")
        divergent.draw(axes[4:6], theme, "divergent, near the unit circle", divergent.near)
        legend_below(figure, axes[0], 5)
        return figure

    return Drawing(
        "The loss of each column of the rotation",
        "Contours of the loss of one column, in the plane of the two columns that differ most, in "
        f"the frame of the start. Top: a benign case ({calm.what}; D = {number(calm.divergence)}). "
        f"Below: a divergent case ({wild.what}; D = {number(wild.divergence)}), whole and near the "
        "unit circle, after rounding has moved the start away from the Kabsch solution. The "
        "unconstrained minimum is far away and the valley is long and flat. The next step (before "
        "the assembler) follows the constraints to its floor, away from Kabsch. Full marks: the "
        "column whose loss is drawn; hollow: the other.",
        Table(("case", "solution", "column", "x", "y", "z"), rows),
        draw,
        facts={"benign_divergence": calm.divergence, "divergent_divergence": wild.divergence},
    )


class _Found(NamedTuple):
    """A case, its origin, and its divergence."""

    what: str
    case: Cases
    divergence: float


def _calm_and_wild(subject: Subject) -> tuple[_Found, _Found]:
    """The case with the smallest rho, and the divergent one with the nearest free solution."""
    pool = [
        ("a case of this model", subject.cases),
        ("a case of training", subject.epoch.cases),
        ("a case of training, resized", resized(subject.epoch.cases)),
        ("made of noise", scaled([0.04])),
    ]
    measured = [(what, cases, measure(cases, "target")) for what, cases in pool]

    def least(name: str, above: float, count: int) -> tuple[float, _Found]:
        """The case with the smallest value of those with D > `above`, in the first collections."""
        found = []
        for what, cases, values in measured[:count]:
            chosen = values[name].masked_fill(values["divergence"] <= above, torch.inf)
            i = int(chosen.argmin())
            found.append((float(chosen[i]), what, i, cases, float(values["divergence"][i])))
        value, what, i, cases, divergence = min(found, key=lambda one: one[0])
        return value, _Found(what, cases[i], divergence)

    value, wild = least("distance", 0.1, 3)
    if value == torch.inf:
        _, wild = least("distance", 0.1, 4)
    return least("rho", -1.0, 3)[1], wild


class _Landscape:
    """A case, its solutions in the frame of a start, and its losses by column.

    The start is the first refined rotation that is farther than `moved` from the Kabsch rotation,
    in the Frobenius norm; the Kabsch rotation itself for 0. In its own frame it is the identity.
    """

    def __init__(self, case: Cases, *, moved: float) -> None:
        exact = case.to(torch.float64)
        best = before = exact.kabsch()
        if moved:
            path = case.refined(case.kabsch(), 40, "target")[0].double()
            gaps = torch.linalg.matrix_norm(path - best)
            before = path[int((gaps > moved).double().argmax())].unsqueeze(0)
        m = moments(exact.source, exact.matches, exact.weights)
        assert m.target is not None
        assert m.source is not None
        after = linearized_step(
            exact.source, exact.matches, before, weights=exact.weights, form="target", check=False
        )
        free = matmul3(torch.linalg.pinv(m.target, hermitian=True), m.cross)
        R = before[0]
        self.solutions = {
            "Kabsch": R.mT @ best[0],
            "refined": R.mT @ after[0],
            "unconstrained": R.mT @ free[0],
        }
        self._target = R.mT @ m.target[0] @ R
        self._cross = R.mT @ m.cross[0]
        self._source = m.source[0]
        steps = torch.cat([self.solutions["Kabsch"], self.solutions["refined"]], dim=1)
        self.near = min(max(1.2 * float(steps.abs().max()), 1.6), 3.0)
        # The two columns whose unconstrained solutions are farthest from those of Kabsch.
        away = (self.solutions["unconstrained"] - self.solutions["Kabsch"]).norm(dim=0)
        self._columns = sorted(away.argsort(descending=True)[:2].tolist())

    def _loss(self, x: Tensor, y: Tensor, column: int) -> Tensor:
        """The logarithm of the loss of a column, over the plane of the two columns."""
        r = torch.zeros(*x.shape, 3, dtype=x.dtype)
        r[..., self._columns[0]], r[..., self._columns[1]] = x, y
        quadric = ((r @ self._target) * r).sum(-1) - 2 * r @ self._cross[:, column]
        return (quadric + self._source[column, column]).clamp_min(1e-9).log10()

    def draw(self, axes: list[Axes], theme: Theme, title: str, reach: float | None = None) -> None:
        """Draw the loss of each of the two columns, as far out as `reach`; None for all of it."""
        i, j = self._columns
        shown = {name: matrix[[i, j]] for name, matrix in self.solutions.items()}
        far = max(float(points[:, [i, j]].abs().max()) for points in shown.values())
        size = reach or 1.15 * max(1.3, far)
        grid = torch.linspace(-size, size, 160, dtype=torch.float64)
        y, x = torch.meshgrid(grid, grid, indexing="ij")
        angle = torch.linspace(0, 2 * torch.pi, 181)
        looks = {
            "unconstrained": (theme.vermilion, "s"),
            "Kabsch": (theme.green, "o"),
            "refined": (theme.blue, "^"),
        }
        for panel, column in zip(axes, self._columns, strict=True):
            loss = self._loss(x, y, column)
            levels = torch.linspace(float(loss.quantile(0.01)), float(loss.max()), 12).tolist()
            style: dict[str, Any] = {"colors": theme.faint, "linewidths": 0.6, "linestyles": "-"}
            panel.contour(x, y, loss, levels=levels, **style)
            panel.plot(angle.cos(), angle.sin(), color=theme.ink, lw=0.7, label="unit circle")
            panel.axvline(1, color=theme.ink, lw=0.4, ls=":")
            panel.axhline(1, color=theme.ink, lw=0.4, ls=":", label="constraints")
            for name, (color, marker) in looks.items():
                for k in self._columns:
                    u, v = shown[name][:, k].tolist()
                    if max(abs(u), abs(v)) > size:
                        continue
                    own = k == column
                    label = name if own else None
                    fill = color if own else theme.paper
                    mark: dict[str, Any] = {
                        "marker": marker,
                        "ms": 6 if own else 4,
                        "mfc": fill,
                        "mew": 1.0,
                    }
                    panel.plot([u], [v], color=color, ls="", label=label, zorder=3, **mark)
                    mark = {"xytext": (4, 4), "textcoords": "offset points", "color": color}
                    panel.annotate(str(k + 1), (u, v), fontsize=7, **mark)
            panel.set(aspect="equal", xlim=(-size, size), ylim=(-size, size))
            panel.set(
                title=f"{title}: loss of column {column + 1}",
                xlabel=f"along column {i + 1} of the start",
                ylabel=f"along column {j + 1} of the start",
            )


def divergence_vs_gradient(subject: Subject) -> Drawing:
    """The change that the layer makes in the last layer's gradient, against the divergence."""
    epoch = subject.epoch
    keys: list[Key] = [(form, geometry) for form in FORMS for geometry in ("float32", "float64")]
    everything = [*(("own", changes) for changes in epoch.steps), *epoch.shrunk]
    rows = [
        (number, extent, form, geometry, *changes[form, geometry])
        for number, (extent, changes) in enumerate(everything)
        for form, geometry in keys
    ]
    chosen = [row for row in rows if row[2:4] == ("target", "float32")]
    correlation = spearman(*(torch.tensor([row[k] for row in chosen]) for k in (4, 5)))

    def draw(theme: Theme) -> Figure:
        figure, (axes,) = canvas(width=4.4, height=3.2)
        for place, (form, geometry) in enumerate(keys):
            points = [row for row in rows if row[2:4] == (form, geometry)]
            scatter(
                axes,
                [row[4] for row in points],
                [max(row[5], _NOTHING) for row in points],
                theme.series[FORMS.index(form)],
                marker=MARKERS[place],
                hollow=geometry == "float64",
                label=f"{form} form, {geometry} geometry",
                size=9,
            )
        axes.set(xscale="log", yscale="log", ylabel="relative change of the gradient")
        axes.set_xlabel("divergence D from Kabsch (sum of 5 Frobenius distances)")
        legend_below(figure, axes, 2)
        return figure

    columns = ("step", "extent_of_matches", "form", "geometry", "divergence")
    return Drawing(
        "Divergence and the gradient",
        f"Each mark is a training step from fresh weights ({len(epoch.steps)} steps of "
        f"{subject.batch_size} pairs), once as it was and once with matches of 1 to 1/50 of the "
        "source's extent. Up: the mean relative change, element by element, that the layer makes "
        "in the gradient of the last layer before matching. Right: the divergence of the "
        f"rotations. In target form and float32 they go together (rank correlation "
        f"{correlation:.2f}), as the paper found. In float64 geometry the same steps have the "
        f"gradient of Kabsch; no change at all is drawn at {_NOTHING:g}.",
        Table((*columns, "gradient_elementwise", "gradient_relative"), rows),
        draw,
        facts={"rank_correlation_target_float32": correlation},
    )


def divergence_vs_distance(subject: Subject) -> Drawing:
    """Divergence against the distance of the unconstrained solution to the Kabsch rotation."""
    title = "Divergence and the distance to the unconstrained solution"
    return _against(subject, "distance", "divergence", title, "The paper's first indicator.")


def distance_vs_det(subject: Subject) -> Drawing:
    """Det G against the distance of the unconstrained solution to the Kabsch rotation."""
    title = "The distance to the unconstrained solution and det G"
    comment = (
        "The paper's second indicator: flat or shrunken matches have a small determinant, and a "
        "distant unconstrained solution."
    )
    return _against(subject, "distance", "target_det", title, comment)


def divergence_vs_angle(subject: Subject) -> Drawing:
    """Divergence against the angle between the unconstrained solution and the Kabsch rotation."""
    title = "Divergence and the angle to the unconstrained solution"
    return _against(subject, "angle_degrees", "divergence", title, "The paper's third indicator.")


_AXES = {
    "distance": "largest distance of a column to the unconstrained one",
    "angle_degrees": "largest angle to an unconstrained column (degrees)",
    "divergence": "divergence D from Kabsch",
    "target_det": "det G of the matches",
}


def _against(subject: Subject, x: str, y: str, title: str, comment: str) -> Drawing:
    """A scatter of two quantities over all cases of training, with rho in colour and marker."""
    values = subject.measured
    correlation = spearman(values[x], values[y])
    unstable = values["rho"] > 1
    own = torch.arange(len(unstable)) < len(unstable) // 2

    def draw(theme: Theme) -> Figure:
        figure, (axes,) = canvas(width=4.0, height=2.8)
        for chosen, color, marker, label in (
            (~unstable, theme.blue, "o", "rho < 1: contracts"),
            (unstable, theme.orange, "^", "rho > 1: grows"),
        ):
            for some, hollow in ((chosen & ~own, True), (chosen & own, False)):
                scatter(
                    axes,
                    values[x][some].tolist(),
                    values[y][some].tolist(),
                    color,
                    marker=marker,
                    hollow=hollow,
                    label=f"{label}{', resized' if hollow else ''} ({int(some.sum())})",
                )
        axes.set(xscale="linear" if x == "angle_degrees" else "log", yscale="log")
        axes.set(xlabel=_AXES[x], ylabel=_AXES[y])
        legend_below(figure, axes, 2)
        return figure

    columns = {name: values[name].tolist() for name in (x, y, "rho")}
    return Drawing(
        title,
        f"{comment} {len(own) // 2} cases of training from fresh weights, and the same with "
        "matches 0.02 to 20 times as large as their sources; target form, float32; rank "
        f"correlation {correlation:.2f}. Colours and markers show rho.",
        Table.of({**columns, "resized": (~own).int().tolist()}),
        draw,
        facts={"rank_correlation": correlation, "cases": len(unstable)},
    )


def correspondences(subject: Subject) -> Drawing:
    """The matches of the pair with the best pose, and the true places of its points."""
    errors = PoseErrors(chamfer=False)
    for batch, found in zip(subject.batches, subject.found, strict=True):
        assert batch.pose is not None
        errors.update(found.pose, batch.pose)
    degrees = errors.values("rotation_degrees")
    error = float(degrees.min())
    place, item = divmod(int(degrees.argmin()), subject.batch_size)
    batch, matched = subject.batches[place], subject.found[place].matches
    assert batch.pose is not None
    assert matched is not None
    true = batch.pose.apply(batch.source)[item].double().cpu()
    matches = matched[item].double().cpu()
    centre = true.mean(0)
    _, _, turn = torch.linalg.svd(true - centre, full_matrices=False)
    places = {"true": (true - centre) @ turn.mT, "matched": (matches - centre) @ turn.mT}
    ratio = float((true - centre).norm() / (matches - matches.mean(0)).norm())
    far = float((true - matches).norm(dim=-1).mean())

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(1, 2, width=PAGE, height=3.2)
        looks = (
            ("true", theme.ink, "o", "true places"),
            ("matched", theme.vermilion, "^", "matches"),
        )
        for panel, (i, j) in zip(axes, ((0, 1), (0, 2)), strict=True):
            for name, color, marker, label in looks:
                x, y = places[name][:, i].tolist(), places[name][:, j].tolist()
                scatter(panel, x, y, color, marker=marker, label=label, size=5)
            panel.set(xlabel=f"principal axis {i + 1}", ylabel=f"principal axis {j + 1}")
            panel.set(aspect="equal", adjustable="datalim")
        legend_below(figure, axes[0], 2)
        return figure

    return Drawing(
        "Matches at the best pose",
        f"The test pair with the smallest rotation error, {error:.3g} degrees: its source points "
        "moved by the true pose, and their matches, from two sides. The mean distance between "
        f"them is {far:.3g}; the true points extend {ratio:.3g} times as far. A pose needs matches "
        "with the right orientation and centroid, nothing more.",
        Table(
            ("which", "x", "y", "z"),
            [(name, *row) for name, points in places.items() for row in points.tolist()],
        ),
        draw,
        facts={"rotation_degrees": error, "match_error": far, "extent_ratio": ratio},
    )


def errors_table(subject: Subject) -> Drawing:
    """Absolute and relative errors of rotation, translation and matches."""
    columns: dict[str, PoseErrors] = {}
    with torch.no_grad():
        for label, batches in (("clean", subject.batches), ("noise on source", subject.noisy)):
            errors = columns[label] = PoseErrors(chamfer=False)
            for batch in batches:
                errors.update(subject.model(batch), batch)
    names = (
        ("Abs. rotation (degrees)", "rotation_degrees", 1.0),
        ("Rel. rotation (%)", "relative_rotation", 100.0),
        ("Abs. translation", "translation", 1.0),
        ("Rel. translation (%)", "relative_translation", 100.0),
        ("Abs. correspondence", "correspondence", 1.0),
        ("Rel. correspondence (%)", "relative_correspondence", 100.0),
    )
    rows: list[tuple[Any, ...]] = [
        (label, *(factor * float(errors.values(name).mean()) for errors in columns.values()))
        for label, name, factor in names
    ]
    titles = ("mean error", *columns)
    shown = [(label, *(number(value, 4) for value in values)) for label, *values in rows]
    return Drawing(
        "Errors of poses and of matches",
        f"Means over {len(errors)} test pairs, made as in {subject.protocol.name}. Relative errors "
        "are relative to the true rotation's angle, the true translation's length, and the points' "
        "mean distance to their centroid.",
        Table(titles, rows),
        shown=Table(titles, shown),
        facts={
            f"{row[0]}, {label}": value
            for row in rows
            for label, value in zip(columns, row[1:], strict=True)
        },
    )
