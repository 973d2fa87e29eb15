"""Shipped weights: what is loaded is what was published, or nothing is."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from spoonful.data import protocols, synthetic
from spoonful.data.collate import collate
from spoonful.data.items import test_items
from spoonful.metrics import PoseErrors
from spoonful.training import override, shipped, train
from spoonful.training.presets import get

SMALL = [
    "data.per_category=4",
    "data.points=32",
    "data.batch_size=4",
    "rpmnet.feat_dim=8",
    "rpmnet.neighbors=4",
    "budget.steps=2",
    "runtime.tensorboard=false",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    train(override(get("quick"), SMALL), out=folder, quiet=True)
    return folder


@pytest.fixture
def weights(run, tmp_path):
    shipped.publish(run, "tiny", summary="A tiny one.", folder=tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_published_model_comes_back_with_its_weights(run, weights):
    from spoonful.training import load_model

    model, original = shipped.load("tiny", folder=weights), load_model(run)
    assert not model.training
    for name, value in original.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name


@pytest.mark.slow
def test_half_precision_is_half_the_size_and_close(run, weights):
    full = shipped.card("tiny", weights).bytes
    half = shipped.publish(run, "half", summary="", half=True, folder=weights)
    assert half.bytes < 0.8 * full
    model = shipped.load("half", folder=weights)
    for name, value in shipped.load("tiny", folder=weights).state_dict().items():
        assert model.state_dict()[name].dtype == value.dtype
        assert torch.allclose(model.state_dict()[name], value, rtol=1e-3, atol=1e-4), name


@pytest.mark.slow
def test_a_changed_file_is_refused(weights):
    path = weights / "tiny.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(shipped.DamagedWeights, match="SHA-256 differs"):
        shipped.load("tiny", folder=weights)


@pytest.mark.slow
def test_a_missing_file_is_named(weights):
    (weights / "tiny.safetensors").unlink()
    with pytest.raises(shipped.DamagedWeights, match="missing"):
        shipped.load("tiny", folder=weights)


@pytest.mark.slow
def test_nothing_is_published_outside_the_folder(run, tmp_path):
    with pytest.raises(ValueError, match=r"no folder in it, got '\.\./tiny'"):
        shipped.publish(run, "../tiny", summary="", folder=tmp_path / "own")
    assert not list(tmp_path.glob("tiny*"))


@pytest.mark.slow
def test_an_unknown_name_brings_the_nearest(weights):
    with pytest.raises(ValueError, match="no shipped model named 'tinny'; did you mean 'tiny'"):
        shipped.card("tinny", weights)
    with pytest.raises(ValueError, match="no shipped model named 'tiny'; there are none"):
        shipped.card("tiny", weights / "empty")


@pytest.mark.slow
def test_the_card_says_where_the_weights_are_from(weights):
    card = shipped.card("tiny", weights)
    assert (card.steps, card.seed, card.data) == (2, 0, "synthetic")
    assert card.protocol["name"] == "dcp-clean"
    assert card.sha256 in (weights / "tiny.md").read_text()


@pytest.mark.parametrize("name", shipped.names())
def test_every_shipped_model_is_as_its_card_says(name):
    model = shipped.load(name)
    assert all(p.isfinite().all() for p in model.parameters())
    assert shipped.card(name).licence


@pytest.mark.slow
def test_resampled_dcp_is_better_on_clouds_that_share_no_points():
    card = replace(protocols.get("dcp-twice-sampled"), points=256)
    items = test_items(card, synthetic.load("test", per_category=1, points=512))
    batch = collate([items[number] for number in range(0, len(items), 4)])
    means = {}
    for weights in ("dcp-v2-shapes", "dcp-v2-resampled"):
        errors = PoseErrors(chamfer=False)
        with torch.no_grad():
            errors.update(shipped.load(weights)(batch), batch)
        means[weights] = float(errors.values("rotation_degrees").mean())
    assert means["dcp-v2-resampled"] < 0.75 * means["dcp-v2-shapes"], means
