"""The server: files in, report out, and no way in for attacks."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.standins import aligned
from serve.conftest import Site, httpx, running
from spoonful.data.clouds import Cloud, Mesh, read_cloud, read_mesh, write_cloud, write_mesh
from spoonful.pipeline import runner
from spoonful.pipeline.posefile import read_pose
from spoonful.pipeline.runner import Request
from spoonful.serve import Limits, jobs
from view.helpers import Page, box

Files = dict[str, tuple[str, bytes]]


def left(server: Site) -> list[str]:
    """What lies in the server's folder besides reports and what belongs to them."""
    folders = [path for path in server.folder().iterdir() if (path / "report.html").is_file()]
    made = {"report", "pose", "aligned"}
    stray = [path.name for folder in folders for path in folder.iterdir() if path.stem not in made]
    return stray + [path.name for path in server.folder().iterdir() if path not in folders]


def test_two_files_give_a_report_and_are_gone(server: Site, files: Files, tmp_path: Path) -> None:
    answer = server.post(files, {"method": "icp", "unit": "m", "voxel": "5cm"})
    assert answer.status_code == 200, answer.text
    result = answer.json()
    assert result["confident"]
    assert result["source"] == "my scan.ply"
    assert result["radius"] == pytest.approx(0.05)
    assert not Path(result["folder"]).exists()
    assert left(server) == []

    page = httpx.get(server.url + result["report"])
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-store"
    assert "my scan.ply onto target.pcd" in page.text
    assert "This is a warning." in page.text
    saved = httpx.get(f"{server.url}{result['report']}?save")
    assert saved.headers["content-disposition"] == 'attachment; filename="registration.html"'
    (tmp_path / "pose.json").write_bytes(httpx.get(f"{server.url}{result['report']}.json").content)
    pose = read_pose(tmp_path / "pose.json")
    torch.testing.assert_close(pose.matrix().tolist(), result["T_target_source"])


def upload(folder: Path, source: str, target: str, **options: Any) -> Request:
    """A request as the server makes it of uploaded files."""
    out = folder / "out"
    return Request(
        str(folder / source),
        str(folder / target),
        output=str(out / f"aligned{Path(source).suffix}"),
        pose=str(out / "pose.json"),
        report=str(out / "report.html"),
        names=(source, target),
        **options,
    )


def test_a_source_in_another_unit_is_brought_to_the_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "register", aligned)
    monkeypatch.setattr(jobs, "limit_memory", lambda _: None)  # would be for this process
    write_cloud(tmp_path / "mm.xyz", Cloud(1000 * box()))
    write_cloud(tmp_path / "m.xyz", Cloud(box()))
    asked = upload(tmp_path, "mm.xyz", "m.xyz", scale=0.001)
    result = jobs.run_limited(asked, 2**30)
    assert (result["confident"], result["source_scale"]) == (True, 0.001)
    assert (
        "spoonful register mm.xyz m.xyz --method auto --scale 0.001"
        in Page(Path(asked.report)).text
    )
    assert json.loads(Path(asked.pose).read_text())["source_scale"] == 0.001
    torch.testing.assert_close(read_cloud(asked.output).points, box(), atol=1e-6, rtol=0)


@pytest.mark.slow
def test_the_moved_source_and_the_pose_can_be_saved(
    server: Site, files: Files, tmp_path: Path
) -> None:
    result = server.post(files, {"unit": "m"}).json()
    answer = httpx.get(server.url + result["aligned"])
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == (
        "attachment; filename*=utf-8''my%20scan-aligned.ply"
    )
    (tmp_path / "aligned.ply").write_bytes(answer.content)
    moved = read_cloud(tmp_path / "aligned.ply").points
    torch.testing.assert_close(moved, box().float(), atol=1e-5, rtol=0)

    answer = httpx.get(server.url + result["pose"])
    assert answer.headers["content-disposition"] == 'attachment; filename="pose.json"'
    about = answer.json()
    assert (about["format"], about["unit"]) == ("spoonful-pose", "m")
    assert (about["source"], about["target"]) == ("my scan.ply", "target.pcd")
    (tmp_path / "pose.json").write_bytes(answer.content)
    pose = read_pose(tmp_path / "pose.json")
    torch.testing.assert_close(pose.matrix().tolist(), result["T_target_source"])

    for other in ("/..", "/out", "/report.html", "/aligned/..%2fpose.json", "/aligned.ply"):
        assert httpx.get(f"{server.url}{result['report']}{other}").status_code == 404
    for unknown in ("x", "..", "%2e%2e", "upload-x"):
        assert httpx.get(f"{server.url}/reports/{unknown}/aligned").status_code == 404


