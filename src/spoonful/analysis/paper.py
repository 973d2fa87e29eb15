"""The figures and the table of the paper's analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from spoonful.analysis.cases import FORMS, Cases, measure, resized, scaled, spearman
from spoonful.analysis.drawing import Drawing, Table, number
from spoonful.analysis.plots import MARKERS, PAGE, Theme, canvas, legend_below, scatter
from spoonful.analysis.subject import Key, Subject
from spoonful.geometry import kabsch, linearized_step, refine
from spoonful.geometry.exact import matmul3
from spoonful.geometry.moments import moments
from spoonful.metrics import PoseErrors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Where "no change at all" goes on a logarithmic axis.
_NOTHING = 1e-9


def feasible_set(subject: Subject) -> Drawing:
    """The linearised constraints around a rotation, in the plane of its first two columns."""
    del subject  # a matter of the constraints alone
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
        for (_, x, y), color, label, place in zip(
            rows,
            (theme.faint, theme.faint, theme.blue, theme.orange),
            ("$r_1$", "$r_2$", "$r_1'$", "$r_2'$"),
            ((0.72, -0.17), (0.06, 0.7), (0.6, 0.4), (-0.52, 0.7)),
            strict=True,
        ):
            axes.annotate(
                "",
                (x, y),
                (0, 0),
                arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.2, "shrinkB": 0},
            )
            axes.annotate(label, place, color=color if color != theme.faint else theme.ink)
        axes.plot([1, 1], [0, turn], color=theme.blue, lw=3, alpha=0.35, solid_capstyle="butt")
        axes.plot([0, -turn], [1, 1], color=theme.orange, lw=3, alpha=0.35, solid_capstyle="butt")
        axes.annotate("$r_1^\\top r_1' = 1$", (1.04, -1.15), color=theme.blue)
        axes.annotate("$r_2^\\top r_2' = 1$", (-1.32, 1.08), color=theme.orange)
        axes.annotate("$+a$", (1.06, turn / 2 - 0.03), color=theme.blue)
        axes.annotate("$-a$", (-turn / 2 - 0.1, 1.08), color=theme.orange)
        axes.annotate("unit circle", (-0.3, -0.9), color=theme.faint, fontsize=7)
        axes.set(
            aspect="equal",
            xlim=(-1.35, 1.75),
            ylim=(-1.25, 1.35),
            xlabel="along $r_1$",
            ylabel="along $r_2$",
        )
        return figure

    return Drawing(
        "The linearised constraints around a rotation",
        "Each column of the new matrix lies on the plane that touches the unit sphere at the old "
        "column, so none is shorter than 1; and what the first gains along the second, the second "
        "loses along the first, so their projections stay perpendicular and they are never "
        "parallel. The three numbers that are left free are a rotation vector.",
        Table(("vector", "x", "y"), rows),
        draw,
    )


def loss_landscape(subject: Subject) -> Drawing:
    """The loss of each column on its own, for a benign and a divergent case, in target form."""
    pool = [
        ("a case of this model", subject.cases),
        ("a case of training", subject.epoch.cases),
        ("a case of training, resized", resized(subject.epoch.cases)),
    ]
    calm, wild = _calm_and_wild(pool)
    panels = [_Landscape(calm, moved=0.0), _Landscape(wild, moved=0.03)]
    rows = [
        (name, what, column + 1, *point.tolist())
        for name, panel in zip(("benign", "divergent"), panels, strict=True)
        for what, matrix in panel.solutions.items()
        for column, point in enumerate(matrix.mT)
    ]

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(3, 2, width=PAGE, height=8.6)
        panels[0].draw(axes[0:2], theme, "benign", reach=None)
        panels[1].draw(axes[2:4], theme, "divergent", reach=None)
        panels[1].draw(axes[4:6], theme, "divergent, near the unit circle", reach=panels[1].near)
        legend_below(figure, axes[0], 5)
        return figure

    return Drawing(
        "The loss of each column of the rotation",
        f"Contours of the loss of one column, in the plane of the columns that differ most, in the "
        f"frame of the rotation it starts from. "
        f"Top: a benign case ({calm.what}; D = "
        f"{number(calm.divergence)}). Below: a divergent one ({wild.what}; D = "
        f"{number(wild.divergence)}), seen whole and near the unit circle, once rounding has "
        "carried the start away from Kabsch's solution: the unconstrained minimum is far off, the "
        "valley is long and flat, and the next step (before the assembler) follows the constraints "
        "to its floor, away from Kabsch. Full marks: the column whose loss is drawn; hollow: the "
        "other.",
        Table(("case", "solution", "column", "x", "y", "z"), rows),
        draw,
        facts={"benign_divergence": calm.divergence, "divergent_divergence": wild.divergence},
    )


class _Found(NamedTuple):
    """A case, what it is, and how far it diverges."""

    what: str
    case: Cases
    divergence: float


def _calm_and_wild(pool: list[tuple[str, Cases]]) -> tuple[_Found, _Found]:
    """The case with the smallest rho, and of those that diverge the one that is easiest to see."""
    calm, wild = [], []
    for what, cases in pool:
        values = measure(cases, "target")
        least = int(values["rho"].argmin())
        calm.append((float(values["rho"][least]), what, cases[least], values["divergence"][least]))
        diverged = values["divergence"] > 0.1
        if diverged.any():
            distance = values["distance"].masked_fill(~diverged, torch.inf)
            near = int(distance.argmin())
            wild.append((float(distance[near]), what, cases[near], values["divergence"][near]))
    if not wild:
        made = scaled([0.04])
        wild.append((0.0, "made of noise", made, measure(made, "target")["divergence"][0]))
    calmest, wildest = (
        _Found(what, case, float(size))
        for _, what, case, size in (min(some, key=lambda one: one[0]) for some in (calm, wild))
    )
    return calmest, wildest


class _Landscape:
    """One case, its solutions in the frame of a start, and its losses by column.

    The start is the first refined rotation that is farther than `moved` from Kabsch's, in the
    Frobenius norm; Kabsch's itself for 0. In its own frame it is the identity.
    """

    def __init__(self, found: _Found, *, moved: float) -> None:
        case = found.case
        exact = case.to(torch.float64)
        best = kabsch(exact.source, exact.matches, exact.weights).rotation
        before = best
        if moved:
            here = kabsch(case.source, case.matches, case.weights).rotation
            path = refine(
                case.source,
                case.matches,
                here,
                weights=case.weights,
                iterations=40,
                form="target",
            ).rotation[0]
            gaps = torch.linalg.matrix_norm(path.double() - best)
            before = path[int((gaps > moved).double().argmax())].double().unsqueeze(0)
        m = moments(exact.source, exact.matches, exact.weights)
        assert m.target is not None
        after = linearized_step(
            exact.source, exact.matches, before, weights=exact.weights, form="target", check=False
        )
        free = matmul3(torch.linalg.pinv(m.target, hermitian=True), m.cross)
        R = before[0]
        self.solutions = {
            "Kabsch": (R.mT @ best[0]),
            "refined": (R.mT @ after[0]),
            "unconstrained": (R.mT @ free[0]),
        }
        self.G = R.mT @ m.target[0] @ R
        self.F = R.mT @ m.cross[0]
        assert m.source is not None
        self.S = m.source[0]
        # The two columns whose unconstrained solutions are farthest from Kabsch's.
        steps = torch.cat([self.solutions["Kabsch"], self.solutions["refined"]], dim=1)
        self.near = min(max(1.2 * float(steps.abs().max()), 1.6), 3.0)
        away = (self.solutions["unconstrained"] - self.solutions["Kabsch"]).norm(dim=0)
        first, second = sorted(away.argsort(descending=True)[:2].tolist())
        self.columns = (first, second)

    def draw(self, axes: list[Axes], theme: Theme, title: str, reach: float | None) -> None:
        i, j = self.columns
        for panel, column in zip(axes, self.columns, strict=True):
            points = torch.cat([m[[i, j]][:, [i, j]] for m in self.solutions.values()], dim=1)
            size = reach or 1.15 * max(1.3, float(points.abs().max()))
            grid = torch.linspace(-size, size, 160, dtype=torch.float64)
            y, x = torch.meshgrid(grid, grid, indexing="ij")
            r = torch.zeros(160, 160, 3, dtype=torch.float64)
            r[..., i], r[..., j] = x, y
            quadric = ((r @ self.G) * r).sum(-1) - 2 * r @ self.F[:, column]
            loss = (quadric + self.S[column, column]).clamp_min(1e-9)
            log = loss.log10()
            levels = torch.linspace(float(log.quantile(0.01)), float(log.max()), 12).tolist()
            panel.contour(
                x, y, log, levels=levels, colors=theme.faint, linewidths=0.6, linestyles="-"
            )
            angle = torch.linspace(0, 2 * torch.pi, 181)
            panel.plot(angle.cos(), angle.sin(), color=theme.ink, lw=0.7, label="unit circle")
            panel.axvline(1, color=theme.ink, lw=0.4, ls=":")
            panel.axhline(1, color=theme.ink, lw=0.4, ls=":", label="constraints")
            looks = (("unconstrained", theme.vermilion, "s"), ("Kabsch", theme.green, "o"),
                     ("refined", theme.blue, "^"))  # fmt: skip
            for name, color, marker in looks:
                for k in self.columns:
                    point = self.solutions[name][[i, j], k]
                    inside = bool((point.abs() <= size).all())
                    if not inside:
                        continue
                    own = k == column
                    panel.plot(
                        [point[0]], [point[1]], marker=marker, ms=6 if own else 4, color=color,
                        ls="", mfc=color if own else theme.paper, mew=1.0,
                        label=name if own else None, zorder=3,
                    )  # fmt: skip
                    panel.annotate(
                        str(k + 1),
                        (float(point[0]), float(point[1])),
                        xytext=(4, 4),
                        textcoords="offset points",
                        color=color,
                        fontsize=7,
                    )
            panel.set(
                aspect="equal",
                xlim=(-size, size),
                ylim=(-size, size),
                title=f"{title}: loss of column {column + 1}",
                xlabel=f"along column {i + 1} of the start",
                ylabel=f"along column {j + 1} of the start",
            )


def divergence_vs_gradient(subject: Subject) -> Drawing:
    """What the layer changes in the last layer's gradient, against the divergence."""
    epoch = subject.epoch
    keys: list[Key] = [(form, geometry) for form in FORMS for geometry in ("float32", "float64")]
    everything = [*(("own", changes) for changes in epoch.steps), *epoch.shrunk]
    rows = [
        (number, extent, form, geometry, *changes[form, geometry])
        for number, (extent, changes) in enumerate(everything)
        for form, geometry in keys
    ]
    chosen = [row for row in rows if row[2:4] == ("target", "float32")]
    correlation = spearman(
        torch.tensor([row[4] for row in chosen]), torch.tensor([row[5] for row in chosen])
    )

    def draw(theme: Theme) -> Figure:
        figure, (axes,) = canvas(width=4.4, height=3.2)
        for place, (form, geometry) in enumerate(keys):
            points = [row for row in rows if row[2:4] == (form, geometry)]
            scatter(
                axes,
                [row[4] for row in points],
                [max(row[5], _NOTHING) for row in points],
                theme.series[0 if form == "source" else 1],
                marker=MARKERS[place],
                hollow=geometry == "float64",
                label=f"{form} form, {geometry} geometry",
                size=9,
            )
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="divergence D from Kabsch (sum of 5 Frobenius distances)",
            ylabel="relative change of the gradient",
        )
        legend_below(figure, axes, 2)
        return figure

    return Drawing(
        "Divergence and the gradient",
        f"Each mark is a training step from fresh weights ({len(epoch.steps)} steps of "
        f"{subject.batch_size} pairs), once as it was and once with the matches brought to "
        "1 to 1/50 of the source's extent: the mean relative change that the layer makes, element "
        "by element, to the gradient of the last layer before matching, against the divergence of "
        "the rotations. In target form "
        f"and float32 they go together (rank correlation {correlation:.2f}), as the paper found. "
        "In float64 geometry the same steps have the gradient of Kabsch; no change at all is "
        f"drawn at {_NOTHING:g}.",
        Table(
            (
                "step",
                "extent_of_matches",
                "form",
                "geometry",
                "divergence",
                "gradient_elementwise",
                "gradient_relative",
            ),
            rows,
        ),
        draw,
        facts={"rank_correlation_target_float32": correlation},
    )


