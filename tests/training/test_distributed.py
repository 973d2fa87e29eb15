"""Data parallel: two processes learn what one does."""

import json
import socket
from pathlib import Path

import pytest

from scripts import run_script
from spoonful.training import train
from training.small import blobs, small
from training.two_processes import NETS


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def log(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_one_and_two_processes_have_the_same_loss_curve(tmp_path):
    # One script for all networks: it imports torch once.
    script = Path(__file__).with_name("two_processes.py")
    run_script(script, tmp_path / "two", *(free_port() for _ in NETS))
    for net, settings in NETS.items():
        train(small(*settings), corpus=blobs(), out=tmp_path / "one" / net, quiet=True)
        one, two = (log(tmp_path / name / net) for name in ("one", "two"))
        assert len(one) == len(two) > 1, net
        for a, b in zip(one, two, strict=True):
            assert b["loss"] == pytest.approx(a["loss"], abs=1e-4), net
            assert b["gradient_norm"] == pytest.approx(a["gradient_norm"], rel=1e-3), net
            for name, value in a["validation"].items():
                if "median" not in name:  # those are the first process' own
                    assert b["validation"][name] == pytest.approx(value, rel=1e-4, abs=1e-3), net


def test_batches_that_do_not_divide_are_refused(monkeypatch):
    from spoonful.training import trainer
    from spoonful.training.distributed import Group

    monkeypatch.setattr(
        trainer.distributed, "join", lambda device: (Group(0, 4), __import__("torch").device("cpu"))
    )
    with pytest.raises(ValueError, match=r"\(6\) must be a multiple of the number of processes"):
        train(small(), corpus=blobs(), quiet=True)