@pytest.mark.parametrize("suffix", [".stl", ".npz", ".laz"])
def test_the_moved_source_is_of_the_sources_own_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(runner, "register", aligned)
    monkeypatch.setattr(jobs, "limit_memory", lambda _: None)
    path = tmp_path / f"source{suffix}"
    if suffix == ".stl":
        write_mesh(path, Mesh(torch.eye(3), torch.tensor([[0, 1, 2]])))
    else:
        write_cloud(path, Cloud(box()))
    asked = upload(tmp_path, path.name, path.name)
    jobs.run_limited(asked, 2**30)
    if suffix == ".stl":
        assert len(read_mesh(asked.output).faces) == 1
    else:
        assert len(read_cloud(asked.output)) == len(box())


def test_a_moved_source_that_cannot_be_written_takes_no_answer_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(runner, "register", aligned)
    monkeypatch.setattr(jobs, "limit_memory", lambda _: None)
    monkeypatch.setattr(runner, "write_cloud", no_space)
    write_cloud(tmp_path / "a.xyz", Cloud(box()))
    assert jobs.run_limited(upload(tmp_path, "a.xyz", "a.xyz"), 2**30)["confident"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.html", "pose.json"}


def test_a_form_without_script_is_led_to_the_report(server: Site, files: Files) -> None:
    answer = server.post(files, Accept="text/html")
    assert answer.status_code == 303
    page = httpx.get(server.url + answer.headers["location"])
    assert "my scan.ply" in page.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "origin", "code"),
    [
        ("127.0.0.1", None, 200),
        ("localhost", None, 200),
        ("LOCALHOST:1234", "http://localhost:1234", 200),
        ("[::1]:80", None, 200),
        ("127.0.0.1:8765", "http://127.0.0.1:8765", 200),
        # A name that its owner has pointed at this machine.
        ("evil.example", None, 421),
        ("evil.example:8765", "http://evil.example:8765", 421),
        ("localhost.evil.example", None, 421),
        ("127.0.0.1@evil.example", None, 421),
        ("192.168.1.1", None, 421),
        ("", None, 421),
        # Another site's page, also one from this machine.
        ("127.0.0.1:8765", "https://evil.example", 403),
        ("127.0.0.1:8765", "http://127.0.0.1:3000", 403),
        ("127.0.0.1:8765", "https://127.0.0.1:8765", 403),
        ("127.0.0.1:8765", "null", 403),
    ],
)
def test_only_the_servers_own_page_may_use_it(
    server: Site, host: str, origin: str | None, code: int
) -> None:
    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    assert httpx.get(server.url, headers=headers).status_code == code
    if code != 200:
        # The same for what does something, before a byte of it is read.
        answer = httpx.post(f"{server.url}/register", headers=headers, content=b"x")
        assert answer.status_code == code


def test_an_address_is_a_name_only_where_the_network_is_let_in() -> None:
    from spoonful.serve.guard import Guard

    async def app(*_: object) -> None: ...

    guard = Guard(app, hosts=["scanner.lan"], any_address=True, largest=1)
    known = [guard.known(host) for host in ("192.168.1.1", "fe80::1", "scanner.lan", "evil.lan")]
    assert known == [True, True, True, False]


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd.ply", "..\\..\\boot.ply", "/etc/x.ply", "a\x00b\n.ply", "é ü.PLY"]
)
def test_a_files_name_is_shown_and_never_a_path(server: Site, files: Files, name: str) -> None:
    files = files | {"source": (name, files["source"][1])}
    result = server.post(files).json()
    assert not set(result["source"]) & set("/\\\0\n")
    assert Path(result["folder"]).parent == server.folder()
    assert left(server) == []


