"""Batches: every pair once, even if pairs fail and processes are killed."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
import torch

from pipeline.standins import IDENTITY, aligned, log, quick
from spoonful.data.clouds import Cloud, write_cloud
from spoonful.locking import FolderInUse
from spoonful.pipeline import Alignment, parts, runner
from spoonful.pipeline.batches import read_pairs, register_pairs
from spoonful.pipeline.parts import COLUMNS, register_pair
from spoonful.pipeline.runner import Request
from spoonful.workers import PlainWorker, WorkerDied
from view.helpers import Page, box

FLAT = [value for row in IDENTITY for value in row]
# For processes of their own: the tests' modules, and what this process was told.
SEARCHED = os.pathsep.join(
    filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")])
)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


def named(notes: Path, *ids: str) -> list[Request]:
    return [Request(f"{notes}/a.ply", f"{notes}/b.ply", id=name) for name in ids]


def done(notes: Path) -> Counter[str]:
    return Counter(name for name, _, _ in log(notes))


def running(pid: int) -> bool:
    """True if a process runs; a zombie does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(state.stdout.strip()) and not state.stdout.startswith("Z")


@pytest.mark.slow
def test_a_bad_pair_stops_no_other_and_says_what_was_wrong(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")  # a worker has its own
    seen: list[tuple[int, int]] = []
    pairs = named(notes, "a", "wrong", "crash", "hang", "b", "c")
    rows = register_pairs(
        pairs, tmp_path / "out", workers=2, timeout=4, task=quick,
        progress=lambda *counts: seen.append(counts),
    )  # fmt: skip
    assert [row["id"] for row in rows] == [pair.id for pair in pairs]
    assert [row["status"] for row in rows] == [
        "confident", "failed", "failed", "failed", "confident", "confident",
    ]  # fmt: skip
    assert rows[1]["message"] == "this pair is wrong"
    assert rows[2]["message"] == "its process ended by SIGSEGV"
    assert rows[3]["message"] == "stopped after 4 s"
    assert rows[0]["warnings"] == ["1"]  # OMP_NUM_THREADS of the worker
    assert seen == [(i, 6) for i in range(7)]

    # The same again: what is finished is left alone, what failed has another chance.
    pairs = named(notes, "a", "wrong", "b", "c", "d")
    rows = register_pairs(pairs, tmp_path / "out", workers=1, task=quick)
    assert [row["status"] for row in rows] == ["confident", "failed"] + ["confident"] * 3
    assert done(notes) == {"a": 1, "wrong": 2, "crash": 1, "hang": 1, "b": 1, "c": 1, "d": 1}

    whole = json.loads((tmp_path / "out" / "results.json").read_text())
    assert whole["settings"]["method"] == "auto"
    assert [pair["id"] for pair in whole["pairs"]] == [pair.id for pair in pairs]
    assert whole["pairs"][0]["T_target_source"] == IDENTITY
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == list(COLUMNS)
    assert [float(x) for x in table[0]["T_target_source"].split()] == FLAT
    assert table[1]["message"] == "this pair is wrong"
    assert table[1]["T_target_source"] == ""
    parquet = pytest.importorskip("pyarrow.parquet")
    read = parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert read[0]["T_target_source"] == FLAT
    assert read[1]["status"] == "failed"
    assert read[1]["rmse"] is None


def test_workers_that_cannot_start_fail_their_pairs_at_once(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stillborn(PlainWorker):
        def __init__(self, *_: object, **__: object) -> None:
            super().__init__(tmp_path / "nowhere.py", "task")

        def begin(self, *_: object) -> NoReturn:
            raise WorkerDied("its process ended with exit code 1")

        def start(self) -> None:
            """There is nothing to start."""

    monkeypatch.setattr(parts, "WarmWorker", Stillborn)
    monkeypatch.setattr(parts, "wait", lambda *_: pytest.fail("waits for no process"))
    rows = register_pairs(named(notes, "a", "b"), tmp_path / "out", workers=2, task=quick)
    assert [row["message"] for row in rows] == ["its process ended with exit code 1"] * 2


@pytest.mark.slow
def test_other_settings_and_other_files_are_other_questions(tmp_path: Path, notes: Path) -> None:
    out = tmp_path / "out"
    cloud = tmp_path / "cloud.xyz"
    cloud.write_text("0 0 0\n")
    pair = Request(f"{notes}/a.ply", str(cloud), id="a")
    for options in ({}, {}, {"method": "icp"}, {"seed": 1}):
        register_pairs([replace(pair, **options)], out, workers=1, task=quick)
    assert done(notes) == {"a": 3}
    cloud.write_text("0 0 0\n1 1 1\n")
    register_pairs([replace(pair, seed=1)], out, workers=1, task=quick)
    assert done(notes) == {"a": 4}


@pytest.mark.slow
def test_a_folder_is_refused_until_its_process_dies_and_after_kill_9_it_goes_on_where_it_was(
    tmp_path: Path, notes: Path
) -> None:
    command = [sys.executable, "-m", "pipeline.run_batch", str(notes), str(tmp_path / "out"), "300"]
    environment = os.environ | {"PYTHONPATH": SEARCHED, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment)
    until = time.monotonic() + 300
    while not log(notes) and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(FolderInUse, match=f"out is in use by process {process.pid}"):
        register_pairs(named(notes, "a"), tmp_path / "out", workers=1, task=quick)
    while len(log(notes)) < 60 and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    workers = {pid for _, pid, _ in log(notes)}
    before = sum(done(notes).values())
    assert 60 <= before < 300
    assert not (tmp_path / "out" / "results.csv").exists()
    # A kill may come amid a line.
    (part,) = (tmp_path / "out" / "parts").iterdir()
    part.write_text(part.read_text()[:-9])

    pairs = named(notes, *(f"slow-{i}" for i in range(300)))
    rows = register_pairs(pairs, tmp_path / "out", workers=2, task=quick)
    assert [row["status"] for row in rows] == ["confident"] * 300
    counts = done(notes)
    assert len(counts) == 300
    # Twice only what was in hand, on its way or torn when the kill came.
    assert sum(counts.values()) <= 300 + 2 * len(workers) + 2
    # The workers of the killed process have gone after it.
    assert not [pid for pid in workers if running(pid)]


# Ray's own use of its deprecated names.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")
@pytest.mark.slow
def test_on_a_cluster_nothing_is_lost_or_twice_though_a_worker_is_killed(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", SEARCHED)  # Ray's processes inherit it
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # other tests would hold it up
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "0")  # it would kill a second process
    out = tmp_path / "out"
    pairs = named(notes, *(f"pair-{i}" for i in range(99)), "crash")
    killed: list[int] = []

    def kill() -> None:
        while sum(path.stat().st_size for path in notes.iterdir()) < 10 * len("pair-10 1 1\n"):
            time.sleep(0.01)
        killed.append(log(notes)[-1][2])
        os.kill(killed[0], signal.SIGKILL)

    ray.init(num_cpus=1, log_to_driver=False, include_dashboard=False)
    try:
        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        rows = register_pairs(pairs, out, cluster=True, task=quick)
    finally:
        ray.shutdown()
    assert killed
    assert [row["id"] for row in rows] == [pair.id for pair in pairs]
    assert Counter(row["status"] for row in rows) == {"confident": 99, "failed": 1}
    assert rows[-1]["message"] == "its process ended by SIGSEGV"
    lines = [
        json.loads(line)["id"]
        for part in (out / "parts").glob("*.jsonl")  # a kill may leave a temporary file
        for line in part.read_text().splitlines()
    ]
    assert sorted(lines) == sorted(pair.id for pair in pairs)
    # A second process of Ray's took the place of the one that was killed.
    assert len({parent for _, _, parent in log(notes)}) >= 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has no pairs"),
        ("source,target\n", "it has no pairs"),
        ("a.ply,b.ply\nc.ply,d.ply\n", "must name the columns source and target"),
        ("source,target\na.ply,\n", "pair 1 has no target"),
        ("id,source,target\nx,a,b\nx,c,d\n", "pair 2 has the id 'x', which is taken"),
        ("a.ply,b.ply\n", "must name the columns source and target"),
        ("source,target\na.ply,b.ply,p.json\n", "pair 1 has more cells .*: p.json"),
        ('source,target\na.ply,"b.ply\nc.ply,d.ply\n', "not a CSV file: unexpected end of data"),
        ("source,target\nB\xfcro.ply,b.ply", "not a CSV file in UTF-8: save it as CSV UTF-8"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_name(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=f"pairs.csv: .*{message}"):
        read_pairs(path)


def test_a_source_in_another_unit_is_brought_to_the_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cloud(tmp_path / "mm.xyz", Cloud(1000 * box()))
    write_cloud(tmp_path / "m.xyz", Cloud(box()))
    monkeypatch.setattr(runner, "register", aligned)
    pair = Request(str(tmp_path / "mm.xyz"), str(tmp_path / "m.xyz"), id="a")
    assert register_pair(pair)["status"] == "doubtful"
    page = tmp_path / "a.html"
    pair = replace(pair, scale=0.001, report=str(page), up="y")
    row = register_pair(pair)
    assert row["status"] == "confident"
    assert (row["source_scale"], row["scale"]) == (0.001, 1.0)
    assert Page(page).payload["up"] == "y"


def test_a_scale_that_is_found_is_in_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(*clouds: object, **options: object) -> Alignment:
        return replace(aligned(*clouds, **options), scale=2.0, scale_deviation=0.004)

    write_cloud(tmp_path / "a.xyz", Cloud(box()))
    monkeypatch.setattr(runner, "register", found)
    path = str(tmp_path / "a.xyz")
    row = register_pair(Request(path, path, scale="auto"))
    assert (row["scale"], row["scale_deviation"]) == (2.0, 0.004)
    assert torch.tensor(row["T_target_source"])[:3, :3].det() == pytest.approx(8)


def test_a_report_that_cannot_be_written_keeps_the_pose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    write_cloud(tmp_path / "a.xyz", Cloud(box()))
    monkeypatch.setattr(runner, "register", aligned)
    monkeypatch.setattr(runner, "write_report", no_space)
    path = str(tmp_path / "a.xyz")
    row = register_pair(Request(path, path, report=str(tmp_path / "a.html")))
    assert row["status"] == "confident"
    assert row["T_target_source"] is not None
    assert row["message"] == f"no report: {tmp_path / 'a.html'}: No space left on device"


def test_a_missing_file_is_named_as_register_names_it(tmp_path: Path) -> None:
    there, gone = tmp_path / "a.xyz", tmp_path / "gone.xyz"
    write_cloud(there, Cloud(box()))
    for pair in (
        Request(str(gone), str(there)),
        Request(str(there), str(gone)),
        Request(str(there), str(there), init=str(gone)),
    ):
        with pytest.raises(FileNotFoundError, match=r"gone\.xyz: no such file$"):
            register_pair(pair)


@pytest.mark.slow
def test_a_spreadsheet_runs_no_cell_of_the_results(tmp_path: Path, notes: Path) -> None:
    pairs = named(notes, "=1+1", "@wrong", "-a", "+b", "a-b")
    register_pairs(pairs, tmp_path / "out", workers=1, task=quick)
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [
            "'=1+1", "'@wrong", "'-a", "'+b", "a-b",
        ]  # fmt: skip


def test_semicolons_do_as_well_as_commas(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text('id;source;target\nx;"a, b.ply";c.ply\n')
    assert read_pairs(path) == [
        Request(str(tmp_path / "a, b.ply"), str(tmp_path / "c.ply"), id="x")
    ]


def test_capitals_in_the_names_of_columns_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("ID, Source ,TARGET\nx,a.ply,b.ply\n", "utf-8-sig")
    assert read_pairs(path) == [Request(str(tmp_path / "a.ply"), str(tmp_path / "b.ply"), id="x")]


def test_files_are_named_from_the_tables_folder(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(
        '\ufeffid, source, target, init\nx, "my scan.ply", /b.ply,\n,c.ply,d.ply,p.json\n'
    )
    assert read_pairs(path) == [
        Request(str(tmp_path / "my scan.ply"), "/b.ply", id="x"),
        Request(
            str(tmp_path / "c.ply"), str(tmp_path / "d.ply"), id="2", init=str(tmp_path / "p.json")
        ),
    ]
