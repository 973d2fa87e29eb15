"""The conditions of the controlled experiment: what each changes, and what it leaves alone."""

import json
import math

import pytest
import torch

from spoonful.batch import Batch
from spoonful.geometry import Pose, SpoonfulLayer, random_rotation
from spoonful.losses import extent_loss, match_loss
from spoonful.registration import Registration
from spoonful.training import build, train
from spoonful.training.build import Float64Layer
from spoonful.training.config import Loss
from spoonful.training.step import Stepper, added_terms
from spoonful.training.validation import behaviour
from training.small import blobs, small

RPMNET = ("model=rpmnet", "rpmnet.features=xyz,dxyz", "rpmnet.feat_dim=8", "rpmnet.neighbors=4")


def shrunk_pair(scale: float = 0.05) -> tuple[torch.Tensor, torch.Tensor]:
    """Matches of the size at which the target form multiplies rounding errors by 19 a step."""
    generator = torch.Generator().manual_seed(3)
    source = torch.randn(6, 80, 3, generator=generator)
    turn = random_rotation(6, generator=generator)
    return source, scale * source @ turn.mT


def test_float64_geometry_stays_at_kabsch_where_float32_leaves_it():
    source, matches = shrunk_pair()
    gaps = []
    for kind in (SpoonfulLayer, Float64Layer):
        found = kind(form="target")(source, matches)
        gaps.append((found.refined.rotation - found.pose.rotation.unsqueeze(1)).abs().amax())
    assert gaps[0] > 1e-3
    assert gaps[1] < 1e-6


def test_float64_geometry_has_kabschs_gradient_and_returns_float32():
    source, matches = shrunk_pair()
    truth = torch.eye(3)
    gradients = []
    for layer in (SpoonfulLayer().eval(), Float64Layer(form="target")):
        leaf = matches.clone().requires_grad_()
        poses = layer(source, leaf).poses
        assert poses.rotation.dtype == torch.float32
        ((poses.rotation - truth).square().mean(1).sum()).backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("target", ()),
        ("perturbed", ()),
        ("detached", ()),
        ("target", (*RPMNET, "rpmnet.test_iterations=1", "data.batch_size=2")),
    ],
)
def test_float64_geometry_trains_beneath_a_bfloat16_network(settings, mode):
    config = small(
        *settings,
        f"refine={mode}",
        "refine.precision=float64",
        "runtime.precision=bf16",
        "budget.steps=1",
    )
    result = train(config, corpus=blobs(), quiet=True)
    assert result.finished
    assert result.skipped == 0


@pytest.mark.slow
def test_perturbed_starts_are_turned_ever_less_by_a_shrinking_schedule(tmp_path, monkeypatch):
    seen = []
    step = Stepper.step

    def spy(self, batch):
        seen.append(self.model.refine.max_degrees)
        return step(self, batch)

    monkeypatch.setattr(Stepper, "step", spy)
    config = small(
        "refine=perturbed", "refine.max_degrees=90", "refine.schedule=shrinking", "budget.steps=4"
    )
    train(config, corpus=blobs(), quiet=True)
    expected = [90 * (1 - step / 4) for step in range(4)]
    assert seen == pytest.approx(expected)
    # The bound depends on the step alone, so a run that was stopped goes on with the same ones.
    seen.clear()
    while not train(config, corpus=blobs(), out=tmp_path, seconds=0.01, quiet=True).finished:
        pass
    assert seen == pytest.approx(expected)


def overlapping_halves() -> tuple[Batch, torch.Tensor]:
    """A pair in which only the first half of the source has counterparts in the target."""
    generator = torch.Generator().manual_seed(0)
    source = torch.rand(2, 40, 3, generator=generator)
    source[:, 20:] += 5
    pose = Pose(random_rotation(2, generator=generator), torch.rand(2, 3, generator=generator))
    return Batch(source, pose.apply(source)[:, :20], pose=pose), pose.apply(source)


def registered(batch: Batch, matches: torch.Tensor, weights: torch.Tensor | None = None):
    return Registration(batch.pose, None, matches, weights)


def test_the_loss_on_matches_looks_only_where_the_clouds_overlap():
    batch, places = overlapping_halves()
    matches = places.clone()
    matches[:, 20:] += 100  # no counterpart: whatever it is matched to is neither right nor wrong
    assert added_terms(registered(batch, matches), batch, Loss(matches=1.0)) < 1e-5
    matches[:, :20] += torch.tensor([0.0, 3.0, 4.0])
    term = added_terms(registered(batch, matches), batch, Loss(matches=2.0))
    assert term == pytest.approx(10.0, rel=1e-4)


