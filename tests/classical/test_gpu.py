"""Go-ICP and RPM on a GPU: the CPU's answers, within their limits on time."""

from __future__ import annotations

import time

import pytest
import torch

from classical import easy
from spoonful.classical.goicp import GoICP
from spoonful.classical.rpm import RPM

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_goicp_finds_a_large_turn():
    source, target, truth = easy.pair(128, degrees=160)
    found = GoICP(cells=32, threshold=1e-4).register(source.cuda(), target.cuda())
    assert found.status == ("ok",)
    assert easy.degrees_between(found.pose.to("cpu"), truth) < 0.1
    assert float(found.extras["gap"]) <= 1e-4


def test_goicp_searches_on_where_no_start_ends_it():
    source, target, _ = easy.pair(256)
    target = target[target[:, 0] > target[:, 0].median()]  # half of it: no pose has a low error
    method = GoICP(threshold=1e-6, time_limit=1.0)
    method.register(source.cuda(), target.cuda())  # kernels are made once
    began = time.monotonic()
    found = method.register(source.cuda(), target.cuda())
    assert found.status == ("time-limit",)
    assert time.monotonic() - began < 3
    assert 0 <= float(found.extras["lower_bound"]) < float(found.extras["mse"])


@pytest.mark.parametrize("method", [RPM.published(), RPM(rounds=2, growth=1.3)], ids=str)
def test_rpm_has_the_poses_of_the_cpu(method):
    batch = easy.batch(4)
    here, there = method(batch), method(batch.to("cuda"))
    assert easy.degrees_between(there.pose.to("cpu"), here.pose).max() < 0.01
    assert there.status == here.status
