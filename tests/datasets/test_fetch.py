"""Downloads: against a server that serves, stalls, truncates, ignores ranges and lies."""

from __future__ import annotations

import hashlib
import io
import json
import re
import ssl
import stat
import struct
import threading
import time
import urllib.error
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from datasets.files import write_h5
from spoonful.data import fetch as fetching
from spoonful.data import modelnet40
from spoonful.data.fetch import Archive, FetchError, download, fetch, unzip


class Server(ThreadingHTTPServer):
    """Serves one file, as badly as it is told to."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = b""
        self.etag = '"one"'
        self.ranges = True
        self.status = 200
        self.redirect = None
        # For each request in turn, after how many bytes the connection is closed or stalls.
        self.closes: list[int] = []
        self.stalls: list[int] = []
        self.requests: list[str | None] = []
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
        asked = self.headers.get("Range")
        server.requests.append(asked)
        if server.redirect:
            self.send_response(302)
            self.send_header("Location", server.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body, status = server.content, server.status
        unchanged = self.headers.get("If-Range") in (None, server.etag)
        if asked and server.ranges and unchanged:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            status = 206 if start < len(body) else 416
            span = f"bytes {start}-{len(body) - 1}/{len(body)}"
            body = body[start:] if status == 206 else b""
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", span)
        if server.etag:
            self.send_header("ETag", server.etag)
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


def patient(**options):
    return {"timeout": 5.0, "attempts": 2, "pause": 0.0, **options}


def test_a_dataset_is_fetched_checked_and_unpacked(server, dataset, tmp_path):
    server.content = dataset
    told = []
    place = fetch(
        published(dataset, server.url),
        tmp_path / "data",
        looks_right=modelnet40.is_hdf5,
        progress=lambda done, total: told.append((done, total)),
        **patient(),
    )
    assert place == tmp_path / "data" / "little_2048"
    assert len(modelnet40.load("train", root=place)) == 40
    assert told[-1] == (len(dataset), len(dataset))
    note = json.loads((place / "fetched.json").read_text())
    assert note == {"url": server.url, "sha256": hashlib.sha256(dataset).hexdigest()}
    # Nothing else is left, and a second time nothing is asked for.
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["little_2048"]
    asked = len(server.requests)
    fetch(published(dataset, server.url), tmp_path / "data", **patient())
    assert len(server.requests) == asked


def test_a_file_at_hand_needs_no_network(dataset, tmp_path):
    file = tmp_path / "mine.zip"
    file.write_bytes(dataset)
    archive = published(dataset, "https://127.0.0.1:1/nowhere.zip")
    place = fetch(archive, tmp_path / "data", from_file=file)
    assert len(modelnet40.load("test", root=place)) == 30
    assert file.exists()


def test_a_broken_connection_is_continued(server, dataset, tmp_path):
    server.content = dataset
    server.closes = [1000, 2000]
    download(
        server.url,
        tmp_path / "file.zip",
        sha256=hashlib.sha256(dataset).hexdigest(),
        **patient(),
    )
    assert (tmp_path / "file.zip").read_bytes() == dataset
    assert server.requests == [None, "bytes=1000-", "bytes=3000-"]


def test_a_later_run_continues_an_earlier_one(server, dataset, tmp_path):
    server.content = dataset
    server.closes = [1000, 0, 0, 0]
    options = {"sha256": hashlib.sha256(dataset).hexdigest(), **patient()}
    with pytest.raises(FetchError, match="1000 bytes have come and are kept: run this again"):
        download(server.url, tmp_path / "file.zip", **options)
    download(server.url, tmp_path / "file.zip", **options)
    assert (tmp_path / "file.zip").read_bytes() == dataset
    assert server.requests[-1] == "bytes=1000-"
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_a_server_that_ignores_ranges_sends_all_of_it_again(server, dataset, tmp_path):
    server.content, server.ranges = dataset, False
    server.closes = [1000]
    download(
        server.url, tmp_path / "file.zip", sha256=hashlib.sha256(dataset).hexdigest(), **patient()
    )
    assert (tmp_path / "file.zip").read_bytes() == dataset
    assert server.requests == [None, "bytes=1000-"]


def test_a_file_that_changes_midway_is_fetched_anew(server, dataset, tmp_path):
    server.content = b"x" * len(dataset)
    server.closes = [1000, 0, 0, 0]
    options = {"sha256": hashlib.sha256(dataset).hexdigest(), **patient()}
    with pytest.raises(FetchError, match="run this again"):
        download(server.url, tmp_path / "file.zip", **options)
    server.content, server.etag = dataset, '"two"'
    download(server.url, tmp_path / "file.zip", **options)
    assert (tmp_path / "file.zip").read_bytes() == dataset


def test_what_was_kept_of_another_address_is_not_continued(server, dataset, tmp_path):
    server.content = dataset
    (tmp_path / "file.zip.part").write_bytes(b"y" * 500)
    (tmp_path / "file.zip.part.json").write_text('{"url": "https://other", "version": null}')
    options = {"sha256": hashlib.sha256(dataset).hexdigest(), **patient()}
    download(server.url, tmp_path / "file.zip", **options)
    assert server.requests == [None]


def test_a_part_that_is_longer_than_the_file_is_dropped(server, dataset, tmp_path):
    server.content, server.etag = dataset, None
    (tmp_path / "file.zip.part").write_bytes(b"y" * (len(dataset) + 5))
    note = json.dumps({"url": server.url, "version": None})
    (tmp_path / "file.zip.part.json").write_text(note)
    options = {"sha256": hashlib.sha256(dataset).hexdigest(), **patient()}
    download(server.url, tmp_path / "file.zip", **options)
    assert (tmp_path / "file.zip").read_bytes() == dataset


def test_a_stall_ends_and_is_continued(server, dataset, tmp_path):
    server.content = dataset
    server.stalls = [700]
    began = time.monotonic()
    download(
        server.url,
        tmp_path / "file.zip",
        sha256=hashlib.sha256(dataset).hexdigest(),
        **patient(timeout=0.3),
    )
    assert time.monotonic() - began < 5
    assert server.requests == [None, "bytes=700-"]


def test_a_server_that_only_stalls_is_given_up(server, dataset, tmp_path):
    server.content = dataset
    server.stalls = [0, 0, 0, 0]
    with pytest.raises(FetchError, match=r"no byte came in time$"):
        download(server.url, tmp_path / "f", sha256="0" * 64, **patient(timeout=0.2))


def test_a_server_that_always_truncates_is_given_up(server, dataset, tmp_path):
    server.content, server.ranges = dataset, False
    server.closes = [500] * 10
    with pytest.raises(FetchError, match=f"broke after 500 of {len(dataset)} bytes"):
        download(server.url, tmp_path / "f", sha256="0" * 64, **patient())
    assert len(server.requests) == 4


def test_a_wrong_checksum_leaves_nothing(server, dataset, tmp_path):
    server.content = dataset[:-1] + b"!"
    archive = published(dataset, server.url)
    found = hashlib.sha256(server.content).hexdigest()
    with pytest.raises(FetchError, match=f"its SHA-256 is {found}, but {archive.sha256} is"):
        fetch(archive, tmp_path / "data", **patient())
    assert list((tmp_path / "data").iterdir()) == []


def test_a_checksum_of_ones_own_is_accepted(server, dataset, tmp_path):
    server.content = dataset
    archive = Archive(server.url, "0" * 64, 12345, "little_2048")
    with pytest.raises(FetchError, match=f"it has {len(dataset)} bytes, not the 12345"):
        fetch(archive, tmp_path / "data", **patient())
    own = hashlib.sha256(dataset).hexdigest().upper()
    assert fetch(archive, tmp_path / "data", sha256=own, **patient()).is_dir()
    with pytest.raises(ValueError, match="sha256 must be 64 hexadecimal digits"):
        fetch(archive, tmp_path / "other", sha256="abc")


def test_no_more_is_read_than_is_published(server, dataset, tmp_path):
    server.content = dataset + b"z" * 10_000_000
    with pytest.raises(FetchError, match="not the"):
        fetch(published(dataset, server.url), tmp_path / "data", **patient())
    assert list((tmp_path / "data").iterdir()) == []


def test_refusals_of_the_server_are_final(server, tmp_path):
    server.status = 404
    with pytest.raises(FetchError, match="the server answers 404"):
        download(server.url, tmp_path / "f", sha256="0" * 64, **patient())
    assert len(server.requests) == 1
    server.status = 503
    with pytest.raises(FetchError, match="the server answers 503"):
        download(server.url, tmp_path / "f", sha256="0" * 64, **patient())
    assert len(server.requests) == 4


def test_a_server_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FetchError, match=r"http://127\.0\.0\.1:9/x: .*refused"):
        download("http://127.0.0.1:9/x", tmp_path / "f", sha256="0" * 64, **patient())


@pytest.mark.parametrize("url", ["ftp://host/x", "file:///etc/passwd", "/etc/passwd"])
def test_other_addresses_are_refused(url, tmp_path):
    with pytest.raises(FetchError, match="an https address is needed"):
        download(url, tmp_path / "f", sha256="0" * 64)


def test_redirects_from_https_to_http_are_refused():
    request = fetching.urllib.request.Request("https://host/x")
    with pytest.raises(FetchError, match="redirects from https to http://host/y"):
        fetching._SecureRedirects().redirect_request(request, None, 302, "", {}, "http://host/y")


def test_redirects_are_followed(server, dataset, tmp_path):
    server.content = dataset
    front = Server()
    front.redirect = server.url
    threading.Thread(target=front.serve_forever, args=(0.01,), daemon=True).start()
    options = {"sha256": hashlib.sha256(dataset).hexdigest(), **patient()}
    download(front.url, tmp_path / "file.zip", **options)
    front.shutdown()
    front.server_close()
    assert (tmp_path / "file.zip").read_bytes() == dataset


def test_certificates_are_verified():
    (handler,) = [
        handler
        for handler in fetching._opener().handlers
        if isinstance(handler, fetching.urllib.request.HTTPSHandler)
    ]
    assert handler._context.verify_mode == ssl.CERT_REQUIRED
    assert handler._context.check_hostname


def test_an_invalid_certificate_is_answered_with_what_to_do(tmp_path, monkeypatch):
    class Expired:
        def open(self, *_, **__):
            error = ssl.SSLCertVerificationError(1, "failed")
            error.verify_message = "certificate has expired"
            raise urllib.error.URLError(error)

    monkeypatch.setattr(fetching, "_opener", Expired)
    with pytest.raises(FetchError, match=r"certificate has expired.*--from-file"):
        download("https://host/x", tmp_path / "f", sha256="0" * 64, **patient())


def test_a_full_disk_is_not_taken_for_a_bad_connection(server, dataset, tmp_path, monkeypatch):
    server.content = dataset

    def full(self, version):
        raise OSError(28, "No space left on device", str(self.file))

    monkeypatch.setattr(fetching._Part, "begin", full)
    with pytest.raises(FetchError, match="No space left on device"):
        download(server.url, tmp_path / "f", sha256="0" * 64, **patient())
    assert len(server.requests) == 1


# Archives.


def zipped(path, members, **options):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members:
            archive.writestr(member, content, **options)
    return path


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/evil", "a\\..\\evil", "C:evil", "a/" * 300 + "x"]
)
def test_names_that_leave_the_folder_are_refused(tmp_path, name):
    file = zipped(tmp_path / "evil.zip", [("good", b"1"), (name, b"2")])
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    with pytest.raises(FetchError, match="which is not unpacked"):
        unzip(file, inside)
    assert not list(tmp_path.rglob("*evil"))


def test_links_are_refused(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    file = zipped(tmp_path / "links.zip", [(link, b"/etc/passwd")])
    with pytest.raises(FetchError, match="'link', which is not unpacked"):
        unzip(file, tmp_path / "out")


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


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_occurs_twice_is_refused(tmp_path):
    file = zipped(tmp_path / "twice.zip", [("a", b"1"), ("a", b"2")])
    with pytest.raises(FetchError, match="it holds a file twice"):
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
    with pytest.raises(FetchError, match="something else is there"):
        fetch(archive, tmp_path / "data", from_file=file, looks_right=modelnet40.is_hdf5)
    assert (place / "mine").read_text() == "precious"


def test_files_and_folders_that_cannot_be_used_are_named(dataset, tmp_path):
    archive = published(dataset, "https://host/x")
    with pytest.raises(FetchError, match=r"none\.zip: No such file"):
        fetch(archive, tmp_path / "data", from_file=tmp_path / "none.zip")
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match="file"):
        fetch(archive, tmp_path / "file", from_file=tmp_path / "none.zip")
