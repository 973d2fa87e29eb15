"""`register` on another device: the CPU's answer, and clear errors if the device is not there.

Most tests use a device that only says that it is one, see `elsewhere.py`. The others need a GPU.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from pipeline.elsewhere import DEVICE, Elsewhere
from pipeline.lumps import ellipsoid, lumpy, off_by, view
from spoonful.classical.fpfh import fpfh
from spoonful.data.clouds import Cloud, write_cloud
from spoonful.data.normals import estimate_normals
from spoonful.data.simulate import simulate
from spoonful.geometry import Pose, kernels
from spoonful.neighbors import Index
from spoonful.neighbors.blocks import distances
from spoonful.pipeline import register
from spoonful.pipeline.alignment import Alignment
from spoonful.pipeline.batches import register_pairs
from spoonful.pipeline.field import Field, settle
from spoonful.pipeline.runner import Request
from spoonful.pipeline.sight import Rays, looked_through

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
OPTIONS = (
    {},
    {"up": "auto"},
    {"up": "z", "method": "icp"},
    {"init": Pose.identity(dtype=torch.float64)},
    {"seed": 5, "voxel": 0.12},
)


@pytest.fixture(scope="module")
def pair() -> tuple[Cloud, Cloud]:
    """Two small scans with normals, which share about half of what they see."""
    pytest.importorskip("scipy", reason="the CPU's answer needs SciPy")
    shapes = view(lumpy(1500, 1), (1, 0, 0)), view(lumpy(1400, 2), (0.6, 0.8, 0))
    turn = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]], dtype=torch.float64)
    source, target = shapes[0].double() @ turn.mT, shapes[1].double()
    return Cloud(source, estimate_normals(source)), Cloud(target, estimate_normals(target))


def same(found: Alignment, wanted: Alignment) -> None:
    # Equally good matches may be taken in another order, and ICP then ends a little elsewhere.
    degrees, shift = off_by(found.pose, wanted.pose)
    assert degrees < 0.02
    assert shift < 0.01 * wanted.voxel
    assert found.confidence == pytest.approx(wanted.confidence, abs=0.01)
    assert found.warnings == wanted.warnings
    assert found.method == wanted.method
    assert found.voxel == pytest.approx(wanted.voxel)
    assert found.covariance == pytest.approx(wanted.covariance, rel=0.05, abs=1e-9)
    tensors = (*found.pose, found.covariance, *found.matches, *found.poses["global"])
    assert {tensor.device.type for tensor in tensors} == {"cpu"}


@pytest.mark.slow
@pytest.mark.parametrize(("options", "normals"), [({}, False), ({"up": "auto"}, True)], ids=str)
def test_all_of_the_work_follows_the_device(pair, options, normals):
    source, target = pair if normals else (Cloud(cloud.points) for cloud in pair)
    with kernels.disabled():
        wanted = register(source, target, **options)
    with Elsewhere() as there:
        found = register(source, target, device=DEVICE, **options)
    same(found, wanted)
    assert sum(there.calls.values()) > 3000


def test_pairs_within_a_radius_are_those_of_the_trees():
    points = torch.rand(300, 3, generator=torch.Generator().manual_seed(0))
    wanted, count = torch.stack(Index(points).pairs_within(0.2)), Index(points).count_within(0.2)
    with Elsewhere():
        index = Index(points.to(DEVICE))
        found, counted = torch.stack(index.pairs_within(0.2)).cpu(), index.count_within(0.2)
    assert {*map(tuple, found.mT.tolist())} == {*map(tuple, wanted.mT.tolist())}
    assert counted == count


def test_distances_and_histograms_are_those_of_the_cpu(pair):
    points, normals = pair[0].points.float(), pair[0].normals.float()
    with Elsewhere():
        apart = distances(points[:9].to(DEVICE), points.to(DEVICE)).cpu()
        found = fpfh(points.to(DEVICE), normals.to(DEVICE), [0.3, 0.4]).cpu()
    torch.testing.assert_close(apart, distances(points[:9], points))
    torch.testing.assert_close(found, fpfh(points, normals, [0.3, 0.4]), atol=1e-5, rtol=1e-4)


def seen(device: str) -> torch.Tensor:
    """What two sensors looked through at three poses, computed on a device."""
    clouds = [cloud.points.float() for cloud in simulate("room", "camera", detail=0.3).clouds]
    source, target = (
        Rays((10 * points).to(device), torch.zeros(3, device=device)) for points in clouds
    )
    shifts = torch.tensor([[0.0, 0, 0], [4, 0, 0], [0, 0, -6]], device=device)
    return looked_through(source, target, Pose(torch.eye(3, device=device).expand(3, 3, 3), shifts))


def test_sensors_look_through_the_same_on_any_device():
    with Elsewhere():
        found = seen(DEVICE).cpu()
    torch.testing.assert_close(found, seen("cpu"), atol=2e-3, rtol=0)


@pytest.mark.gpu
@needs_gpu
def test_sensors_look_through_the_same_on_a_gpu():
    torch.testing.assert_close(seen("cuda").cpu(), seen("cpu"), atol=2e-3, rtol=0)


def test_a_device_that_is_not_there_is_an_error(pair):
    for name in ("gpu", "cuda:99"):
        with pytest.raises(ValueError, match=f"^device .*{name}"):
            register(*pair, device=name)
        with pytest.raises(ValueError, match=f"^device .*{name}"):
            Request("a.ply", "b.ply", device=name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a CUDA device")
def test_without_cuda_there_is_an_error_and_auto_is_the_cpu(pair):
    with pytest.raises(ValueError, match="device cuda: torch finds no CUDA device"):
        register(*pair, device="cuda")
    assert Request("a.ply", "b.ply", device="auto").device == "auto"


def test_a_cluster_takes_the_cpu_alone(tmp_path):
    requests = [Request("a.ply", "b.ply", device="auto")]
    with pytest.raises(ValueError, match="device must be cpu on a cluster, got auto"):
        register_pairs(requests, tmp_path, cluster=True)


def test_the_command_that_repeats_a_request_names_its_device():
    assert Request("a.ply", "b.ply", device="auto").command()[-2:] == ["--device", "auto"]
    assert "--device" not in Request("a.ply", "b.ply").command()


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_gpu_gives_the_cpus_answer(pair, options):
    for source, target in (pair, [Cloud(cloud.points) for cloud in pair]):
        wanted = register(source, target, **options)
        same(register(source, target, device="cuda", **options), wanted)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("signed", [False, True])
def test_a_gpu_settles_poses_where_the_cpu_does(signed):
    target, source, normals, start = ellipsoid(signed)
    wanted = settle(Field(target, normals), source, normals, start, signed=signed)
    target, source, normals, start = (x.to("cuda") for x in (target, source, normals, start))
    found = settle(Field(target, normals), source, normals, start, signed=signed)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.gpu
@needs_gpu
def test_a_gpu_gives_the_cpus_answer_for_an_unknown_scale(scans):
    source, target, _ = scans
    found, wanted = (register(3 * source, target, scale="auto", device=x) for x in ("cuda", "cpu"))
    assert found.scale == pytest.approx(wanted.scale, rel=1e-3)
    assert off_by(found.pose, wanted.pose)[0] < 0.1


@pytest.mark.gpu
@needs_gpu
def test_a_batch_runs_on_a_gpu(pair, tmp_path: Path):
    for name, cloud in zip(("a", "b"), pair, strict=True):
        write_cloud(tmp_path / f"{name}.ply", cloud)
    files = str(tmp_path / "a.ply"), str(tmp_path / "b.ply")
    requests = [Request(*files, id=str(k), device="cuda") for k in range(4)]
    rows = register_pairs(requests, tmp_path / "out", workers=2)
    assert [row["status"] for row in rows] == ["confident"] * 4
    whole = json.loads((tmp_path / "out" / "results.json").read_text())
    assert whole["settings"]["device"] == "cuda"
