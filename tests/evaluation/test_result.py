from __future__ import annotations

import csv
import io
import json
import math

import pytest
import torch

from evaluation.small import result, shapes
from spoonful.data import protocols
from spoonful.evaluation import Result, evaluate, methods, write_csv
from spoonful.evaluation.result import Timing

BROKEN = torch.tensor([[1.0, 2, 3], [math.inf, -math.inf, math.nan], [0.1, 1e-300, 1 / 3]])


def same(a: Result, b: Result) -> bool:
    tensors = {"index", "labels", "errors"}
    plain = [{k: v for k, v in vars(r).items() if k not in tensors} for r in (a, b)]
    for one in plain:
        one.pop("statistics", None)
        one.pop("by_category", None)
    return (
        repr(plain[0]) == repr(plain[1])
        and torch.equal(a.index, b.index)
        and (a.labels is None) == (b.labels is None)
        and (a.labels is None or torch.equal(a.labels, b.labels))
        and a.errors.keys() == b.errors.keys()
        and all(torch.equal(a.errors[k].nan_to_num(7), b.errors[k].nan_to_num(7)) for k in a.errors)
    )


def test_a_result_comes_back_from_its_file_bit_for_bit(tmp_path):
    before = result(
        BROKEN,
        labels=torch.tensor([1, 0, 1]),
        categories=("cup", "hat"),
        failures=1,
        weights="ab" * 32,
        seed=3,
        training={"epochs": 2.5, "note": None},
        timing=Timing(batch_size=4, processes=2, pairs=3, seconds=0.25),
    )
    after = Result.load(before.save(tmp_path / "new" / "folder" / "result.json"))
    assert same(before, after)
    assert math.isnan(after.timing.single)
    assert after.errors["error"][1].tolist()[:2] == [math.inf, -math.inf]
    assert list(tmp_path.rglob("*")) == [
        tmp_path / "new",
        tmp_path / "new" / "folder",
        tmp_path / "new" / "folder" / "result.json",
    ]


def test_files_are_strict_json(tmp_path):
    """Python's own NaN and Infinity are not JSON: other readers stop at them."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    path = result(BROKEN).save(tmp_path / "a.json")
    content = json.loads(path.read_text(), parse_constant=refuse)
    assert content["statistics"]["error"]["mean"] == "inf"
    assert content["items"]["errors"]["error"][1] == ["inf", "-inf", "nan"]


def test_statistics_are_those_of_the_metrics_with_intervals():
    found = result(torch.tensor([1.0, -2, 3, 10]))["error"]
    assert found.summary.mean == 4
    assert found.summary.rmse == pytest.approx(math.sqrt(114 / 4))
    assert found.intervals["mean"].low < 4 < found.intervals["mean"].high
    with pytest.raises(ValueError, match="no metric named 'eror'; did you mean 'error'"):
        result(torch.ones(2))["eror"]


def test_categories_part_the_items():
    made = result(
        torch.tensor([1.0, 2, 3, 4]),
        labels=torch.tensor([2, 0, 2, 0]),
        categories=("a", "b", "c"),
    )
    means = {name: found["error"].summary.mean for name, found in made.by_category.items()}
    assert means == {"a": 3, "c": 2}


def test_csv_has_a_row_for_each_metric_and_category():
    made = result(torch.tensor([1.0, math.inf]), labels=torch.tensor([0, 1]), categories=("a", "b"))
    text = io.StringIO()
    write_csv([made, result(torch.ones(2), "b")], text)
    rows = list(csv.DictReader(io.StringIO(text.getvalue())))
    assert [(row["method"], row["category"]) for row in rows] == [
        ("a", "all"),
        ("a", "a"),
        ("a", "b"),
        ("b", "all"),
    ]
    assert float(rows[0]["mean"]) == math.inf
    assert float(rows[1]["mean"]) == 1
    assert rows[0]["protocol_hash"] == "0123456789"
    assert all(None not in row and None not in row.values() for row in rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "format is None"),
        ('{"format": "other"}', "format is 'other'"),
        ('{"format": "spoonful.result/1"}', "damaged result"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Result.load(path)


def test_errors_and_items_must_be_as_many():
    with pytest.raises(ValueError, match="of the 2 items in index, but error has 3"):
        result(torch.ones(3), index=torch.arange(2))


def test_a_result_says_where_it_is_from(tmp_path):
    card = protocols.get("dcp-clean")
    made = evaluate(methods.get("identity"), card, shapes(), limit=3)
    assert made.protocol_hash == card.hash
    assert made.data.name == "toy/test"
    assert made.data.items == 8
    assert len(made.data.fingerprint) == 16
    assert {"spoonful", "torch", "python", "numpy"} <= made.versions.keys()
    assert made.machine["device"] == "cpu"
    assert same(made, Result.load(made.save(tmp_path / "a.json")))
