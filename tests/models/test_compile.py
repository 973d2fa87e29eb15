"""torch.compile takes each model as one graph; so does torch.export."""

from __future__ import annotations

import pytest
import torch

from graphs import whole_graph
from models.helpers import make_batch, small_dcp, small_rpmnet
from spoonful.geometry import SpoonfulLayer
from spoonful.models import save_program

# Tracing takes time for every operation: as few as show everything there is.
SHORT = {
    small_dcp: {},
    small_rpmnet: {"train_iterations": 1, "test_iterations": 1, "sinkhorn_iterations": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("build", [small_dcp, small_rpmnet])
def test_training_is_one_graph_with_the_eager_loss_and_gradients(build):
    torch.compiler.reset()
    refine = SpoonfulLayer(iterations=1) if build is small_rpmnet else None
    model = build(refine=refine, **SHORT[build]).train()
    batch = make_batch(2, 24, 24)

    def loss(batch):
        return model.loss(model(batch), batch)

    state = {k: v.clone() for k, v in model.state_dict().items()}
    eager = loss(batch)
    eager.backward()
    expected = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    model.load_state_dict(state)
    compiled = torch.compile(loss, backend=whole_graph, fullgraph=True)(batch)
    compiled.backward()
    torch.testing.assert_close(compiled, eager)
    largest = max(g.abs().max() for g in expected.values())
    for name, p in model.named_parameters():
        if p.grad is not None:
            torch.testing.assert_close(
                p.grad, expected[name], rtol=1e-3, atol=1e-5 * float(largest)
            )


@pytest.mark.slow
def test_compiled_parts_keep_values_and_names():
    torch.compiler.reset()
    model = small_dcp().eval()
    batch = make_batch(2, 24, 24)
    with torch.no_grad():
        expected = model(batch).pose
        names = list(model.state_dict())
        model.compile_parts(backend=whole_graph, fullgraph=True)
        torch.testing.assert_close(model(batch).pose.rotation, expected.rotation)
    assert list(model.state_dict()) == names


@pytest.mark.slow
def test_inference_exports_and_runs_from_the_exported_program(tmp_path):
    # test_export.py traces RPM-Net.
    model = small_dcp().eval()
    batch = make_batch(1, 24, 20)
    with torch.no_grad():
        expected = model(batch).pose
        path = save_program(model, tmp_path / "model.pt2", points=(24, 20))
        rotation, translation = torch.export.load(path).module()(batch.source, batch.target)
    torch.testing.assert_close(rotation, expected.rotation)
    torch.testing.assert_close(translation, expected.translation)
