"""Tuning: on training pairs alone, the same every time, and never worse than published."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from evaluation.small import shapes
from scripts import fork_two, load_benchmark
from spoonful.classical import presets
from spoonful.classical.icp import ICP
from spoonful.classical.presets import Tuned
from spoonful.cli.app import run
from spoonful.data import protocols
from spoonful.data.items import ProtocolDataset
from spoonful.evaluation import methods, open_method
from spoonful.training import corpora

load_benchmark("tune")
from paper import tuning  # noqa: E402
from paper.tuning import SPACES, training_pairs, tune  # noqa: E402

CARD = replace(protocols.get("dcp-unseen"), points=96)
TRAIN = shapes(128, 24, "toy/train")


@pytest.fixture
def poor(monkeypatch):
    """ICP whose published settings are one iteration, and a space with more of them."""
    monkeypatch.setattr(presets, "published", lambda name: ICP(settings="published", iterations=1))
    monkeypatch.setitem(SPACES, "icp", {"iterations": (1, 2, 40), "trim": (0.0, 0.9)})


def test_the_search_finds_better_settings(poor):
    seen = []
    found = tune("icp", CARD, TRAIN, trials=6, items=9, progress=seen.append)
    assert found.after < 0.8 * found.before
    assert found.tuned.settings["iterations"] == 40
    assert seen == [replace(trial, final=None, gain=None) for trial in found.trials]
    assert found.trials[0].method.settings == "published"
    assert found.trials[0].final == found.before


@pytest.mark.slow
def test_the_same_seed_finds_the_same(poor):
    one, two, other = (tune("icp", CARD, TRAIN, trials=4, items=6, seed=seed) for seed in (0, 0, 1))
    assert one.tuned == two.tuned
    assert [t.score for t in one.trials] == [t.score for t in two.trials]
    assert [t.score for t in one.trials] != [t.score for t in other.trials]


def test_what_an_earlier_search_found_is_tried_again(poor):
    good = Tuned("icp", {"iterations": 40, "trim": 0.0})
    found = tune("icp", CARD, TRAIN, trials=2, items=9, earlier=[good])
    assert found.tuned.settings["iterations"] == 40
    assert [trial.method.iterations for trial in found.trials] == [1, 40]
    same = Tuned("icp", {"iterations": 1})
    assert tune("icp", CARD, TRAIN, trials=1, items=3, earlier=[same]).tuned.search["winner"] == 0


def test_published_settings_stay_where_nothing_is_better(monkeypatch):
    monkeypatch.setitem(SPACES, "icp", {"max_distance": (1e-6,)})
    found = tune("icp", CARD, TRAIN, trials=2, items=6)
    assert found.after == found.before
    assert found.tuned.search["winner"] == 0


def test_pairs_are_of_training_shapes_and_training_categories(monkeypatch):
    pairs = training_pairs(CARD, TRAIN, 8)
    assert all(int(pair.label) < 2 for pair in pairs)  # the last half is for test
    assert len({int(pair.index) for pair in pairs}) == 8
    with pytest.raises(ValueError, match="corpus 'toy/test' is a test split"):
        tune("icp", CARD, shapes(128, 8, "toy/test"))
    asked = []
    original = tuning.training_pairs
    monkeypatch.setattr(
        tuning,
        "training_pairs",
        lambda card, *rest, **how: asked.append(card) or original(card, *rest, **how),
    )
    seen = []
    split_of = type(CARD).select
    monkeypatch.setattr(
        type(CARD),
        "select",
        lambda self, data, split: seen.append(split) or split_of(self, data, split),
    )
    tune("icp", CARD, TRAIN, trials=1, items=3)
    assert asked
    assert set(seen) == {"validation"}  # of the training shapes and categories


def test_pairs_are_made_as_test_items_are():
    card = protocols.get("rpm-crop")  # whose test items draw crop and pose from the same numbers
    corpus = shapes(2048, 8, "toy/train")
    made = {int(pair.index): pair for pair in training_pairs(card, corpus, 4)}
    other = ProtocolDataset(replace(card, categories="all"), card.select(corpus, "train"))
    for index, pair in made.items():
        assert torch.equal(pair.source, other[index].source)
        assert torch.equal(pair.pose.rotation, other[index].pose.rotation)


def test_trials_end_with_the_time(poor):
    assert len(tune("icp", CARD, TRAIN, trials=6, items=3, seconds=0.0).trials) == 1


def test_a_trial_is_given_up_once_it_cannot_win(monkeypatch):
    pairs = training_pairs(CARD, TRAIN, 12)
    calls = []

    def far(batch):
        calls.append(len(batch))
        return methods.identity(batch)

    assert tuning._errors(far, pairs, limit=0.01) is None
    assert calls == [8]


def test_a_gain_that_may_be_luck_leaves_the_published_settings(monkeypatch):
    pairs = training_pairs(CARD, TRAIN, 12)
    before = torch.arange(1.0, 13.0).double()
    errors = {"published": before, "lucky": before.clone(), "sure": before - 0.5}
    errors["lucky"][-1] = 0.0  # better by one pair alone, and much in the mean
    monkeypatch.setattr(tuning, "_errors", lambda method, pairs: errors[method])
    one, two, three = (tuning.Trial(n, name, n) for n, name in enumerate(errors))
    done, winner = tuning._final([one, two], pairs)
    assert winner.number == 0
    assert done[1].final < done[0].final
    assert done[1].gain.low <= 0 < done[1].gain.high
    done, winner = tuning._final([one, two, three], pairs)
    assert winner.number == 2
    assert (winner.gain.low, winner.gain.high) == pytest.approx((0.5, 0.5))


def test_what_is_fixed_holds_for_all_trials_and_not_for_the_preset(poor):
    found = tune("icp", CARD, TRAIN, trials=3, items=3, fixed={"trim": 0.25})
    assert {trial.method.trim for trial in found.trials} == {0.25}
    assert found.tuned.settings["trim"] == 0.0
    assert found.tuned.search["fixed"] == {"trim": 0.25}
    assert len(found.trials) == 3  # all there are: 1, 2 and 40 iterations


def test_half_of_the_trials_change_one_setting_of_one_of_the_best(poor):
    space = {"iterations": (1, 2, 40, 60), "trim": (0.0, 0.1, 0.9), "tolerance": (1e-6, 1e-3)}
    draws = tuning._Draws(presets.published("icp"), space, set(), 12, seed=0)
    done = []
    while len(done) < 12:
        method = draws.next(done)
        if len(done) >= 6:
            best = sorted(done, key=lambda trial: trial.score)[: tuning.FINALISTS]
            changes = [
                sum(getattr(method, key) != getattr(trial.method, key) for key in space)
                for trial in best
            ]
            assert 1 in changes
        done.append(tuning.Trial(len(done), method, (len(done) * 5) % 7))
    assert len({repr(trial.method) for trial in done}) == 12


def share_a_search(out: str, rank: int) -> None:
    """What each of two processes does."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{out}/meeting", rank=rank, world_size=2)
    found = tune("icp", CARD, TRAIN, trials=4, items=9)
    Path(out, f"{rank}.json").write_text(found.tuned.as_json())
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_processes_find_what_one_does(tmp_path):
    fork_two(partial(share_a_search, str(tmp_path)))
    alone = tune("icp", CARD, TRAIN, trials=4, items=9)
    for rank in range(2):
        found = Tuned.load(tmp_path / f"{rank}.json")
        assert found.settings == alone.tuned.settings
        assert found.search["score_tuned"] == pytest.approx(alone.after, abs=1e-9)
        assert found.search["winner"] == alone.tuned.search["winner"]


