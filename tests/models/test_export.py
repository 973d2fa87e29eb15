"""Models as programs: the numbers are the model's, and nothing of this package is needed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from data.corpora import blobs
from models.helpers import make_batch, small_dcp, small_rpmnet
from scripts import load_benchmark
from spoonful.extras import MissingExtra
from spoonful.geometry import Pose
from spoonful.models import RegistrationModel, save_program
from spoonful.models.export import atan2_by_atan, svd_by_arithmetic
from spoonful.registration import Registration


def matrices(kind: str) -> torch.Tensor:
    random = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(2000, *shape, generator=random)

    made = {
        "any": lambda: normal(3, 3),
        "planar": lambda: normal(3, 2) @ normal(2, 3),
        "on a line": lambda: normal(3, 1) @ normal(1, 3),
        "graded": lambda: normal(3, 3) * torch.tensor([1.0, 1e-3, 1e-6]),
        "almost rotations": lambda: torch.linalg.qr(normal(3, 3)).Q + 1e-4 * normal(3, 3),
        "along axes": lambda: torch.diag_embed(torch.eye(3)[[0, 1, 2]] - 0.5),
        "mirrored": lambda: torch.diag(torch.tensor([1.0, 1, -1])),
        "zero": lambda: torch.zeros(3, 3),
    }[kind]()
    return made / made.abs().amax((-1, -2), keepdim=True).clamp_min(1e-30)


@pytest.mark.parametrize(
    "kind",
    ["any", "planar", "on a line", "graded", "almost rotations", "along axes", "mirrored", "zero"],
)
def test_singular_values_by_arithmetic_are_lapacks(kind):
    A = matrices(kind)
    U, s, Vh = svd_by_arithmetic(A)
    near = {"rtol": 0, "atol": 3e-6}
    torch.testing.assert_close(U * s.unsqueeze(-2) @ Vh, A, **near)
    torch.testing.assert_close(s, torch.linalg.svdvals(A.double()).float(), **near)
    for orthogonal in (U, Vh):
        torch.testing.assert_close(orthogonal.mT @ orthogonal, torch.eye(3).expand_as(A), **near)


def test_angles_by_arithmetic_are_torchs():
    values = torch.tensor([-2.0, -1, -1e-30, 0, 1e-30, 1, 2])
    y, x = torch.meshgrid(values, values, indexing="ij")
    torch.testing.assert_close(atan2_by_atan(y, x), torch.atan2(y, x))
    # What torch's own conversion to ONNX gets wrong, and opposite normals need.
    assert atan2_by_atan(torch.zeros(1), -torch.ones(1)) == torch.pi
    # Dot products may be a negative zero.
    assert atan2_by_atan(torch.ones(1), torch.tensor([-0.0])) == torch.pi / 2


# torch's own use of its deprecated names.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_the_program_of_the_documentation_finds_the_models_pose(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = QuarterTurn().eval()  # a small graph: converting takes time for each operation
    save_program(model, tmp_path / "dcp.onnx")
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    for sizes in ((24, 24), (40, 33)):
        batch = make_batch(1, *sizes)
        source, target = 30 * batch.source[0] + 5, 30 * batch.target[0]
        for name, cloud in (("source", source), ("target", target)):
            np.save(tmp_path / f"{name}.npy", cloud.numpy())
        exec(compile(code, "export.md", "exec"), found := {})
        expected = model.register(source, target, polish=0).pose
        for name, near in (("rotation", 1e-4), ("translation", 1e-2)):
            value = torch.from_numpy(found[name])
            torch.testing.assert_close(value, getattr(expected, name), rtol=0, atol=near)


# torch's own use of its deprecated names.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_whole_rpmnet_in_onnx_takes_any_number_of_points(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    # One round of each loop: tracing takes seconds for each. The fit needs singular values.
    model = small_rpmnet(test_iterations=1, sinkhorn_iterations=1).eval()
    session = runtime.InferenceSession(save_program(model, tmp_path / "rpmnet.onnx"))
    names = ("source", "target", "source_normals", "target_normals")
    for sizes in ((24, 31), (40, 33)):
        batch = make_batch(1, *sizes)
        found = session.run(None, {name: getattr(batch, name).numpy() for name in names})
        with torch.no_grad():
            expected = model(batch).pose
        for value, name in zip(found, ("rotation", "translation"), strict=True):
            near = {"rtol": 0, "atol": 1e-5}
            torch.testing.assert_close(torch.from_numpy(value), getattr(expected, name), **near)


@pytest.mark.slow
def test_the_benchmark_says_how_far_the_programs_poses_are_from_torchs(tmp_path, monkeypatch):
    class Session:
        """A program that is a little off."""

        def __init__(self, file, options):
            pass

        def run(self, outputs, inputs):
            assert inputs["source"].shape == inputs["target"].shape == (1, 1024, 3)
            shift = inputs["target"].mean(1) - inputs["source"].mean(1)
            return [np.eye(3, dtype=np.float32)[None], shift + np.float32(1e-3)]

    runtime = pytest.importorskip("onnxruntime")
    script = load_benchmark("export")
    monkeypatch.setattr(script.corpora, "load", lambda name, split: blobs(4))
    monkeypatch.setattr(runtime, "InferenceSession", Session)
    monkeypatch.setattr(script.shipped, "load", lambda name: Centroids().eval())
    monkeypatch.setattr(script, "save_program", lambda model, file, points: file.write_text("x"))
    found = script.measure("dcp-v2-shapes", 2, 0.01, tmp_path)
    assert found.points == (1024, 1024)
    assert found.difference == pytest.approx(1e-3, rel=0.01)
    assert min(found.ms.values()) > 0


class Centroids(RegistrationModel):
    """A model without parameters: one rotation for all pairs, and the shift of the centroids."""

    rotation = torch.eye(3)

    def forward(self, batch):
        rotation = self.rotation.expand(len(batch), 3, 3)
        turned = batch.source @ rotation.mT
        return Registration(Pose(rotation, batch.target.mean(1) - turned.mean(1)))

    def loss(self, output, batch):
        raise NotImplementedError


class QuarterTurn(Centroids):
    """A model that turns each source by 90 degrees about z."""

    rotation = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])


def test_writing_a_program_leaves_the_model_in_its_mode(tmp_path):
    model = Centroids().train()
    file = save_program(model, tmp_path / "centroids.pt2", points=(8, 8))
    assert model.training
    cloud = torch.rand(1, 8, 3)
    _, translation = torch.export.load(file).module()(cloud, cloud + 1)
    torch.testing.assert_close(translation, torch.ones(1, 3))


def test_mistakes_are_named(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"path must end in \.pt2 or \.onnx, got 'dcp\.pth'"):
        save_program(small_dcp(), "dcp.pth")
    for points in ((24, 2), (24,), 24):
        with pytest.raises(ValueError, match=r"points must be two numbers, at least 3 and 3, got"):
            save_program(small_dcp(), tmp_path / "dcp.pt2", points=points)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(
        MissingExtra, match=r"^Writing ONNX files needs onnxscript: pip install 'spoonful\[onnx\]'$"
    ):
        save_program(small_dcp(), tmp_path / "dcp.onnx", points=(24, 24))
    assert not list(tmp_path.iterdir())


def test_the_command_has_nothing_to_export_of_a_method_without_a_network(capsys):
    pytest.importorskip("typer")
    from spoonful.cli.app import run

    assert run(["models", "export", "icp", "icp.onnx"]) == 2
    assert "icp is not a network" in capsys.readouterr().err
