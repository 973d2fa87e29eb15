"""A padded batch gives what its items give alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from models.helpers import SMALL, as_dtype, gradients, make_batch, padded, with_layer
from spoonful.batch import Batch

SIZES = [(40, 33), (25, 40), (31, 26)]


@pytest.fixture
def items() -> list[Batch]:
    return [make_batch(1, n, m, seed=i) for i, (n, m) in enumerate(SIZES)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SMALL)
def test_padding_changes_nothing_in_eval_mode(name, dtype, items):
    model = SMALL[name]().to(dtype)
    model.train()(make_batch(4, 40, 40, seed=9, dtype=dtype))  # statistics worth folding
    model.eval()
    # A random PointNet's matches nearly coincide: float32 does not determine their rotation.
    poses = dtype == torch.float64 or name != "dcp-pointnet"
    # Those of a random DCP-v2 are 300 times smaller than the clouds, and rounding counts for more.
    near, far = (1e-10, 1e-9) if dtype == torch.float64 else (1e-5, 1e-4)
    items = [as_dtype(one, dtype) for one in items]
    with torch.no_grad():
        together = model(padded(items))
        for i, one in enumerate(items):
            alone = model(one)
            matches = together.matches[i, : one.source.shape[1]]
            torch.testing.assert_close(matches, alone.matches[0], rtol=0, atol=near)
            for ours, theirs in zip(together.pose.at(i), alone.pose.at(0), strict=True):
                if poses:
                    torch.testing.assert_close(ours, theirs, rtol=0, atol=far)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dcp-v2", "rpmnet"])
def test_what_padding_holds_does_not_matter(name, items):
    model = SMALL[name]().train()
    state = {k: v.clone() for k, v in model.state_dict().items()}
    results = []
    for fill in (float("nan"), 0.0, 1e4):
        model.load_state_dict(state)
        results.append(gradients(model, padded(items, fill=fill)))
    for other in results[1:]:
        for parameter, value in results[0].items():
            assert torch.equal(value, other[parameter]), parameter


@pytest.mark.parametrize("name", ["dcp-v2", "dcp-pointnet"])
def test_padding_has_no_part_in_batch_statistics(name):
    alike = [make_batch(1, 40, 33, seed=i, dtype=torch.float64) for i in range(2)]
    plain, wide = SMALL[name]().double().train(), SMALL[name]().double().train()
    batch = padded(alike)
    plain(batch)
    far = {
        field: F.pad(getattr(batch, field), (0, 0, 0, 9), value=1e3)
        for field in ("source", "target", "source_normals", "target_normals")
    }
    masks = {f: F.pad(getattr(batch, f), (0, 9)) for f in ("source_mask", "target_mask")}
    wide(replace(batch, **far, **masks))
    for a, b in zip(plain.buffers(), wide.buffers(), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", ["rpmnet", "rpmnet-xyz"])
def test_losses_of_padded_rpmnet_are_means_over_items(name, items):
    model = with_layer(SMALL[name]).train()
    batch = padded(items)
    together = model.loss(model(batch), batch)
    alone = torch.stack([model.loss(model(one), one) for one in items]).mean()
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_clouds_smaller_than_a_neighbourhood_are_fine():
    items = [make_batch(1, 7, 40), make_batch(1, 40, 5, seed=1)]
    for build in SMALL.values():
        model = build().eval()
        with torch.no_grad():
            together = model(padded(items))
            for i, one in enumerate(items):
                torch.testing.assert_close(
                    together.matches[i, : one.source.shape[1]],
                    model(one).matches[0],
                    rtol=0,
                    atol=1e-5,
                )
