"""Configurations: a default for everything, errors that help, schedules as published."""

from dataclasses import replace

import pytest

from spoonful.training import Config, build, config, from_dict, override, presets
from spoonful.training.__main__ import main as command
from spoonful.training.command import check_used, configure
from spoonful.training.config import Optimizer
from spoonful.training.schedule import rate


def test_every_setting_has_a_default_and_survives_a_round_trip():
    changed = override(Config(), ["optimizer.milestones=0.5", "rpmnet.features=xyz,dxyz"])
    assert from_dict(changed.as_dict()) == changed
    assert changed.rpmnet.features == ("xyz", "dxyz")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("optimizer.rl=1", "did you mean 'optimizer.lr'"),
        ("lr=1", "did you mean 'optimizer.lr'"),
        ("foo=1", "they are named as 'optimizer.lr', in the sections data, dcp, "),
        ("optimiser.lr=1", "did you mean 'optimizer.lr'"),
        ("optimizer.lr=-1", "optimizer.lr must be at least 0 and at most 10, got -1"),
        ("optimizer.lr=fast", "optimizer.lr must be a number, got 'fast'"),
        ("data.batch_size=1.5", "data.batch_size must be a whole number"),
        ("refine=perturb", "did you mean 'perturbed'"),
        ("refine.max_degrees=200", "at most 180, got 200"),
        ("data.protocol=dcp-unsen", "did you mean 'dcp-unseen'"),
        ("optimizer.milestones=0.5,0.2", "rising and between 0 and 1"),
        ("rpmnet.slack=perhaps", "must be of type bool"),
        ("optimizer.lr", "a setting reads name=value"),
    ],
)
def test_mistakes_are_named_with_the_nearest_key(setting, words):
    with pytest.raises(ValueError, match=r"\S") as error:
        override(Config(), [setting])
    assert words in str(error.value)


def test_settings_come_from_yaml_toml_and_json_files(tmp_path):
    yaml = tmp_path / "a.yaml"
    yaml.write_text("optimizer:\n  lr: 1e-4\ndcp: {cycle: off}\nrefine: {mode: target}\n")
    found = config.load(yaml)
    assert (found.optimizer.lr, found.refine.mode, found.dcp.cycle) == (1e-4, "target", "off")
    json = tmp_path / "a.json"
    json.write_text('{"budget": {"steps": 7}}')
    assert configure("dcp/clean", file=json, settings=["seed=2"]).budget.steps == 7
    toml = tmp_path / "a.toml"
    toml.write_text('optimizer.lr = 1e-4\nrpmnet.features = ["xyz"]\n')
    found = config.load(toml)
    assert (found.optimizer.lr, found.rpmnet.features) == (1e-4, ("xyz",))
    for file in (json, yaml, toml):
        for content in (b"{", b"PK\x83"):
            file.write_bytes(content)
            with pytest.raises(ValueError, match=rf"{file.name} cannot be read: "):
                config.load(file)


@pytest.mark.parametrize("name", [n for n in presets.names() if not n.startswith("pointnetlk")])
@pytest.mark.parametrize("mode", ["", "+source", "+target", "+perturbed", "+detached"])
def test_every_preset_names_a_protocol_and_a_layer(name, mode):
    preset = presets.get(name + mode)
    assert build.protocol(preset).hash
    layer = build.layer(preset.refine)
    assert (layer is None) == (preset.refine.mode == "none")


def test_an_unknown_addition_and_two_modes_of_the_layer_are_refused():
    with pytest.raises(ValueError, match="no addition named 'match'; did you mean 'matches'"):
        presets.get("dcp/clean+match")
    with pytest.raises(ValueError, match="one mode of the layer"):
        presets.get("dcp/clean+source+target")
    assert presets.get("dcp/clean+matches+source").refine.mode == "source"


@pytest.mark.parametrize(
    ("preset", "setting", "why"),
    [
        ("quick", "refine.iterations=3", "without the layer; add +source or another mode"),
        ("quick+source", "refine.starts=3", "it is for +perturbed, and the mode is source"),
        ("quick+source", "refine.form=target", "the mode source is the form"),
        ("quick", "dcp.emb_dims=64", "the model is rpmnet"),
    ],
)
def test_a_setting_without_effect_is_refused(preset, setting, why, capsys):
    assert command([preset, "--set", setting]) == 2
    said = capsys.readouterr().err
    assert f"error: {setting} has no effect" in said
    assert why in said


def test_settings_with_an_effect_are_not_refused():
    settings = ["refine=perturbed", "refine.starts=2", "refine.form=target", "optimizer.lr=1e-4"]
    check_used(configure("dcp/clean", settings=settings), settings)


def test_models_are_built_as_configured():
    small = override(Config(), ["dcp.emb_dims=16", "dcp.ff_dims=16", "refine.loss_on=last"])
    assert build.model(small).loss_on == "last"
    net = build.model(override(presets.get("rpmnet/crop-no-inlier"), ["rpmnet.feat_dim=8"]))
    assert net.inlier_weight == 0


def test_the_schedules_are_the_published_ones_at_any_length():
    dcp = presets.get("dcp/unseen")
    assert (dcp.optimizer.lr, dcp.optimizer.weight_decay, dcp.data.batch_size) == (1e-3, 1e-4, 32)
    assert dcp.budget.epochs == 250
    for epoch, factor in ((0, 1), (74, 1), (75, 0.1), (149, 0.1), (150, 0.01), (200, 1e-3)):
        assert rate(dcp.optimizer, epoch / 250) == pytest.approx(1e-3 * factor)
    rpmnet = presets.get("rpmnet/crop")
    assert (rpmnet.optimizer.lr, rpmnet.optimizer.weight_decay) == (1e-4, 0)
    assert (rpmnet.data.batch_size, rpmnet.budget.epochs) == (8, 1000)
    assert rate(rpmnet.optimizer, 0.99) == 1e-4


def test_a_warm_up_rises_from_zero():
    settings = replace(Optimizer(), lr=1.0, warmup=0.1)
    assert [rate(settings, p) for p in (0.0, 0.05, 0.1)] == [0.0, 0.5, 1.0]


def test_a_budget_replaces_the_presets_length():
    assert configure("quick", budget="10m").budget.steps is None
    assert configure("quick", budget="20 epochs").budget.epochs == 20
    with pytest.raises(
        ValueError, match="a budget reads 10m, '4000 steps' or '20 epochs'; got 'a while'"
    ):
        configure("quick", budget="a while")
