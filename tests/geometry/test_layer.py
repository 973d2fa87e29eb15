"""The module: the paper's behaviour by default, and the modes beyond it."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from spoonful.geometry import Pose, SpoonfulLayer, kabsch, kernels, refine, stability
from spoonful.losses import dcp_loss, over_poses


@pytest.fixture
def clouds(generator):
    source = torch.randn(3, 25, 3, generator=generator, dtype=torch.float64)
    target = source.roll(1, -1) + 0.3 * torch.randn(
        3, 25, 3, generator=generator, dtype=torch.float64
    )
    return source, target


def test_training_returns_kabsch_and_every_refinement(clouds):
    output = SpoonfulLayer(iterations=4, form="target")(*clouds)
    expected = kabsch(*clouds)
    assert torch.equal(output.pose.rotation, expected.rotation)
    refined = refine(*clouds, expected.rotation, iterations=4, form="target")
    torch.testing.assert_close(output.refined.rotation, refined.rotation)
    assert output.poses.rotation.shape == (3, 5, 3, 3)
    assert torch.equal(output.poses.translation[:, 0], expected.translation)


def test_evaluation_returns_kabsch_alone(clouds):
    output = SpoonfulLayer().eval()(*clouds)
    assert output.refined is None
    assert torch.equal(output.pose.rotation, kabsch(*clouds).rotation)
    assert output.poses.rotation.shape == (3, 1, 3, 3)


def test_it_has_no_parameters_and_can_be_copied_and_pickled():
    layer = SpoonfulLayer(start="perturbed", starts=2)
    assert not list(layer.parameters())
    assert not layer.state_dict()
    assert copy.deepcopy(layer).starts == 2
    assert pickle.loads(pickle.dumps(layer)).start == "perturbed"
    assert "max_degrees=60" in repr(layer)


def test_a_detached_start_gives_the_neumann_series_of_kabschs_gradient(clouds):
    source, target = clouds[0][0], 0.6 * clouds[1][0]
    probe = torch.randn(3, 3).double()

    def gradient(rotation_of):
        leaf = target.clone().requires_grad_()
        (rotation_of(leaf) * probe).sum().backward()
        return leaf.grad

    exact = gradient(lambda t: kabsch(source, t).rotation)
    rho = stability(source, target).rho.item()
    assert 0.1 < rho < 0.9
    gaps = []
    for n in (2, 6, 10):
        layer = SpoonfulLayer(iterations=n, start="detached")
        series = gradient(lambda t, layer=layer: layer(source, t).refined.rotation[-1])
        gaps.append((series - exact).norm().item())
    # Each further term takes away a factor rho of what is missing.
    assert gaps[0] > gaps[1] > gaps[2]
    assert (gaps[2] / gaps[1]) ** (1 / 4) == pytest.approx(rho, rel=0.1)


def test_a_perturbed_start_is_repeatable_bounded_and_moves_towards_kabsch(clouds):
    layer = SpoonfulLayer(iterations=6, start="perturbed", max_degrees=30)
    first, again = (
        layer(*clouds, generator=torch.Generator().manual_seed(5)).refined.rotation
        for _ in range(2)
    )
    assert torch.equal(first, again)
    other = layer(*clouds, generator=torch.Generator().manual_seed(6)).refined.rotation
    assert not torch.allclose(first[:, 0], other[:, 0])
    best = kabsch(*clouds).rotation
    gaps = (first - best[:, None]).norm(dim=(-1, -2))
    assert (gaps[:, -1] < gaps[:, 0]).all()


def test_several_starts_are_ordered_iteration_by_iteration(clouds):
    layer = SpoonfulLayer(iterations=3, start="perturbed", starts=4)
    refined = layer(*clouds).refined
    assert refined.rotation.shape == (3, 12, 3, 3)
    assert refined.translation.shape == (3, 12, 3)
    by_iteration = refined.rotation.unflatten(1, (3, 4))
    again = refine(clouds[0], clouds[1], by_iteration[:, 0, 2], iterations=2).rotation
    torch.testing.assert_close(by_iteration[:, 1:, 2], again)


def test_gradients_reach_the_matches_in_every_mode(clouds):
    for start in ("kabsch", "detached", "perturbed"):
        target = clouds[1].clone().requires_grad_()
        SpoonfulLayer(start=start)(clouds[0], target).refined.rotation[..., 0, 1].sum().backward()
        assert target.grad.isfinite().all()
        assert target.grad.abs().max() > 0


@pytest.mark.parametrize("form", ["source", "target"])
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("scale", [1e-15, 1e-18, 1e-20, 1e-22, 1e-25, 1e-30])
def test_clouds_too_small_for_their_squares_are_finite(form, scale, used, clouds):
    source, target = (scale * cloud.float().requires_grad_() for cloud in clouds)
    poses = SpoonfulLayer(form=form, kernels=used)(source, target).poses
    gradients = torch.autograd.grad(poses.rotation.square().sum((0, 1)).sum(), (source, target))
    assert all(value.isfinite().all() for value in (*poses, *gradients))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"iterations": 0}, "iterations must be an int >= 1, got 0"),
        ({"iterations": 2.5}, "iterations must be an int >= 1, got 2.5"),
        ({"iterations": True}, "iterations must be an int >= 1, got True"),
        ({"form": "both"}, "form must be 'source' or 'target', got 'both'"),
        ({"start": "random"}, r"start must be 'kabsch', 'detached' or 'perturbed', got 'random'"),
        (
            {"start": "perturbed", "max_degrees": 200},
            r"max_degrees must lie in \(0, 180\], got 200",
        ),
        (
            {"start": "perturbed", "max_degrees": "60"},
            r"max_degrees must lie in \(0, 180\], got '60'",
        ),
        ({"start": "perturbed", "starts": 0}, "starts must be an int >= 1, got 0"),
        ({"starts": 3}, "starts > 1 needs start='perturbed', got start='kabsch'"),
    ],
)
def test_bad_settings_say_what_is_wanted(arguments, message):
    with pytest.raises(ValueError, match=message):
        SpoonfulLayer(**arguments)


@pytest.mark.parametrize("kernels_used", [True, False])
@pytest.mark.parametrize(
    ("points", "weight", "dtype"),
    [
        *((n, 1.0, torch.float32) for n in (1, 2, 3)),
        (50, 0.0, torch.float32),
        (50, 1.0, torch.bfloat16),
    ],
)
def test_three_lines_train_whatever_the_matches_are(points, weight, dtype, kernels_used, generator):
    source = torch.randn(4, points, 3, generator=generator)
    matches = torch.randn(4, points, 3, generator=generator).to(dtype).requires_grad_()
    truth = Pose.identity(4)
    output = SpoonfulLayer(kernels=kernels_used)(source, matches, torch.full((4, points), weight))
    loss = over_poses(lambda pose: dcp_loss(pose, truth), output.poses)
    loss.backward()
    assert loss.dtype == torch.float32
    assert loss.isfinite()
    assert matches.grad.isfinite().all()
    assert bool((matches.grad != 0).any()) == (weight > 0)


def test_kernels_can_be_switched_off_by_an_argument(clouds):
    leaf = clouds[0].clone().requires_grad_()
    by_torch = SpoonfulLayer(kernels=False)(leaf, clouds[1]).poses
    assert "PoseHead" not in str(by_torch.rotation.grad_fn)
    with kernels.disabled():
        poses = SpoonfulLayer()(leaf, clouds[1]).poses
    assert torch.equal(poses.rotation, by_torch.rotation)