def bomb() -> bytes:
    """30 MB of zeros in 30 kB."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, "
        header += b"'shape': (2500000, 3), }"
        with archive.open("points.npy", "w") as member:
            member.write(header.ljust(127) + b"\n")
            for _ in range(30):
                member.write(bytes(1_000_000))
    return content.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        (("scan.ply", b"ply\nformat ascii 1.0\n"), 422, "scan.ply: not a readable PLY file"),
        (("scan.exe", b"MZ"), 400, "scan.exe: cannot tell the format from '.exe'"),
        (("scan.ply.gz", b"\x1f\x8b"), 400, "scan.ply.gz: cannot tell the format from '.gz'"),
        (("scan", b"0 0 0"), 400, "a name without extension"),
        (("scan.ply", b""), 422, "scan.ply: the file is empty"),
        (("bomb.npz", None), 422, "bomb.npz: .* would unpack to .* over 100 times the file"),
        (("crash.ply", b"x"), 422, "The registration broke off: its process ended by SIGSEGV"),
        (("full.ply", b"x"), 507, "its disk may be full"),
        (("hang.ply", b"x"), 422, "The registration took more than 5 s"),
        (
            ("scene.gltf", b'{"asset":{"version":"2.0"},"buffers":[{"uri":"../../etc/passwd"}]}'),
            422,
            "scene.gltf: not a readable glTF file",
        ),
    ],
)
def test_a_bad_file_is_named_and_the_next_visitor_is_served(
    server: Site, files: Files, source: tuple[str, bytes | None], code: int, message: str
) -> None:
    content = bomb() if source[1] is None else source[1]
    answer = server.post(files | {"source": (source[0], content)})
    assert answer.status_code == code
    said = answer.json()["error"]
    assert re.search(message, said), said
    assert "/tmp" not in said
    assert str(server.folder()) not in said
    assert left(server) == []
    assert server.post(files).status_code == 200


def test_a_full_disk_is_not_the_clients_fault(
    server: Site, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfileobj", full)
        answer = server.post(files)
    assert answer.status_code == 507
    assert "its disk may be full" in answer.json()["error"]
    assert left(server) == []
    assert server.post(files).status_code == 200


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"method": "magic"}, "method must be one of auto"),
        ({"voxel": "five"}, "voxel must be a length such as 5mm"),
        ({"scale": "big"}, "scale must be a number above 0.*got 'big'"),
        ({"scale": "0"}, "scale must be a number above 0"),
        ({"unit": "parsec"}, "unit must be one of"),
        ({str(i): "x" for i in range(9)}, "Too many fields"),
        ({"method": "x" * 2_000_000}, "too large|maximum size"),
    ],
)
def test_a_form_with_nonsense_is_refused(
    server: Site, files: Files, data: dict[str, str], message: str
) -> None:
    answer = server.post(files, data)
    assert answer.status_code in (400, 413)
    assert re.search(message, answer.text), answer.text


def test_what_is_no_form_with_two_files_is_refused(server: Site, files: Files) -> None:
    accept = {"Accept": "application/json"}
    url = f"{server.url}/register"
    assert httpx.post(url, content=b"x", headers=accept).status_code == 415
    broken = accept | {"Content-Type": "multipart/form-data; boundary=b"}
    assert httpx.post(url, content=b"--a\r\nnonsense", headers=broken).status_code == 400
    one = server.post({"source": files["source"]})
    assert (one.status_code, one.json()["error"]) == (
        400, "There is no target: send a file of that name.",
    )  # fmt: skip
    text = server.post({"source": files["source"]}, {"target": "text"})
    assert text.status_code == 400
    typo = server.post(files, {"voxle": "5mm"})
    assert (typo.status_code, typo.json()["error"]) == (
        400, "There is no option voxle, only method, voxel, unit, scale.",
    )  # fmt: skip
    three = server.post(files | {"third": files["source"]})
    assert three.status_code == 400
    assert httpx.get(url).status_code == 405
    assert httpx.get(f"{server.url}/reports/../../etc/passwd").status_code == 404
    assert httpx.get(f"{server.url}/reports/..%2f..%2fetc%2fpasswd").status_code == 404
    assert left(server) == []


@pytest.mark.parametrize("declared", [True, False])
def test_files_that_are_too_large_are_refused(server: Site, files: Files, declared: bool) -> None:
    large = files | {"source": ("large.ply", bytes(2_000_000))}
    if declared:
        answer = server.post(large)
    else:
        # Sent in pieces, without a word on how many there will be.
        made = httpx.Request("POST", server.url, files=large)
        made.read()

        def pieces() -> Any:
            for start in range(0, len(made.content), 100_000):
                yield made.content[start : start + 100_000]

        headers = {"Content-Type": made.headers["Content-Type"], "Accept": "application/json"}
        answer = httpx.post(f"{server.url}/register", content=pieces(), headers=headers)
    assert answer.status_code == 413
    assert "too large: 1 MB for both together" in answer.json()["error"]
    assert left(server) == []


@pytest.mark.slow
def test_fifty_clients_at_once_are_all_served(server: Site, files: Files) -> None:
    async def everyone() -> list[Any]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:
            return await asyncio.gather(
                *(
                    client.post(
                        f"{server.url}/register",
                        files=files,
                        headers={"Accept": "application/json"},
                    )
                    for _ in range(50)
                )
            )

    answers = asyncio.run(everyone())
    assert [answer.status_code for answer in answers] == [200] * 50
    assert len({answer.json()["report"] for answer in answers}) == 50
    assert left(server) == []


@pytest.mark.slow
def test_reports_go_when_their_time_has_come_and_the_line_has_an_end(files: Files) -> None:
    limits = Limits(seconds=20, workers=1, waiting=2, keep_seconds=3.0, reports=1)
    with running(limits=limits) as server:
        first = server.post(files).json()["report"]
        second = server.post(files).json()["report"]
        assert httpx.get(server.url + first).status_code == 404  # one is kept
        assert httpx.get(server.url + second).status_code == 200
        until = time.monotonic() + 300
        while httpx.get(server.url + second).status_code == 200 and time.monotonic() < until:
            time.sleep(0.1)
        assert list(server.folder().iterdir()) == []

        hang = files | {"source": ("hang.ply", b"x")}

        def visit() -> None:
            with contextlib.suppress(httpx.HTTPError):
                server.post(hang)

        for _ in range(2):
            threading.Thread(target=visit, daemon=True).start()
        until = time.monotonic() + 300
        # An upload is in the line when it is complete.
        while len([*server.folder().glob("upload-*/target*")]) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.2)
        answer = server.post(files)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "10"
        # The server goes down though there is work: the visitors' connections end.


@pytest.mark.slow
def test_what_is_kept_is_bounded_by_its_size(files: Files) -> None:
    one = len(files["source"][1])
    with running(limits=Limits(seconds=20, workers=1, kept=one - 1)) as server:
        result = server.post(files).json()
        assert result["aligned"] is None
        assert httpx.get(f"{server.url}{result['report']}/aligned").status_code == 404
        assert httpx.get(server.url + result["pose"]).status_code == 200
        second = server.post(files).json()
        # The newest stays however large, the others make room.
        assert httpx.get(server.url + result["pose"]).status_code == 404
        assert httpx.get(server.url + second["report"]).status_code == 200
        assert len(list(server.folder().iterdir())) == 1


def test_the_page_carries_its_policy(server: Site) -> None:
    page = httpx.get(server.url)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert json.dumps("$") not in page.text
    assert "Up to 1 MB together" in page.text
