"""The benchmark of whole trainings: its parts are those of an epoch, its trace is read right."""

import os

import pytest
import torch

from scripts import load_benchmark
from spoonful.training.journal import Journal
from spoonful.training.tensorboard_log import TensorBoardLog
from training.small import SMALL, blobs


@pytest.fixture(scope="module")
def benchmark():
    return load_benchmark("training")


@pytest.mark.slow
def test_the_parts_of_an_epoch_are_within_it(benchmark):
    plain = TensorBoardLog.scalars, Journal.add
    one = benchmark.measure(
        "dcp",
        blobs(44),
        torch.device("cpu"),
        epochs=2,
        settings=[s for s in SMALL if "budget" not in s],
    )
    assert (TensorBoardLog.scalars, Journal.add) == plain  # left as they were
    assert [epoch.steps for epoch in one.epochs] == [3, 3]  # 22 of the first category, 2 kept
    assert one.validated == 2
    for epoch in one.epochs:
        parts = epoch.parts
        assert min(parts[name] for name in ("step", "pairs", "forward", "log")) > 0
        assert parts["forward"] < parts["validation"]
        whole = sum(parts[name] for name in ("step", "pairs", "validation", "log", "board"))
        assert whole < epoch.whole
    text = benchmark.report([one], "cpu", "this", 44, "blobs")
    assert "small 6x16" in text
    assert "**pairs/s**" in text


def test_a_repeated_corpus_has_shapes_of_its_own_in_the_unit_ball(benchmark, tmp_path):
    from spoonful.training import corpora

    corpora.save(blobs(4), tmp_path / "blobs.pt")
    corpus = benchmark.corpus_of(str(tmp_path / "blobs.pt"), 10)
    assert len(corpus) == 10
    assert corpus.labels.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    assert not torch.equal(corpus.points[0], corpus.points[4])
    torch.testing.assert_close(corpus.points.norm(dim=-1).amax(1), torch.ones(10))
    torch.testing.assert_close(corpus.normals.norm(dim=-1), torch.ones(10, 64))


def test_a_trace_tells_replayed_steps_from_what_else_ran(benchmark):
    def event(kind, name, start, length, number):
        args = {"correlation": number}
        return {"ph": "X", "cat": kind, "name": name, "ts": start, "dur": length, "args": args}

    events = [
        {"ph": "M", "name": "process_name"},
        event("kernel", "before", 0, 90, 0),
        event("cuda_runtime", "cudaGraphLaunch", 1, 5, 1),  # recorded just now
        event("kernel", "gemm", 90, 10, 1),
        event("cuda_runtime", "cudaGraphLaunch", 50, 5, 2),
        event("kernel", "gemm", 1000, 400, 2),
        event("kernel", "gemm", 1500, 300, 2),
        event("cuda_runtime", "cudaLaunchKernel", 60, 2, 3),
        event("kernel", "void at::native::copy", 1850, 50, 3),
        event("gpu_memcpy", "Memcpy DtoH", 1950, 50, 4),
    ]
    rows = [line.split("|")[1:-1] for line in benchmark.timeline(events).splitlines()]
    found = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows if row}
    assert found["replayed steps"] == ["0.800", "80.0%", "1.0"]
    assert found["of that, kernels at work"] == ["0.700", "70.0%", "2.0"]
    assert found["other kernels and copies"] == ["0.100", "10.0%", "2.0"]
    assert found["nothing"][1] == "10.0%"
    assert found["other: copy"][0] == "0.050"
    assert found["cudaGraphLaunch"] == ["0.005", "1.00"]
    assert "no replayed steps" in benchmark.timeline(events[:3])


def test_notes_at_the_end_of_a_result_stay(monkeypatch, tmp_path):
    harness = load_benchmark("_harness")
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    notes = f"\n{harness.NOTES}\n\nPredicted: much.\n"
    (tmp_path / "training-cuda.md").write_text(f"# Old\n\nnumbers\n{notes}")
    for text in ("# New\n", "# Newer\n"):
        assert harness.save("training-cuda.md", text).read_text() == text + notes
    assert harness.save("other.md", "# New\n").read_text() == "# New\n"


@pytest.mark.slow
def test_the_layer_is_timed_beside_a_multiplication():
    layer = load_benchmark("layer")
    times = layer.from_python("2x8", 3, "cpu", 0.01)
    runs = ["one multiplication, s * t", "ours: Kabsch + 3"]
    ways = ("", ", all threads on one core", ", backward in the calling thread")
    assert list(times) == [f"{run}{way}" for way in ways for run in runs]
    for waiting_seldom, waiting_each_time in times.values():
        assert min(waiting_seldom, waiting_each_time) > 0
    assert torch.autograd.is_multithreading_enabled()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux alone lets us choose cores")
def test_threads_get_their_cores_back():
    harness = load_benchmark("_harness")
    before = os.sched_getaffinity(0)
    with harness.on_one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_memory_is_counted_from_before_a_step_is_recorded(monkeypatch):
    models = load_benchmark("models")
    done: list[str] = []
    for name, value in (
        *(("empty_cache", None), ("reset_peak_memory_stats", None)),
        *(("memory_allocated", 2**30), ("max_memory_allocated", 3 * 2**30)),
    ):
        monkeypatch.setattr(
            torch.cuda, name, lambda name=name, value=value: done.append(name) or value
        )
    monkeypatch.setattr(models, "our_run", lambda row, device: lambda: done.append("step"))
    monkeypatch.setattr(models, "captured", lambda run: done.append("recorded") or run)
    monkeypatch.setattr(models, "race", lambda runs, **how: {"run": 2.0})
    row = models.Row("train", "dcp-v2", 32, graph=True)
    rates = {"bf16": 1e15, "copy": 1e12}
    assert models.measure(row, "cuda", rates, 0.1).peak_gib == 2
    start = ["empty_cache", "reset_peak_memory_stats", "memory_allocated"]
    assert done == [*start, "step", "recorded", "max_memory_allocated"]
