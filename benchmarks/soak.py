"""Attack the readers, trainings, batches and the server for some minutes.

    python benchmarks/soak.py --minutes 10           # a seed of its own every time
    python benchmarks/soak.py --minutes 10 --save    # write benchmarks/results/soak.json

- readers: damaged files of every format. Each gives a cloud or a `CloudFileError` that names it.
- training: `kill -9` at random moments. Each run resumes, and ends with the weights of a run that
  was not killed.
- batch: `kill -9` at random moments. After the last start every pair has one row.
- serve: 500 clients that send a byte a second, beside 20 others. These are all answered.

The exit code is 1 if anything else happens; the seed to repeat it is printed first.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
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
    """Ask for the page, first alone and then beside clients that hold their connections open."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "spoonful", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    held: list[socket.socket] = []
    try:
        wait_for(port)
        quiet = ask_together(port)
        upload = b"POST /register HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n"
        form = b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
        beside: list[float | None] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            while len(held) < clients:  # a client that was cut off comes again
                begin = (b"GET / HTTP/1.1\r\nHo", upload, upload + form)[len(held) % 3]
                held.append(socket.create_connection(("127.0.0.1", port), timeout=5))
                with contextlib.suppress(OSError):
                    held[-1].sendall(begin)
            beside += ask_together(port)
            for client in [*held]:
                try:
                    client.send(b"x")
                except OSError:  # the server has closed this one, as it should
                    held.remove(client)
                    client.close()
            time.sleep(1)
    finally:
        for client in held:
            client.close()
        process.terminate()
        process.wait(timeout=30)
    lost = sum(value is None for value in beside)
    answered = [value for value in beside if value is not None]
    wrong = [f"{lost} of {len(beside)} honest requests were not answered"] if lost else []
    return {
        "slow_clients": clients,
        "quiet_ms": round(1e3 * statistics.median(v for v in quiet if v is not None), 1),
        "beside_ms": round(1e3 * statistics.median(answered), 1) if answered else None,
        "worst_ms": round(1e3 * max(answered), 1) if answered else None,
        "wrong": wrong,
    }


def wait_for(port: int) -> None:
    """Return when the server answers."""
    until = time.monotonic() + 60
    while ask(port) is None:
        if time.monotonic() > until:
            raise TimeoutError("spoonful serve did not answer within 60 s")
        time.sleep(0.2)


def ask(port: int) -> float | None:
    """Seconds until the page is here, or None."""
    began = time.monotonic()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as answer:
            answer.read()
    except OSError:
        return None
    return time.monotonic() - began


def ask_together(port: int, count: int = 20) -> list[float | None]:
    """The times of as many clients at once."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda _: ask(port), range(count)))


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
