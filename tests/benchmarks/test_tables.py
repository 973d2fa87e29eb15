from __future__ import annotations

import pytest

from scripts import load_benchmark
from spoonful.data import protocols
from spoonful.metrics import PoseErrors

tables = load_benchmark("reproduce").tables

NAMES = {
    *("dcp-noise", "dcp-unseen", "rpm-crop", "rpm-jitter", "dcp-clean", "3dmatch"),
    *("initialization", "ablation-dcp", "ablation-rpm", "correspondence"),
}
POSE_METRICS = {
    *("rotation_degrees", "rotation_dcp_degrees", "rotation_paper_degrees"),
    *("rotation_rpmnet_degrees", "relative_rotation", "translation", "translation_l1"),
    *("translation_axes", "relative_translation", "mean_point_distance", "chamfer"),
    *("modified_chamfer", "correspondence", "relative_correspondence"),
}


def test_every_table_of_the_paper_is_there():
    assert set(tables.names()) == NAMES
    assert sum(len(tables.get(name).rows) for name in NAMES) == 52


# One number of every row that is easy to get wrong: row, column, number, read from the paper again.
@pytest.mark.parametrize(
    ("table", "row", "column", "value"),
    [
        ("dcp-noise", "DCP-v2", "RMSE(R)", 12.974750),
        ("dcp-noise", "DCP-v2", "MAE(t)", 0.002502),
        ("dcp-noise", "DCP-v2 + ours", "MAE(R)", 4.373459),
        ("dcp-unseen", "ICP", "RMSE(t)", 0.293266),
        ("dcp-unseen", "Go-ICP", "RMSE(R)", 13.865736),
        ("dcp-unseen", "FGR", "MAE(R)", 1.445460),
        ("dcp-unseen", "PointNetLK", "MAE(t)", 0.007203),
        ("dcp-unseen", "DCP-v2", "RMSE(R)", 3.150191),
        ("dcp-unseen", "DCP-v2 + ours", "RMSE(R)", 2.051713),
        ("rpm-crop", "ICP", "iso. R", 27.250),
        ("rpm-crop", "RPM", "Chamfer", 0.0081),
        ("rpm-crop", "FGR", "aniso. R", 19.266),
        ("rpm-crop", "PointNetLK", "iso. t", 0.297),
        ("rpm-crop", "DCP-v2", "iso. R", 12.607),
        ("rpm-crop", "RPM-Net", "iso. R", 1.712),
        ("rpm-crop", "RPM-Net + ours", "aniso. R", 0.826),
        ("rpm-crop", "RPM-Net, no inlier loss", "Chamfer", 0.00099),
        ("rpm-crop", "RPM-Net + ours, no inlier loss", "iso. R", 1.554),
        ("rpm-jitter", "RPM", "iso. R", 2.994),
        ("rpm-jitter", "FGR", "aniso. t", 0.0120),
        ("rpm-jitter", "RPM-Net + ours", "aniso. R", 0.342),
        ("dcp-clean", "ICP", "MAE(R)", 23.544817),
        ("dcp-clean", "Go-ICP", "RMSE(t)", 0.025665),
        ("dcp-clean", "DCP-v2", "RMSE(R)", 1.093971),
        ("dcp-clean", "DCP-v2 + ours", "MAE(t)", 0.001865),
        ("3dmatch", "DCP-v2", "RMSE(R)", 11.211800),
        ("3dmatch", "DCP-v2 + ours", "MAE(t)", 0.099061),
        ("initialization", "DCP-v2", "MSE(R)", 20.969088),
        ("initialization", "DCP-v2 + ours", "RMSE(R)", 3.311812),
        ("initialization", "DCP-v2 + ours", "MSE(t)", 0.000052),
        ("ablation-dcp", "5 / all", "RMSE(R)", 2.051718),
        ("ablation-dcp", "10 / all", "RMSE(t)", 0.014462),
        ("ablation-dcp", "2 / last", "RMSE(R)", 2.485598),
        ("ablation-dcp", "10 / last", "point distance", 0.492326),
        ("ablation-rpm", "1 / all", "aniso. R", 0.8944),
        ("ablation-rpm", "2 / all", "Chamfer", 0.00091),
        ("ablation-rpm", "5 / last", "iso. t", 0.0177),
        ("ablation-rpm", "10 / last", "iso. R", 1.687),
        ("correspondence", "DCP-v2", "relative R", 27.130154),
        ("correspondence", "DCP-v2 + ours", "matches", 0.515820),
        ("correspondence", "DCP-v2 + ours", "t", 0.005533),
    ],
)
def test_numbers_are_as_printed(table, row, column, value):
    found = tables.get(table)
    labels = [each.label for each in found.columns]
    assert found.row(row).values[labels.index(column)] == value


def test_spreads_are_as_printed():
    table = tables.get("initialization")
    assert table.runs == 26
    assert table.row("DCP-v2").spreads == (14.39, 1.667, 0.9765, 5.962e-05, 2.9e-3, 2.153e-3)
    assert table.row("DCP-v2 + ours").spreads[1] == 1.296


@pytest.mark.parametrize("name", sorted(NAMES))
def test_tables_name_protocols_and_metrics_that_exist(name):
    table = tables.get(name)
    protocols.get(table.protocol)
    assert PoseErrors.__doc__ is not None
    for column in table.columns:
        assert column.metric in POSE_METRICS
        assert f"`{column.metric}`" in PoseErrors.__doc__
    for row in table.rows:
        assert (row.recipe is None) != (row.method is None), "each row is trained, or it is not"
    assert len({row.label for row in table.rows}) == len(table.rows)


def test_the_ablations_cover_the_grid():
    for name in ("ablation-dcp", "ablation-rpm"):
        grid = {(row.recipe.iterations, row.recipe.loss_on) for row in tables.get(name).rows}
        assert grid == {(i, on) for i in (1, 2, 5, 10) for on in ("all", "last")}


def test_presets_of_recipes_exist():
    from spoonful.training import presets

    wanted = {row.recipe.preset for name in NAMES for row in tables.get(name).rows if row.recipe}
    assert wanted <= set(presets.names())


def test_slugs_tell_recipes_apart():
    recipes = {row.recipe for name in NAMES for row in tables.get(name).rows if row.recipe}
    assert len({recipe.slug("source") for recipe in recipes}) == len(recipes)


def test_unknown_rows_are_named():
    with pytest.raises(ValueError, match="no row 'DCP-v3'; there are: 'DCP-v2'"):
        tables.get("dcp-noise").row("DCP-v3")
