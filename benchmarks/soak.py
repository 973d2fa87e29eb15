"""Stress the readers, trainings, batches and the server for some minutes.

    python benchmarks/soak.py --minutes 10           # a seed of its own every time
    python benchmarks/soak.py --minutes 10 --save    # write benchmarks/results/soak.json

- readers: damaged files of every format. Each gives a cloud or a `CloudFileError` that names it.
- training: `kill -9` at random moments. Each run resumes, and ends with the weights of a run that
  was not killed.
- batch: `kill -9` at random moments. After the last start every pair has one row.
- serve: 500 clients that send a byte a second, beside 20 others. These are all answered, each
  within twice the time that it takes without the 500, and also if all arrive at one moment.

The exit code is 1 if anything else happens; the seed to repeat it is printed first.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import multiprocessing
import os
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Event
from pathlib import Path

import torch
from safetensors.torch import load_file

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(Path(__file__).parent)]

from _harness import RESULTS, machine
from data.clouds.seeds import seeds
from spoonful.data.clouds import CloudFileError, read_cloud

ENVIRONMENT = os.environ | {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join(
        [str(TESTS), str(TESTS.parent / "src"), os.environ.get("PYTHONPATH", "")]
    ),
}
NUMBERS = [b"0", b"-1", b"1e400", b"nan", b"1000000000000", b"4294967295", b"2.7"]


def damaged(good: bytes, dice: random.Random) -> bytes:
    """The file with one to four changes: bytes, numbers, cuts, repetitions."""
    data = bytearray(good)
    for _ in range(dice.randint(1, 4)):
        end = len(data) if dice.random() < 0.5 else min(len(data), 300)  # headers more often
        at, length = dice.randrange(end + 1), dice.randrange(40)
        match dice.randrange(5):
            case 0:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                data[at : at + 4] = struct.pack("<I", dice.choice([0, 2**31, 2**32 - 1, 10**9]))
            case 2:
                data[at : at + dice.randrange(4)] = dice.choice(NUMBERS)
            case 3:
                del data[at : at + length]
            case 4:
                data[at:at] = data[at : at + 10 * length]
    return bytes(data)


def attack_readers(seconds: float, dice: random.Random, folder: Path) -> dict[str, object]:
    """Read damaged files until the time is over."""
    files = list(seeds().values())
    read = refused = 0
    slowest, wrong = 0.0, []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        suffix, good = dice.choice(files)
        path = folder / f"damaged{suffix}"
        path.write_bytes(damaged(good, dice))
        began = time.process_time()
        try:
            read_cloud(path)
            read += 1
        except CloudFileError as error:
            refused += 1
            if str(path) not in str(error):
                wrong.append(f"{suffix}: the error does not name the file: {error}")
        except Exception as error:
            wrong.append(f"{suffix}: {type(error).__name__}: {error}")
        slowest = max(slowest, time.process_time() - began)
    return {"read": read, "refused": refused, "slowest_s": round(slowest, 3), "wrong": wrong}


def attack_training(seconds: float, dice: random.Random, folder: Path) -> dict[str, object]:
    """Kill trainings until the time is over; compare the weights of all that ended."""
    kills, runs, wrong = 0, 0, []
    until = time.monotonic() + seconds
    while time.monotonic() < until and not wrong:
        place = folder / f"training-{runs}"
        place.mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "training.kill_and_resume", place, "5", str(dice.random())[2:8]],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            wrong.append(done.stderr[-500:])
            break
        kills += int(done.stdout.split()[0])
        runs += int(done.stdout.split()[1])
        whole = weights(place / "whole")
        for killed in place.glob("killed-*"):
            found = weights(killed)
            if not all(torch.equal(whole[name], found[name]) for name in whole):
                wrong.append(f"{killed.name} ended with other weights")
    return {"kills": kills, "runs": runs, "wrong": wrong}


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The tensors of the last checkpoint of a run."""
    return load_file(max(folder.glob("step-*.safetensors"), key=lambda path: path.name))


def attack_batch(seconds: float, dice: random.Random, folder: Path) -> dict[str, object]:
    """Kill a batch of 300 pairs again and again, then let it end."""
    out, notes = folder / "batch", folder / "notes"
    notes.mkdir()
    for name in ("a.ply", "b.ply"):
        (notes / name).write_bytes(seeds()["ply-polygons-text"][1])
    command = [sys.executable, "-m", "pipeline.run_batch", str(notes), str(out), "300"]
    kills, wrong = 0, []
    until = time.monotonic() + seconds
    while time.monotonic() < until and not (out / "results.csv").exists():
        process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(2, 6))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() != 0
    subprocess.run(command, env=ENVIRONMENT, check=True)
    with (out / "results.csv").open(newline="") as file:
        names = [row["id"] for row in csv.DictReader(file)]
    if sorted(names) != sorted({f"slow-{i}" for i in range(300)}):
        wrong.append(f"{len(names)} rows, {len(set(names))} of them different, not 300")
    return {"kills": kills, "rows": len(names), "wrong": wrong}


