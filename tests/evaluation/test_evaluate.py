from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn

from evaluation import shard_in_two_processes
from evaluation.small import shapes
from scripts import fork_two
from spoonful.batch import Batch
from spoonful.data import protocols
from spoonful.evaluation import Method, Result, evaluate, methods, open_method
from spoonful.evaluation.provenance import fingerprint, weights_sha256
from spoonful.geometry import Pose, rotation_from_vector
from spoonful.models import DCP
from spoonful.registration import Registration

CLEAN = protocols.get("dcp-clean")


@pytest.mark.slow
def test_two_processes_find_what_one_finds(tmp_path):
    fork_two(partial(shard_in_two_processes.main, str(tmp_path)))
    for limit in (7, 1):
        alone = evaluate(
            methods.get("true-matches"),
            protocols.get("dcp-noise"),
            shapes(),
            batch_size=2,
            limit=limit,
        )
        for rank in range(2):
            shared = Result.load(tmp_path / f"{limit}-{rank}.json")
            assert shared.index.tolist() == list(range(limit)), "every item, once"
            assert shared.timing.processes == 2
            assert shared.timing.pairs == limit
            assert torch.equal(shared.labels, alone.labels)
            for name, values in alone.errors.items():
                torch.testing.assert_close(shared.errors[name], values, rtol=1e-9, atol=1e-12)


def test_batches_of_any_size_give_the_same_errors():
    method = methods.get("true-matches")
    one, many = (
        evaluate(method, protocols.get("rpm-crop"), shapes(2048), batch_size=size)
        for size in (1, 3)
    )
    for name, values in one.errors.items():
        torch.testing.assert_close(many.errors[name], values, rtol=1e-6, atol=1e-9)


def test_the_truth_has_no_error_and_no_motion_has_all_of_it():
    truth = evaluate(methods.get("truth"), CLEAN, shapes(), limit=4)
    assert truth["rotation_degrees"].summary.max == 0
    assert truth["mean_point_distance"].summary.max == 0
    nothing = evaluate(methods.get("identity"), CLEAN, shapes(), limit=4)
    torch.testing.assert_close(
        nothing.errors["relative_rotation"], torch.ones(4, dtype=torch.float64)
    )


def test_true_matches_are_exact_where_clouds_share_their_points():
    found = evaluate(methods.get("true-matches"), CLEAN, shapes(), limit=4)
    assert found["rotation_degrees"].summary.max < 1e-3
    noisy = evaluate(methods.get("true-matches"), protocols.get("dcp-noise"), shapes(), limit=4)
    assert 1e-3 < noisy["rotation_degrees"].summary.mean < 1


def test_categories_are_those_of_the_items():
    found = evaluate(methods.get("identity"), protocols.get("dcp-unseen"), shapes(), chamfer=False)
    assert found.labels.tolist() == [2, 3, 2, 3]
    assert list(found.by_category) == ["cup", "drum"]
    assert "chamfer" not in found.errors


