"""torch.compile takes the whole layer as one graph, forward and backward."""

from __future__ import annotations

import pytest
import torch

from graphs import whole_graph
from spoonful.geometry import SpoonfulLayer, refine

# Each step is traced: two of them in `refine`, and one more after the fit in the layer.


def loss_of_refine(source, target, weights):
    start = torch.eye(3).expand(len(source), 3, 3)
    refined = refine(source, target, start, weights=weights, iterations=2, form="target")
    return refined.rotation.cumsum(-1).sum() + refined.translation.sum()


def loss_of_layer(source, target, weights):
    poses = SpoonfulLayer(1)(source, target, weights).poses
    return poses.rotation.cumsum(-1).sum() + poses.translation.sum()


@pytest.mark.skipif(torch.__version__ < "2.8", reason="needs torch 2.8")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "backend"), [(loss_of_refine, whole_graph), (loss_of_layer, "aot_eager")]
)
def test_full_graph_gives_the_eager_values_and_gradients(loss, backend, generator):
    # Both trace forward and backward whole, as inductor does, without compiling C++; aot_eager
    # also searches for what to compute again.
    torch.compiler.reset()
    inputs = [
        torch.randn(2, 9, 3, generator=generator),
        torch.randn(2, 9, 3, generator=generator),
        torch.rand(2, 9, generator=generator),
    ]
    results = []
    for function in (loss, torch.compile(loss, fullgraph=True, backend=backend)):
        leaves = [x.clone().requires_grad_() for x in inputs]
        value = function(*leaves)
        value.backward()
        results.append((value.detach(), *(leaf.grad for leaf in leaves)))
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager, rtol=1e-4, atol=1e-5)
