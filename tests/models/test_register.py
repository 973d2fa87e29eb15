"""`register`: one pair of clouds, of any size, scale and place."""

from __future__ import annotations

import resource

import pytest
import torch

from models.helpers import DATA, golden, small_dcp, small_rpmnet
from spoonful.batch import Batch
from spoonful.data import items, protocols, synthetic
from spoonful.geometry import Pose, SpoonfulLayer, nearest, random_rotation
from spoonful.metrics import rotation_error_degrees
from spoonful.models import DCP, RegistrationModel, load_published, polish, sinkhorn
from spoonful.registration import Registration


def shape(count: int, generator: torch.Generator) -> torch.Tensor:
    """A closed surface without symmetries."""
    x = torch.nn.functional.normalize(torch.randn(count, 3, generator=generator), dim=-1)
    bump = 1 + 0.4 * torch.sin(3 * x[:, :1]) * x[:, 1:2] + 0.3 * x[:, 2:] ** 3
    return x * bump * torch.tensor([1.0, 0.7, 0.45])


class Known(RegistrationModel):
    """Answers with a known pose in the normalised frame, off by a little."""

    def __init__(self, pose: Pose) -> None:
        super().__init__()
        self.pose = pose
        self.seen: list[Batch] = []

    def forward(self, batch: Batch) -> Registration:
        self.seen.append(batch)
        assert not self.training
        return Registration(Pose(self.pose.rotation[None], self.pose.translation[None]))

    def loss(self, output: Registration, batch: Batch) -> torch.Tensor:
        raise NotImplementedError


@pytest.fixture
def turn(generator):
    return random_rotation(max_degrees=40.0, generator=generator)


def test_the_pose_is_in_the_clouds_own_frame(turn, generator):
    source = 500 * shape(400, generator) + torch.tensor([1e3, -2e3, 300.0])
    truth = Pose(turn, torch.tensor([50.0, 60.0, -70.0]))
    model = Known(Pose(turn, torch.zeros(3)))
    found = model.register(source, truth.apply(source), polish=0)
    torch.testing.assert_close(found.pose.apply(source), truth.apply(source), rtol=0, atol=0.05)
    (batch,) = model.seen
    assert batch.source.mean(1).abs().max() < 1e-4
    assert abs(float(batch.source.norm(dim=-1).max()) - 1) < 1e-3
    assert model.training


def test_without_normalizing_the_network_sees_the_clouds_as_they_are(turn, generator):
    source = 5 + shape(50, generator)
    model = Known(Pose.identity())
    model.register(source, source, normalize=False, polish=0)
    assert torch.equal(model.seen[0].source[0], source)


@pytest.mark.slow
def test_polishing_uses_all_points(turn, generator):
    source = shape(5000, generator)
    truth = Pose(turn, torch.tensor([0.1, 0.2, 0.3]))
    target = truth.apply(source)[torch.randperm(5000, generator=generator)]
    off = random_rotation(max_degrees=6.0, generator=generator)
    found = Known(Pose(off @ turn, torch.zeros(3))).register(source, target, max_points=512)
    rough, fine = rotation_error_degrees(found.poses.rotation, turn.expand(2, 3, 3))
    assert rough > 1
    assert fine < 0.01
    torch.testing.assert_close(found.pose.rotation, found.poses.rotation[1])


@pytest.mark.slow
def test_polishing_survives_missing_parts(turn, generator):
    source = shape(6000, generator)
    truth = Pose(turn, torch.zeros(3))
    target = truth.apply(source[source[:, 0] < 0.4])
    kept = source[source[:, 1] > -0.3]
    start = Pose(random_rotation(max_degrees=4.0, generator=generator) @ turn, torch.zeros(3))
    better = polish(kept, target, start, iterations=40)
    assert rotation_error_degrees(better.rotation, turn) < 0.2


@pytest.mark.slow
def test_polishing_helps_if_parts_are_missing_and_no_points_are_shared(generator):
    pairs = items.test_items(protocols.get("rpm-crop"), synthetic.load("test", per_category=1))
    before, after = 0.0, 0.0
    for number in range(len(pairs)):
        pair = pairs[number]
        truth = pair.pose.at(0)
        off = random_rotation(max_degrees=4.0, generator=generator)
        start = Pose(off @ truth.rotation, truth.translation)
        better = polish(pair.source[0], pair.target[0], start)
        before += float(rotation_error_degrees(start.rotation, truth.rotation))
        after += float(rotation_error_degrees(better.rotation, truth.rotation))
    assert after < 0.6 * before


def test_polishing_keeps_the_true_pose_of_exact_copies(turn, generator):
    source = shape(300, generator)
    truth = Pose(turn, torch.tensor([0.1, 0.2, 0.3]))
    kept = polish(source, truth.apply(source), truth)
    assert rotation_error_degrees(kept.rotation, turn) < 1e-4
    torch.testing.assert_close(kept.translation, truth.translation, rtol=0, atol=1e-6)


def test_the_seed_decides_the_sample(generator):
    source = shape(3000, generator)
    model = Known(Pose.identity())
    for seed in (0, 0, 1):
        model.register(source, source, max_points=100, polish=0, seed=seed)
    first, again, other = (batch.source for batch in model.seen)
    assert first.shape == (1, 100, 3)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_real_models_register_with_and_without_normals(generator):
    source, normals = shape(200, generator), shape(200, generator)
    assert small_dcp().register(source, source).pose.rotation.shape == (3, 3)
    model = small_rpmnet(test_iterations=1)
    found = model.register(source, source, source_normals=normals, target_normals=normals)
    assert found.pose.rotation.isfinite().all()
    assert small_rpmnet(features=("dxyz",), test_iterations=1).register(source, source).pose