def test_what_is_written_is_read(poor, tmp_path):
    found = tune("icp", CARD, TRAIN, trials=3, items=6).tuned
    file = tmp_path / "mine.json"
    file.write_text(found.as_json())
    assert Tuned.load(file) == found
    method = open_method(f"icp@{file}")
    assert method.settings == "tuned"
    assert method.run.iterations == found.settings["iterations"]
    assert method.training["search"]["split"] == "train"
    assert {"protocol_hash", "seed", "trials", "data", "created"} <= set(found.search)
    with pytest.raises(ValueError, match="holds settings of icp, not of rpm"):
        open_method(f"rpm@{file}")


@pytest.mark.parametrize("text", ["{", '{"format": "else"}', "[]"])
def test_other_files_are_refused(tmp_path, text):
    file = tmp_path / "no.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="holds no tuned settings"):
        Tuned.load(file)


def test_mistakes_are_named(tmp_path):
    with pytest.raises(ValueError, match="there is nothing to tune in 'identity'; there are: icp"):
        tune("identity", CARD, TRAIN)
    with pytest.raises(ValueError, match="trials must be at least 1, got 0"):
        tune("icp", CARD, TRAIN, trials=0)
    with pytest.raises(ValueError, match="icp has no setting 'iteration'"):
        Tuned("icp", {"iteration": 3}).build()


@pytest.mark.parametrize("name", SPACES)
def test_spaces_are_of_real_settings_and_hold_more_than_the_published(name):
    try:
        method = presets.published(name)
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    draws = tuning._Draws(method, SPACES[name], set(), 10, seed=0)
    candidates = []
    while len(candidates) < 5:
        candidates.append(tuning.Trial(len(candidates), draws.next(candidates), 0.0))
    assert candidates[0].method == method
    assert len({repr(one.method) for one in candidates}) == 5
    assert set(SPACES[name]) <= set(vars(method))