def attack_server(seconds: float, clients: int) -> dict[str, object]:
    """Let 20 honest clients ask for a registration at once: alone, beside slow clients, with them.

    `beside`: the slow clients hold their connections. `burst`: they connect at the same moment. The
    k-th quickest answer of such a round is compared with the k-th quickest of a quiet round: the
    ratio is the largest quotient of their medians over all rounds. `busy_ms` is the time until the
    page is answered after the slow clients have connected.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "spoonful", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    rounds: dict[str, list[list[float]]] = {"quiet": [], "beside": [], "burst": []}
    busy: list[float] = []
    lost = 0
    own = multiprocessing.get_context("spawn")
    active, ready = own.Event(), own.Event()
    slow = own.Process(target=slow_clients, args=(port, clients, active, ready), daemon=True)
    slow.start()
    try:
        wait_for(port)
        ask_together(port, REGISTER)  # the workers have loaded their modules
        until = time.monotonic() + seconds
        while time.monotonic() < until or not rounds["burst"]:
            for kind in rounds:
                if kind != "quiet":
                    active.set()
                if kind == "beside":
                    ready.wait()
                    busy.append(ask(port, ("/", None, {})) or math.inf)
                times = ask_together(port, REGISTER)
                lost += times.count(None)
                rounds[kind].append(sorted(t for t in times if t is not None))
                active.clear()
                ready.clear()
                time.sleep(2)  # until the connections are closed
    finally:
        slow.kill()
        process.terminate()
        process.wait(timeout=30)
    wrong = [f"{lost} honest requests were not answered"] if lost else []
    typical = {
        kind: [statistics.median(k) for k in zip(*times, strict=False)]
        for kind, times in rounds.items()
    }
    found: dict[str, object] = {"slow_clients": clients, "rounds": len(busy)}
    for kind, medians in typical.items():
        found[f"{kind}_ms"] = round(1e3 * statistics.median(medians))
        ratio = max(b / q for b, q in zip(medians, typical["quiet"], strict=False))
        if kind != "quiet":
            found[f"{kind}_ratio"] = round(ratio, 2)
        if ratio > 2:
            wrong.append(f"{kind}: an honest client waited {ratio:.1f} times as long as alone")
    return found | {"busy_ms": round(1e3 * statistics.median(busy)), "wrong": wrong}


def upload() -> bytes:
    """A form with two clouds of 100 points."""
    points = torch.rand(100, 3, generator=torch.Generator().manual_seed(0))
    text = "\n".join(" ".join(f"{x:.6f}" for x in row) for row in points.tolist())
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{role}"; filename="{role}.xyz"\r\n\r\n'
        f"{text}\r\n"
        for role in ("source", "target")
    )
    method = '--x\r\nContent-Disposition: form-data; name="method"\r\n\r\nicp\r\n'
    return f"{parts}{method}--x--\r\n".encode()


BODY = upload()
FORM = {"Content-Type": "multipart/form-data; boundary=x", "Accept": "application/json"}
REGISTER = ("/register", BODY, FORM)


def slow_clients(port: int, count: int, active: Event, ready: Event) -> None:
    """While `active` is set, hold connections open, each a byte a second; the target of a process.

    A connection that the server closes is made again.
    """
    header = f"POST /register HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(BODY)}\r\n"
    form = "Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\nX: "
    beginnings = [part.encode() for part in ("GET / HTTP/1.1\r\nHo", header, header + form)]
    held: dict[int, socket.socket] = {}
    while active.wait():
        for k in range(count):
            try:
                if k in held:
                    held[k].send(b"x")
                else:
                    held[k] = socket.create_connection(("127.0.0.1", port), timeout=5)
                    held[k].sendall(beginnings[k % 3])
            except OSError:  # the server has closed this one, as it should
                if k in held:
                    held.pop(k).close()
        ready.set()
        time.sleep(1)
        if not active.is_set():
            for client in held.values():
                client.close()
            held.clear()


def wait_for(port: int) -> None:
    """Return when the server answers."""
    until = time.monotonic() + 300
    while ask(port, ("/", None, {})) is None:
        if time.monotonic() > until:
            raise TimeoutError("spoonful serve did not answer within 300 s")
        time.sleep(0.2)


def ask(port: int, what: tuple[str, bytes | None, dict[str, str]]) -> float | None:
    """Seconds until the answer is here, or None."""
    place, body, headers = what
    request = urllib.request.Request(f"http://127.0.0.1:{port}{place}", body, headers)
    began = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            answer.read()
    except OSError:
        return None
    return time.monotonic() - began


def ask_together(
    port: int, what: tuple[str, bytes | None, dict[str, str]], count: int = 20
) -> list[float | None]:
    """The times of as many clients at once."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda _: ask(port, what), range(count)))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="spoonful bench soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="for all attacks together")
    parser.add_argument("--clients", type=int, default=500, help="slow clients of the server")
    parser.add_argument("--seed", type=int, default=None, help="to repeat a run")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/soak.json")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    dice, share = random.Random(seed), 60 * options.minutes / 4
    found: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, attack in {
            "readers": lambda: attack_readers(share, dice, folder),
            "training": lambda: attack_training(share, dice, folder),
            "batch": lambda: attack_batch(share, dice, folder),
            "serve": lambda: attack_server(share, options.clients),
        }.items():
            found[kind] = attack()
            print(kind, json.dumps(found[kind]), flush=True)
    if options.save:
        about = {"machine": machine("cpu"), "minutes": options.minutes, "seed": seed}
        (RESULTS / "soak.json").write_text(json.dumps(about | found, indent=2) + "\n")
    sys.exit(any(result["wrong"] for result in found.values()))


if __name__ == "__main__":
    main()
