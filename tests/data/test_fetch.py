"""Downloads: against a server that serves, stalls, truncates, refuses and lies."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import struct
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from data.files import write_h5
from spoonful.data import modelnet40
from spoonful.data.fetch import Archive, FetchError, download, fetch, unzip

pytest.importorskip("pooch")


class Server(ThreadingHTTPServer):
    """Serves one file, as badly as it is told to."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = b""
        self.status = 200
        self.redirect = None
        # For each request in turn, after how many bytes the connection is closed or stalls.
        self.closes: list[int] = []
        self.stalls: list[int] = []
        self.requests = 0
        self.over = threading.Event()

    def handle_error(self, *_):
        """A client that hangs up is what some tests are about."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/data.zip"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):  # the name http.server wants
        server = self.server
        server.requests += 1
        self.send_response(302 if server.redirect else server.status)
        body = b"" if server.redirect else server.content
        if server.redirect:
            self.send_header("Location", server.redirect)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if server.stalls:
            self.wfile.write(body[: server.stalls.pop(0)])
            self.wfile.flush()
            server.over.wait(10)
            self.close_connection = True
        elif server.closes:
            self.wfile.write(body[: server.closes.pop(0)])
            self.close_connection = True
        else:
            self.wfile.write(body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def dataset(tmp_path):
    """A small modelnet40, as the bytes of its zip file, and what is published about it."""
    root = tmp_path / "make" / "little_2048"
    root.mkdir(parents=True)
    (root / "shape_names.txt").write_text("bowl\ncup\nvase\n")
    write_h5(root / "ply_data_train0.h5", 40)
    write_h5(root / "ply_data_test0.h5", 30)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(root.iterdir()):
            archive.write(file, f"little_2048/{file.name}")
    return packed.getvalue()


def published(content, url):
    return Archive(url, hashlib.sha256(content).hexdigest(), len(content), "little_2048")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)


def test_a_dataset_is_fetched_checked_and_unpacked(server, dataset, tmp_path):
    server.content = dataset
    told = []
    place = fetch(
        published(dataset, server.url),
        tmp_path / "data",
        looks_right=modelnet40.is_hdf5,
        progress=lambda done, total: told.append((done, total)),
    )
    assert place == tmp_path / "data" / "little_2048"
    assert len(modelnet40.load("train", root=place)) == 40
    assert told[-1] == (len(dataset), len(dataset))
    note = json.loads((place / "fetched.json").read_text())
    assert note == {"url": server.url, "sha256": hashlib.sha256(dataset).hexdigest()}
    # Nothing else is left, and a second time nothing is asked for.
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["little_2048"]
    asked = server.requests
    fetch(published(dataset, server.url), tmp_path / "data")
    assert server.requests == asked


def test_a_file_at_hand_needs_no_network(dataset, tmp_path):
    file = tmp_path / "mine.zip"
    file.write_bytes(dataset)
    archive = published(dataset, "https://127.0.0.1:1/nowhere.zip")
    place = fetch(archive, tmp_path / "data", from_file=file)
    assert len(modelnet40.load("test", root=place)) == 30
    assert file.exists()


def test_a_broken_connection_is_tried_again(server, dataset, tmp_path):
    server.content = dataset
    server.closes = [1000, 2000]
    told = []
    fetch(published(dataset, server.url), tmp_path, progress=lambda *both: told.append(both))
    assert server.requests == 3
    assert told[-1] == (len(dataset), len(dataset))
    assert [path.name for path in tmp_path.iterdir() if path.name != "make"] == ["little_2048"]


@pytest.mark.parametrize("trouble", ["stalls", "closes"])
def test_a_server_that_never_sends_the_whole_is_given_up(server, dataset, tmp_path, trouble):
    server.content = dataset
    setattr(server, trouble, [500] * 10)
    with pytest.raises(FetchError, match=r"data\.zip: .*--from-file"):
        fetch(published(dataset, server.url), tmp_path / "data", timeout=0.2, attempts=2)
    assert server.requests == 2
    assert list((tmp_path / "data").iterdir()) == []


def test_a_wrong_checksum_leaves_nothing(server, dataset, tmp_path):
    server.content = dataset[:-1] + b"!"
    archive = published(dataset, server.url)
    found = hashlib.sha256(server.content).hexdigest()
    with pytest.raises(FetchError, match=f"its SHA-256 is {found}, but {archive.sha256} is"):
        fetch(archive, tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_a_checksum_of_ones_own_is_accepted(server, dataset, tmp_path):
    server.content = dataset
    archive = Archive(server.url, "0" * 64, 12345, "little_2048")
    with pytest.raises(FetchError, match="its SHA-256 is"):
        fetch(archive, tmp_path / "data")
    own = hashlib.sha256(dataset).hexdigest().upper()
    assert fetch(archive, tmp_path / "data", sha256=own).is_dir()
    with pytest.raises(ValueError, match="sha256 must be 64 hexadecimal digits"):
        fetch(archive, tmp_path / "other", sha256="abc")


@pytest.mark.parametrize("status", [404, 503])
def test_refusals_of_the_server_are_named(server, tmp_path, status):
    server.status = status
    with pytest.raises(FetchError, match=str(status)):
        download(server.url, tmp_path, None, timeout=5, attempts=1)


def test_a_server_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FetchError, match=r"http://127\.0\.0\.1:9/x: .*refused"):
        download("http://127.0.0.1:9/x", tmp_path, None, timeout=5, attempts=2)


@pytest.mark.parametrize("url", ["ftp://host/x", "file:///etc/passwd", "/etc/passwd"])
def test_other_addresses_are_refused(url, tmp_path):
    with pytest.raises(FetchError, match="an https address is needed"):
        download(url, tmp_path, None, timeout=5, attempts=1)


def test_redirects_are_followed(server, dataset, tmp_path):
    server.content = dataset
    front = Server()
    front.redirect = server.url
    threading.Thread(target=front.serve_forever, args=(0.01,), daemon=True).start()
    file = download(front.url, tmp_path, None, timeout=5, attempts=1)
    front.shutdown()
    front.server_close()
    assert file.read_bytes() == dataset


# Archives.


def zipped(path, members, **options):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members:
            archive.writestr(member, content, **options)
    return path


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil"])
def test_names_that_leave_the_folder_do_not_leave_it(tmp_path, name):
    file = zipped(tmp_path / "evil.zip", [("good", b"1"), (name, b"2")])
    inside = tmp_path / "deep" / "inside"
    unzip(file, inside)
    assert all(inside in path.parents for path in tmp_path.rglob("*evil"))


def test_links_become_plain_files(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    file = zipped(tmp_path / "links.zip", [(link, b"/etc/passwd")])
    unzip(file, tmp_path / "out")
    assert not (tmp_path / "out" / "link").is_symlink()
    assert (tmp_path / "out" / "link").read_bytes() == b"/etc/passwd"


def test_bombs_are_refused_before_they_unpack(tmp_path):
    file = zipped(tmp_path / "bomb.zip", [("zeros", bytes(50_000_000))])
    with pytest.raises(FetchError, match="would unpack to 50000000 bytes, over 100 times"):
        unzip(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_bomb_that_lies_about_its_size_is_cut_off(tmp_path):
    file = zipped(tmp_path / "bomb.zip", [("zeros", bytes(5_000_000))])
    # The declared size, in the local and the central header, becomes 100 bytes.
    content = file.read_bytes().replace(struct.pack("<I", 5_000_000), struct.pack("<I", 100))
    file.write_bytes(content)
    with pytest.raises(FetchError, match="not a whole zip file"):
        unzip(file, tmp_path / "out")
    assert sum(path.stat().st_size for path in tmp_path.rglob("zeros")) <= 100


def test_files_that_are_no_archives_are_named(tmp_path, dataset):
    for content in (b"", b"hello", dataset[: len(dataset) // 2]):
        file = tmp_path / "half.zip"
        file.write_bytes(content)
        with pytest.raises(FetchError, match=r"half\.zip: not a whole zip file"):
            unzip(file, tmp_path / "out")
    damaged = bytearray(dataset)
    damaged[200:300] = bytes(100)
    file.write_bytes(damaged)
    with pytest.raises(FetchError, match=r"half\.zip"):
        unzip(file, tmp_path / "out")


def test_an_archive_of_something_else_leaves_nothing(tmp_path):
    file = zipped(tmp_path / "other.zip", [("other/readme", b"1")])
    archive = published(file.read_bytes(), "https://host/x")
    with pytest.raises(FetchError, match="does not hold little_2048"):
        fetch(archive, tmp_path / "data", from_file=file)
    assert list((tmp_path / "data").iterdir()) == []


def test_what_is_already_there_is_not_overwritten(dataset, tmp_path):
    place = tmp_path / "data" / "little_2048"
    place.mkdir(parents=True)
    (place / "mine").write_text("precious")
    file = tmp_path / "x.zip"
    file.write_bytes(dataset)
    archive = published(dataset, "https://host/x")
    with pytest.raises(FetchError, match="little_2048: "):
        fetch(archive, tmp_path / "data", from_file=file, looks_right=modelnet40.is_hdf5)
    assert (place / "mine").read_text() == "precious"


def test_files_and_folders_that_cannot_be_used_are_named(dataset, tmp_path):
    archive = published(dataset, "https://host/x")
    with pytest.raises(FetchError, match=r"none\.zip: No such file"):
        fetch(archive, tmp_path / "data", from_file=tmp_path / "none.zip")
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match="file"):
        fetch(archive, tmp_path / "file", from_file=tmp_path / "none.zip")