COMMITTED = sorted(presets.FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_settings_are_from_training_pairs_and_of_todays_protocols(path):
    found = Tuned.load(path)
    name, protocol = path.stem.split("@")
    assert (found.method, found.search["protocol"]) == (name, protocol)
    assert found.search["split"] == "train"
    assert found.search["data"].endswith("/train")
    assert found.search["protocol_hash"] == protocols.get(protocol).hash
    assert found.search["score_tuned"] <= found.search["score_published"]
    assert found.build().settings == "tuned"
    assert json.loads(path.read_text())["format"] == presets.FORMAT


def test_tuned_settings_are_found_for_the_protocol_or_its_family(monkeypatch, tmp_path):
    monkeypatch.setattr(presets, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="no tuned settings of icp; find some with `spoonful tune"):
        open_method("icp@tuned")
    for protocol, trim in (("dcp-clean", 0.1), ("rpm-crop", 0.2)):
        text = Tuned("icp", {"trim": trim}, {"protocol": protocol}).as_json()
        (tmp_path / f"icp@{protocol}.json").write_text(text)
    for protocol, trim in (
        ("dcp-clean", 0.1),
        ("rpm-crop", 0.2),
        ("rpm-jitter", 0.2),
        ("dcp-unseen", 0.1),
        ("3dmatch-30", 0.1),
        (None, 0.1),
    ):
        assert open_method("icp@tuned", protocol).run.trim == trim
    assert open_method("icp@rpm-crop", "dcp-clean").run.trim == 0.2
    with pytest.raises(
        ValueError, match=r"icp has no settings 'best'; there are: published, .*rpm-crop"
    ):
        open_method("icp@best")


@pytest.mark.slow
def test_a_method_without_its_extra_leaves_the_others_their_rows(monkeypatch, tmp_path):
    typer = pytest.importorskip("typer")
    from typer.testing import CliRunner

    from spoonful.classical import isolate
    from spoonful.cli import evaluate
    from spoonful.extras import MissingExtra

    def missing(function: str, **_: object) -> None:
        raise ModuleNotFoundError("No module named 'small_gicp'", name="small_gicp")

    monkeypatch.setattr(isolate, "prepare", missing)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    corpora.save(shapes(1024), tmp_path / "toys.pt")
    app = typer.Typer()
    app.command()(evaluate.evaluate_command)
    command = CliRunner()
    options = ["--data", "toys.pt", "--protocol", "dcp-clean", "--limit", "2", "--no-chamfer"]
    done = command.invoke(app, ["small_gicp", "icp", "icp@default", *options, "--out", "r"])
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "small_gicp cannot run: small_gicp needs small_gicp: pip install" in text
    assert "settings" in text
    assert "published" in text
    written = sorted(path.name for path in (tmp_path / "r").iterdir())
    assert written == [
        "dcp-clean.csv",
        "icp-default-dcp-clean.json",
        "icp-published-dcp-clean.json",
    ]
    done = command.invoke(app, ["small_gicp", *options])
    assert isinstance(done.exception, MissingExtra)


@pytest.mark.slow
def test_the_command_prints_the_best_trials_and_writes_the_settings(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    corpora.save(shapes(1024), tmp_path / "toys.pt")
    monkeypatch.setitem(SPACES, "icp", {"trim": (0.1,)})
    arguments = ["tune", "icp", "--protocol", "dcp-clean", "--data", "toys.pt"]
    assert run([*arguments, "--trials", "2", "--items", "3", "--out", "mine.json"]) == 0
    assert "with the published settings" in capsys.readouterr().out
    assert Tuned.load(tmp_path / "mine.json").search["data"] == "toys/train"


def test_bare_names_of_models_without_weights_say_what_to_do(monkeypatch):
    from spoonful.training import shipped

    monkeypatch.setattr(shipped, "names", lambda: ())
    for name in ("dcp-v2", "rpmnet", "pointnetlk"):
        with pytest.raises(
            ValueError, match=f"no weights of {name} come with this package.*{name}:FILE"
        ):
            open_method(name)


def test_pointnetlk_opens_from_published_weights(tmp_path):
    from spoonful.models import PointNetLK

    torch.manual_seed(0)
    torch.save(PointNetLK().state_dict(), tmp_path / "lk.pth")
    method = open_method(f"pointnetlk:{tmp_path / 'lk.pth'}")
    assert (method.name, method.settings) == ("pointnetlk", "published weights")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("icq", "no classical method named 'icq'; did you mean 'icp'?"),
        ("icp --seconds 0", "--seconds must be above 0, got 0"),
        ("icp --device tpu", "--device must be cpu, cuda or auto, got 'tpu'"),
        ("icp --out .", "--out must be a file, and . is a folder"),
    ],
)
def test_options_are_checked_before_the_search(words, message, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    corpora.save(shapes(1024), tmp_path / "toys.pt")
    assert run(["tune", *words.split(), "--data", "toys.pt"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