def test_published_dcp_registers_a_real_shape_at_any_scale():
    model = load_published(DATA / "dcp_v1_weights.safetensors", DCP.v1())
    io = golden("dcp_v1_io")
    source, target = 30 * io["source"][0].mT + 100, 30 * io["target"][0].mT - 50
    found = model.register(source, target)
    # The clouds are the same points in another order: registered, each finds its own.
    assert nearest(found.pose.apply(source), target).squared_distance.max().sqrt() < 1e-3
    assert 1 < rotation_error_degrees(*found.poses.rotation) < 5


@pytest.mark.slow
def test_a_hundred_thousand_points_fit_in_memory(generator):
    source = shape(100_000, generator)
    truth = Pose(random_rotation(max_degrees=5.0, generator=generator), torch.ones(3) / 10)
    target = truth.apply(shape(100_000, generator))
    model = Known(Pose(truth.rotation, torch.zeros(3)))
    found = model.register(source, target)
    assert rotation_error_degrees(found.pose.rotation, truth.rotation) < 0.1
    assert small_dcp().register(source, target, polish=0).pose.rotation.isfinite().all()
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    assert peak_gib < 4


@pytest.mark.parametrize(
    ("cloud", "message"),
    [
        (torch.zeros(5, 2), r"source must have shape \(N, 3\) with N >= 3, got \(5, 2\)"),
        (torch.zeros(1, 5, 3), r"source must have .* got \(1, 5, 3\)"),
        (torch.zeros(2, 3), r"source must have .* N >= 3, got \(2, 3\)"),
        (torch.tensor([[0.0, 0, 0], [1, 0, 0], [torch.nan, 0, 0]]), r"1 of 3 points are not"),
    ],
)
def test_unusable_clouds_are_named(cloud, message):
    with pytest.raises(ValueError, match=message):
        small_dcp().register(cloud, torch.rand(10, 3))


def test_other_mistakes_are_named():
    cloud = torch.rand(10, 3)
    with pytest.raises(TypeError, match=r"target must be a torch\.Tensor, got list"):
        small_dcp().register(cloud, [[0.0, 0.0, 0.0]])
    with pytest.raises(TypeError, match="floating point"):
        small_dcp().register(cloud.long(), cloud)
    with pytest.raises(ValueError, match="RPMNet reads normals, but source_normals is None"):
        small_rpmnet().register(cloud, cloud)
    with pytest.raises(ValueError, match=r"target_normals must be \(10, 3\)"):
        small_rpmnet().register(cloud, cloud, source_normals=cloud, target_normals=cloud[:5])
    with pytest.raises(TypeError, match=r"source_normals must be a torch\.Tensor, got list"):
        small_rpmnet().register(cloud, cloud, source_normals=[0.0], target_normals=cloud)
    for points in (-1, 2, 2.5):
        with pytest.raises(ValueError, match=f"max_points must be an int >= 3, got {points}"):
            small_dcp().register(cloud, cloud, max_points=points)
    with pytest.raises(ValueError, match="polish must be an int >= 0, got -1"):
        small_dcp().register(cloud, cloud, polish=-1)


def test_mistakes_in_batches_and_options_are_named():
    cloud = torch.rand(2, 10, 3)
    for batch, message in (
        (Batch(cloud[0], cloud), r"batch\.source must be \(B, N, 3\).*got \(10, 3\)"),
        (Batch(cloud, cloud[:1], cloud, cloud[:1]), "same number of clouds, got 2 and 1"),
        (
            Batch(cloud, cloud, cloud, cloud, torch.ones(2, 9, dtype=torch.bool)),
            r"batch\.source_mask must be bool of shape \(2, 10\)",
        ),
        (Batch(cloud, cloud), r"batch\.source_normals is None"),
        (Batch(cloud, cloud, cloud, cloud[:, :4]), r"batch\.target_normals must be"),
    ):
        with pytest.raises(ValueError, match=message):
            small_rpmnet()(batch)
    with pytest.raises(TypeError, match=r"batch must be a Batch\(source, target\), got Tensor"):
        small_dcp()(cloud)
    with pytest.raises(ValueError, match=r"affinity must have shape \(\.\.\., N, M\), got \(2,\)"):
        sinkhorn(torch.zeros(2))
    with pytest.raises(ValueError, match="pointer must be 'transformer' or 'identity'"):
        DCP(pointer="none")
    with pytest.raises(ValueError, match="multiple of n_heads"):
        DCP(emb_dims=30)
    with pytest.raises(TypeError, match=r"got 'target'; SpoonfulLayer\(form='target'\)\?$"):
        DCP(refine="target")
    for options, message in (
        ({"train_iterations": 0}, "train_iterations must be an int >= 1, got 0"),
        ({"neighbors": 2.5}, "neighbors must be an int >= 1, got 2.5"),
        ({"radius": 0.0}, "radius must be > 0, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            small_rpmnet(**options)
    with pytest.raises(ValueError, match="'mlp' head has none"):
        DCP(head="mlp", refine=SpoonfulLayer())
    with pytest.raises(ValueError, match=r"features must be some of \['xyz', 'dxyz', 'ppf'\]"):
        small_rpmnet(features=("color",))
    with pytest.raises(ValueError, match="iterations must be an int >= 1, got 0"):
        small_rpmnet(features=("xyz",))(Batch(cloud, cloud), iterations=0)