def divergence_vs_distance(subject: Subject) -> Drawing:
    """Divergence against the distance of the unconstrained solution to Kabsch's."""
    return _against(
        subject,
        ("distance", "largest distance of a column to the unconstrained one", "log"),
        ("divergence", "divergence D from Kabsch", "log"),
        "Divergence and the distance to the unconstrained solution",
        "The paper's first indicator.",
    )


def distance_vs_det(subject: Subject) -> Drawing:
    """Det G against the distance of the unconstrained solution to Kabsch's."""
    return _against(
        subject,
        ("distance", "largest distance of a column to the unconstrained one", "log"),
        ("target_det", "det G of the matches", "log"),
        "The distance to the unconstrained solution and det G",
        "The paper's second indicator: flat or shrunken matches have a small determinant, and the "
        "unconstrained solution goes far.",
    )


def divergence_vs_angle(subject: Subject) -> Drawing:
    """Divergence against the angle between the unconstrained solution and Kabsch's."""
    return _against(
        subject,
        ("angle_degrees", "largest angle to an unconstrained column (degrees)", "linear"),
        ("divergence", "divergence D from Kabsch", "log"),
        "Divergence and the angle to the unconstrained solution",
        "The paper's third indicator.",
    )


def _against(
    subject: Subject,
    x: tuple[str, str, str],
    y: tuple[str, str, str],
    title: str,
    comment: str,
) -> Drawing:
    """A scatter of two quantities over all cases of training, told apart by rho."""
    values = subject.measured
    correlation = spearman(values[x[0]], values[y[0]])
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
                    values[x[0]][some].tolist(),
                    values[y[0]][some].tolist(),
                    color,
                    marker=marker,
                    hollow=hollow,
                    label=f"{label}{', resized' if hollow else ''} ({int(some.sum())})",
                )
        axes.set(xscale=x[2], yscale=y[2], xlabel=x[1], ylabel=y[1])
        legend_below(figure, axes, 2)
        return figure

    return Drawing(
        title,
        f"{comment} {len(own) // 2} cases of a stretch of training from fresh weights, and the "
        "same with matches 0.02 to 20 times as large as their sources; target form, float32; rank "
        "correlation "
        f"{correlation:.2f}. Colours and markers tell rho, which the paper did not know of.",
        Table.of(
            {name: values[name].tolist() for name in (x[0], y[0], "rho")}
            | {"resized": (~own).int().tolist()}
        ),
        draw,
        facts={"rank_correlation": correlation, "cases": len(unstable)},
    )