class Recorder(nn.Module):
    """Notes the mode it runs in."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Dropout()
        self.modes: set[tuple[bool, bool]] = set()

    def forward(self, batch: Batch) -> Registration:
        self.modes.add((self.training, torch.is_grad_enabled()))
        return methods.identity(batch)


def test_models_run_in_eval_mode_and_return_to_theirs():
    model = Recorder()
    model.part.eval()
    evaluate(methods.of_model("recorder", model), CLEAN, shapes(), limit=2, chamfer=False)
    assert model.modes == {(False, False)}
    assert model.training
    assert not model.part.training


def test_a_pose_that_is_not_finite_is_counted():
    def fails_on_item_1(batch: Batch) -> Registration:
        rotation = torch.eye(3).repeat(len(batch), 1, 1)
        rotation[batch.index == 1] = torch.nan
        return Registration(Pose(rotation, torch.zeros(len(batch), 3)))

    found = evaluate(Method("fails", fails_on_item_1), CLEAN, shapes(), limit=3)
    assert found.failures == 1
    assert found["rotation_degrees"].summary.nonfinite == 1
    assert found.errors["rotation_degrees"].isinf().tolist() == [False, True, False]


def test_a_method_must_return_a_registration():
    with pytest.raises(TypeError, match="method odd must return a Registration, got a Pose"):
        evaluate(Method("odd", lambda batch: batch.pose), CLEAN, shapes(), limit=1)


@pytest.mark.parametrize("option", ["batch_size", "limit"])
def test_options_out_of_range_are_named(option):
    with pytest.raises(ValueError, match=f"{option} must be at least 1, got 0"):
        evaluate(methods.get("identity"), CLEAN, shapes(), **{option: 0})


def test_a_name_in_place_of_a_method_or_a_protocol_says_what_finds_it():
    with pytest.raises(TypeError, match=r"method must be a Method, got str; methods.get\(name\)"):
        evaluate("identity", CLEAN, shapes())
    with pytest.raises(TypeError, match=r"protocol must be a Protocol, got 'dcp-clean'; protocols"):
        evaluate(methods.get("identity"), "dcp-clean", shapes())


def test_progress_is_told():
    seen = []
    evaluate(
        methods.get("identity"),
        CLEAN,
        shapes(),
        batch_size=3,
        chamfer=False,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(3, 8), (6, 8), (8, 8)]


@pytest.mark.slow
def test_what_fits_into_a_time_is_of_all_categories_and_the_same_every_time():
    corpus = shapes(count=64)
    corpus = replace(corpus, labels=corpus.labels.sort().values)  # as they are stored

    def measured(**options):
        return evaluate(methods.get("truth"), CLEAN, corpus, batch_size=8, **options)

    few = measured(seconds=1e-6)
    assert len(few) == 8
    assert few.index.tolist() == measured(seconds=1e-6).index.tolist()
    assert sorted(set(few.labels.tolist())) == [0, 1, 2, 3]
    assert math.isnan(few.timing.single)
    assert few.data.items == 64
    all_of_them = measured(seconds=1e6)
    assert sorted(all_of_them.index.tolist()) == list(range(64))
    assert all_of_them.timing.single > 0
    assert sorted(measured(seconds=1e-6, limit=4).index.tolist()) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="seconds must be positive, got 0"):
        measured(seconds=0)


def test_hashes_change_with_what_they_stand_for():
    corpus = shapes()
    assert fingerprint(corpus) != fingerprint(replace(corpus, points=corpus.points + 1e-3))
    assert fingerprint(corpus) != fingerprint(replace(corpus, labels=corpus.labels.flip(0)))
    assert fingerprint(corpus) != fingerprint(replace(corpus, normals=None))
    assert fingerprint(corpus) == fingerprint(replace(corpus, name="another name"))
    model = nn.Linear(2, 2)
    before = weights_sha256(model)
    assert before == weights_sha256(model)
    with torch.no_grad():
        model.weight[0, 0] += 1e-3
    assert before != weights_sha256(model)


def test_published_weights_are_opened_with_their_model(tmp_path, golden_folder):
    model = DCP.v1()
    torch.save(model.state_dict(), tmp_path / "dcp_v1.t7")
    found = open_method(f"theirs=dcp-v1:{tmp_path / 'dcp_v1.t7'}")
    assert found.name == "theirs"
    assert found.settings == "published weights"
    assert found.weights == weights_sha256(model)


class NearlyRight(nn.Module):
    """Answers with the true pose, turned by a degree."""

    def forward(self, batch: Batch) -> Registration:
        turn = rotation_from_vector(torch.tensor([0.0, 0.0, math.radians(1.0)]))
        return Registration(Pose(turn @ batch.pose.rotation, batch.pose.translation))


def test_icp_after_a_network_finds_the_pose_of_exact_copies():
    method = methods.with_icp(Method("near", NearlyRight()))
    assert method.name == "near+icp"
    found = evaluate(method, CLEAN, shapes(), limit=4)
    assert found["rotation_degrees"].summary.max < 0.01


def test_icp_after_a_network_does_not_see_padding():
    method = methods.with_icp(Method("near", NearlyRight()))
    source = shapes().points[:1]
    pose = Pose.identity(1)
    alone = method.run(Batch(source, source, pose=pose))
    padded = torch.cat([source, torch.zeros(1, 500, 3)], dim=1)
    mask = torch.arange(padded.shape[1])[None] < source.shape[1]
    beside = method.run(Batch(padded, padded, pose=pose, source_mask=mask, target_mask=mask))
    assert torch.equal(alone.pose.rotation, beside.pose.rotation)


def test_icp_after_shipped_weights_has_their_name_or_a_label():
    assert open_method("rpmnet+icp").name == "rpmnet+icp"
    assert open_method("mine=rpmnet+icp").name == "mine"
    with pytest.raises(ValueError, match='"\\+icp" is for networks, and identity is none'):
        open_method("identity+icp")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("identiy", "did you mean 'identity'"),
        ("mine=", "the name of a method is empty"),
        ("no/such/run", "no checkpoint at 'no/such/run'"),
        ("weights.t7", "published weights are named with their model: dcp-v1:FILE"),
    ],
)
def test_unknown_methods_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        open_method(text)


def test_names_of_methods_are_free_of_marks_and_taken_once():
    with pytest.raises(ValueError, match="already a method named 'identity'"):
        methods.register("identity", lambda: methods.get("identity"), summary="")
    with pytest.raises(ValueError, match="must not be empty or contain"):
        methods.register("a:b", lambda: methods.get("identity"), summary="")
    assert set(methods.summaries()) == set(methods.names())