def test_the_loss_on_extent_is_blind_to_anything_but_size():
    batch, places = overlapping_halves()
    turned = places @ random_rotation(2).mT + 7
    assert added_terms(registered(batch, turned), batch, Loss(extent=1.0)) < 1e-6
    half = added_terms(registered(batch, turned / 2), batch, Loss(extent=1.0))
    assert half == pytest.approx(math.log(2) ** 2, rel=1e-3)
    double = added_terms(registered(batch, turned * 2), batch, Loss(extent=1.0))
    assert double == pytest.approx(math.log(2) ** 2, rel=1e-3)


def test_the_loss_on_extent_weighs_points_and_spares_their_weights():
    batch, places = overlapping_halves()
    matches = places.clone()
    matches[:, 20:] *= 3
    weights = torch.ones(2, 40, requires_grad=True)
    leaf = matches.clone().requires_grad_()
    only_first = weights.detach().clone()
    only_first[:, 20:] = 0
    loss = Loss(extent=1.0)
    assert added_terms(registered(batch, matches, only_first), batch, loss) < 1e-6
    added_terms(registered(batch, leaf, weights), batch, loss).backward()
    assert leaf.grad.abs().sum() > 0
    assert weights.grad is None


def test_padding_changes_neither_added_loss():
    batch, places = overlapping_halves()
    mask = torch.ones(2, 43, dtype=torch.bool)
    mask[:, 40:] = False
    rubbish = torch.full((2, 3, 3), torch.nan)
    source = torch.cat([batch.source, rubbish], 1)
    matches = torch.cat([0.7 * places, rubbish], 1).requires_grad_()
    plain = match_loss(0.7 * places, batch.pose, batch.source)
    padded = match_loss(matches, batch.pose, source, mask=mask)
    torch.testing.assert_close(padded, plain)
    size = extent_loss(matches, source, mask=mask)
    torch.testing.assert_close(size, extent_loss(0.7 * places, batch.source))
    (padded + size).backward()
    assert matches.grad.isfinite().all()
    assert (matches.grad[:, 40:] == 0).all()


def test_matches_in_one_point_have_a_finite_extent_loss():
    source = torch.rand(1, 10, 3)
    matches = torch.ones(1, 10, 3, requires_grad=True)
    loss = extent_loss(matches, source)
    loss.backward()
    assert loss.isfinite()
    assert matches.grad.isfinite().all()


@pytest.mark.slow
@pytest.mark.parametrize("settings", [(), RPMNET], ids=["dcp", "rpmnet"])
@pytest.mark.parametrize("term", ["loss.matches=1", "loss.extent=1"])
def test_each_added_loss_trains_each_model(settings, term):
    result = train(small(*settings, term, "budget.steps=2"), corpus=blobs(), quiet=True)
    assert result.finished
    assert result.skipped == 0


def test_added_losses_need_matches():
    config = small("dcp.head=mlp", "dcp.emb_dims=16", "loss.matches=1")
    with pytest.raises(ValueError, match="need matches"):
        train(config, corpus=blobs(), quiet=True)


def test_the_log_says_how_the_refinement_would_behave(tmp_path):
    train(small("budget.steps=3"), corpus=blobs(), out=tmp_path, quiet=True)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    found = lines[-1]["validation"]
    assert {"rho_source", "rho_target", "rho_median", "divergence_median"} <= found.keys()
    assert found["extent_ratio"] > 1  # soft matches of an untrained network huddle


def test_behaviour_of_matches_shrunk_by_a_known_factor():
    source, matches = shrunk_pair(0.25)
    batch = Batch(source, matches, pose=Pose.identity(6))
    found = behaviour(registered(batch, matches), batch)
    for name, value in (("extent_ratio", 4.0), ("rho_source", 0.75), ("rho_target", 3.0)):
        torch.testing.assert_close(found[name], torch.full((6,), value), rtol=1e-4, atol=1e-4)


def test_the_layers_precision_is_a_setting_of_the_run():
    assert isinstance(
        build.layer(small("refine=target", "refine.precision=float64").refine), Float64Layer
    )
    assert not isinstance(build.layer(small("refine=target").refine), Float64Layer)


@pytest.mark.parametrize(
    ("precision", "during"), [("tf32", "high"), ("bf16", "high"), ("float32", "highest")]
)
def test_tf32_products_are_allowed_while_training_and_no_longer(precision, during, monkeypatch):
    seen = []
    step = Stepper.step

    def spy(self, batch):
        seen.append(torch.get_float32_matmul_precision())
        return step(self, batch)

    monkeypatch.setattr(Stepper, "step", spy)
    config = small(f"runtime.precision={precision}", "budget.steps=1")
    train(config, corpus=blobs(), quiet=True)
    assert seen == [during]
    assert torch.get_float32_matmul_precision() == "highest"
