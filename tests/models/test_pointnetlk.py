"""PointNetLK: its maths, its padding, its published names, its training."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from models.helpers import as_dtype, gradients, make_batch, padded
from spoonful.batch import Batch
from spoonful.geometry import Pose, random_rotation
from spoonful.metrics import PoseErrors
from spoonful.models import PointNetLK, load_published
from spoonful.models.pointnetlk import exp
from spoonful.training import build, load_model, override, presets, train
from training.small import blobs


def small(**options: object) -> PointNetLK:
    torch.manual_seed(0)
    return PointNetLK(**{"dim": 96, "iterations": 6, **options})


def settled(dtype: torch.dtype = torch.float32, **options: object) -> PointNetLK:
    """In eval mode, with batch statistics of clouds it has seen."""
    model = small(**options).to(dtype)
    for seed in range(30):
        model.ptnet.update(make_batch(4, 48, 48, seed=100 + seed, dtype=dtype).source, None, 1)
    return model.eval()


def easy(pairs: int = 4, degrees: float = 15.0) -> Batch:
    generator = torch.Generator().manual_seed(3)
    points = torch.rand(pairs, 128, 3, generator=generator) - 0.5
    points = points * torch.tensor([1.0, 0.6, 0.3])
    pose = Pose(
        random_rotation(pairs, max_degrees=degrees, generator=generator),
        0.2 * torch.rand(pairs, 3, generator=generator),
    )
    return Batch(points, pose.apply(points), pose=pose)


def degrees(model: PointNetLK, batch: Batch) -> torch.Tensor:
    errors = PoseErrors(chamfer=False)
    with torch.no_grad():
        errors.update(model(batch), batch)
    return errors.values("rotation_degrees")


def test_the_exponential_agrees_with_the_matrix_exponential():
    generator = torch.Generator().manual_seed(0)
    for size in (1e-9, 1e-4, 1e-2, 0.5, 3.0):
        twist = size * torch.randn(20, 6, generator=generator, dtype=torch.float64)
        matrix = torch.zeros(20, 4, 4, dtype=torch.float64)
        x, y, z = twist[:, :3].unbind(-1)
        matrix[:, 0, 1], matrix[:, 0, 2], matrix[:, 1, 2] = -z, y, -x
        matrix[:, 1, 0], matrix[:, 2, 0], matrix[:, 2, 1] = z, -y, x
        matrix[:, :3, 3] = twist[:, 3:]
        expected = torch.linalg.matrix_exp(matrix)
        torch.testing.assert_close(exp(twist).matrix(), expected, rtol=0, atol=1e-9)
        torch.testing.assert_close(
            exp(twist.float()).matrix(), expected.float(), rtol=1e-5, atol=1e-6
        )


def test_gradients_of_the_exponential():
    twist = torch.tensor(
        [[0.0] * 6, [1e-3, 0, 0, 1, 2, 3], [0.3, -0.2, 0.5, 1, 0, -1]], dtype=torch.float64
    ).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: exp(t).matrix(), twist, atol=1e-4)


def literal(model: PointNetLK, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The paper's equations for one pair, step by step with 4x4 matrices: the pose's matrix."""

    def moved(twist: torch.Tensor, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.zeros(4, 4, dtype=twist.dtype)
        for axis in range(3):
            generator[(axis + 2) % 3, (axis + 1) % 3] = twist[axis]
            generator[(axis + 1) % 3, (axis + 2) % 3] = -twist[axis]
        generator[:3, 3] = twist[3:]
        motion = torch.linalg.matrix_exp(generator)
        return points @ motion[:3, :3].T + motion[:3, 3], motion

    def feature(points: torch.Tensor) -> torch.Tensor:
        return model.ptnet(points[None])[0]

    p0, p1 = target - target.mean(0), source - source.mean(0)
    columns = []
    for k in range(6):
        step = torch.zeros(6, dtype=source.dtype)
        step[k] = -0.01
        columns.append((feature(p0) - feature(moved(step, p0)[0])) / 0.01)
    jacobian = torch.stack(columns, 1)
    g = torch.eye(4, dtype=source.dtype)
    for _ in range(model.iterations):
        residual = feature(p1 @ g[:3, :3].T + g[:3, 3]) - feature(p0)
        twist = -torch.linalg.pinv(jacobian) @ residual
        g = moved(twist, p0)[1] @ g
    here, there = torch.eye(4, dtype=g.dtype), torch.eye(4, dtype=g.dtype)
    here[:3, 3], there[:3, 3] = -source.mean(0), target.mean(0)
    return there @ g @ here


def test_it_is_what_the_paper_says():
    model, batch = settled(torch.float64), as_dtype(easy(), torch.float64)
    with torch.no_grad():
        found = model(batch).pose.matrix()
        for row, pair in enumerate(zip(batch.source, batch.target, strict=True)):
            torch.testing.assert_close(found[row], literal(model, *pair), rtol=0, atol=1e-5)


def test_an_easy_pair_is_solved_to_half_a_degree():
    assert degrees(settled(iterations=10), easy()).max() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["max", "avg"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_padding_changes_nothing(pool, dtype):
    model = settled(dtype, pool=pool)
    sizes = [(40, 33), (25, 40), (31, 26)]
    items = [as_dtype(make_batch(1, n, m, seed=i), dtype) for i, (n, m) in enumerate(sizes)]
    tolerance = 1e-3 if dtype == torch.float32 else 1e-9
    with torch.no_grad():
        together = model(padded(items))
        for i, one in enumerate(items):
            alone = model(one)
            for ours, theirs in zip(together.pose, alone.pose, strict=True):
                torch.testing.assert_close(ours[i], theirs[0], rtol=0, atol=tolerance)


def test_what_padding_holds_does_not_matter():
    items = [make_batch(1, n, m, seed=i) for i, (n, m) in enumerate([(40, 33), (25, 40)])]
    model = small().train()
    state = {k: v.clone() for k, v in model.state_dict().items()}
    results = []
    for fill in (float("nan"), 0.0, 1e4):
        model.load_state_dict(state)
        results.append(gradients(model, padded(items, fill=fill)))
        results[-1] |= {k: v.clone() for k, v in model.named_buffers()}
    for other in results[1:]:
        for name, value in results[0].items():
            assert torch.equal(value, other[name]), name


def degenerate(kind: str) -> Batch:
    batch = make_batch(2, 30, 30)
    shape = {
        "coincident": torch.zeros(3),
        "collinear": torch.tensor([1.0, 0.0, 0.0]),
        "planar": torch.tensor([1.0, 1.0, 0.0]),
    }[kind]
    source = batch.source * shape + 0.1
    return replace(batch, source=source, target=batch.pose.apply(source))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["coincident", "collinear", "planar"])
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_singular_jacobians_give_finite_poses_and_gradients(kind, training):
    model = small().train(training)
    batch = degenerate(kind)
    assert all(part.isfinite().all() for part in model(batch).poses)
    for name, gradient in gradients(model, batch).items():
        assert gradient.isfinite().all(), name


def test_features_that_see_nothing_move_nothing():
    model = small().eval()
    with torch.no_grad():
        for parameter in model.ptnet.parameters():
            parameter.zero_()
    batch = easy()
    found = model(batch).pose
    assert torch.equal(found.rotation, torch.eye(3).expand(4, 3, 3))
    shift = batch.target.mean(1) - batch.source.mean(1)
    torch.testing.assert_close(found.translation, shift)


def test_a_bad_jacobian_sends_no_cloud_to_infinity():
    batch = easy()
    batch = replace(batch, source=1e4 * batch.source)  # features far from anything seen
    found = settled()(batch).poses
    assert found.rotation.isfinite().all()
    assert found.translation.sub(batch.target.mean(1)[:, None]).norm(dim=-1).max() < 1e3


def test_autocast_changes_nothing():
    model, batch = settled(), easy()
    with torch.no_grad():
        plain = model(batch).pose.rotation
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(model(batch).pose.rotation, plain)


def test_the_loss_is_the_published_one():
    model, batch = small(residual_weight=2.0).train(), easy()
    output = model(batch)
    left = output.pose.matrix() @ torch.linalg.inv(batch.pose.matrix())
    pose = 16 * torch.nn.functional.mse_loss(left, torch.eye(4).expand(4, 4, 4))
    residual = output.extras["residual"].square().sum() / 4
    torch.testing.assert_close(model.loss(output, batch), pose + 2 * residual, rtol=1e-4, atol=1e-6)


def test_published_names_and_shapes(tmp_path):
    sizes = {"h1": (3, 64, 64), "h2": (64, 64, 128, 1024)}
    state = {"dt": torch.full((1, 6), 0.01)}
    for part, widths in sizes.items():
        for i, (before, after) in enumerate(pairwise(widths)):
            conv, norm = f"ptnet.{part}.{3 * i}", f"ptnet.{part}.{3 * i + 1}"
            state |= {
                f"{conv}.weight": torch.rand(after, before, 1),
                f"{conv}.bias": torch.rand(after),
            }
            state |= {
                f"{norm}.{name}": torch.rand(after)
                for name in ("weight", "bias", "running_mean", "running_var")
            }
            state[f"{norm}.num_batches_tracked"] = torch.tensor(7)
    torch.save(state, tmp_path / "model_best.pth")
    model = load_published(tmp_path / "model_best.pth", PointNetLK())
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


def test_it_registers_pairs_of_any_scale():
    batch = easy(1)
    found = settled(iterations=10).register(1000 * batch.source[0] + 5000, 1000 * batch.target[0])
    turn = found.pose.rotation @ batch.pose.rotation[0].mT
    assert math.degrees(math.acos(min(1.0, (float(turn.trace()) - 1) / 2))) < 0.5


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="pool must be 'max' or 'avg', got 'sum'"):
        PointNetLK(pool="sum")
    with pytest.raises(ValueError, match="iterations must be at least 1, got 0"):
        PointNetLK(iterations=0)
    with pytest.raises(ValueError, match="delta must lie between 0 and 1"):
        PointNetLK(delta=0.0)
    with pytest.raises(ValueError, match=r"refine\.mode must be none for pointnetlk"):
        presets.get("pointnetlk/clean+source")


@pytest.mark.slow
def test_steps_lower_the_loss():
    model, batch = settled(dim=32, iterations=3), make_batch(6, 40, 40)
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    losses = []
    for _ in range(9):
        adam.zero_grad()
        losses.append(model.loss(model(batch), batch))
        losses[-1].backward()
        adam.step()
    assert losses[-1] < 0.8 * losses[0]


def test_a_preset_trains(tmp_path):
    config = override(
        presets.get("pointnetlk/clean"),
        [
            *("pointnetlk.dim=16", "pointnetlk.iterations=2", "data.points=24"),
            *("data.batch_size=6", "budget.steps=6", "runtime.device=cpu"),
            "runtime.tensorboard=false",
        ],
    )
    result = train(config, out=tmp_path, corpus=blobs(), quiet=True)
    assert result.finished
    assert result.skipped == 0
    trained = load_model(tmp_path)
    assert isinstance(trained, PointNetLK)
    assert trained.iterations == 2
    fresh = build.model(config)
    moved = [
        not torch.equal(a, b)
        for a, b in zip(trained.state_dict().values(), fresh.state_dict().values(), strict=True)
    ]
    assert any(moved)
    assert torch.equal(trained.dt, fresh.dt)  # the finite difference is not learned