def correspondences(subject: Subject) -> Drawing:
    """The matches of the pair with the best pose, beside where its points truly belong."""
    best: tuple[float, int, int] | None = None
    for number_, (batch, found) in enumerate(zip(subject.batches, subject.found, strict=True)):
        assert batch.pose is not None
        errors = PoseErrors(chamfer=False)
        errors.update(found.pose, batch.pose)
        values = errors.values("rotation_degrees")
        item = int(values.argmin())
        if best is None or float(values[item]) < best[0]:
            best = (float(values[item]), number_, item)
    assert best is not None
    error, number_, item = best
    batch, found = subject.batches[number_], subject.found[number_]
    assert batch.pose is not None
    assert found.matches is not None
    true = batch.pose.apply(batch.source)[item].double().cpu()
    matches = found.matches[item].double().cpu()
    centre = true.mean(0)
    _, _, axes_ = torch.linalg.svd(true - centre, full_matrices=False)
    places = {"true": (true - centre) @ axes_.mT, "matched": (matches - centre) @ axes_.mT}
    ratio = float((true - centre).norm() / (matches - matches.mean(0)).norm())
    far = float((true - matches).norm(dim=-1).mean())

    def draw(theme: Theme) -> Figure:
        figure, axes = canvas(1, 2, width=PAGE, height=3.2)
        for panel, (i, j) in zip(axes, ((0, 1), (0, 2)), strict=True):
            for name, color, marker, label in (
                ("true", theme.ink, "o", "where the points belong"),
                ("matched", theme.vermilion, "^", "what they are matched to"),
            ):
                points = places[name]
                scatter(
                    panel, points[:, i].tolist(), points[:, j].tolist(), color,
                    marker=marker, label=label, size=5,
                )  # fmt: skip
            panel.set(aspect="equal", xlabel=f"principal axis {i + 1}",
                      ylabel=f"principal axis {j + 1}")  # fmt: skip
            panel.set_adjustable("datalim")
        legend_below(figure, axes[0], 2)
        return figure

    return Drawing(
        "Matches at the best pose",
        f"The test pair with the smallest rotation error, {error:.3g} degrees: its source points "
        "moved by the true pose, and the places they were matched to, from two sides. The mean "
        f"distance between them is {far:.3g}; the true points extend {ratio:.3g} times as far. "
        "A pose needs matches with the right orientation and centroid, nothing more.",
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
    means = {
        label: [factor * float(errors.values(name).mean()) for errors in columns.values()]
        for label, name, factor in names
    }
    table = Table(("mean error", *columns), [(label, *row) for label, row in means.items()])
    shown = Table(
        table.columns, [(label, *(number(v, 4) for v in row)) for label, row in means.items()]
    )
    count = len(next(iter(columns.values())))
    return Drawing(
        "Errors of poses and of matches",
        f"Means over {count} test pairs, made as in {subject.protocol.name}. Relative errors are "
        "to the true rotation's angle, the true translation's length, and the points' mean "
        "distance to their centroid.",
        table,
        shown=shown,
        facts={
            f"{what}, {label}": value
            for what, row in means.items()
            for label, value in zip(columns, row, strict=True)
        },
    )
